"""tools/check_exports reads headers and symbol lists as it should."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "check_exports"
sys.dont_write_bytecode = True
_loader = importlib.machinery.SourceFileLoader("check_exports", str(TOOL))
check_exports = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_exports", _loader))
_loader.exec_module(check_exports)

HEADER = """
class TSR_API Shape {
 public:
  int volume() const;
};
struct Hidden { int f(); };
TSR_API std::string_view name(int x);
TSR_API const std::vector<int>&
all_tiles();
TSR_API bool operator==(const Shape&, const Shape&);
extern TSR_API const int kLimit;
// TSR_API void only_in_a_comment();
class __attribute__((visibility("default"))) Error {};
"""


class CheckExports(unittest.TestCase):
    def setUp(self):
        with tempfile.TemporaryDirectory() as root:
            header = pathlib.Path(root) / "tessera" / "core" / "x.h"
            header.parent.mkdir(parents=True)
            header.write_text(HEADER)
            self.names = check_exports.marked_names(pathlib.Path(root))

    def stray(self, *symbols):
        return check_exports.stray_exports([f"0000000000001000 {s}" for s in symbols], self.names)[0]

    def test_finds_marked_names(self):
        self.assertEqual(self.names, {"Shape", "name", "all_tiles", "operator==", "kLimit", "Error"})

    def test_accepts_what_is_marked(self):
        symbols = (
            "T tessera::Shape::volume() const",
            "T tessera::name(int)",
            "W tessera::Shape::Shape(std::vector<long, std::allocator<long> >)",
            "V typeinfo for tessera::Error",
            "V vtable for tessera::Error",
            "T tessera::all_tiles[abi:cxx11]()",
            "R tessera::kLimit",
            "W std::vector<int, std::allocator<int> >::push_back(int&&)",
            "T name",  # for C
        )
        self.assertEqual(self.stray(*symbols), [])

    def test_refuses_what_is_not(self):
        self.assertEqual(len(self.stray("T tessera::Hidden::f()")), 1)
        self.assertEqual(len(self.stray("T tessera::only_in_a_comment()")), 1)
        self.assertEqual(len(self.stray("T tsr_hidden")), 1)
        self.assertEqual(len(self.stray("T helper(tessera::Shape const&)")), 1)
        self.assertEqual(len(self.stray("W tessera::detail::f<tessera::Shape>(tessera::Shape const&)")), 1)


if __name__ == "__main__":
    unittest.main()
