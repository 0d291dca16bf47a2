#include "tessera/targets/cuda/kernels/move/copy.h"

#include "tessera/core/error.h"
#include "tessera/targets/cuda/kernels/move/copy_arguments.h"

#include <fmt/format.h>

namespace tessera::cuda {
namespace {

// As names of kernels have it; empty for types that are only copied.
std::string_view cast_name(ElementType type) {
  switch (type) {
    case ElementType::float16: return "f16";
    case ElementType::bfloat16: return "bf16";
    case ElementType::float32: return "f32";
    case ElementType::boolean: return "bool";
    case ElementType::uint8: return "u8";
    case ElementType::int8: return "i8";
    case ElementType::int32: return "i32";
    case ElementType::int64: return "i64";
    default: return {};
  }
}

bool is_floating(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16 || type == ElementType::float32;
}

bool is_aligned(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; }

}  // namespace

bool can_copy(ElementType from, ElementType to) {
  if (from == to) return true;
  if (cast_name(from).empty() || cast_name(to).empty()) return false;
  using Type = ElementType;
  return is_floating(from) || is_floating(to) || from == Type::boolean || to == Type::boolean ||
         (from != Type::int8 && (to == Type::int32 || to == Type::int64));
}

Launch copy_launch(KernelLibrary& library, ElementType from_type, const void* from, ElementType to_type, void* to,
                   std::span<const Dimension> given) {
  check(can_copy(from_type, to_type), Code::unsupported, "cuda: {} cannot be copied as {}", name(from_type),
        name(to_type));
  const std::vector<Dimension> dimensions = collapsed(given);
  check(dimensions.size() <= kMostCopyDimensions, Code::unsupported, "cuda: a copy of {} dimensions, {} are possible",
        dimensions.size(), kMostCopyDimensions);
  std::int64_t elements = 1;
  for (const Dimension& dimension : dimensions) elements *= dimension.size;
  if (elements == 0) return nothing();
  const std::int64_t bytes = element_bytes(from_type), pack = 16 / bytes;
  const bool wide = from_type == to_type && has_packs(dimensions, pack) && dimensions.back().strides[1] == 1 &&
                    is_aligned(from) && is_aligned(to);
  CopyArguments arguments{};
  arguments.count = elements / (wide ? pack : 1);
  arguments.rank = static_cast<int>(dimensions.size());
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    const bool innermost = d + 1 == dimensions.size();
    arguments.dimensions[d] = static_cast<std::uint32_t>(dimensions[d].size / (wide && innermost ? pack : 1));
    arguments.y[d] = dimensions[d].strides[0];
    arguments.x[d] = dimensions[d].strides[1];
  }
  const std::string function = from_type == to_type
                                   ? fmt::format("copy_{}{}", bytes, wide ? "_wide" : "")
                                   : fmt::format("cast_{}_{}", cast_name(from_type), cast_name(to_type));
  return launch_of(library.function(Binary::copy, function),
                   {.blocks = blocks_for(arguments.count, 256), .threads = 256, .early_start = true}, from, to,
                   arguments);
}

Launch reorder_launch(KernelLibrary& library, const Shape& shape, ElementType from_type, Order from_order,
                      const void* from, ElementType to_type, Order to_order, void* to) {
  const std::vector<std::int64_t> x = strides_of(shape, from_order), y = strides_of(shape, to_order);
  std::vector<Dimension> dimensions(static_cast<std::size_t>(shape.rank()));
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    dimensions[static_cast<std::size_t>(stored_axis(axis, shape.rank(), to_order))] = {shape[axis], {y[a], x[a]}};
  }
  if (dimensions.empty()) dimensions.push_back({1, {1, 1}});
  return copy_launch(library, from_type, from, to_type, to, dimensions);
}

}  // namespace tessera::cuda
