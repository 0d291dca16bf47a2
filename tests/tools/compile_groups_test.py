"""tools/compile_groups puts no two files together that could not be. Standard library only."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "compile_groups"


class CompileGroups(unittest.TestCase):
    def groups(self, files):
        """Files of each group, by their paths below the root; those that are compiled alone are left out."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            (root / "list.txt").write_text("".join(f"{root / name}\n" for name in files))
            subprocess.run([sys.executable, TOOL, root], check=True)
            out = []
            for line in (root / "list.cmake").read_text().split("\n"):
                if line.startswith("tessera_compile_group"):
                    out.append([])
                elif line.startswith("  "):
                    out[-1].append(str(pathlib.Path(line.strip().rstrip(")")).relative_to(root)))
            return out

    def together(self, a, b):
        return self.groups({"room/a.cpp": a, "room/b.cpp": b}) == [["room/a.cpp", "room/b.cpp"]]

    def test_files_that_share_no_name_go_together(self):
        self.assertTrue(self.together("namespace t {\nnamespace {\nint f() { return 1; }\n}\nint a() { return f(); }\n}\n",
                                      "namespace t {\nnamespace {\nint g() { return 2; }\n}\nint b() { return g(); }\n}\n"))

    def test_a_name_that_both_keep_to_themselves_parts_them(self):
        for declaration in ("int same(int x) { return x; }", "constexpr double same = 1.5;", "struct same { int x; };",
                            "enum class same : char { a };", "using same = int;", "template <class T>\nT same(T x) {\n  return x;\n}",
                            "template <class T, std::vector<int> n>\nstruct same {};", "const std::map<int, int> same{{1, 2}};",
                            "constexpr int same[] = {1, 2};", "[[nodiscard]] bool same(const char* text);",
                            "class same : public Base {\n public:\n  int f() { return 1; }\n};"):
            text = f"namespace t {{\nnamespace {{\n{declaration}\n}}  // namespace\n}}\n"
            self.assertFalse(self.together(text, text), declaration)

    def test_a_name_of_one_that_the_other_makes_public_parts_them(self):
        self.assertFalse(self.together("namespace t {\nnamespace {\nint same() { return 1; }\n}\n}\n",
                                       "namespace t {\nint same() { return 2; }\n}\n"))

    def test_a_name_of_one_that_the_other_takes_from_elsewhere_parts_them(self):
        own = "namespace t {\nnamespace {\nint same(int x) { return x; }\nstruct Same {};\nconstexpr int kSame = 1;\n}\n}\n"
        for use in ("using elsewhere::same;", "int b() { return same(1); }", "int b(const Same& x);", "int b() { return kSame; }"):
            self.assertFalse(self.together(own, f"namespace t {{\n{use}\n}}\n"), use)
        for other in ("int b(X x) { return x.same(1) + x->same(2) + elsewhere::same(3); }", "elsewhere::Same b();"):
            self.assertTrue(self.together(own, f"namespace t {{\n{other}\n}}\n"), other)

    def test_static_functions_and_macros_are_a_files_own(self):
        self.assertFalse(self.together("static int same() { return 1; }\n", "static int same() { return 2; }\n"))
        self.assertFalse(self.together("#define SAME 1\n", "#define SAME 2\n"))
        self.assertTrue(self.together("#define SAME 1\n#undef SAME\n", "#define SAME 2\n#undef SAME\n"))

    def test_what_is_inside_functions_classes_strings_and_comments_does_not_count(self):
        text = 'namespace t {{\nnamespace {{\nint {0}() {{\n  int same = 1;\n  return same;\n}}\n// int same();\nauto {0}_text = "}} int same() {{";\n' \
               'auto {0}_raw = R"x( }} int same() {{ )x";\nstruct {0}_type {{\n  int same = 0;\n}};\n}}\n}}\n'
        self.assertTrue(self.together(text.format("a"), text.format("b")))

    def test_members_of_a_class_are_not_names_of_a_file(self):
        self.assertTrue(self.together("namespace t {\nint A::run() { return 1; }\n}\n",
                                      "namespace t {\nnamespace {\nint run() { return 2; }\n}\n}\n"))

    def test_folders_do_not_mix_unless_they_are_small(self):
        files = {f"{room}/{i}.cpp": f"int {room}{i}();\n" for room in ("one", "two") for i in range(5)}
        self.assertEqual(sorted(map(len, self.groups(files))), [5, 5])
        files = {f"{room}/{i}.cpp": f"int {room}{i}();\n" for room in ("one", "two") for i in range(2)}
        self.assertEqual(sorted(map(len, self.groups(files))), [4])

    def test_a_new_file_changes_one_group(self):
        files = {f"room/{i:02}.cpp": f"int f{i}();\n" for i in range(8)} | {f"other/{i}.cpp": f"int g{i}();\n" for i in range(4)}
        before = self.groups(files)
        after = self.groups(files | {"other/new.cpp": "int h();\n"})
        self.assertEqual(sum(group not in before for group in after), 1)


if __name__ == "__main__":
    unittest.main()
