#pragma once

// What every operator is handed, and what it answers. An operator is a value with attributes (ops/*.h) and three
// functions beside it, found by its type:
//
//   std::vector<TensorType> infer(const X&, const Knowns& inputs);                 // types of the outputs
//   Work                    work(const X&, const Types& inputs, const Types& outputs);
//   std::vector<Array>      reference(const X&, const Arrays& inputs);             // plain loops: the definition
//
// Inputs that a model leaves out are absent: position tells which. infer() throws an Error for operands that do not fit
// and leaves extents unknown that it cannot tell yet; reference() may rely on infer() having accepted its operands.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/graph/tensor_type.h"

#include <span>
#include <string_view>
#include <vector>

namespace tessera {

// Floating-point operations, and the bytes that must be read and written once each.
struct Work {
  double flops = 0;
  double read_bytes = 0;
  double write_bytes = 0;
};

// What is known of one input: its type, and its value if that is a constant.
struct Known {
  TensorType type;
  const Array* constant = nullptr;
  bool present = true;
};

class TSR_API Knowns {
 public:
  Knowns(std::string_view op, std::span<const Known> inputs) : op_(op), inputs_(inputs) {}

  std::string_view op() const { return op_; }  // for messages
  std::size_t size() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i].present; }
  const TensorType& operator[](std::size_t i) const;  // an Error if absent
  const Array* constant(std::size_t i) const { return has(i) ? inputs_[i].constant : nullptr; }

  // Refuses fewer inputs than `least` (those must be present) or more than `most`.
  void expect_count(std::size_t least, std::size_t most) const;
  // Refuses an input i of another rank, if its rank is known.
  void expect_rank(std::size_t i, int least, int most) const;
  // Refuses inputs of different element types.
  void expect_same_type(std::size_t i, std::size_t j) const;

 private:
  std::string_view op_;
  std::span<const Known> inputs_;
};

class TSR_API Arrays {
 public:
  Arrays(std::string_view op, std::span<const Array* const> inputs) : op_(op), inputs_(inputs) {}

  std::string_view op() const { return op_; }
  std::size_t size() const { return inputs_.size(); }
  bool has(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const Array& operator[](std::size_t i) const;  // an Error if absent

 private:
  std::string_view op_;
  std::span<const Array* const> inputs_;
};

using Types = std::span<const TensorType>;

// Work of an operator that only reads and writes: flops per output element as given.
TSR_API Work streaming_work(const Types& inputs, const Types& outputs, double flops_per_output = 0);

// The position of an axis that may count from the end; an Error that names the operator if it is outside.
TSR_API int normalized_axis(std::int64_t axis, int rank, std::string_view op);

// NumPy's rule for the shape of two operands together; unknown extents stay unknown unless the other side decides.
TSR_API std::optional<std::vector<std::int64_t>> broadcast_dims(const TensorType& a, const TensorType& b,
                                                                std::string_view op);
TSR_API Shape broadcast_shape(const Shape& a, const Shape& b, std::string_view op);

}  // namespace tessera
