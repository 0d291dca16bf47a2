"""What can be said of all pages without running them: every block says what it is, C++ stands in a source that is
compiled, data can be read, and no exemption is stale."""

import json
import pathlib
import sys
import tempfile
import tomllib
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import page_blocks  # noqa: E402
from page_blocks import ROOT, all_pages, commands_of, exemption_of, read_blocks, read_exemptions  # noqa: E402


def blocks_of(*languages):
    return [(page, block) for page in all_pages() for block in read_blocks(page) if block.language in languages]


def code_lines(text):
    """Without comments and indentation, so that a page may leave out what surrounds it."""
    stripped = (line.split("//")[0].strip() for line in text.splitlines())
    return [line for line in stripped if line and line != "..."]


class Pages(unittest.TestCase):
    def test_every_block_says_what_it_is(self):
        odd = [f"{page}:{block.line}" for page in all_pages() for block in read_blocks(page)
               if block.language not in page_blocks.LANGUAGES]
        self.assertEqual(odd, [], "blocks without a language, or with one that is not known")

    def test_cpp_stands_in_a_source(self):
        folders = ("tessera", "apps", "python/src", "tests", "examples", "bench")
        sources = [set(code_lines(path.read_text(encoding="utf-8"))) for folder in folders
                   for pattern in ("*.c", "*.cpp", "*.h", "*.def") for path in (ROOT / folder).rglob(pattern)]
        exemptions = read_exemptions()
        for page, block in blocks_of("cpp", "c"):
            lines = code_lines(block.text)
            if exemption_of(lines[0], exemptions):
                continue
            best = max(sources, key=lambda source: sum(line in source for line in lines))
            missing = [line for line in lines if line not in best]
            with self.subTest(f"{page}:{block.line}"):
                self.assertEqual(missing, [], "no one source has these lines")

    def test_data_can_be_read(self):
        for page, block in blocks_of("json", "toml"):
            if "..." not in block.text:
                with self.subTest(f"{page}:{block.line}"):
                    (json if block.language == "json" else tomllib).loads(block.text)

    def test_no_exemption_is_stale(self):
        texts = [command.words for _, block in blocks_of("sh", "console") for command in commands_of(block)]
        texts += [block.text.strip().splitlines()[0] for _, block in blocks_of("python", "cpp", "c")]
        for exemption in read_exemptions():
            self.assertTrue(any(exemption.fits(text) for text in texts), f"'{exemption.pattern}' fits nothing")

    def test_python_can_be_compiled(self):
        for page, block in blocks_of("python"):
            compile(block.text, f"{page}:{block.line}", "exec")


class Reading(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "page.md"
            page.write_text(text, encoding="utf-8")
            return read_blocks(page)

    def test_commands_are_joined_and_lose_their_comments(self):
        (block,) = self.read("text\n```sh\na --x 'b # c'   # why\nd \\\n    --e\n\n# alone\n```\n")
        self.assertEqual([(c.words, c.line) for c in commands_of(block)], [("a --x 'b # c'", 3), ("d --e", 4)])

    def test_a_console_has_commands_and_what_they_print(self):
        (block,) = self.read("1. so\n   ```console\n   $ a b\n   error: no\n   $ c\n   ```\n")
        self.assertEqual([(c.words, c.shown) for c in commands_of(block)], [("a b", ["error: no"]), ("c", [])])

    def test_a_block_that_does_not_end_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "page.md:2: a block that does not end"):
            self.read("x\n```sh\na\n")

    def test_an_exemption_needs_a_reason(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "not_run.txt"
            path.write_text("^make  |  \n")
            with self.assertRaisesRegex(ValueError, "not_run.txt:1"):
                read_exemptions(path)


if __name__ == "__main__":
    unittest.main()
