#include "fuzz.h"

#include "tessera/graph/evaluate.h"
#include "tessera/io/onnx/import.h"

#include <functional>
#include <map>
#include <string>

namespace {

// Problems are values, thrown from one place: what they say, less the names and numbers in it, tells them apart.
int place_of(const tessera::ImportReport& report) {
  std::string text;
  for (const tessera::ImportProblem& problem : report.problems) {
    bool quoted = false;
    const bool known = problem.reason.find("has no operator") == std::string::npos;
    for (const char c : (known ? problem.op_type : "") + problem.reason.substr(0, 200)) {
      if (c == '\'')
        quoted = !quoted;
      else if (!quoted && (c < '0' || c > '9'))
        text += c;
    }
    if (text.size() > 300) break;
  }
  return static_cast<int>(std::hash<std::string>{}(text) & 0x3fffffff) + 1;
}

constexpr std::int64_t kMaxElements = 1 << 16;  // of one value
constexpr double kMaxFlops = 1e6;               // of one node

// Small numbers of both signs; small indices.
tessera::Array filled(const tessera::TensorType& type) {
  tessera::Array out(type.type, type.shape());
  tessera::visit_element_type(type.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    int at = 0;
    for (T& value : out.as<T>()) {
      if constexpr (tessera::is_floating_v<T>)
        value = T(0.25f * static_cast<float>(at % 17 - 8));
      else
        value = static_cast<T>(at % 3);
      ++at;
    }
  });
  return out;
}

bool small(const tessera::TensorType& type) { return type.is_static() && type.shape().volume() <= kMaxElements; }

// Runs node by node with small inputs, as far as the sizes and the work stay small. Inputs whose extents are open
// get 2.
void run_small(const tessera::Graph& graph) {
  using namespace tessera;
  std::map<ValueId, Array> made;
  for (const ValueId id : graph.inputs) {
    TensorType type = graph.value(id).type;
    if (!type.dims) type.dims = std::vector<std::int64_t>{2, 2};
    for (std::int64_t& extent : *type.dims)
      if (extent == TensorType::kUnknown) extent = 2;
    if (!small(type)) return;
    made.emplace(id, filled(type));
  }
  for (const Node& node : graph.nodes) {
    if (std::holds_alternative<If>(node.op) || std::holds_alternative<Loop>(node.op)) return;
    std::vector<const Array*> operands;
    std::vector<Known> knowns;
    std::vector<TensorType> inputs;
    for (const ValueId id : node.inputs) {
      const Array* array = id == kNoValue             ? nullptr
                           : graph.value(id).constant ? graph.value(id).constant.get()
                                                      : &made.at(id);
      operands.push_back(array);
      inputs.push_back(array == nullptr ? TensorType(ElementType::float32, Shape{0})
                                        : TensorType(array->type(), array->shape()));
      knowns.push_back({inputs.back(), array, array != nullptr});
    }
    const std::vector<TensorType> outputs = infer(node.op, knowns);
    // What depends on values alone is no larger than what it is made from.
    bool possible = true, all_static = true;
    for (const TensorType& type : outputs) {
      all_static = all_static && type.is_static();
      possible = possible && (!type.is_static() || small(type));
    }
    if (!possible || (all_static && !(work(node.op, inputs, outputs).flops <= kMaxFlops))) return;
    std::vector<Array> results = evaluate(node, operands);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      fuzz::require(i < results.size(), "every output is there");
      const TensorType found(results[i].type(), results[i].shape());
      fuzz::require(!outputs[i].is_static() || outputs[i] == found, "what comes out is what was inferred");
      if (!small(found)) return;
      if (node.outputs[i] != kNoValue) made.insert_or_assign(node.outputs[i], std::move(results[i]));
    }
  }
}

}  // namespace

int fuzz_one(std::span<const std::uint8_t> input) {
  tessera::ImportReport report;
  try {
    report = tessera::check_onnx_bytes(std::as_bytes(input));
  } catch (const tessera::Error& error) {
    return tessera::fuzz::refused(error);
  }
  for (const tessera::ImportProblem& problem : report.problems)
    tessera::fuzz::require(problem.code != tessera::Code::internal, "a problem is not our own fault");
  if (!report.problems.empty()) return place_of(report);

  tessera::Graph graph = tessera::import_onnx_bytes(std::as_bytes(input));
  std::size_t bytes = 0;
  for (const tessera::Value& value : graph.values)
    if (value.constant) bytes += value.constant->bytes().size();
  tessera::fuzz::require(bytes <= 64 * (input.size() + 1024), "no more constants than the file has");
  tessera::verify(graph);
  tessera::infer_types(graph);
  try {
    run_small(graph);
  } catch (const tessera::Error& error) {
    tessera::fuzz::require(error.code() != tessera::Code::internal, "a fault is not our own");
    return tessera::fuzz::refused(error);
  }
  return 0;
}
