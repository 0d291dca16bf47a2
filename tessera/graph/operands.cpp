#include "tessera/graph/operands.h"

#include "tessera/core/error.h"

#include <algorithm>

namespace tessera {

const TensorType& Knowns::operator[](std::size_t i) const {
  if (!has(i)) fail(Code::invalid_argument, "{}: input {} is missing", op_, i);
  return inputs_[i].type;
}

void Knowns::expect_count(std::size_t least, std::size_t most) const {
  for (std::size_t i = 0; i < least; ++i)
    if (!has(i)) fail(Code::invalid_argument, "{}: input {} is missing, at least {} are needed", op_, i, least);
  if (inputs_.size() > most)
    fail(Code::invalid_argument, "{}: {} inputs are given, at most {} are taken", op_, inputs_.size(), most);
}

void Knowns::expect_rank(std::size_t i, int least, int most) const {
  const TensorType& t = (*this)[i];
  if (!t.dims) return;
  if (t.rank() < least || t.rank() > most)
    fail(Code::invalid_argument, "{}: input {} is {} of rank {}, a rank of {} to {} is needed", op_, i, t.to_string(),
         t.rank(), least, most);
}

void Knowns::expect_same_type(std::size_t i, std::size_t j) const {
  if ((*this)[i].type != (*this)[j].type)
    fail(Code::invalid_argument, "{}: inputs {} and {} must have one element type, not {} and {}", op_, i, j,
         name((*this)[i].type), name((*this)[j].type));
}

const Array& Arrays::operator[](std::size_t i) const {
  if (!has(i)) fail(Code::invalid_argument, "{}: input {} is missing", op_, i);
  return *inputs_[i];
}

Work streaming_work(const Types& inputs, const Types& outputs, double flops_per_output) {
  Work work;
  for (const TensorType& t : inputs)
    if (t.is_static()) work.read_bytes += static_cast<double>(t.shape().volume() * element_bytes(t.type));
  for (const TensorType& t : outputs)
    if (t.is_static()) {
      work.write_bytes += static_cast<double>(t.shape().volume() * element_bytes(t.type));
      work.flops += flops_per_output * static_cast<double>(t.shape().volume());
    }
  return work;
}

int normalized_axis(std::int64_t axis, int rank, std::string_view op) {
  if (axis < -rank || axis >= rank)
    fail(Code::invalid_argument, "{}: axis {} is not in [{}, {})", op, axis, -rank, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<std::vector<std::int64_t>> broadcast_dims(const TensorType& a, const TensorType& b, std::string_view op) {
  if (!a.dims || !b.dims) return std::nullopt;
  const std::size_t rank = std::max(a.dims->size(), b.dims->size());
  const auto at = [&](const TensorType& t, std::size_t i) {
    const std::size_t missing = rank - t.dims->size();
    return i < missing ? std::int64_t{1} : (*t.dims)[i - missing];
  };
  std::vector<std::int64_t> out(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = at(a, i), y = at(b, i);
    if (x == TensorType::kUnknown || y == TensorType::kUnknown) {
      const std::int64_t known = x == TensorType::kUnknown ? y : x;
      out[i] = known == 1 ? TensorType::kUnknown : known;
    } else {
      if (x != y && x != 1 && y != 1)
        fail(Code::invalid_argument, "{}: {} and {} cannot be broadcast together: {} against {}", op, a.to_string(),
             b.to_string(), x, y);
      out[i] = x == 1 ? y : x;
    }
  }
  return out;
}

Shape broadcast_shape(const Shape& a, const Shape& b, std::string_view op) {
  return Shape(*broadcast_dims(TensorType(ElementType::float32, a), TensorType(ElementType::float32, b), op));
}

}  // namespace tessera
