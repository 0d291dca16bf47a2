"""Reference of the command line, from the help texts that the command itself prints."""

import dataclasses
import pathlib
import re
import subprocess

LEFT_COLUMN = 30  # where descriptions begin


@dataclasses.dataclass
class Entry:
    name: str  # "--batch N:INT in [1 - 1048576]"
    text: str


@dataclasses.dataclass
class Help:
    words: tuple[str, ...]  # ("tessera", "ncp", "train")
    summary: str
    usage: str
    groups: dict[str, list[Entry]]
    commands: list["Help"]


def parse(text: str) -> tuple[str, str, dict[str, list[Entry]]]:
    """Summary, usage and the groups of entries of one help text."""
    summary, _, rest = text.strip("\n").partition("\nUsage: ")
    usage, _, rest = rest.partition("\n")
    groups: dict[str, list[Entry]] = {}
    entries: list[Entry] = []
    indent = " " * LEFT_COLUMN
    lines = rest.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith(indent) and entries:
            entries[-1].text = f"{entries[-1].text} {line.strip()}".strip()
        elif heading := re.fullmatch(r"\[Option Group: (.+)\]|(\S.*):", line.rstrip()):
            entries = groups.setdefault(heading[1] or heading[2], [])
        elif option := re.fullmatch(r" {2,4}(-\S.*|\S.*)", line):
            if following.startswith(indent) or len(line) < LEFT_COLUMN:
                entry = re.split(r"\s{2,}", option[1], maxsplit=1)
                entries.append(Entry(entry[0], entry[1] if len(entry) > 1 else ""))
            else:
                name, gap, words = option[1].partition("  ")
                if not gap:
                    name, words = line[:LEFT_COLUMN].strip(), line[LEFT_COLUMN:]
                entries.append(Entry(name, words.strip()))
    ignored = re.compile(r"\[At (most|least) .*|Options:")
    found = {name: [entry for entry in all_of if not ignored.match(entry.name)] for name, all_of in groups.items()}
    return summary, usage, {name: all_of for name, all_of in found.items() if all_of}


def read(command: pathlib.Path, words: tuple[str, ...] = ("tessera",)) -> Help:
    """The help of a command and of all below it."""
    done = subprocess.run([command, *words[1:], "--help"], capture_output=True, text=True, check=True, env={"COLUMNS": "200"})
    summary, usage, groups = parse(done.stdout)
    below = [read(command, (*words, entry.name)) for entry in groups.pop("Subcommands", [])]
    return Help(words, summary, usage, groups, below)


def code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def prose(text: str) -> str:
    """Text of a table cell: words that mean something to Markdown or HTML are code."""
    words = re.sub(r"(`[^`]*`)|((?<![\w-])--?[a-z][\w-]*|\S*[*_<>{}|\[\]]\S*)", lambda m: m[1] or code(m[2]), text)
    return words.replace("\n", " ")


def table(title: str, entries: list[Entry]) -> str:
    rows = [f"| {title} | |", "|---|---|"]
    rows += [f"| {code(entry.name)} | {prose(entry.text)} |" for entry in entries]
    return "\n".join(rows) + "\n"


def section(help_: Help, level: int) -> str:
    heading = "#" * level + " " + " ".join(help_.words)
    parts = [heading, prose(help_.summary) + ".", f"```text\n{help_.usage}\n```"]
    for name, entries in help_.groups.items():
        shown = [entry for entry in entries if entry.name != "-h,--help"]
        if shown:
            parts.append(table({"Positionals": "Argument", "Options": "Option"}.get(name, name), shown))
    parts += [section(command, level + 1) for command in help_.commands]
    return "\n\n".join(parts)


def pages(command: pathlib.Path) -> dict[str, str]:
    """Pages by path, an index first."""
    whole = read(command)
    index = [
        "# Command line",
        "Every command, with every option. These pages are generated from the command's own tables, the ones that "
        "`tessera COMMAND --help` prints.",
        table("Option of every command", [entry for entry in whole.groups["Options"] if entry.name != "-h,--help"]),
        "| Command | |\n|---|---|\n"
        + "\n".join(f"| [`{c.words[-1]}`]({c.words[-1]}.md) | {prose(c.summary)} |" for c in whole.commands),
    ]
    out = {"reference/command-line/index.md": "\n\n".join(index) + "\n"}
    for entry in whole.commands:
        out[f"reference/command-line/{entry.words[-1]}.md"] = section(entry, 1) + "\n"
    return out
