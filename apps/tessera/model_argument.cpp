#include "model_argument.h"

#include "arguments.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/graph/ops/control_flow.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/graph/rebatch.h"
#include "tessera/io/named_networks.h"
#include "tessera/io/npy.h"
#include "tessera/io/npz.h"
#include "tessera/io/onnx/import.h"
#include "tessera/io/plan_document.h"
#include "tessera/io/plan_file.h"
#include "tessera/io/samples.h"
#include "tessera/kernel_plan/planning_stages.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

Array to_array(NpyArray array) { return Array(array.type, Shape(array.shape), std::move(array.data)); }

// name=x.npy words, and .npz files whose members have the names of inputs: what `npy` and `npz` make of the files.
template <class T, class Npy, class Npz>
std::map<std::string, T> read_inputs(const std::vector<std::string>& words, const Npy& npy, const Npz& npz) {
  std::map<std::string, T> inputs;
  for (const std::string& word : words) {
    const std::size_t at = word.rfind('=');
    if (at != std::string::npos && !fs::exists(word)) {
      inputs.insert_or_assign(word.substr(0, at), npy(word.substr(at + 1)));
      continue;
    }
    check(word.ends_with(".npz"), Code::invalid_argument,
          "--input '{}' must be NAME=FILE.npy, FILE.npz, or a picture for `tessera run`", word);
    for (auto& [name, input] : npz(word)) inputs.insert_or_assign(name, std::move(input));
  }
  return inputs;
}

std::map<std::string, NpyType> input_types(const std::vector<std::string>& words) {
  return read_inputs<NpyType>(
      words, [](const std::string& file) { return load_npy_type(file); },
      [](const std::string& file) { return load_npz_types(file); });
}

std::map<std::string, NpyArray> load_inputs(const std::vector<std::string>& words) {
  return read_inputs<NpyArray>(
      words, [](const std::string& file) { return load_npy(file); },
      [](const std::string& file) { return load_npz(file); });
}

// Files that do not fit are refused by what they say, before any of their data are unpacked.
void check_inputs(const Graph& graph, const std::map<std::string, NpyType>& given) {
  for (const auto& [name, file] : given) {
    const TensorType& type = graph.value(graph.inputs[graph.input_position(name)]).type;
    bool fits = type.type == file.type && (!type.dims || type.dims->size() == file.shape.size());
    for (std::size_t i = 0; fits && type.dims && i < file.shape.size(); ++i)
      fits = (*type.dims)[i] == TensorType::kUnknown || (*type.dims)[i] == file.shape[i];
    check(fits, Code::invalid_argument, "input '{}' must be {}, not {}", name, type.to_string(),
          TensorType(file.type, file.shape).to_string());
  }
}

// The first extent of every input, where it is open and nothing else was said.
void set_batch(Graph& graph, std::int64_t batch) {
  bool taken = false;
  std::string fixed;
  for (const ValueId id : graph.inputs) {
    TensorType& type = graph.value(id).type;
    if (!type.dims || type.dims->empty()) continue;
    if (type.dims->front() == TensorType::kUnknown) type.dims->front() = batch;
    taken = taken || type.dims->front() == batch;
    if (!taken && fixed.empty()) fixed = fmt::format("'{}' is {}", graph.value(id).name, type.to_string());
  }
  check(taken, Code::invalid_argument,
        Hint{fmt::format("use --rebatch {} to change it, or export the model with an open batch", batch)},
        "the model fixes its batch, which cannot be {}{}", batch, fixed.empty() ? "" : ": " + fixed);
}

