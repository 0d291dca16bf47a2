#include "arrays.h"

#include "tessera/core/error.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

ElementType array_type(const nb::dlpack::dtype& dtype) {
  using Code_ = nb::dlpack::dtype_code;
  const auto is = [&](Code_ code, int bits) {
    return dtype.lanes == 1 && dtype.code == static_cast<std::uint8_t>(code) && dtype.bits == bits;
  };
  if (is(Code_::Bool, 8)) return ElementType::boolean;
  if (is(Code_::Int, 8)) return ElementType::int8;
  if (is(Code_::UInt, 8)) return ElementType::uint8;
  if (is(Code_::Int, 16)) return ElementType::int16;
  if (is(Code_::UInt, 16)) return ElementType::uint16;
  if (is(Code_::Int, 32)) return ElementType::int32;
  if (is(Code_::UInt, 32)) return ElementType::uint32;
  if (is(Code_::Int, 64)) return ElementType::int64;
  if (is(Code_::UInt, 64)) return ElementType::uint64;
  if (is(Code_::Float, 16)) return ElementType::float16;
  if (is(Code_::Bfloat, 16)) return ElementType::bfloat16;
  if (is(Code_::Float, 32)) return ElementType::float32;
  if (is(Code_::Float, 64)) return ElementType::float64;
  fail(Code::unsupported, "an array of DLPack type code {} with {} bits and {} lanes cannot become a tensor",
       dtype.code, dtype.bits, dtype.lanes);
}

nb::dlpack::dtype dlpack_type(DType dtype) {
  using Code_ = nb::dlpack::dtype_code;
  Code_ code = Code_::UInt;
  if (dtype == DType::bfloat16)
    code = Code_::Bfloat;
  else if (is_floating(dtype))
    code = Code_::Float;
  else if (dtype == DType::int32)
    code = Code_::Int;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * element_bytes(dtype)), 1};
}

nb::dlpack::dtype dlpack_type(ElementType type) {
  using Code_ = nb::dlpack::dtype_code;
  Code_ code = Code_::UInt;
  switch (type) {
    case ElementType::boolean: code = Code_::Bool; break;
    case ElementType::int8:
    case ElementType::int16:
    case ElementType::int32:
    case ElementType::int64: code = Code_::Int; break;
    case ElementType::float16:
    case ElementType::float32:
    case ElementType::float64: code = Code_::Float; break;
    default: break;
  }
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * element_bytes(type)), 1};
}

// The name by which numpy knows the type; for those it does not know, one that holds their numbers.
std::string numpy_type(ElementType type) {
  switch (type) {
    case ElementType::bfloat16: return "float32";
    default: return is_narrow(type) ? "float32" : std::string(name(type));
  }
}

std::optional<nb::object> optional_module(const char* name) {
  try {
    return nb::module_::import_(name);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return std::nullopt;
  }
}

tessera::Array widened(const tessera::Array& x) {
  tessera::Array out(ElementType::float32, x.shape());
  const std::vector<double> values = x.to_double();
  for (std::size_t i = 0; i < values.size(); ++i) out.as<float>()[i] = static_cast<float>(values[i]);
  return out;
}

Array array_of(nb::handle object) {
  nb::object source = nb::borrow(object);
  // PyTorch hands out no tensor that is part of a gradient.
  if (nb::hasattr(source, "requires_grad") && nb::hasattr(source, "detach") &&
      nb::cast<bool>(source.attr("requires_grad")))
    source = source.attr("detach")();
  Array array;
  if (nb::try_cast(source, array)) return array;
  if (nb::hasattr(source, "__array__")) {
    source = nb::module_::import_("numpy").attr("ascontiguousarray")(source);
    if (nb::try_cast(source, array)) return array;
  }
  throw nb::type_error("expected an array in host memory: something with __dlpack__ or __array__");
}

// A DType whose elements have bytes of their own.
DType exported_dtype(const Tensor& x, bool keep_bfloat16) {
  if (is_block_float(x.dtype())) return DType::float32;
  return x.dtype() == DType::bfloat16 && !keep_bfloat16 ? DType::float32 : x.dtype();
}

template <class Framework>
nb::object exported(const Tensor& x, DType dtype) {
  auto bytes = std::make_unique<Bytes>(x.to_elements(dtype));
  std::byte* data = bytes->data();
  nb::capsule owner(bytes.get(), [](void* p) noexcept { delete static_cast<Bytes*>(p); });
  static_cast<void>(bytes.release());  // the capsule owns it now
  std::vector<std::size_t> shape(x.shape().begin(), x.shape().end());
  return nb::cast(nb::ndarray<Framework>(data, shape.size(), shape.data(), owner, nullptr, dlpack_type(dtype)));
}

nb::object number(const std::byte* element, DType dtype) {
  if (dtype == DType::float32) {
    float value;
    std::memcpy(&value, element, sizeof(value));
    return nb::float_(value);
  }
  std::uint32_t bits = 0;  // little-endian, as the elements are
  std::memcpy(&bits, element, static_cast<std::size_t>(element_bytes(dtype)));
  return dtype == DType::int32 ? nb::int_(static_cast<std::int32_t>(bits)) : nb::int_(bits);
}

