#include "tessera/io/onnx/internal/graph_import.h"

#include "tessera/io/onnx/internal/registry.h"
#include "tessera/io/onnx/internal/tensor.h"
#include "tessera/io/onnx/internal/value_type.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace tessera::onnx {
namespace {

std::string domain_of(const std::string& domain) { return domain == "ai.onnx" ? "" : domain; }

std::string shown(const std::string& domain) { return domain.empty() ? "ONNX" : "domain '" + domain + "'"; }

}  // namespace

Opsets read_opsets(const google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const auto& import : imports) opsets[domain_of(import.domain())] = import.version();
  return opsets;
}

std::optional<ValueId> GraphImport::find(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional<ValueId>(found->second);
}

ValueId GraphImport::add_sequence(Values elements) {
  // A long sequence that grows by one many times is many long sequences.
  model_.nodes += static_cast<std::int64_t>(elements.size());
  check(model_.nodes <= ModelImport::kMaxNodes, Code::unsupported,
        "the sequences of the model are too many or too long");
  model_.sequences.push_back(std::move(elements));
  return kFirstSequence - static_cast<ValueId>(model_.sequences.size() - 1);
}

std::string GraphImport::label(const pb::NodeProto& node) const {
  if (!node.name().empty()) return prefix_ + node.name();
  for (const std::string& output : node.output())
    if (!output.empty()) return prefix_ + output;
  return prefix_ + node.op_type();
}

void GraphImport::add_problem(const pb::NodeProto* node, Code code, std::string reason, std::string fix,
                              std::string attribute) {
  ImportProblem problem;
  problem.code = code;
  problem.reason = std::move(reason);
  problem.fix = std::move(fix);
  problem.attribute = std::move(attribute);
  if (node != nullptr) {
    problem.node = label(*node);
    problem.op_type = node->op_type();
    problem.domain = domain_of(node->domain());
    const auto opset = opsets_.find(problem.domain);
    problem.opset = opset == opsets_.end() ? 0 : opset->second;
  }
  model_.report.problems.push_back(std::move(problem));
}

void GraphImport::add_problem(const pb::NodeProto* node, const Error& error, std::string attribute) {
  add_problem(node, error.code(), error.message(), error.hint(), std::move(attribute));
}

void GraphImport::define(const std::string& name, ValueId id) {
  if (name.empty()) return;
  if (!values_.emplace(name, id).second)
    add_problem(nullptr, Code::parse, fmt::format("'{}' is made more than once", name),
                "every name may be made by one node only");
}

void GraphImport::add_inputs(const pb::GraphProto& proto, const std::vector<TensorType>* types) {
  std::unordered_set<std::string> initialised;
  for (const auto& tensor : proto.initializer()) initialised.insert(tensor.name());
  for (int i = 0; i < proto.input_size(); ++i) {
    const auto& input = proto.input(i);
    if (initialised.contains(input.name()) && types == nullptr)
      continue;  // a weight; it may be overridden elsewhere, not here
    try {
      check(!input.name().empty(), Code::parse, "input {} has no name", i);
      define(input.name(), graph_.add_input(input.name(), types != nullptr ? (*types)[static_cast<std::size_t>(i)]
                                                                           : input_type(input, model_.options)));
    } catch (const Error& error) {
      add_problem(nullptr, error);
      values_.insert_or_assign(input.name(), kBroken);
    }
  }
}

void GraphImport::add_initializers(const pb::GraphProto& proto) {
  for (int i = 0; i < proto.initializer_size(); ++i) {
    const pb::TensorProto& tensor = proto.initializer(i);
    const auto at = static_cast<std::size_t>(i);
    const bool apart = &proto == model_.main && at < model_.raw.size() && !model_.raw[at].empty() &&
                       tensor.data_location() != pb::TensorProto::EXTERNAL;
    try {
      check(!tensor.name().empty(), Code::parse, "an initialiser has no name");
      define(tensor.name(),
             graph_.add_constant(prefix_ + tensor.name(), apart ? tensor_array(tensor, model_.raw[at], model_.file)
                                                                : tensor_array(tensor, model_.folder)));
    } catch (const Error& error) {
      add_problem(nullptr, error.code(), fmt::format("initialiser '{}': {}", tensor.name(), error.message()),
                  error.hint());
      values_.insert_or_assign(tensor.name(), kBroken);
    }
  }
  for (const auto& sparse : proto.sparse_initializer()) {
    add_problem(nullptr, Code::unsupported, fmt::format("initialiser '{}' is sparse", sparse.values().name()),
                "store it as a dense tensor");
    values_.insert_or_assign(sparse.values().name(), kBroken);
  }
}

