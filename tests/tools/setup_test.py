"""tools/setup on machines that lack things, played by small programs put first on the PATH. Nothing is installed."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]


class Setup(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "tools").mkdir()
        for path in [ROOT / "tools" / "setup", *(ROOT / "tools").glob("requirements*.txt")]:
            shutil.copy(path, self.root / "tools")
        self.bin = self.root / "bin"
        self.bin.mkdir()
        self.program("apt-get", f'echo "apt-get $*" >>{self.root}/calls')
        self.program("pip", f'echo "pip $*" >>{self.root}/calls')

    def program(self, name, body):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def run_setup(self, *arguments):
        environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}"}
        return subprocess.run([self.root / "tools" / "setup", *arguments], env=environment, capture_output=True, text=True)

    def calls(self):
        path = self.root / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def test_dry_run_on_a_bare_machine_lists_everything_and_installs_nothing(self):
        self.program("dpkg-query", "exit 1")
        done = self.run_setup("--dry-run", "build", "lint")
        self.assertEqual(done.returncode, 0, done.stderr)
        for package in ("g++", "cmake", "ninja-build", "libfmt-dev", "libprotobuf-dev", "libgtest-dev", "libbenchmark-dev", "shellcheck"):
            self.assertRegex(done.stdout, rf"Debian packages:.* {package.replace('+', '.')}( |\n)")
        for pin in ("nanobind==", "onnx==", "pytest==", "clang-format=="):
            self.assertIn(pin, done.stdout)
        self.assertEqual(self.calls(), [])

    def test_building_needs_no_lint_tools(self):
        self.program("dpkg-query", "exit 1")
        done = self.run_setup("--dry-run")
        self.assertNotIn("clang", done.stdout)
        self.assertNotIn("shellcheck", done.stdout)

    def test_peers_go_into_an_environment_of_their_own_and_torch_only_if_asked_for(self):
        done = self.run_setup("--dry-run", "peers")
        self.assertRegex(done.stdout, r"into \.venv-peers:.* onnxruntime==")
        self.assertRegex(done.stdout, r"into \.venv-peers: pnnx==")
        self.assertNotIn("torch==", done.stdout)
        self.assertNotRegex(done.stdout, r"into \.venv:.*openvino")
        self.assertRegex(self.run_setup("--dry-run", "peers", "torch").stdout, r"into \.venv-peers:.* torch==")
        self.assertEqual(self.calls(), [])

    def test_names_only_what_is_missing(self):
        self.program("dpkg-query", 'for last; do :; done; [ "$last" = ccache ] && exit 1; printf installed')
        done = self.run_setup("--dry-run")
        self.assertIn("installing Debian packages: ccache\n", done.stdout)

    def test_a_package_that_was_removed_but_left_its_settings_is_missing(self):
        self.program("dpkg-query", "printf config-files")
        self.assertIn(" cmake", self.run_setup("--dry-run").stdout)

    def test_without_root_and_sudo_it_says_what_to_run(self):
        self.program("dpkg-query", "exit 1")
        self.program("id", "echo 1000")
        # Only what the script needs, so that a sudo of this machine is not found.
        for name in ("bash", "env", "dirname", "sed", "grep", "python3"):
            if shutil.which(name):
                (self.bin / name).symlink_to(shutil.which(name))
        done = subprocess.run(
            [self.root / "tools" / "setup"], env={"PATH": str(self.bin)}, capture_output=True, text=True
        )
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"hint: as root: apt-get update && apt-get install -y .*libfmt-dev")
        self.assertEqual(self.calls(), [])

    def test_with_packages_missing_it_updates_then_installs_them_in_one_call(self):
        self.program("dpkg-query", 'for last; do :; done; [ "$last" = ccache ] && exit 1; printf installed')
        self.program("id", "echo 0")
        # The environment that is there already, with every pin in it.
        python = self.root / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/sh\nexit 0\n")
        python.chmod(0o755)
        done = self.run_setup()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            self.calls(), ["apt-get update -qq", "apt-get install -y -qq --no-install-recommends ccache"]
        )

    def test_unknown_groups_are_refused(self):
        done = self.run_setup("everything")
        self.assertEqual(done.returncode, 1)
        self.assertIn("'everything'", done.stderr)


if __name__ == "__main__":
    unittest.main()
