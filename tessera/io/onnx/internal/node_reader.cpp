#include "tessera/io/onnx/internal/node_reader.h"

namespace tessera::onnx {
namespace {

// Models from before attributes had a type say it by what is there.
pb::AttributeProto::AttributeType kind_of(const pb::AttributeProto& a) {
  if (a.type() != pb::AttributeProto::UNDEFINED) return a.type();
  if (a.has_f()) return pb::AttributeProto::FLOAT;
  if (a.has_i()) return pb::AttributeProto::INT;
  if (a.has_s()) return pb::AttributeProto::STRING;
  if (a.has_t()) return pb::AttributeProto::TENSOR;
  if (a.has_g()) return pb::AttributeProto::GRAPH;
  if (a.floats_size() > 0) return pb::AttributeProto::FLOATS;
  if (a.ints_size() > 0) return pb::AttributeProto::INTS;
  if (a.strings_size() > 0) return pb::AttributeProto::STRINGS;
  return pb::AttributeProto::UNDEFINED;
}

}  // namespace

NodeReader::NodeReader(const pb::NodeProto& node, std::int64_t opset, const Graph& graph, Values inputs,
                       const Arguments* arguments)
    : node_(node), opset_(opset), graph_(graph), inputs_(std::move(inputs)), arguments_(arguments) {
  for (const auto& attribute : node.attribute()) {
    const pb::AttributeProto* value = &attribute;
    if (!attribute.ref_attr_name().empty()) {
      const auto given =
          arguments_ == nullptr ? Arguments::const_iterator{} : arguments_->find(attribute.ref_attr_name());
      if (arguments_ == nullptr || given == arguments_->end()) continue;  // left out by the caller: left out here
      value = given->second;
    }
    if (!attributes_.emplace(attribute.name(), value).second) {
      attribute_ = attribute.name();
      fail(Code::parse, "attribute '{}' is given twice", attribute.name());
    }
  }
  // Trailing inputs without a name are inputs left out.
  while (!inputs_.empty() && inputs_.back() == kNoValue) inputs_.pop_back();
}

const pb::AttributeProto* NodeReader::find(const std::string& name) const {
  const auto found = attributes_.find(name);
  return found == attributes_.end() ? nullptr : found->second;
}

const pb::AttributeProto* NodeReader::find(const std::string& name, pb::AttributeProto::AttributeType type,
                                           const char* kind) {
  read_.insert(name);
  const pb::AttributeProto* a = find(name);
  if (a == nullptr) return nullptr;
  // An empty list carries no sign of its type in old models.
  if (kind_of(*a) != type && kind_of(*a) != pb::AttributeProto::UNDEFINED) {
    attribute_ = name;
    fail(Code::parse, "attribute '{}' must be {}", name, kind);
  }
  return a;
}

std::int64_t NodeReader::integer(const std::string& name, std::int64_t otherwise) {
  return maybe_integer(name).value_or(otherwise);
}

std::int64_t NodeReader::integer(const std::string& name) {
  const auto value = maybe_integer(name);
  if (!value) {
    attribute_ = name;
    fail(Code::parse, "attribute '{}' is missing", name);
  }
  return *value;
}

std::optional<std::int64_t> NodeReader::maybe_integer(const std::string& name) {
  const auto* a = find(name, pb::AttributeProto::INT, "an integer");
  return a == nullptr ? std::nullopt : std::optional<std::int64_t>(a->i());
}

float NodeReader::real(const std::string& name, float otherwise) { return maybe_real(name).value_or(otherwise); }

std::optional<float> NodeReader::maybe_real(const std::string& name) {
  const auto* a = find(name, pb::AttributeProto::FLOAT, "a float");
  return a == nullptr ? std::nullopt : std::optional<float>(a->f());
}

std::string NodeReader::text(const std::string& name, const std::string& otherwise) {
  const auto* a = find(name, pb::AttributeProto::STRING, "a string");
  return a == nullptr ? otherwise : a->s();
}

std::vector<std::int64_t> NodeReader::integers(const std::string& name) {
  const auto* a = find(name, pb::AttributeProto::INTS, "a list of integers");
  return a == nullptr ? std::vector<std::int64_t>{} : std::vector<std::int64_t>(a->ints().begin(), a->ints().end());
}

std::vector<float> NodeReader::reals(const std::string& name) {
  const auto* a = find(name, pb::AttributeProto::FLOATS, "a list of floats");
  return a == nullptr ? std::vector<float>{} : std::vector<float>(a->floats().begin(), a->floats().end());
}

std::vector<std::string> NodeReader::texts(const std::string& name) {
  const auto* a = find(name, pb::AttributeProto::STRINGS, "a list of strings");
  return a == nullptr ? std::vector<std::string>{} : std::vector<std::string>(a->strings().begin(), a->strings().end());
}

const pb::TensorProto* NodeReader::tensor(const std::string& name) {
  const auto* a = find(name, pb::AttributeProto::TENSOR, "a tensor");
  return a == nullptr ? nullptr : &a->t();
}

const pb::GraphProto& NodeReader::graph(const std::string& name) {
  const auto* a = find(name, pb::AttributeProto::GRAPH, "a graph");
  if (a == nullptr || !a->has_g()) {
    attribute_ = name;
    fail(Code::parse, "attribute '{}' is missing", name);
  }
  return a->g();
}

void NodeReader::ignore(std::initializer_list<const char*> names) {
  for (const char* name : names) read_.insert(name);
}

const Values& NodeReader::inputs(std::size_t least, std::size_t most) const {
  for (std::size_t i = 0; i < least; ++i)
    check(has_input(i), Code::parse, "input {} is missing, at least {} are needed", i, least);
  check(inputs_.size() <= most, Code::parse, "{} inputs are given, at most {} are taken", inputs_.size(), most);
  return inputs_;
}

const TensorType& NodeReader::type(std::size_t i) const {
  static const TensorType unknown;
  check(has_input(i), Code::parse, "input {} is missing", i);
  check(!is_sequence(inputs_[i]), Code::unsupported, "input {} is a sequence where a tensor is known", i);
  return inputs_[i] == kBroken ? unknown : graph_.value(inputs_[i]).type;
}

const Array* NodeReader::constant(std::size_t i) const {
  return has_input(i) && inputs_[i] >= 0 ? graph_.value(inputs_[i]).constant.get() : nullptr;
}

int NodeReader::rank(std::size_t i) const {
  check(type(i).dims.has_value(), Code::unsupported, Hint{"give the model's inputs shapes (--shape NAME:1x3x224x224)"},
        "the rank of input {} must be known here, and it is not", i);
  return type(i).rank();
}

std::vector<std::string> NodeReader::unread() const {
  std::vector<std::string> names;
  for (const auto& [name, value] : attributes_)
    if (!read_.contains(name)) names.push_back(name);
  return names;
}

}  // namespace tessera::onnx
