"""The parts of the documentation site that are ours: help texts, stubs and links are read as they are meant."""

import pathlib
import sys
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from site_pages import command_reference, links, python_reference, staging  # noqa: E402

HELP = """Do something
Usage: tessera do [OPTIONS] model

Positionals:
  model MODEL REQUIRED        A file

Options:
  -h,--help                   Print this help message and exit
  --batch N:INT in [1 - 1048576] Excludes: --rebatch
                              The batch size
  --device NAME=wormhole_n150 A card
Fleets:
  --cards N,...               Sizes
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")


class CommandReference(unittest.TestCase):
    def test_groups_names_and_texts_are_told_apart(self):
        summary, usage, groups = command_reference.parse(HELP)
        self.assertEqual((summary, usage), ("Do something", "tessera do [OPTIONS] model"))
        self.assertEqual(list(groups), ["Positionals", "Options", "Fleets"])
        options = {entry.name: entry.text for entry in groups["Options"]}
        self.assertEqual(options["--batch N:INT in [1 - 1048576] Excludes: --rebatch"], "The batch size")
        self.assertEqual(options["--device NAME=wormhole_n150"], "A card")

    def test_options_in_texts_are_code(self):
        self.assertEqual(command_reference.prose("see --batch and a|b"), "see `--batch` and `a\\|b`")


class PythonReference(Folder):
    def test_names_are_followed_through_imports_into_the_stub(self):
        self.write("sources/__init__.py", '''"""A package."""\nfrom tessera._tessera import f\n__all__ = ["f"]\n''')
        self.write("stubs/_tessera.pyi", 'def f(x: int) -> str:\n    """What f does."""\n')
        pages = python_reference.pages(self.folder / "sources", self.folder / "stubs")
        self.assertIn("f(x: int) -> str", pages["reference/python/tessera.md"])
        self.assertIn("What f does.", pages["reference/python/tessera.md"])


class Staging(Folder):
    def test_links_out_of_docs_lead_to_pages_that_show_the_files(self):
        self.write("README.md", "# R\n")
        self.write("CONTRIBUTING.md", "# C\n[p](docs/how-to/p.md#x)\n")
        self.write("CHANGELOG.md", "# L\n")
        self.write("tools/run.py", "print(1)\n")
        self.write("docs/index.md", "# I\n")
        self.write("docs/how-to/p.md", "# P\n[a](../../tools/run.py) [b](../index.md)\n```sh\n[no](../../tools/run.py)\n```\n")
        site = staging.Staging(self.folder)
        site.add_documents()
        page = site.pages["how-to/p.md"]
        self.assertIn("[a](../source/tools/run.py.md) [b](../index.md)", page)
        self.assertIn("[no](../../tools/run.py)", page)
        self.assertIn("print(1)", site.pages["source/tools/run.py.md"])
        self.assertIn("[p](how-to/p.md#x)", site.pages["contributing.md"])


class Links(Folder):
    def test_missing_files_and_fragments_are_named(self):
        self.write("a.html", '<a href="b.html#there">x</a><a href="b.html#no">x</a><img src="no.png"><a href="https://x.y">x</a>')
        self.write("b.html", '<h1 id="there">b</h1>')
        broken = links.broken_links(self.folder)
        self.assertEqual(len(broken), 2, broken)
        self.write("b.html", '<h1 id="there">b</h1><script src="https://x.y/z.js"></script>')
        self.assertIn("b.html: https://x.y/z.js is loaded from another site", links.broken_links(self.folder))
        self.assertTrue(any("no.png" in line for line in broken) and any("b.html#no" in line for line in broken))


if __name__ == "__main__":
    unittest.main()
