#include "tessera/io/onnx/internal/tensor.h"

#include "tessera/core/error.h"
#include "tessera/core/narrow_element.h"
#include "tessera/io/internal/file_array.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tessera::onnx {
namespace {

namespace fs = std::filesystem;

// In a file, where elements of 4 and 2 bits are packed.
std::int64_t checked_bytes(const Shape& shape, ElementType type) {
  const std::int64_t volume = shape.volume();  // fits 63 bits
  check(volume <= (std::int64_t{1} << 48), Code::invalid_argument,
        "a tensor of {} elements is beyond anything that fits a file", volume);
  return (volume * element_bits(type) + 7) / 8;
}

bool is_packed(ElementType type) { return element_bits(type) < 8; }

// The low bits of a byte are the first element.
template <class Byte>
Array unpacked(ElementType type, Shape shape, std::span<const Byte> packed) {
  Array out(type, std::move(shape));
  const int bits = element_bits(type);
  const std::size_t in_a_byte = 8 / static_cast<std::size_t>(bits);
  for (std::size_t i = 0; i < out.bytes().size(); ++i) {
    const auto byte = static_cast<unsigned>(packed[i / in_a_byte]) & 0xFF;
    out.bytes()[i] = std::byte{narrow_from_bits(type, byte >> (static_cast<int>(i % in_a_byte) * bits))};
  }
  return out;
}

template <class To, class From>
Array from_fields(ElementType type, Shape shape, const From& fields, const char* field) {
  if (static_cast<std::int64_t>(fields.size()) != shape.volume())
    fail(Code::parse, "extents {} ask for {} elements, {} has {}", shape.to_string(), shape.volume(), field,
         fields.size());
  Array out(type, std::move(shape));
  To* to = reinterpret_cast<To*>(out.bytes().data());
  for (const auto value : fields) *to++ = static_cast<To>(value);
  return out;
}

std::uint64_t parse_number(const std::string& text, std::string_view what) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc{} && end == text.data() + text.size() && !text.empty(), Code::parse,
        "{} of the external data is '{}', which is not a number of bytes", what, text);
  return value;
}

// The file that holds external data, if it lies inside the model's folder: links are followed first.
fs::path external_file(const std::string& location, const fs::path& folder) {
  check(!folder.empty(), Code::invalid_argument,
        "the data is in another file ('{}'), and a model in memory has no folder", location);
  const fs::path relative(location);
  const bool climbs = std::any_of(relative.begin(), relative.end(), [](const fs::path& part) { return part == ".."; });
  check(!location.empty() && location.find('\0') == std::string::npos && relative.is_relative() && !climbs,
        Code::invalid_argument, "external data must lie in the folder of the model, and '{}' does not", location);
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  check(!error, Code::io, "cannot find the folder '{}': {}", folder.string(), error.message());
  const fs::path file = fs::canonical(root / relative, error);
  check(!error, Code::not_found, "the external data '{}' is missing: {}", location, error.message());
  check(std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first == root.end(), Code::invalid_argument,
        "external data must lie in the folder of the model, and '{}' is a link that leads out of it", location);
  check(fs::is_regular_file(file, error), Code::invalid_argument, "the external data '{}' is not a regular file",
        location);
  return file;
}

Array from_external(const pb::TensorProto& tensor, ElementType type, Shape shape, const fs::path& folder) {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location")
      location = entry.value();
    else if (entry.key() == "offset")
      offset = parse_number(entry.value(), "offset");
    else if (entry.key() == "length")
      length = parse_number(entry.value(), "length");
  }
  const fs::path file = external_file(location, folder);
  const auto wanted = static_cast<std::uint64_t>(checked_bytes(shape, type));
  check(!length || *length == wanted, Code::parse, "{} {} takes {} B, the external data says {} B", shape.to_string(),
        name(type), wanted, length.value_or(0));
  const auto open = std::make_shared<const io::OpenFile>(file);
  const std::uint64_t size = open->size();
  check(offset <= size && wanted <= size - offset, Code::parse,
        "'{}' has {} B, which is not enough for {} B from {} on", location, size, wanted, offset);
  if (!is_packed(type)) return io::file_array(type, std::move(shape), open, offset, wanted);
  Bytes packed(wanted);
  open->read(offset, packed);
  return unpacked(type, std::move(shape), std::span<const std::byte>(packed));
}

