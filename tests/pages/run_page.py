#!/usr/bin/env python3
"""Runs what a page shows: every command of its sh and console blocks, in order, in an empty folder with a home of its own
and no variable of whoever calls; then its Python blocks as one script. A command has to end with 0, or, where the page
shows the error it ends with, with that one. Files in TOML and JSON are written under the names that commands use.

    tests/pages/run_page.py docs/run.md --build build [--only TEXT] [--keep]

What is not run is in not_run.txt, with reasons.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib

from page_blocks import ROOT, commands_of, exemption_of, read_blocks, read_exemptions

TIMEOUT_S = 600

# Files that readers have, or that an earlier page has made: how each is made when a command names it.
ARRAY = "python -c 'import numpy as np; np.save(\"{name}\", np.zeros({shape}, np.float32))'"
GIVEN = {
    "m.onnx": "tessera export mobilenet_v2 m.onnx",
    "model.onnx": "tessera export mobilenet_v2 model.onnx",
    "x.npy": ARRAY.format(name="x.npy", shape="(1, 3, 224, 224)"),
    "image.npy": ARRAY.format(name="image.npy", shape="(16, 3, 224, 224)"),
    "q.onnx": "cp tests/data/onnx/test_qlinearconv/model.onnx q.onnx",
    "signal.csv": "python -c 'print(\"a,b,target\"); [print(f\"{i % 7},{i % 5},{i % 3}\") for i in range(200)]' > signal.csv",
    "windows.npy": ARRAY.format(name="windows.npy", shape="(10, 16, 2)"),
    "pinned.json": "tessera plan resnet50 --batch 16 --device wormhole_n150 --pin 'layer3.*:shard=HEIGHT' -o pinned.json",
    "script.py": "printf 'import ttnn\\nprint(ttnn.open_device(device_id=0))\\n' > script.py",
    "bad.toml": "sed '10s/idea/idee/; 11s/l1_bytes/l1_byte /' my_n150.toml > bad.toml",
    "xor_model": "tessera ncp train --task xor --training 64 --validation 16 --test 16 --epochs 1 --checkpoint xor_model",
    "liquid.safetensors": "tessera ncp train --task sine --units 8 --epochs 1 --checkpoint given && "
    "cp given/*best*.safetensors liquid.safetensors",
}


# Words in capitals that stand for something of the reader's.
PLACEHOLDERS = {"MODEL": "m.onnx", "NAME": "chain_f32_portable", "NODE": "y"}


class Page:
    def __init__(self, page, build, folder):
        self.page, self.folder, self.exemptions = page, folder, read_exemptions()
        self.failures, self.ran = [], 0
        self.blocks = read_blocks(page)
        self.environment = self.make_environment(build)

    def make_environment(self, build):
        """Programs under the names that pages have, the tree's folders that they name, and nothing else."""
        programs, home = self.folder / "programs", self.folder / "home"
        programs.mkdir()
        home.mkdir()
        python = shutil.which(ROOT / ".venv/bin/python") or sys.executable
        (programs / "tessera").symlink_to(build / "tessera")
        for name in ("python", "python3"):
            script = programs / name
            script.write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
            script.chmod(0o755)
        work = self.folder / "work"
        work.mkdir()
        (work / "build").symlink_to(build)
        for name in ("shapes", "examples", "tests", "bench", ".venv"):
            if (ROOT / name).exists():
                (work / name).symlink_to(ROOT / name)
        environment = {
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(build / "python"),
            "TMPDIR": str(self.folder),
        }
        if os.geteuid() == 0:  # mpirun asks root to say so
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        environment["OMPI_MCA_rmaps_base_oversubscribe"] = "1"  # pages name more processes than there may be cores
        return environment

    def shell(self, words):
        return subprocess.run(["bash", "-c", words], cwd=self.folder / "work", env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)

    def fail(self, line, what, text=""):
        print(f"{self.page}:{line}: {what}\n{text}", flush=True)
        self.failures.append(line)

    def provide(self, words):
        """The files that the command names and that are not there."""
        for name, recipe in GIVEN.items():
            if re.search(rf"(?<![\w./-])(\./)?{re.escape(name)}(?![\w.-])", words) and not (self.folder / "work" / name).exists():
                done = self.shell(recipe)
                if done.returncode != 0:
                    raise RuntimeError(f"{recipe}\n{done.stdout}{done.stderr}")

    def run_command(self, command):
        exemption = exemption_of(command.words, self.exemptions)
        if exemption:
            print(f"{self.page}:{command.line}: not run: {command.words}\n    {exemption.reason}")
            return
        words = re.sub(rf"(?<= )({'|'.join(PLACEHOLDERS)})(?= |$)", lambda m: PLACEHOLDERS[m[0]], command.words)
        self.provide(words)
        begin = time.monotonic()
        done = self.shell(words)
        self.ran += 1
        print(f"{self.page}:{command.line}: {time.monotonic() - begin:.1f} s: {command.words}", flush=True)
        if command.shown and command.shown[0].startswith("error: "):
            missing = [line for line in command.shown if line not in done.stderr.splitlines() and line != "..."]
            if done.returncode == 0 or missing:
                self.fail(command.line, f"ended with {done.returncode} and without {missing}", done.stderr)
        elif done.returncode != 0:
            self.fail(command.line, f"ended with {done.returncode}", done.stdout[-2000:] + done.stderr[-4000:])

    def write_data(self, block, later):
        """A whole document under its own name, or the one that the prose or a later command has for it."""
        if "..." in block.text:
            return
        if block.language == "toml":
            name = tomllib.loads(block.text).get("name")
            name = f"{name}.toml" if name else None
        else:
            json.loads(block.text)
            name = next(iter(re.findall(r"[\w.-]+\.json", " ".join([*block.prose.splitlines()[-3:], *later]))), None)
        if name:
            (self.folder / "work" / name).write_text(block.text, encoding="utf-8")

    def run_python(self):
        """All of them as one script, each with the line numbers of the page."""
        blocks = [b for b in self.blocks if b.language == "python" and not self.exempt_code(b)]
        if not blocks:
            return
        script = self.folder / "blocks.py"
        script.write_text(
            "import ast\nnames = {'__name__': '__main__'}\n"
            + "".join(
                f"tree = ast.parse({b.text!r}, {str(self.page)!r})\nast.increment_lineno(tree, {b.line})\n"
                f"exec(compile(tree, {str(self.page)!r}, 'exec'), names)\n"
                for b in blocks
            ),
            encoding="utf-8",
        )
        for block in blocks:
            self.provide(block.text.replace('"', " "))
        done = self.shell(f"python {shlex.quote(str(script))}")
        self.ran += len(blocks)
        print(f"{self.page}: {len(blocks)} blocks of Python", flush=True)
        if done.returncode != 0:
            self.fail(blocks[0].line, "the blocks of Python fail", done.stdout[-1000:] + done.stderr[-3000:])

    def exempt_code(self, block):
        first = block.text.strip().splitlines()[0]
        exemption = exemption_of(first, self.exemptions)
        if exemption:
            print(f"{self.page}:{block.line}: not run: {first}\n    {exemption.reason}")
        return exemption is not None

    def run(self, only=""):
        for at, block in enumerate(self.blocks):
            if block.language in ("toml", "json"):
                self.write_data(block, [c.words for b in self.blocks[at + 1 :] for c in commands_of(b)])
            if block.language in ("sh", "console"):
                for command in commands_of(block):
                    if only in command.words:
                        self.run_command(command)
        self.run_python()
        print(f"{self.page}: {self.ran} commands and blocks ran, {len(self.failures)} failed")
        return not self.failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--only", default="", help="commands that contain this")
    parser.add_argument("--keep", action="store_true", help="leave the folder, and say where it is")
    arguments = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tessera-page-"))
    try:
        return 0 if Page(arguments.page, arguments.build.resolve(), folder).run(arguments.only) else 1
    finally:
        if arguments.keep:
            print(folder)
        else:
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
