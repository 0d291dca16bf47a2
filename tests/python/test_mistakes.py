"""Mistaken command lines, made from the command's own tables of options: each is refused with a text that names the
mistake and what to do, and none is taken for something else."""

import os
import pathlib
import re
import subprocess

import pytest

COMMAND = pathlib.Path(os.environ.get("TESSERA_BUILD_DIR", pathlib.Path(__file__).parents[2] / "build")) / "tessera"

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason=f"{COMMAND} has not been built")


def tessera(*words, folder=None):
    return subprocess.run(
        [COMMAND, *map(str, words)], capture_output=True, text=True, timeout=60, cwd=folder, errors="replace",
        env={**os.environ, "TESSERA_PYTHON": "/nonexistent/python"},
    )  # fmt: skip


def subcommands(path=()):
    """Every command that takes no further one, as tuples of words."""
    text = tessera(*path, "--help").stdout
    names = re.findall(r"^  ([a-z][\w-]*) ", text.partition("\nSubcommands:")[2], re.MULTILINE)
    if not names:
        return [path]
    return [leaf for name in names for leaf in subcommands((*path, name))]




def options(path):
    """Long names of a command's options, each with what it takes."""
    out = {}
    text = tessera(*path, "--help").stdout.partition("\nOptions:")[2].partition("\nSubcommands:")[0]
    for line in text.splitlines():
        found = re.match(r"  (?:-\w,)?(--[\w-]+)(?: (\S.*?))?(?:  |$)", line)
        if found and found.group(1) not in ("--help", "--version"):
            out[found.group(1)] = found.group(2) or ""
    return out


# What each command needs before the mistake can be seen.
OPERANDS = {
    "run": ["resnet18"], "bench": ["resnet18"], "profile": ["resnet18"], "plan": ["resnet18"], "simulate": ["resnet18"],
    "explain": ["resnet18", "conv1"], "compare": ["resnet18"], "export": ["resnet18", "out.onnx"],
    "import": ["missing.onnx"], "test-onnx": ["missing"],
}  # fmt: skip


def operands(path):
    return OPERANDS.get(path[0], []) if len(path) == 1 else []


LEAVES = subcommands() if COMMAND.exists() else []


def swapped(word):
    """A slip of the fingers: two letters in the middle change places, or one is missing."""
    at = len(word) // 2
    slip = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return slip if slip != word else word[:at] + word[at + 1 :]


def each_option():
    """(command, name, what it takes): a name that several commands share once, by the command whose turn it is."""
    seen = {}
    for path in LEAVES:
        for name, takes in options(path).items():
            seen.setdefault((name, takes), []).append(path)
    for number, ((name, takes), paths) in enumerate(seen.items()):
        yield paths[number % len(paths)], name, takes


OPTIONS = list(each_option())


def misspelt():
    for path, name, _ in OPTIONS:
        yield pytest.param([*path, *operands(path), swapped(name)], name, id=" ".join([*path, name]))


def without_value():
    for path, name, takes in OPTIONS:
        if takes and not takes.startswith(("Excludes", "Needs", "REQUIRED")):
            yield pytest.param([*path, *operands(path), name], name, id=" ".join([*path, name]))


def wrong_value():
    """Numbers out of range or no numbers at all, and words that are none of those listed."""
    for path, name, takes in OPTIONS:
        word = "abc" if re.search(r"INT|UINT|FLOAT|NUMBER|\[.* - .*\]", takes) else None
        if re.search(r"\{[^}]*\}", takes):
            word = "no-such-word"
        if word:
            yield pytest.param([*path, *operands(path), name, word], name, word, id=" ".join([*path, name]))


def check(done, *named):
    assert done.returncode in (1, 2), (done.returncode, done.stdout, done.stderr)
    assert "bug in tessera" not in done.stderr
    first = done.stderr.strip().splitlines()[0] if done.stderr.strip() else ""
    assert first.startswith("error: "), done.stderr
    assert any(word in done.stderr for word in named), (named, done.stderr)


@pytest.mark.parametrize("words, meant", list(misspelt()))
def test_misspelt_options_are_told_the_right_one(words, meant):
    done = tessera(*words)
    check(done, words[-1])
    assert "did you mean" in done.stderr or "--help" in done.stderr


@pytest.mark.parametrize("words, name", list(without_value()))
def test_options_without_their_value_are_refused(words, name):
    check(tessera(*words), name)


