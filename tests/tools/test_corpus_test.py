"""tools/test_corpus notices what a command may not do."""

import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Answers as the model's folder is called.
FAKE = """#!/bin/sh
case "$*" in
  machines*) echo '{"rows": [{"name": "card", "family": "tensix"}, {"name": "fleet_of_cards", "family": "tensix"}]}' ;;
  *signal*) kill -SEGV $$ ;;
  *fault*) echo 'error: a broken promise' >&2; exit 70 ;;
  *usage*) exit 2 ;;
  *endless*) exec sleep 60 ;;
  *leaves*) for word in "$@"; do case "$word" in *plan.json) echo > "$word" ;; esac; done; exit 1 ;;
  *refused*) echo 'error: no' >&2; exit 1 ;;
esac
"""


class Corpus(unittest.TestCase):
    def run_corpus(self, kind, *options):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            fake = folder / "tessera"
            fake.write_text(FAKE)
            fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
            model = folder / "models" / f"test_{kind}" / "model.onnx"
            model.parent.mkdir(parents=True)
            model.touch()
            return subprocess.run([sys.executable, ROOT / "tools/test_corpus", "--tessera", fake, "--models",
                                   folder / "models", *options], capture_output=True, text=True, check=False)

    @staticmethod
    def runs(done):
        return int(done.stdout.rsplit(" runs:", 1)[0].rsplit(" ", 1)[1])

    def test_answers_and_refusals_pass(self):
        for kind in ("answered", "refused"):
            done = self.run_corpus(kind)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("simulate card host", done.stdout)
            self.assertNotIn("fleet_of_cards", done.stdout)
            self.assertIn("0 signals, 0 exit 70, 0 usage, 0 endless, 0 left files", done.stdout)

    def test_faults_are_counted_and_named(self):
        for kind, text in (("signal", "SIGSEGV"), ("fault", "a broken promise"), ("usage", "1 usage"),
                           ("leaves", "plan.json before")):
            done = self.run_corpus(kind, "--commands", "^plan card partial$")
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stdout)
            self.assertIn(f"test_{kind}", done.stdout)

    def test_what_does_not_end_is_a_fault(self):
        done = self.run_corpus("endless", "--commands", "^run$", "--timeout", "0.5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("1 endless", done.stdout)

    def test_parts_are_all_of_it_and_do_not_overlap(self):
        parts = [self.runs(self.run_corpus("answered", "--part", f"{part}/3")) for part in range(3)]
        self.assertEqual(sum(parts), self.runs(self.run_corpus("answered")))


if __name__ == "__main__":
    unittest.main()