nb::object nested(const std::byte*& next, DType dtype, const Shape& shape, int dim) {
  if (dim == shape.rank()) {
    nb::object value = number(next, dtype);
    next += element_bytes(dtype);
    return value;
  }
  nb::list out;
  for (std::int64_t i = 0; i < shape[dim]; ++i) out.append(nested(next, dtype, shape, dim + 1));
  return out;
}

void flatten(nb::handle value, std::vector<double>& out) {
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    for (nb::handle item : value) flatten(item, out);
  } else {
    out.push_back(nb::cast<double>(value));
  }
}

}  // namespace

Tensor import_array(nb::handle object, const ArrayImport& how) {
  const Array array = array_of(object);
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < array.ndim(); ++i) dims.push_back(static_cast<std::int64_t>(array.shape(i)));
  const std::span bytes(static_cast<const std::byte*>(array.data()), array.nbytes());
  return tensor_from_array(bytes, array_type(array.dtype()), Shape(std::move(dims)), how);
}

Tensor import_list(const nb::list& values, const Shape& shape, const ArrayImport& how) {
  std::vector<double> flat;
  flatten(values, flat);
  check(static_cast<std::int64_t>(flat.size()) == shape.volume(), Code::invalid_argument,
        "{} values cannot fill a tensor of shape {}, which has {}", flat.size(), shape.to_string(), shape.volume());
  return tensor_from_array(std::as_bytes(std::span(flat)), ElementType::float64, shape, how);
}

tessera::Array import_host_array(nb::handle object, ElementType wanted) {
  nb::object source = nb::borrow(object);
  const nb::object as_array = nb::module_::import_("numpy").attr("asarray");
  if (!nb::hasattr(source, "__dlpack__"))  // numpy's own numbers have __array__ only
    source = nb::hasattr(source, "__array__") ? as_array(source) : as_array(source, numpy_type(wanted));
  // Types that numpy learns from ml_dtypes are no types of DLPack's to it.
  std::optional<ElementType> type;
  if (nb::hasattr(source, "astype") && nb::str(source.attr("dtype")).equal(nb::str("bfloat16"))) {
    type = ElementType::bfloat16;
    source = as_array(source, "order"_a = "C").attr("view")("uint16");
  }
  const Array array = array_of(source);
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < array.ndim(); ++i) dims.push_back(static_cast<std::int64_t>(array.shape(i)));
  const auto* first = static_cast<const std::byte*>(array.data());
  return tessera::Array(type.value_or(array_type(array.dtype())), Shape(std::move(dims)),
                        std::vector<std::byte>(first, first + array.nbytes()));
}

// Numpy has no narrow types: floats become float32, integers of 4 and 2 bits are bytes in memory already.
tessera::Array exportable(const tessera::Array& x) {
  switch (x.type()) {
    case ElementType::int4:
    case ElementType::int2:
    case ElementType::uint4:
    case ElementType::uint2: {
      const bool has_sign = x.type() == ElementType::int4 || x.type() == ElementType::int2;
      return tessera::Array(has_sign ? ElementType::int8 : ElementType::uint8, x.shape(),
                            std::vector<std::byte>(x.bytes().begin(), x.bytes().end()));
    }
    default: return widened(x);
  }
}

nb::object export_host_array(tessera::Array x) {
  if (is_narrow(x.type())) x = exportable(x);
  const bool bfloat16 = x.type() == ElementType::bfloat16;
  const std::optional<nb::object> ml_dtypes = bfloat16 ? optional_module("ml_dtypes") : std::nullopt;
  if (bfloat16 && !ml_dtypes) x = widened(x);
  const nb::dlpack::dtype type = bfloat16 && ml_dtypes ? dlpack_type(ElementType::uint16) : dlpack_type(x.type());
  auto owned = std::make_unique<tessera::Array>(std::move(x));
  std::vector<std::size_t> shape(owned->shape().begin(), owned->shape().end());
  std::byte* data = owned->bytes().data();
  nb::capsule owner(owned.get(), [](void* p) noexcept { delete static_cast<tessera::Array*>(p); });
  static_cast<void>(owned.release());  // the capsule owns it now
  nb::object out = nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, type));
  return ml_dtypes ? nb::object(out.attr("view")(ml_dtypes->attr("bfloat16"))) : out;
}

nb::object export_numpy(const Tensor& x) { return exported<nb::numpy>(x, exported_dtype(x, false)); }

nb::object export_dlpack(const Tensor& x) { return exported<nb::array_api>(x, exported_dtype(x, true)); }

nb::object export_list(const Tensor& x) {
  const DType dtype = is_integer(x.dtype()) ? x.dtype() : DType::float32;
  const Bytes bytes = x.to_elements(dtype);
  const std::byte* next = bytes.data();
  return nested(next, dtype, x.shape(), 0);
}

nb::object export_item(const Tensor& x) {
  check(x.shape().volume() == 1, Code::invalid_argument,
        "item() needs a tensor with exactly one element, but this one has {} elements", x.shape().volume());
  const DType dtype = is_integer(x.dtype()) ? x.dtype() : DType::float32;
  return number(x.to_elements(dtype).data(), dtype);
}

}  // namespace tessera::python
