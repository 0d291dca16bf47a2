"""tessera.quantize: networks of int8, here and in ONNX Runtime."""

import numpy as np
import pytest

import tessera


@pytest.fixture(scope="module")
def samples():
    random = np.random.default_rng(5)
    return [random.standard_normal((1, 3, 224, 224), dtype=np.float32) for _ in range(4)]


@pytest.fixture(scope="module")
def quantised(samples, tmp_path_factory):
    file = tmp_path_factory.mktemp("quantized") / "resnet18_int8.onnx"
    return file, tessera.quantize("resnet18", file, samples)


def test_every_layer_of_a_residual_network_is_int8(quantised):
    _, made = quantised
    assert len(made["layers"]) == 21
    assert all(layer["int8"] and layer["reason"] == "" for layer in made["layers"])
    assert made["pcc"] > 0.99
    assert made["constant_bytes"] < made["constant_bytes_before"] / 3.9


def test_the_file_runs_in_integers(quantised, samples):
    file, made = quantised
    session = tessera.Session(file)
    kernels = {step["kernel"] for step in session.profile([samples[0]], runs=1, warm_up=0)}
    assert not any("conv" in kernel and "f32" in kernel for kernel in kernels), kernels
    outputs = np.concatenate([session(x)[0] for x in samples]).ravel()
    plain = tessera.Session("resnet18")
    expected = np.concatenate([plain(x)[0] for x in samples]).ravel()
    assert np.corrcoef(outputs, expected)[0, 1] == pytest.approx(made["pcc"], abs=1e-6)


def test_onnxruntime_gives_the_same_numbers(quantised, samples):
    onnxruntime = pytest.importorskip("onnxruntime")
    file, _ = quantised
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    theirs = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    ours = tessera.Session(file)
    for x in samples[:2]:
        expected = theirs.run(None, {theirs.get_inputs()[0].name: x})[0]
        found = ours(x)[0]
        # A step of the output's scale, where float's rounding decides between two; tens of layers add up to a few.
        step = np.min(np.diff(np.unique(expected)))
        assert np.abs(found - expected).max() <= 4.01 * step


def test_layers_are_left_out_by_name_and_for_accuracy(samples, tmp_path):
    made = tessera.quantize("resnet18", tmp_path / "a.onnx", samples[:1], exclude=["Gemm"])
    assert [layer["op"] for layer in made["layers"] if not layer["int8"]] == ["Gemm"]
    made = tessera.quantize("resnet18", tmp_path / "b.onnx", samples[:1], method="min-max", min_pcc=0.9999)
    assert made["pcc"] >= 0.9999
    left_out = [layer for layer in made["layers"] if not layer["int8"]]
    assert 0 < len(left_out) < 21
    kept = [layer for layer in made["layers"] if layer["int8"]]
    assert max(layer["pcc_alone"] for layer in left_out) <= min(layer["pcc_alone"] for layer in kept)


def test_samples_are_arrays_lists_or_dicts(tmp_path):
    digits = tessera.Session("digits")
    (port,) = digits.inputs
    x = np.random.default_rng(1).random([extent or 1 for extent in port.shape], dtype=np.float32)
    results = [tessera.quantize("digits", tmp_path / "d.onnx", [sample]) for sample in (x, [x], {port.name: x})]
    assert results[0] == results[1] == results[2]


def test_mistakes_are_explained(samples, tmp_path):
    file = tmp_path / "none.onnx"
    with pytest.raises(tessera.Error, match="method is 'min-max', 'percentile', 'entropy' or 'mse', not 'best'"):
        tessera.quantize("resnet18", file, samples, method="best")
    with pytest.raises(tessera.Error, match="there are no samples"):
        tessera.quantize("resnet18", file, [])
    with pytest.raises(tessera.Error, match="a sample has 2 inputs, and the network takes 1"):
        tessera.quantize("resnet18", file, [[samples[0], samples[0]]])
    with pytest.raises(tessera.Error, match="a sample has no input"):
        tessera.quantize("resnet18", file, [{"y": samples[0]}])
    with pytest.raises(tessera.Error, match="no node and no operator 'Conf'"):
        tessera.quantize("resnet18", file, samples, exclude=["Conf"])
    assert not file.exists()
