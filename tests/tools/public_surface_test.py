"""What programs of others include stays small: few installed headers, each of which includes installed ones only, and a
session that is cheap to include. Standard library only, so that CTest can run it anywhere."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).parents[2]
INSTALLED = (ROOT / "tessera/installed_headers.txt").read_text(encoding="utf-8").split()
MOST_INSTALLED_HEADERS = 69
MOST_HEADERS_OF_A_SESSION = 12
FOR_C = {"tessera/c/tessera.h"}


def included(header):
    """Every header of the project that one includes, directly or not."""
    found = set()
    waiting = [header]
    while waiting:
        text = (ROOT / waiting.pop()).read_text(encoding="utf-8")
        more = set(re.findall(r'^\s*#\s*include\s*"(tessera/[^"]+)"', text, re.MULTILINE)) - found
        found |= more
        waiting.extend(more)
    return found


class PublicSurface(unittest.TestCase):
    def test_installed_headers_are_few(self):
        self.assertEqual(INSTALLED, sorted(set(INSTALLED)))
        self.assertLessEqual(len(INSTALLED), MOST_INSTALLED_HEADERS)

    def test_the_umbrella_header_has_every_installed_one_and_no_other(self):
        self.assertEqual(included("tessera/tessera.h") | {"tessera/tessera.h"}, set(INSTALLED) - FOR_C)

    def test_a_session_is_cheap_to_include(self):
        headers = included("tessera/session/session.h")
        self.assertLessEqual(len(headers), MOST_HEADERS_OF_A_SESSION, "\n".join(sorted(headers)))


if __name__ == "__main__":
    unittest.main()
