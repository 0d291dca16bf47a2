#include "peer.h"

namespace tessera::cli {

// Takes request.json: {"model", "inputs": [names], "intermediates", "threads"}; arrays are members 0, 1, ... of
// inputs.npz beside it. Leaves outputs.npz and result.json: {"outputs": [names], "version"}. Exit statuses beyond 1 say
// which package is missing, see peer.cpp.
const char* const kOnnxRuntimeScript = R"python(
import json
import pathlib
import sys


def require(package, status):
    try:
        return __import__(package)
    except ImportError as error:
        print(f"{package}: {error}", file=sys.stderr)
        sys.exit(status)


def with_intermediates(model_path, folder):
    """A copy of the model that gives every value its nodes make; the names of those values."""
    onnx = require("onnx", 13)
    model = onnx.load(model_path)
    given = {output.name for output in model.graph.output}
    names = [name for node in model.graph.node for name in node.output if name]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in given)
    copy = folder / "intermediates.onnx"
    onnx.save(model, copy, save_as_external_data=model.ByteSize() > 1_500_000_000, location="intermediates.bin")
    return copy


def main():
    numpy = require("numpy", 11)
    onnxruntime = require("onnxruntime", 12)
    folder = pathlib.Path(sys.argv[1])
    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    arrays = numpy.load(folder / "inputs.npz")
    feed = {}
    for i, name in enumerate(request["inputs"]):
        feed[name] = arrays[str(i)]
        if feed[name].dtype.kind == "V":
            sys.exit(f"input '{name}' is bfloat16, which cannot be handed to ONNX Runtime through NumPy")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    if request["threads"] > 0:
        options.intra_op_num_threads = request["threads"]
    model = request["model"]
    if request["intermediates"]:
        model = with_intermediates(model, folder)
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    values = session.run(names, feed)
    kept = [(name, value) for name, value in zip(names, values) if isinstance(value, numpy.ndarray)]
    kept = [(name, value) for name, value in kept if value.dtype.kind in "biuf"]
    numpy.savez(folder / "outputs.npz", **{str(i): value for i, (_, value) in enumerate(kept)})
    result = {"outputs": [name for name, _ in kept], "version": "onnxruntime " + onnxruntime.__version__}
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")


main()
)python";

}  // namespace tessera::cli
