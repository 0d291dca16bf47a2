#pragma once

// What operators that move elements share: lists of whole numbers given as inputs, outputs of a bounded size, and a
// copy between two strided views that looks at bytes and not at types.

#include "tessera/core/array.h"
#include "tessera/graph/operands.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tessera::moving {

using Dims = std::vector<std::int64_t>;

// No single tensor that a model names is larger than this; what asks for more is damaged or hostile.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 40;

// A type whose extents were computed: refuses a rank, an extent or a size that cannot be meant.
TensorType output_type(ElementType type, Dims dims, std::string_view op);

// a + b and a * b of extents; more than 63 bits is an Error. Either may be unknown, then so is the result.
std::int64_t add_extents(std::int64_t a, std::int64_t b, std::string_view op);
std::int64_t multiply_extents(std::int64_t a, std::int64_t b, std::string_view op);

// What two operands say of one extent; an Error if they disagree.
std::int64_t agreed_extent(std::int64_t a, std::int64_t b, int axis, std::string_view op);

// Refuses an input that is not a list (or, as many exporters write it, a single number) of int32, int64 or another
// integer type.
void expect_integers(const Knowns& inputs, std::size_t i, std::string_view what);
// The numbers of a constant input; none if it is left out or not constant.
std::optional<Dims> constant_integers(const Knowns& inputs, std::size_t i, std::string_view what);
// How many numbers an input holds; kUnknown if that cannot be told.
std::int64_t list_length(const Knowns& inputs, std::size_t i);

// The positions of axes that may count from the end; refuses one given twice.
std::vector<int> normalized_axes(const Dims& axes, int rank, std::string_view op);

// What an operator answers when every input is known. It repeats the checks of infer() with the values in hand, so that
// references need no second copy of them.
template <class X>
std::vector<TensorType> infer_from(const X& op, const Arrays& inputs) {
  std::vector<Known> knowns;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs.has(i))
      knowns.push_back({TensorType(inputs[i].type(), inputs[i].shape()), &inputs[i], true});
    else
      knowns.push_back({.type = {}, .constant = nullptr, .present = false});
  }
  return infer(op, Knowns(inputs.op(), knowns));
}

// Zeros; an Error of code out_of_memory where the host has not that much.
Array make_array(const TensorType& type, std::string_view op);

// Elements between neighbours along each dimension of a row-major tensor.
Dims row_major_strides(std::span<const std::int64_t> dims);
std::int64_t product(std::span<const std::int64_t> dims);

// One side of a copy, in elements.
struct View {
  std::int64_t offset = 0;
  Dims strides;  // 0 repeats an element, negative walks backwards
};

// to[i, j, ...] = from[i, j, ...] for every position below `extents`.
void copy_strided(std::span<const std::byte> source, const View& from, std::span<std::byte> target, const View& to,
                  const Dims& extents, std::int64_t bytes_each);

}  // namespace tessera::moving