Array from_raw(std::span<const std::byte> raw, ElementType type, Shape shape,
               const std::shared_ptr<const io::LoadedFile>& file) {
  const std::int64_t wanted = checked_bytes(shape, type);
  check(static_cast<std::int64_t>(raw.size()) == wanted, Code::parse,
        "extents {} of {} ask for {} B, raw_data has {} B", shape.to_string(), name(type), wanted, raw.size());
  if (is_packed(type)) return unpacked(type, std::move(shape), raw);
  if (file)
    return io::file_array(type, std::move(shape), file->file(),
                          static_cast<std::uint64_t>(raw.data() - file->bytes().data()), raw.size());
  return Array(type, std::move(shape), std::vector<std::byte>(raw.begin(), raw.end()));
}

Array from_typed(const pb::TensorProto& t, ElementType type, Shape shape) {
  switch (type) {
    case ElementType::boolean: {
      Array out = from_fields<std::int8_t>(type, std::move(shape), t.int32_data(), "int32_data");
      for (int i = 0; i < t.int32_data_size(); ++i)
        out.bytes()[static_cast<std::size_t>(i)] = std::byte{t.int32_data(i) != 0};
      return out;
    }
    case ElementType::int8: return from_fields<std::int8_t>(type, std::move(shape), t.int32_data(), "int32_data");
    case ElementType::uint8: return from_fields<std::uint8_t>(type, std::move(shape), t.int32_data(), "int32_data");
    case ElementType::int16: return from_fields<std::int16_t>(type, std::move(shape), t.int32_data(), "int32_data");
    case ElementType::uint16:
    case ElementType::float16:
    case ElementType::bfloat16: return from_fields<std::uint16_t>(type, std::move(shape), t.int32_data(), "int32_data");
    case ElementType::int32: return from_fields<std::int32_t>(type, std::move(shape), t.int32_data(), "int32_data");
    case ElementType::int64: return from_fields<std::int64_t>(type, std::move(shape), t.int64_data(), "int64_data");
    case ElementType::uint32: return from_fields<std::uint32_t>(type, std::move(shape), t.uint64_data(), "uint64_data");
    case ElementType::uint64: return from_fields<std::uint64_t>(type, std::move(shape), t.uint64_data(), "uint64_data");
    case ElementType::float32: return from_fields<float>(type, std::move(shape), t.float_data(), "float_data");
    case ElementType::float64: return from_fields<double>(type, std::move(shape), t.double_data(), "double_data");
    default: break;
  }
  if (!is_packed(type)) return from_fields<std::uint8_t>(type, std::move(shape), t.int32_data(), "int32_data");
  check(t.int32_data_size() == checked_bytes(shape, type), Code::parse,
        "extents {} of {} ask for {} B, int32_data has {}", shape.to_string(), name(type), checked_bytes(shape, type),
        t.int32_data_size());
  return unpacked(type, std::move(shape),
                  std::span(t.int32_data().data(), static_cast<std::size_t>(t.int32_data_size())));
}

std::pair<ElementType, Shape> checked_type(const pb::TensorProto& tensor) {
  const ElementType type = checked_element_type(tensor.data_type(), "the tensor");
  check(!tensor.has_segment(), Code::unsupported, "the tensor is stored in segments");
  for (const std::int64_t extent : tensor.dims())
    check(extent >= 0, Code::parse, "an extent of the tensor is {}", extent);
  return {type, Shape(std::vector<std::int64_t>(tensor.dims().begin(), tensor.dims().end()))};
}

// A bool in a file may be any byte.
Array zeros_and_ones(Array array) {
  if (array.type() == ElementType::boolean)
    for (std::byte& b : array.bytes()) b = std::byte{b != std::byte{0}};
  return array;
}

}  // namespace