Graph load_graph(const ModelArgument& argument, const std::map<std::string, NpyType>& given,
                 std::span<const std::byte> file, const fs::path& folder) {
  if (file.empty() && means_named_network(argument.model)) {
    check(argument.shapes.empty() && argument.dimensions.empty() && argument.rebatch == 0, Code::invalid_argument,
          "the shapes of zoo networks are fixed; --batch changes the batch");
    return make_named_network(argument.model, std::max<std::int64_t>(1, argument.batch));
  }
  if (const std::optional<ConvBlock> layer = find_layer(argument.model)) {
    check(argument.shapes.empty() && argument.dimensions.empty() && argument.batch == 0 && argument.rebatch == 0,
          Code::invalid_argument, "the shapes of a layer come from its file");
    return make_layer(*layer);
  }
  check(!is_layer_file(argument.model), Code::invalid_argument,
        Hint{"FILE.txt:NAME takes one of its layers; `tessera bench` takes all of them"}, "{} is a file of layers",
        argument.model);
  if (file.empty() && !fs::exists(argument.model)) {
    const std::vector<std::string> names = network_names();
    fail(Code::not_found, "there is neither a file nor a network called '{}'{} (there are {})", argument.model,
         did_you_mean(argument.model, names), fmt::join(names, ", "));
  }
  check(!looks_like_plan(argument.model), Code::invalid_argument,
        Hint{"plans for cards are accepted by run, simulate, explain, and plan --check"},
        "{} is a JSON file (perhaps a plan), not a network", argument.model);
  ImportOptions options = parse_import_options(argument.shapes, argument.dimensions);
  for (const auto& [name, file_type] : given) options.shapes[name] = file_type.shape;
  Graph graph = file.empty() ? import_onnx(argument.model, options) : import_onnx_bytes(file, folder, options);
  if (argument.batch > 0) set_batch(graph, argument.batch);
  if (argument.rebatch > 0) rebatch(graph, argument.rebatch);
  return graph;
}

}  // namespace

Graph load_graph(const ModelArgument& argument, std::span<const std::byte> file, const fs::path& folder) {
  return load_graph(argument, {}, file, folder);
}

void add_network_argument(CLI::App& command, ModelArgument& argument) {
  command
      .add_option("model", argument.model,
                  "An .onnx file, a network of the zoo (resnet50, unet, ...), or a layer (FILE.txt:NAME)")
      ->required()
      ->type_name("MODEL");
  command.add_option("--shape", argument.shapes, "The shape of an input: NAME:1x3x224x224")
      ->expected(1)
      ->take_all()
      ->type_name("SHAPE");
  command.add_option("--dim", argument.dimensions, "The value of a named dimension: batch=8")
      ->expected(1)
      ->take_all()
      ->type_name("NAME=N");
  command.add_option("--batch", argument.batch, "The batch size, if the model leaves it open")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->type_name("N");
  command.add_option("--rebatch", argument.rebatch, "A new batch size for a model that was saved with a fixed one")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
      ->excludes("--batch")
      ->type_name("N");
  command.add_option("--seed", argument.seed, "Seed of the random inputs")
      ->check(seed_number())
      ->default_str("0")
      ->type_name("N");
}

void add_model_argument(CLI::App& command, ModelArgument& argument) {
  add_network_argument(command, argument);
  command
      .add_option(
          "--input", argument.inputs,
          "NAME=FILE.npy for one input, or FILE.npz for several; inputs not given are random. `tessera run` takes "
          "pictures (PNG, JPEG), folders of them, and videos")
      ->expected(1)
      ->take_all()
      ->type_name("INPUT");
}

Model load_model(const ModelArgument& argument) {
  const std::map<std::string, NpyType> types = input_types(argument.inputs);
  Model model{fs::path(argument.model).stem().string(), load_graph(argument, types, {}, {}), {}};
  check_inputs(model.graph, types);
  std::map<std::string, NpyArray> given = load_inputs(argument.inputs);
  if (const std::optional<ConvBlock> layer = find_layer(argument.model)) model.name = layer->name;
  for (std::size_t i = 0; i < model.graph.inputs.size(); ++i) {
    const Value& value = model.graph.value(model.graph.inputs[i]);
    if (const auto found = given.find(value.name); found != given.end()) {
      model.inputs.push_back(to_array(std::move(found->second)));
      given.erase(found);
      continue;
    }
    check(value.type.is_static(), Code::invalid_argument,
          Hint{fmt::format("--shape {}:1x3x224x224, --dim NAME=1, --batch 1 or --input {}=x.npy", value.name,
                           value.name)},
          "input '{}' is {}: which shape shall it have?", value.name, value.type.to_string());
    model.inputs.push_back(random_array(value.type, argument.seed + i));
  }
  return model;
}

