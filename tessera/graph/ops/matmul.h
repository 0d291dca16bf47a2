#pragma once

//

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// NumPy matmul: rank 1 operands become rows or columns, leading dimensions broadcast.
struct MatMul {
  static constexpr std::string_view kName = "MatMul";

  bool operator==(const MatMul&) const = default;
};

TSR_API std::vector<TensorType> infer(const MatMul& op, const Knowns& inputs);
TSR_API Work work(const MatMul& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const MatMul& op, const Arrays& inputs);

// alpha * A B + beta * C, C optional and broadcast.
struct Gemm {
  static constexpr std::string_view kName = "Gemm";

  float alpha = 1;
  float beta = 1;
  bool transpose_a = false;
  bool transpose_b = false;

  bool operator==(const Gemm&) const = default;
};

TSR_API std::vector<TensorType> infer(const Gemm& op, const Knowns& inputs);
TSR_API Work work(const Gemm& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Gemm& op, const Arrays& inputs);

struct Einsum {
  static constexpr std::string_view kName = "Einsum";

  std::string equation;

  bool operator==(const Einsum&) const = default;
};

TSR_API std::vector<TensorType> infer(const Einsum& op, const Knowns& inputs);
TSR_API Work work(const Einsum& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Einsum& op, const Arrays& inputs);

}  // namespace tessera