std::optional<ElementType> element_type(std::int64_t data_type) {
  switch (data_type) {
    case pb::TensorProto::FLOAT: return ElementType::float32;
    case pb::TensorProto::UINT8: return ElementType::uint8;
    case pb::TensorProto::INT8: return ElementType::int8;
    case pb::TensorProto::UINT16: return ElementType::uint16;
    case pb::TensorProto::INT16: return ElementType::int16;
    case pb::TensorProto::INT32: return ElementType::int32;
    case pb::TensorProto::INT64: return ElementType::int64;
    case pb::TensorProto::BOOL: return ElementType::boolean;
    case pb::TensorProto::FLOAT16: return ElementType::float16;
    case pb::TensorProto::DOUBLE: return ElementType::float64;
    case pb::TensorProto::UINT32: return ElementType::uint32;
    case pb::TensorProto::UINT64: return ElementType::uint64;
    case pb::TensorProto::BFLOAT16: return ElementType::bfloat16;
    case pb::TensorProto::FLOAT8E4M3FN: return ElementType::float8_e4m3;
    case pb::TensorProto::FLOAT8E4M3FNUZ: return ElementType::float8_e4m3fnuz;
    case pb::TensorProto::FLOAT8E5M2: return ElementType::float8_e5m2;
    case pb::TensorProto::FLOAT8E5M2FNUZ: return ElementType::float8_e5m2fnuz;
    case pb::TensorProto::FLOAT8E8M0: return ElementType::float8_e8m0;
    case pb::TensorProto::FLOAT4E2M1: return ElementType::float4_e2m1;
    case pb::TensorProto::INT4: return ElementType::int4;
    case pb::TensorProto::UINT4: return ElementType::uint4;
    case pb::TensorProto::INT2: return ElementType::int2;
    case pb::TensorProto::UINT2: return ElementType::uint2;
    default: return std::nullopt;
  }
}

// Narrow types came with opsets that are not written.
std::int32_t data_type(ElementType type) {
  for (std::int32_t number = 1; number <= pb::TensorProto::BFLOAT16; ++number)
    if (element_type(number) == type) return number;
  fail(Code::unsupported, "{} has no form in the ONNX files that are written", name(type));
}

void fill_tensor(const Array& array, pb::TensorProto& tensor) {
  tensor.set_data_type(data_type(array.type()));
  for (const std::int64_t extent : array.shape()) tensor.add_dims(extent);
  tensor.set_raw_data(array.bytes().data(), array.bytes().size());
}

std::string data_type_name(std::int64_t data_type) {
  if (const auto type = element_type(data_type)) return std::string(name(*type));
  switch (data_type) {
    case 8: return "string";
    case 14: return "complex64";
    case 15: return "complex128";
    default: return fmt::format("element type {}", data_type);
  }
}

ElementType checked_element_type(std::int64_t data_type, const std::string& what) {
  const auto type = element_type(data_type);
  if (!type)
    fail(data_type >= 1 && data_type <= 26 ? Code::unsupported : Code::parse,
         "{} is {}: only bool, integers and real floating-point numbers are computed with", what,
         data_type_name(data_type));
  return *type;
}

Array tensor_array(const pb::TensorProto& tensor, const fs::path& folder) {
  const auto [type, shape] = checked_type(tensor);
  if (tensor.data_location() == pb::TensorProto::EXTERNAL)
    return zeros_and_ones(from_external(tensor, type, shape, folder));
  if (!tensor.has_raw_data()) return from_typed(tensor, type, shape);
  return tensor_array(tensor, std::as_bytes(std::span(tensor.raw_data())), nullptr);
}

Array tensor_array(const pb::TensorProto& tensor, std::span<const std::byte> raw,
                   const std::shared_ptr<const io::LoadedFile>& file) {
  const auto [type, shape] = checked_type(tensor);
  return zeros_and_ones(from_raw(raw, type, shape, file));
}

}  // namespace tessera::onnx
