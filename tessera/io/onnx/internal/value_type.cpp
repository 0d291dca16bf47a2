#include "tessera/io/onnx/internal/value_type.h"

#include "tessera/io/onnx/internal/tensor.h"

namespace tessera::onnx {
namespace {

std::int64_t extent_of(const pb::TensorShapeProto::Dimension& dim, const ImportOptions& options) {
  if (dim.has_dim_value()) {
    check(dim.dim_value() >= TensorType::kUnknown, Code::parse, "an extent is {}", dim.dim_value());
    return dim.dim_value();
  }
  const auto given = options.dimensions.find(dim.dim_param());
  if (dim.dim_param().empty() || given == options.dimensions.end()) return TensorType::kUnknown;
  check(given->second >= 0, Code::invalid_argument, "'{}' cannot be {}", given->first, given->second);
  return given->second;
}

// Refuses what no shape could be: too many extents, or too many elements.
void check_extents(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> known;
  for (const std::int64_t extent : dims) known.push_back(extent == TensorType::kUnknown ? 1 : extent);
  (void)Shape(known);
}

}  // namespace

TensorType value_type(const pb::ValueInfoProto& value, const ImportOptions& options) {
  return with_context(fmt::format("while reading the type of '{}'", value.name()), [&] {
    const pb::TypeProto& type = value.type();
    const char* kind = nullptr;
    switch (type.value_case()) {
      case pb::TypeProto::kTensorType: break;
      case pb::TypeProto::VALUE_NOT_SET: fail(Code::parse, "'{}' has no type", value.name());
      case pb::TypeProto::kSequenceType: kind = "a sequence"; break;
      case pb::TypeProto::kMapType: kind = "a map"; break;
      case pb::TypeProto::kOptionalType: kind = "an optional value"; break;
      case pb::TypeProto::kSparseTensorType: kind = "a sparse tensor"; break;
    }
    check(kind == nullptr, Code::unsupported, "'{}' is {}: only tensors are computed with", value.name(),
          kind == nullptr ? "" : kind);
    TensorType out;
    out.type = checked_element_type(type.tensor_type().elem_type(), fmt::format("'{}'", value.name()));
    if (!type.tensor_type().has_shape()) return out;
    out.dims.emplace();
    for (const auto& dim : type.tensor_type().shape().dim()) out.dims->push_back(extent_of(dim, options));
    check_extents(*out.dims);
    return out;
  });
}

TensorType input_type(const pb::ValueInfoProto& value, const ImportOptions& options) {
  TensorType type = value_type(value, options);
  const auto given = options.shapes.find(value.name());
  if (given == options.shapes.end()) return type;
  const std::vector<std::int64_t>& wanted = given->second;
  check_extents(wanted);
  bool fits = !type.dims || type.dims->size() == wanted.size();
  for (std::size_t i = 0; fits && type.dims && i < wanted.size(); ++i)
    fits = (*type.dims)[i] == TensorType::kUnknown || (*type.dims)[i] == wanted[i];
  check(fits, Code::invalid_argument, "input '{}' is {} in the model, which {} does not fit", value.name(),
        type.to_string(), TensorType(type.type, wanted).to_string());
  type.dims = wanted;
  return type;
}

}  // namespace tessera::onnx