void GraphImport::add_captures(const GraphImport& outer, const std::vector<std::string>& captures,
                               const std::vector<std::string>& free) {
  for (const std::string& name : captures) {
    TensorType type = outer.graph_.value(*outer.find(name)).type;
    if (!capture_shapes_) type.dims.reset();
    const ValueId input = graph_.add_input(name, std::move(type));
    // Where it is shadowed it is an input all the same: every body has to take the same ones.
    if (!values_.contains(name)) define(name, input);
  }
  for (const std::string& name : free) {
    const auto id = outer.find(name);
    if (!id || values_.contains(name)) continue;
    if (is_sequence(*id))
      add_problem(nullptr, Code::unsupported,
                  fmt::format("'{}' is a sequence: a graph inside a node cannot use it", name));
    if (*id < 0) {
      define(name, kBroken);
      continue;
    }
    const Value& value = outer.graph_.value(*id);
    if (!value.constant) continue;
    const ValueId copy = graph_.add_value(value.name, value.type);
    graph_.value(copy).constant = value.constant;
    define(name, copy);
  }
}

void GraphImport::import_graph(const pb::GraphProto& proto, const std::vector<TensorType>* input_types,
                               const GraphImport* outer, const std::vector<std::string>& captures) {
  graph_.name = proto.name();
  add_inputs(proto, input_types);
  add_initializers(proto);
  if (outer != nullptr) add_captures(*outer, captures, free_names(proto));
  import_nodes(proto.node());
  for (const auto& output : proto.output()) {
    const auto id = find(output.name());
    if (!id)
      add_problem(nullptr, Code::parse,
                  fmt::format("output '{}' of graph '{}' is made by nothing", output.name(), proto.name()));
    else if (is_sequence(*id))
      add_problem(nullptr, Code::unsupported, fmt::format("output '{}' is a sequence", output.name()));
    else if (*id != kBroken)
      graph_.outputs.push_back(*id);
  }
}

std::shared_ptr<const Graph> GraphImport::import_body(const pb::GraphProto& proto,
                                                      const std::vector<TensorType>& inputs,
                                                      const std::vector<std::string>& captures) {
  check(depth_ < kMaxDepth, Code::unsupported, "graphs and functions are nested more than {} deep", kMaxDepth);
  const auto attempt = [&](bool shapes_known) {
    auto body = std::make_shared<Graph>();
    GraphImport import(model_, *body, opsets_, depth_ + 1);
    import.arguments_ = arguments_;
    import.in_function_ = in_function_;
    import.prefix_ = prefix_;
    import.capture_shapes_ = shapes_known;
    import.import_graph(proto, &inputs, this, captures);
    return body;
  };

  // Models guard operators that would be wrong for some shapes, so shapes that do not fit are a fault of the branch
  // that is taken only. Which one that is, the operator knows once its operands do: here the body is read as one for
  // captures of any shape.
  ImportReport& report = model_.report;
  const std::size_t before = report.problems.size();
  const std::vector<ImportReport::Operator> operators = report.operators;
  const std::vector<std::string> notes = report.notes;
  const auto misfits = [&] {
    return report.problems.size() > before &&
           std::all_of(report.problems.begin() + static_cast<std::ptrdiff_t>(before), report.problems.end(),
                       [](const ImportProblem& problem) { return problem.code == Code::invalid_argument; });
  };
  std::shared_ptr<const Graph> body = attempt(true);
  if (captures.empty() || !misfits() || model_.second_attempts >= ModelImport::kMaxSecondAttempts) return body;
  ++model_.second_attempts;
  ImportReport first = report;
  report.problems.resize(before);
  report.operators = operators;
  report.notes = notes;
  std::shared_ptr<const Graph> any_shape = attempt(false);
  if (report.problems.size() == before) return any_shape;
  report = std::move(first);  // it speaks of the shapes that are there
  return body;
}

Values GraphImport::import_function(const pb::FunctionProto& function, const Values& inputs, Arguments arguments,
                                    std::string prefix) {
  prefix_ = std::move(prefix);
  arguments_ = std::move(arguments);
  in_function_ = true;
  check(static_cast<int>(inputs.size()) <= function.input_size(), Code::parse,
        "function '{}' takes {} inputs, {} are given", function.name(), function.input_size(), inputs.size());
  for (int i = 0; i < function.input_size(); ++i)
    define(function.input(i), i < static_cast<int>(inputs.size()) ? inputs[static_cast<std::size_t>(i)] : kNoValue);
  import_nodes(function.node());
  Values outputs;
  for (const std::string& output : function.output()) {
    const auto id = find(output);
    check(id.has_value(), Code::parse, "output '{}' of function '{}' is made by nothing", output, function.name());
    outputs.push_back(*id);
  }
  return outputs;
}

