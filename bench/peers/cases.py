"""What is compared: layers from files of shapes, and networks of the zoo, as ONNX files with one random input each."""

import dataclasses
import json
import pathlib
import re
import subprocess

import numpy

LAYER_FILES = ("shapes/conv3x3.txt", "shapes/conv_other.txt")
NETWORKS = ("resnet50", "resnet18", "vgg16", "unet", "mobilenet_v2", "yolo_like")
BATCHES = (1, 8)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    group: str  # what stands before the colon of a layer's name; networks_b1
    model: pathlib.Path  # an ONNX file
    input: pathlib.Path  # a .npy file
    flops: float | None  # of a layer's convolution; None for networks


def tessera(program, *arguments):
    """What the command prints as JSON."""
    command = [str(program), *map(str, arguments), "--format", "json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)["rows"]


def random_input(folder, type_text):
    """A file of random numbers for "float32[1, 3, 224, 224]"."""
    shape = [int(extent) for extent in re.findall(r"\d+", type_text.partition("[")[2])]
    path = folder / ("x_" + "x".join(map(str, shape)) + ".npy")
    if not path.exists():
        numpy.save(path, numpy.random.default_rng(0).standard_normal(shape, dtype=numpy.float32))
    return path


def layer_cases(program, files, folder, wanted):
    """The layers whose name is wanted."""
    cases = []
    for file in files:
        for row in tessera(program, "export", file, folder / pathlib.Path(file).stem):
            if wanted(row["name"]):
                group = row["name"].partition(":")[0]
                x = random_input(folder, row["shape"])
                cases.append(Case(row["name"], group, pathlib.Path(row["file"]), x, row["gflop"] * 1e9))
    return cases


def network_case(program, network, batch, folder):
    """The network of that name; it is exported again when the program has changed."""
    model, shape = folder / f"{network}_b{batch}.onnx", folder / f"{network}_b{batch}.shape"
    if not shape.exists() or shape.stat().st_mtime < pathlib.Path(program).stat().st_mtime:
        shape.write_text(tessera(program, "export", network, model, "--batch", batch)[0]["shape"])
    x = random_input(folder, shape.read_text())
    return Case(f"{network}_b{batch}", f"networks_b{batch}", model, x, None)
