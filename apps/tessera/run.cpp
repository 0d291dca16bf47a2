// tessera run: an ONNX model on this machine, through the reference.

#include "command.h"
#include "shape_argument.h"

#include "tessera/graph/evaluate.h"
#include "tessera/io/npy.h"
#include "tessera/io/npz.h"
#include "tessera/io/onnx/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::string model, output;
  std::vector<std::string> inputs, shapes, dimensions;
  std::uint64_t seed = 0;
};

Array to_array(NpyArray array) { return Array(array.type, Shape(array.shape), std::move(array.data)); }

// name=x.npy words, and .npz files whose members have the names of inputs.
std::map<std::string, Array> load_inputs(const std::vector<std::string>& words) {
  std::map<std::string, Array> arrays;
  for (const std::string& word : words) {
    const std::size_t at = word.rfind('=');
    if (at != std::string::npos && !fs::exists(word)) {
      arrays.insert_or_assign(word.substr(0, at), to_array(load_npy(word.substr(at + 1))));
      continue;
    }
    check(word.ends_with(".npz"), Code::invalid_argument, "--input '{}' is neither NAME=FILE.npy nor FILE.npz", word);
    for (auto& [name, array] : load_npz(word)) arrays.insert_or_assign(name, to_array(std::move(array)));
  }
  return arrays;
}

// Normal numbers for floating types, 0 and 1 for the others: valid wherever indices are.
Array random_array(const TensorType& type, std::mt19937_64& random) {
  Array out(type.type, type.shape());
  std::normal_distribution<float> normal;
  visit_element_type(type.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& value : out.as<T>()) {
      if constexpr (is_floating_v<T>)
        value = T(normal(random));
      else
        value = static_cast<T>(random() & 1);
    }
  });
  return out;
}

std::string file_name(const std::string& name) {
  std::string out = name;
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '-' && c != '.'; },
      '_');
  return out + ".npy";
}

void run_model(const RunOptions& options, const Context& context) {
  ImportOptions import_options = parse_import_options(options.shapes, options.dimensions);
  std::map<std::string, Array> given = load_inputs(options.inputs);
  for (const auto& [name, array] : given) import_options.shapes[name] = array.shape().dims();
  const Graph graph = import_onnx(options.model, import_options);

  std::mt19937_64 random(options.seed);
  std::vector<Array> inputs;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    const auto found = given.find(value.name);
    if (found != given.end()) {
      inputs.push_back(std::move(found->second));
      continue;
    }
    check(value.type.is_static(), Code::invalid_argument,
          Hint{fmt::format("--shape {}:1x3x224x224, --dim NAME=1 or --input {}=x.npy", value.name, value.name)},
          "input '{}' is {}: which shape shall it have?", value.name, value.type.to_string());
    inputs.push_back(random_array(value.type, random));
  }
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Array> outputs = evaluate(graph, inputs);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  Table table({{.name = "output"},
               {.name = "type"},
               {.name = "shape"},
               {.name = "min", .align = Align::right},
               {.name = "mean", .align = Align::right},
               {.name = "max", .align = Align::right},
               {.name = "file"}});
  if (!options.output.empty()) fs::create_directories(options.output);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = graph.value(graph.outputs[i]).name;
    std::string file;
    if (!options.output.empty()) {
      file = (fs::path(options.output) / file_name(name)).string();
      save_npy(file, NpyView(outputs[i].type(), outputs[i].shape().dims(), outputs[i].bytes()));
    }
    const std::vector<double> values = outputs[i].to_double();
    double sum = 0;
    for (const double value : values) sum += value;
    const auto figure = [&](double value) {
      return values.empty() ? Cell() : Cell(value, fmt::format("{:.6g}", value));
    };
    table.add_row({name, tessera::name(outputs[i].type()), outputs[i].shape().to_string(),
                   figure(values.empty() ? 0 : *std::min_element(values.begin(), values.end())),
                   figure(sum / static_cast<double>(std::max<std::size_t>(values.size(), 1))),
                   figure(values.empty() ? 0 : *std::max_element(values.begin(), values.end())),
                   file.empty() ? Cell() : Cell(file)});
  }
  context.print(table);
  if (!context.quiet && context.format == Format::table)
    context.print(fmt::format("\nreference (plain loops), {:.3g} s\n", seconds));
}

}  // namespace

void add_run(CLI::App& app, const Context& context) {
  CLI::App* run = app.add_subcommand("run", "Run an ONNX model through the reference: plain loops, exact and slow");
  auto options = std::make_shared<RunOptions>();
  run->add_option("model", options->model, "An .onnx file")->required()->type_name("MODEL");
  run->add_option("--input", options->inputs, "NAME=FILE.npy for one input, or FILE.npz for all; the others are random")
      ->expected(1)
      ->take_all()
      ->type_name("INPUT");
  run->add_option("--output", options->output, "Write one .npy for each output, under its name")->type_name("DIR");
  run->add_option("--shape", options->shapes, "The shape of an input: NAME:1x3x224x224")
      ->expected(1)
      ->take_all()
      ->type_name("SHAPE");
  run->add_option("--dim", options->dimensions, "The value of a named extent: batch=8")
      ->expected(1)
      ->take_all()
      ->type_name("NAME=N");
  run->add_option("--seed", options->seed, "Of the random inputs")->default_str("0")->type_name("N");
  run->callback([options, &context] { run_model(*options, context); });
}

}  // namespace tessera::cli