void GraphImport::import_nodes(const google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes) {
  const Order order = run_order(nodes);
  if (!order.stuck.empty()) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(order.stuck.size(), 5); ++i)
      names += (i == 0 ? "'" : ", '") + label(nodes[order.stuck[i]]) + "'";
    add_problem(nullptr, Code::parse,
                fmt::format("{} nodes wait for each other in a circle: {}{}", order.stuck.size(), names,
                            order.stuck.size() > 5 ? ", ..." : ""));
    for (const int i : order.stuck)
      for (const std::string& output : nodes[i].output()) values_.emplace(output, kBroken);
  }
  for (const int i : order.nodes) {
    if (++model_.nodes > ModelImport::kMaxNodes)
      fail(Code::unsupported, "the model has more than {} nodes, its functions written out", ModelImport::kMaxNodes);
    import_node(nodes[i]);
  }
}

Values GraphImport::resolve_inputs(const pb::NodeProto& node, bool& broken) {
  Values inputs;
  for (const std::string& name : node.input()) {
    const std::optional<ValueId> id = name.empty() ? kNoValue : find(name);
    if (!id) {
      add_problem(&node, Code::parse, fmt::format("input '{}' is made by nothing", name));
      values_.emplace(name, kBroken);  // once is enough
    }
    inputs.push_back(id.value_or(kBroken));
    broken = broken || inputs.back() == kBroken;
  }
  const bool has_body =
      std::any_of(node.attribute().begin(), node.attribute().end(), [](const auto& a) { return a.has_g(); });
  if (has_body)
    for (const std::string& name : names_read(node)) broken = broken || find(name) == kBroken;
  return inputs;
}

void GraphImport::count_operator(const pb::NodeProto& node, bool supported) {
  const std::string domain = domain_of(node.domain());
  auto& operators = model_.report.operators;
  const auto found = std::find_if(operators.begin(), operators.end(), [&](const ImportReport::Operator& o) {
    return o.op_type == node.op_type() && o.domain == domain;
  });
  if (found == operators.end())
    operators.push_back({domain, node.op_type(), 1, supported});
  else
    ++found->count, found->supported = found->supported && supported;
}

Values GraphImport::call(const pb::NodeProto& node, const Values& inputs, bool dry) {
  const std::string domain = domain_of(node.domain());
  const auto local = model_.functions.find({domain, node.op_type(), node.overload()});
  if (local != model_.functions.end()) {
    check(depth_ < kMaxDepth, Code::unsupported,
          "graphs and functions are nested more than {} deep: does '{}' call itself?", kMaxDepth, node.op_type());
    const pb::FunctionProto& function = *local->second;
    count_operator(node, true);
    Arguments arguments;
    for (const auto& otherwise : function.attribute_proto()) arguments[otherwise.name()] = &otherwise;
    for (const auto& attribute : node.attribute()) {
      if (attribute.ref_attr_name().empty())
        arguments[attribute.name()] = &attribute;
      else if (const auto given = arguments_.find(attribute.ref_attr_name()); given != arguments_.end())
        arguments[attribute.name()] = given->second;
    }
    GraphImport import(model_, graph_, read_opsets(function.opset_import()), depth_ + 1);
    return import.import_function(function, inputs, std::move(arguments), label(node) + "/");
  }

  const Operator* op = find_operator(domain, node.op_type());
  const auto opset = opsets_.find(domain);
  count_operator(node, op != nullptr);
  if (op == nullptr)
    fail(Code::unsupported, "{} has no operator '{}' that is known here", shown(domain), node.op_type());
  if (opset == opsets_.end() || opset->second < 1)
    fail(Code::parse, "the model does not say which opset of {} it uses", shown(domain));
  if (opset->second < op->first_opset)
    fail(Code::unsupported, Hint{"convert the model to a newer opset (onnx.version_converter)"},
         "opset {} is too old: {} is known from opset {} on", opset->second, node.op_type(), op->first_opset);

  NodeReader reader(node, opset->second, graph_, inputs, in_function_ ? &arguments_ : nullptr);
  NodeBuilder builder(*this, graph_, label(node), dry);
  Values outputs;
  try {
    outputs = op->function(reader, builder);
  } catch (const Error& error) {
    if (dry && reader.attribute().empty()) return Values(static_cast<std::size_t>(node.output_size()), kBroken);
    add_problem(&node, error, reader.attribute());
    return {};
  }
  for (const std::string& name : reader.unread())
    add_problem(&node, Code::unsupported,
                fmt::format("attribute '{}' is not known for {} in opset {}", name, node.op_type(), opset->second), {},
                name);
  if (!reader.unread().empty()) return {};
  check(dry || static_cast<int>(outputs.size()) >= node.output_size(), Code::parse,
        "{} outputs are asked for, there are {}", node.output_size(), outputs.size());
  return outputs;
}

