"""The documents show code that is compiled and run by the tests, letter for letter; the README fits a screen."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LIBRARY = (ROOT / "docs/library.md").read_text(encoding="utf-8")


class Readme(unittest.TestCase):
    def test_its_cpp_example_is_the_consumer_that_is_built(self):
        blocks = re.findall(r"^```cpp\n(.*?)^```", LIBRARY, re.DOTALL | re.MULTILINE)
        self.assertIn((ROOT / "tests/consumer/main.cpp").read_text(encoding="utf-8"), blocks)

    def test_the_examples_in_c_are_the_consumers_that_are_built(self):
        page = (ROOT / "docs/how-to/use-from-c.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```c\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
        programs = ["main.c", "recognize.c"]
        self.assertEqual(blocks, [(ROOT / "tests/consumer" / name).read_text(encoding="utf-8") for name in programs])

    def test_it_fits_a_screen(self):
        self.assertLess(len(README.splitlines()), 80)

    def test_its_links_lead_somewhere(self):
        documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")]
        for document in documents:
            text = re.sub(r"<!--.*?-->", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
            for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
                generated = (document.parent / target).is_relative_to(ROOT / "docs/reference")  # checked in the site
                if "://" not in target and not generated:
                    self.assertTrue((document.parent / target).exists(), f"{document.name} links to {target}")


if __name__ == "__main__":
    unittest.main()
