"""tools/check_includes finds what it is there to find. Standard library only, so that CTest can run it anywhere."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "check_includes"


class CheckIncludes(unittest.TestCase):
    def run_on(self, files):
        with tempfile.TemporaryDirectory() as root:
            installed = [name for name in files if name.endswith(".h") and "internal" not in name]
            for name, text in {**files, "tessera/installed_headers.txt": "\n".join(installed)}.items():
                path = pathlib.Path(root) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            done = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True)
        return done.returncode, done.stdout

    def assert_refused(self, name, line, *words):
        status, text = self.run_on({name: f"#pragma once\n\n{line}\n"})
        self.assertEqual(status, 1, text)
        self.assertIn(f"{name}:3: ", text)
        for word in words:
            self.assertIn(word, text)

    def assert_accepted(self, name, line):
        status, text = self.run_on({name: f"#pragma once\n\n{line}\n"})
        self.assertEqual(status, 0, text)

    def test_accepts_dependencies_of_dependencies(self):
        self.assert_accepted("tessera/targets/cpu/kernels/dense/conv2d.cpp", '#include "tessera/core/tile.h"')
        self.assert_accepted("tessera/io/npy.cpp", '#include "tessera/machine/machine.h"')
        self.assert_accepted("tessera/report/json.cpp", "#include <nlohmann/json.hpp>")
        self.assert_accepted("tessera/core/error.h", "#include <fmt/format.h>")

    def test_refuses_the_other_direction(self):
        self.assert_refused("tessera/core/tile.h", '#include "tessera/machine/machine.h"', "core", "machine")
        self.assert_refused("tessera/graph/graph.cpp", '  #  include "tessera/machine/machine.h"', "graph may not")
        self.assert_refused("tessera/kernel_plan/plan.cpp", '#include "tessera/targets/cpu/kernels/kernel.h"', "graph, machine")

    def test_refuses_third_party_headers_in_public_ones(self):
        self.assert_refused("tessera/machine/machine.h", "#include <toml++/toml.h>", "<toml++/toml.h>")
        self.assert_refused("tessera/core/parallel.h", "#include <omp.h>", "<omp.h>")
        self.assert_accepted("tessera/machine/internal/toml.h", "#include <toml++/toml.h>")

    def test_only_the_header_for_c_includes_headers_of_c(self):
        self.assert_accepted("tessera/c/tessera.h", "#include <stdint.h>")
        self.assert_refused("tessera/core/error.h", "#include <stdint.h>", "<stdint.h>")

    def test_asks_public_headers_for_a_guard(self):
        status, text = self.run_on({"tessera/core/tile.h": "// #pragma once\n", "tessera/core/tile.cpp": "\n"})
        self.assertEqual(status, 1, text)
        self.assertEqual(text, "tessera/core/tile.h:1: a public header says '#pragma once'\n")

    def test_keeps_internal_headers_inside(self):
        self.assert_refused("tessera/io/npy.cpp", '#include "tessera/core/internal/bits.h"', "internal to core")
        self.assert_refused("tessera/core/tile.h", '#include "tessera/core/internal/bits.h"', "not installed")
        self.assert_accepted("tessera/core/tile.cpp", '#include "tessera/core/internal/bits.h"')

    def test_refuses_paths_that_are_not_from_the_root(self):
        self.assert_refused("tessera/core/tile.cpp", '#include "tile.h"', "tile.h")
        self.assert_refused("tessera/core/tile.cpp", '#include "tessera/cores/tile.h"', "'cores' is not a room")

    def test_refuses_a_folder_outside_the_table(self):
        status, text = self.run_on({"tessera/util/misc.h": ""})
        self.assertEqual(status, 1)
        self.assertIn("'util'", text)


if __name__ == "__main__":
    unittest.main()
