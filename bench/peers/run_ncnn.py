"""ncnn: Winograd, sgemm and packing on. It takes one image at a time: a batch is a loop. pnnx translates models."""

import hashlib
import importlib.util
import os
import pathlib
import subprocess

import ncnn
import numpy
import onnx

VERSION = f"ncnn {ncnn.__version__}"


def one_image(model):
    """The model for a batch of 1, as bytes."""
    graph = model.graph
    graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    del graph.value_info[:]
    for output in graph.output:
        output.type.tensor_type.shape.dim[0].dim_value = 1
    for node in graph.node:  # pnnx does not know what is meant where the mode is left out
        if node.op_type == "Resize" and all(a.name != "mode" for a in node.attribute):
            node.attribute.append(onnx.helper.make_attribute("mode", "nearest"))
    return model.SerializeToString()


def translated(path, image):
    """The stem of X.ncnn.param and X.ncnn.bin, made once for each content of the model."""
    model = one_image(onnx.load(path))
    folder = pathlib.Path(path).parent / "ncnn"
    stem = folder / hashlib.sha256(model).hexdigest()[:24]
    if not pathlib.Path(f"{stem}.ncnn.bin").exists():
        folder.mkdir(exist_ok=True)
        source = stem.with_suffix(".onnx")
        source.write_bytes(model)
        # Importing the package would import torch; the program does not need it.
        package = importlib.util.find_spec("pnnx")
        if package is None:
            raise ModuleNotFoundError("No module named 'pnnx', which translates models for it")
        program = pathlib.Path(package.origin).parent / "pnnx"
        shape = "inputshape=[" + ",".join(str(extent) for extent in image) + "]"
        subprocess.run([program, source.name, shape, "fp16=0"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for path in folder.glob(f"{stem.name}*"):
            if not path.name.endswith((".ncnn.param", ".ncnn.bin")):
                os.remove(path)
    return stem


def load(model, x, dtype, threads):
    stem = translated(model, (1, *x.shape[1:]))
    net = ncnn.Net()
    options = net.opt
    options.num_threads = threads
    options.use_vulkan_compute = False
    options.use_winograd_convolution = options.use_sgemm_convolution = options.use_packing_layout = True
    options.use_fp16_packed = options.use_fp16_storage = options.use_fp16_arithmetic = False
    options.use_bf16_storage = dtype == "bf16"
    if net.load_param(f"{stem}.ncnn.param") != 0 or net.load_model(f"{stem}.ncnn.bin") != 0:
        raise RuntimeError("it cannot read what pnnx made of the model")
    images = [ncnn.Mat(image) for image in x]
    names = list(net.output_names())

    def run():
        outputs = [[] for _ in names]
        for image in images:
            extractor = net.create_extractor()
            extractor.input("in0", image)
            for name, mats in zip(names, outputs):
                status, mat = extractor.extract(name)
                if status != 0:
                    raise RuntimeError(f"extracting '{name}' gives {status}")
                mats.append(mat)
        return outputs

    run.alive = (net, x)  # extractors and images point into them
    return run


def arrays(outputs):
    return [numpy.stack([numpy.array(mat) for mat in mats]) for mats in outputs]