void add_session_argument(CLI::App& command, SessionArgument& argument) {
  command.add_option("--threads", argument.threads, "Number of threads; default: all cores that this process may use")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command
      .add_option("--isa", argument.isa,
                  "At most this instruction set: portable, avx2, avx512, avx512_vnni, avx512_bf16, amx")
      ->type_name("ISA");
  command
      .add_option("--dtype", argument.dtype,
                  "Type in which values and weights are stored; sums are float32. The default on a GPU is f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}))
      ->default_str("f32");
  command
      .add_option("--weights", argument.weights,
                  "Type in which weights of convolutions and matmuls are stored; values and arithmetic stay float32")
      ->check(CLI::IsMember({"float32", "bfloat16", "bfloat8_b", "bfloat4_b"}))
      ->default_str("float32");
  command.add_flag(
      "--exact", argument.exact,
      "Use no kernel that rounds more than the operator's definition (Winograd), and keep subnormal weights");
  std::vector<std::string_view> names;
  for (const Pass& pass : all_passes()) names.push_back(pass.name);
  for (const PlanningStage& stage : planning_stages()) names.push_back(stage.name);
  command
      .add_option("--without-pass", argument.passes_off,
                  fmt::format("Leave an optimisation out: {}", fmt::join(names, ", ")))
      ->expected(1)
      ->take_all()
      ->type_name("PASS");
  command.add_option("--without-kernel", argument.kernels_off, "Do not use this kernel (see `tessera kernels`)")
      ->expected(1)
      ->take_all()
      ->type_name("KERNEL");
  command
      .add_option("--memory-limit", argument.memory_limit_bytes,
                  "Limit for the memory that values of a run take, loops included: 64MiB, 1GB; default: 7/8 of the "
                  "memory of the machine or its cgroup")
      ->transform(CLI::AsSizeValue(false))
      ->type_name("BYTES");
  command.add_option("--plan", argument.plan, "Use the kernels of this plan file (from `tessera plan`)")
      ->type_name("FILE");
}

void add_loop_limit(CLI::App& command) {
  command
      .add_option_function<std::int64_t>(
          "--loop-limit", [](std::int64_t iterations) { loop_limits().iterations = iterations; },
          "Limit for the iterations of all loops of a run together")
      ->check(whole_number(1))
      ->type_name("N")
      ->default_str(fmt::format("{}", LoopLimits{}.iterations));
}

SessionOptions session_options(const SessionArgument& argument) {
  SessionOptions options;
  options.threads = argument.threads;
  if (!argument.isa.empty()) {
    options.isa = parse_isa(argument.isa);
    check(options.isa.has_value(), Code::invalid_argument, "there is no instruction set '{}'", argument.isa);
    check(*options.isa <= host_isa(), Code::unsupported, "this CPU has {} at most, not {}", name(host_isa()),
          argument.isa);
  }
  if (argument.dtype == "bf16") options.storage = ElementType::bfloat16;
  if (argument.dtype == "f16") options.storage = ElementType::float16;
  options.weights = *parse_dtype(argument.weights);
  options.exact = argument.exact;
  options.passes_off = argument.passes_off;
  options.kernels_off = argument.kernels_off;
  if (argument.memory_limit_bytes > 0) options.memory_limit_bytes = argument.memory_limit_bytes;
  if (!argument.plan.empty()) {
    PlanFile plan = load_plan_file(argument.plan);
    options.kernels = std::move(plan.kernels);
    options.kernels_are_for = std::move(plan.network_digest);
  }
  return options;
}

}  // namespace tessera::cli
