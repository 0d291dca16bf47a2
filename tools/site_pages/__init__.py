"""The documentation site: pages of docs/, and references that are generated from the command, the stubs and the headers."""