@pytest.mark.parametrize("words, name, word", list(wrong_value()))
def test_values_that_cannot_be_are_refused(words, name, word):
    check(tessera(*words), name, word)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "text.onnx").write_text("this is no model\n")
    (folder / "folder.onnx").mkdir()
    (folder / "plan.json").write_text('{"kind": "something else"}')
    (folder / "three.txt").write_text("cat\ndog\nbird\n")
    (folder / "image.npy").write_bytes(b"\x93NUMPY\x01\x00")
    (folder / "locked").mkdir()
    done = tessera("export", "mobilenet_v2", folder / "m.onnx")
    assert done.returncode == 0, done.stderr
    done = tessera("plan", "resnet18", "-o", folder / "resnet18.json")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("file", ["missing.onnx", "empty.onnx", "text.onnx", "folder.onnx", "three.txt", "plan.json"])
@pytest.mark.parametrize("command", ["run", "bench", "profile", "plan", "simulate", "compare", "import"])
def test_files_that_are_no_model_are_refused_by_name(files, command, file):
    words = ["--device", "wormhole_n150"] if command == "simulate" else ["--check"] if command == "import" else []
    done = tessera(command, file, *words, folder=files)
    check(done, file)


# The mistake, and a word that the answer has to name.
WITHOUT_EFFECT = [
    (["run", "m.onnx", "--batch", "4"], "--rebatch 4"),
    (["run", "m.onnx", "--dim", "batch=4"], "batch"),
    (["run", "resnet18", "--shape", "x:1x3x224x224"], "zoo"),
    (["run", "m.onnx", "--shape", "nope:1x3x224x224"], "nope"),
    (["run", "resnet18", "--without-kernel", "winograd"], "winograd"),
    (["run", "resnet18", "--without-pass", "fuse_chain"], "fuse_chains"),
    (["run", "resnet18", "--labels", "three.txt"], "3 classes"),
    (["run", "unet", "--labels", "three.txt"], "--labels"),
    (["--format", "json", "run", "resnet18", "--labels", "three.txt"], "--labels"),
    (["run", "resnet18", "--network", "resnet50"], "--network"),
    (["run", "resnet18", "--device", "reference", "--dtype", "bf16"], "--dtype"),
    (["run", "resnet18", "--device", "reference", "--threads", "2"], "--threads"),
    (["run", "resnet18", "--resume"], "--output"),
    (["run", "resnet50", "--plan", "resnet18.json"], "another network"),
    (["profile", "resnet50", "--plan", "resnet18.json"], "another network"),
    (["explain", "resnet50", "conv1", "--plan", "resnet18.json"], "another network"),
    (["run", "resnet18", "--output", "three.txt"], "three.txt"),
    (["run", "resnet18", "--input", "data=image.npy"], "image.npy"),
    (["run", "resnet18", "--input", "image.npy"], "image.npy"),
    (["run", "resnet81"], "resnet18"),
    (["plan", "resnet18", "--device", "n150"], "wormhole_n150"),
    (["plan", "resnet18", "--device", "wormhole"], "wormhole_n"),
    (["plan", "resnet18", "--pin", "conv1:shard=BLOCK"], "--pin"),
    (["plan", "resnet18", "--device", "wormhole_n150", "--pin", "nope:shard=BLOCK"], "nope"),
    (["plan", "resnet18", "--device", "wormhole_n150", "--threads", "2"], "--threads"),
    (["explain", "resnet18", "no_such_node"], "no_such_node"),
    (["machines", "show", "n300"], "wormhole_n300"),
    (["kernels", "Convolution"], "Convolution"),
    (["ncp", "train", "--task", "xor", "--data", "three.txt"], "--data"),
    (["plann", "resnet18"], "plan"),
    (["ncp", "trian"], "train"),
]


@pytest.mark.parametrize("words, named", WITHOUT_EFFECT, ids=[" ".join(words) for words, _ in WITHOUT_EFFECT])
def test_options_without_effect_are_errors(files, words, named):
    before = sorted(path.name for path in files.iterdir())
    check(tessera(*words, folder=files), named)
    assert sorted(path.name for path in files.iterdir()) == before


def test_there_are_enough_of_them():
    number = len(list(misspelt())) + len(list(without_value())) + len(list(wrong_value())) + len(WITHOUT_EFFECT) + 6 * 7
    assert number >= 300