void GraphImport::import_node(const pb::NodeProto& node) {
  bool broken = false;
  const Values inputs = resolve_inputs(node, broken);
  const std::size_t first_new = graph_.values.size();
  Values outputs;
  try {
    outputs = call(node, inputs, broken);
  } catch (const Error& error) {
    add_problem(&node, error);
  }
  bind_outputs(node, broken ? Values{} : outputs, first_new);
}

void GraphImport::bind_outputs(const pb::NodeProto& node, const Values& outputs, std::size_t first_new) {
  std::set<ValueId> named;
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string& name = node.output(i);
    if (name.empty()) continue;
    ValueId id = static_cast<std::size_t>(i) < outputs.size() ? outputs[static_cast<std::size_t>(i)] : kBroken;
    if (id == kNoValue) id = kBroken;
    // A value that has a name already gets a node of its own to carry this one.
    if (id >= 0 && (static_cast<std::size_t>(id) < first_new || !named.insert(id).second))
      id = graph_.add(prefix_ + name, Unary{.kind = Unary::Kind::identity}, {id});
    if (id >= 0) graph_.value(id).name = prefix_ + name;
    define(name, id);
  }
}

// --- What the functions of the operators build with ----------------------------------------------------------------

Values NodeBuilder::add(Op op, Values inputs, int outputs) {
  const bool any_broken = std::find(inputs.begin(), inputs.end(), kBroken) != inputs.end();
  check(std::none_of(inputs.begin(), inputs.end(), is_sequence), Code::unsupported,
        "a sequence is given where a tensor is known");
  if (dry_ || any_broken) return Values(static_cast<std::size_t>(outputs), kBroken);
  while (!inputs.empty() && inputs.back() == kNoValue) inputs.pop_back();
  const std::string name = count_ == 0 ? name_ : fmt::format("{}/{}", name_, count_);
  ++count_;
  return graph_.add_node(name, std::move(op), std::move(inputs), outputs);
}

ValueId NodeBuilder::constant(Array array) {
  if (dry_) return kBroken;
  return graph_.add_constant(fmt::format("{}/constant{}", name_, count_++), std::move(array));
}

ValueId NodeBuilder::constant(std::vector<std::int64_t> values) {
  return constant(Array::of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values));
}

ValueId NodeBuilder::scalar(ElementType type, double value) {
  return visit_element_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, bool>) {
      return constant(Array::scalar<bool>(value != 0));
    } else if constexpr (std::is_integral_v<T>) {
      // The limits of 64-bit types are not doubles; what rounds to them is not exceeded either.
      const auto least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
      const T whole = !(value > static_cast<double>(least)) ? least
                      : value >= static_cast<double>(most)  ? most
                                                            : static_cast<T>(value);
      return constant(Array::scalar<T>(whole));
    } else if constexpr (std::is_floating_point_v<T>)
      return constant(Array::scalar<T>(static_cast<T>(value)));
    else
      return constant(Array::scalar<T>(T(static_cast<float>(value))));
  });
}

ValueId NodeBuilder::sequence(Values elements) { return dry_ ? kBroken : import_.add_sequence(std::move(elements)); }

const Values& NodeBuilder::elements(ValueId sequence) const {
  check(is_sequence(sequence), Code::parse, "a tensor is given where a sequence is needed");
  return import_.model().sequences[static_cast<std::size_t>(kFirstSequence - sequence)];
}

TensorType NodeBuilder::type(ValueId id) const { return id < 0 ? TensorType{} : graph_.value(id).type; }

const std::filesystem::path& NodeBuilder::folder() const { return import_.model().folder; }

std::vector<std::string> NodeBuilder::captures(std::initializer_list<const pb::GraphProto*> bodies) const {
  std::vector<std::string> names;
  for (const pb::GraphProto* body : bodies)
    for (const std::string& name : free_names(*body)) {
      const auto id = import_.find(name);
      const bool capture = id && *id >= 0 && graph_.value(*id).constant == nullptr;
      if (capture && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  return names;
}

Values NodeBuilder::values_of(const std::vector<std::string>& names) const {
  Values values;
  for (const std::string& name : names) values.push_back(import_.find(name).value_or(kBroken));
  return values;
}

std::shared_ptr<const Graph> NodeBuilder::body(const pb::GraphProto& proto, const std::vector<TensorType>& inputs,
                                               const std::vector<std::string>& captures) {
  const std::size_t before = import_.model().report.problems.size();
  std::shared_ptr<const Graph> graph = import_.import_body(proto, inputs, captures);
  const bool whole = import_.model().report.problems.size() == before &&
                     static_cast<int>(graph->outputs.size()) == proto.output_size();
  dry_ = dry_ || !whole;
  return graph;
}

TensorType NodeBuilder::declared(const pb::ValueInfoProto& value) const {
  return value_type(value, import_.model().options);
}

}  // namespace tessera::onnx
