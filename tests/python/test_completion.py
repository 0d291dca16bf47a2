"""Completion by real shells, and the manual page: both are made from the options that the parsers know."""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", ROOT / "build"))
COMMAND = BUILD / "tessera"
PROMPT = "ready> "


class Shell:
    """An interactive shell on a terminal of its own."""

    def __init__(self, words, folder, setup):
        environment = {"PATH": f"{BUILD}:/usr/bin:/bin", "HOME": str(folder), "TERM": "dumb", "PS1": "$ "}
        self.unread = ""
        self.child, self.terminal = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, environment)
        self.send(f"PS1='{PROMPT}'; stty cols 400 rows 100; {setup}; echo made-$((20 + 1))\n")
        self.wait_for("made-21")
        self.wait_for(PROMPT)

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, text, seconds=60):
        """What the shell printed up to this text and with it."""
        end = time.monotonic() + seconds
        while text not in self.unread:
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            assert ready, f"no {text!r} in {self.unread!r}"
            self.unread += os.read(self.terminal, 65536).decode(errors="replace")
        at = self.unread.index(text) + len(text)
        said, self.unread = self.unread[:at], self.unread[at:]
        return said

    def complete(self, line):
        """The line as it is after Tab, where there is one way to go on."""
        self.send(line + "\t")
        self.send("\x01echo '[\x05]'\n")  # the line becomes the word of an echo
        said = self.wait_for("]\r\n") + self.wait_for(PROMPT)
        return re.findall(r"^\[(.*?)\]\r?$", said, re.MULTILINE)[-1].rstrip()

    def list(self, line, expected):
        """What Tab lists: all that it lists once everything expected is there."""
        self.send(line + "\t")
        end = time.monotonic() + 60
        while not expected <= set(self.unread.split()):
            ready, _, _ = select.select([self.terminal], [], [], max(0, end - time.monotonic()))
            assert ready, f"not all of {expected} in {self.unread!r}"
            self.unread += os.read(self.terminal, 65536).decode(errors="replace")
        self.send("\x15echo enough-$((40 + 2))\n")  # the line is thrown away
        said = self.wait_for("enough-42")
        self.wait_for(PROMPT)
        return set(said.split())

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.child, 0)


BASH = (["bash", "--norc", "--noprofile"], "bind 'set enable-bracketed-paste off'; bind 'set show-all-if-ambiguous on'; source <(tessera completion bash)")
ZSH = (
    ["zsh", "-f"],
    "unsetopt zle_bracketed_paste prompt_sp; bindkey -e; autoload -U compinit; compinit -u; source <(tessera completion zsh)",
)


@pytest.fixture(params=["bash", "zsh"])
def shell(request, tmp_path):
    words, setup = BASH if request.param == "bash" else ZSH
    if shutil.which(words[0]) is None:
        pytest.skip(f"there is no {words[0]} here")
    (tmp_path / "picture.onnx").write_text("")
    opened = Shell(words, tmp_path, setup)
    yield opened
    opened.close()


def test_shells_complete_what_the_parser_knows(shell):
    assert shell.complete("tessera mach") == "tessera machines"
    assert shell.complete("tessera machines sh") == "tessera machines show"
    assert shell.complete("tessera run resnet18 --thr") == "tessera run resnet18 --threads"
    assert shell.complete("tessera plan --format js") == "tessera plan --format json"
    assert shell.complete("tessera --format json mach") == "tessera --format json machines"
    assert shell.complete("tessera plan x --objective end") == "tessera plan x --objective end_to_end"
    # What only the command knows, and files.
    assert shell.complete("tessera plan x --device wormhole_n1") == "tessera plan x --device wormhole_n150"
    assert shell.complete("tessera run mobile") == "tessera run mobilenet_v2"
    assert shell.complete("tessera run pict") == "tessera run picture.onnx"
    assert shell.complete("tessera machines show blackhole_p15") == "tessera machines show blackhole_p150"


def test_shells_list_commands_and_options(shell):
    shell.list("tessera ", {"completion", "doctor", "man", "plan", "run", "trainium"})
    options = shell.list("tessera plan --m", {"--max-latency", "--max-reshards", "--memory-limit", "--mesh", "--min-pcc"})
    assert "--metal-trace" not in options  # of simulate


def test_a_value_may_follow_an_equal_sign(shell):
    assert shell.complete("tessera plan --format=js") == "tessera plan --format=json"


def fish(line, folder):
    """What fish offers for a line; it answers without a terminal."""
    script = f"source (tessera completion fish | psub); complete -C '{line}'"
    environment = {"PATH": f"{BUILD}:/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(["fish", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return {offer.split("\t")[0] for offer in done.stdout.splitlines()}


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish here")
def test_fish_completes_too(tmp_path):
    (tmp_path / "picture.onnx").write_text("")
    assert fish("tessera mach", tmp_path) == {"machines"}
    assert fish("tessera machines sh", tmp_path) == {"show"}
    assert fish("tessera --format json plan --objective ", tmp_path) == {"device", "end_to_end"}
    assert fish("tessera plan x --device wormhole_n1", tmp_path) == {"wormhole_n150"}
    assert fish("tessera run pict", tmp_path) == {"picture.onnx"}
    assert "--resume" in fish("tessera run --re", tmp_path)
    assert "--resume" not in fish("tessera plan --re", tmp_path)


def test_the_script_for_fish_has_every_command():
    script = subprocess.run([COMMAND, "completion", "fish"], capture_output=True, text=True, check=True).stdout
    assert "complete -c tessera -n \"__tessera_at 'tessera ncp'\" -a train" in script
    assert "-n \"__tessera_at 'tessera run'\" -l dtype -x -a 'f32 bf16 f16'" in script


def manual():
    return subprocess.run([COMMAND, "man"], capture_output=True, text=True, check=True).stdout


def test_the_manual_has_every_command_and_option_of_help():
    page = manual().replace("\\-", "-")
    for command in ("run", "plan", "simulate", "ncp train", "machines show", "tune conv2d"):
        assert f".SS \\fBtessera {command}\\fR" in page
        shown = subprocess.run([COMMAND, *command.split(), "--help"], capture_output=True, text=True, check=True).stdout
        section = page.split(f".SS \\fBtessera {command}\\fR")[1].split(".SS")[0]
        for option in re.findall(r"^  (?:-\w,)?(--[a-z0-9-]+)", shown, re.MULTILINE):
            assert option in section or f"\\fB{option}\\fR" in page.split(".SH COMMANDS")[0], (command, option)


def test_the_manual_has_every_variable_that_the_sources_read():
    read = set()
    for folder in ("tessera", "apps"):
        for path in (ROOT / folder).rglob("*.cpp"):
            read |= set(re.findall(r'"(TESSERA_[A-Z_]+)"', path.read_text(encoding="utf-8")))
    read = {name for name in read if name not in ("TESSERA_VERSION",)}
    page = manual()
    assert read, "the sources read no variables?"
    assert [name for name in sorted(read) if f"\\fB{name}\\fR" not in page] == []


def test_the_manual_is_good_roff():
    if shutil.which("groff") is None:
        pytest.skip("there is no groff here")
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=manual(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "CONFIGURATION FILE" in re.sub(".\b", "", done.stdout)  # bold is struck twice
