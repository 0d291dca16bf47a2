#include "peer.h"
#include "python_program.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/temporary_directory.h"
#include "tessera/io/npz.h"

#include <nlohmann/json.hpp>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// Exit statuses of the script: what could not be imported.
constexpr int kNoNumpy = 11, kNoOnnxRuntime = 12, kNoOnnx = 13;

// Takes request.json: {"model", "inputs": [names], "intermediates", "threads"}; arrays are members 0, 1, ... of
// inputs.npz beside it. Leaves outputs.npz and result.json: {"outputs": [names], "version"}. Exit statuses beyond 1 say
// which package is missing, see above.
constexpr const char* kOnnxRuntimeScript = R"python(
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
    "A copy of the model with every intermediate value as an output, and the names of those values."
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
            sys.exit(f"input '{name}' is bfloat16, which NumPy cannot pass to ONNX Runtime")
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

std::string last_lines(std::string text, int count) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::size_t at = text.size();
  for (int i = 0; i < count && at != std::string::npos && at > 0; ++i) at = text.rfind('\n', at - 1);
  return at == std::string::npos || at == 0 ? text : text.substr(at + 1);
}

void check_status(int status, const std::string& python, const std::string& said) {
  if (status == 0) return;
  const char* package = status == kNoNumpy         ? "numpy"
                        : status == kNoOnnxRuntime ? "onnxruntime"
                        : status == kNoOnnx        ? "onnx"
                                                   : nullptr;
  const std::string why = status == kNoOnnx ? ", which --bisect needs" : "";
  if (package != nullptr)
    fail(Code::not_found,
         Hint{fmt::format("`{} -m pip install {}`, or name another interpreter with --python or TESSERA_PYTHON", python,
                          status == kNoOnnx ? "onnx" : "onnxruntime")},
         "the Python interpreter '{}' has no {}{}: {}", python, package, why, last_lines(said, 1));
  fail(Code::io, "ONNX Runtime in '{}' ended with status {}:\n{}", python, status, last_lines(said, 5));
}

}  // namespace

PeerResult run_onnxruntime(const PeerRequest& request) {
  const TemporaryDirectory directory;
  const fs::path& folder = directory.path();
  nlohmann::json asked = {{"model", fs::absolute(request.model).string()},
                          {"inputs", nlohmann::json::array()},
                          {"intermediates", request.intermediates},
                          {"threads", request.threads}};
  std::vector<std::pair<std::string, NpyView>> arrays;
  for (const auto& [name, array] : request.inputs) {
    asked["inputs"].push_back(name);
    arrays.emplace_back(std::to_string(arrays.size()), NpyView(array->type(), array->shape().dims(), array->bytes()));
  }
  save_npz(folder / "inputs.npz", arrays);
  write_file_atomically(folder / "request.json", asked.dump());
  write_file_atomically(folder / "run.py", std::string_view(kOnnxRuntimeScript));

  const std::string python = python_interpreter(request.python);
  const int status = run_python({python, (folder / "run.py").string(), folder.string()}, "onnxruntime",
                                ProgramOutput{folder / "out", folder / "err"});
  check_status(status, python, read_text_file(folder / "err"));

  PeerResult result;
  const nlohmann::json told = nlohmann::json::parse(read_text_file(folder / "result.json"));
  result.version = told["version"].get<std::string>();
  for (auto& [key, array] : load_npz(folder / "outputs.npz"))
    result.values.emplace(told["outputs"].at(static_cast<std::size_t>(std::stoul(key))).get<std::string>(),
                          Array(array.type, Shape(array.shape), std::move(array.data)));
  return result;
}

}  // namespace tessera::cli
