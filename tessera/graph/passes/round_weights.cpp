// Weights rounded to what fewer bits can hold. They stay float32 in the graph, so that the references show what it
// costs, and kernels that keep them in those bits lose nothing more.

#include "tessera/core/block_float.h"
#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <array>
#include <map>

namespace tessera {
namespace {

// Weights as [outer][columns][inner], where columns are output channels: blocks of 16 lie along them.
struct Columns {
  std::int64_t outer = 1, columns = 1, inner = 1;
};

// None for operators whose weights stay as they are.
std::optional<Columns> columns_of(const Op& op, const Shape& weights) {
  if (const auto* conv = std::get_if<Conv>(&op)) {
    if (conv->groups == weights[0] && weights[1] == 1 && conv->groups > 1) return std::nullopt;  // depthwise
    return Columns{conv->groups, weights[0] / conv->groups, weights.volume() / weights[0]};
  }
  if (const auto* gemm = std::get_if<Gemm>(&op))
    return gemm->transpose_b ? Columns{1, weights[0], weights[1]} : Columns{weights[0], weights[1], 1};
  if (std::holds_alternative<MatMul>(op) && weights.rank() >= 2)
    return Columns{weights.volume() / weights[-1], weights[-1], 1};
  return std::nullopt;
}

void round_blocks(float* weights, const Columns& c, DType dtype) {
  const std::int64_t blocks = ceil_div(c.columns, Block::kSize), rows = c.outer * blocks;
  constexpr std::int64_t kGrain = 256;  // blocks that are worth a thread
  parallel_for(rows * c.inner, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::array<float, Block::kSize> block{};
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / c.inner, first = row % blocks * Block::kSize;
      const std::int64_t count = std::min<std::int64_t>(Block::kSize, c.columns - first);
      float* at = weights + (row / blocks * c.columns + first) * c.inner + i % c.inner;
      block.fill(0);
      for (std::int64_t n = 0; n < count; ++n) block[static_cast<std::size_t>(n)] = at[n * c.inner];
      decode_block(encode_block(block, dtype, Rounding::host), dtype, block);
      for (std::int64_t n = 0; n < count; ++n) at[n * c.inner] = block[static_cast<std::size_t>(n)];
    }
  });
}

void round_each(float* weights, std::int64_t count) {
  constexpr std::int64_t kGrain = 1 << 14;
  parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      weights[i] = float_from_bfloat16(bfloat16_from_float(weights[i], Rounding::host));
  });
}

// Made when they are asked for, like the weights that they come from.
class RoundedBytes : public DeferredBytes {
 public:
  RoundedBytes(std::shared_ptr<const Array> array, Columns columns, DType dtype)
      : DeferredBytes(static_cast<std::size_t>(array->count()) * sizeof(float)),
        array_(std::move(array)),
        columns_(columns),
        dtype_(dtype) {}

  void write(std::byte* to) const override {
    if (array_->deferred())
      array_->deferred()->write(to);
    else
      std::ranges::copy(array_->bytes(), to);
    auto* weights = reinterpret_cast<float*>(to);
    if (dtype_ == DType::bfloat16)
      round_each(weights, array_->count());
    else
      round_blocks(weights, columns_, dtype_);
  }
  void forget() const override {
    if (array_->deferred()) array_->deferred()->forget();
  }

 private:
  std::shared_ptr<const Array> array_;
  Columns columns_;
  DType dtype_;
};

}  // namespace

void round_weights(Graph& graph, DType dtype) {
  check(dtype == DType::bfloat16 || is_block_float(dtype), Code::unsupported,
        "weights can be kept as float32, bfloat16, bfloat8_b or bfloat4_b, not as {}", name(dtype));
  std::map<std::pair<ValueId, std::int64_t>, ValueId> rounded;  // by weights and how their columns lie
  for (Node& node : graph.nodes) {
    if (node.op_inputs() < 2 || node.inputs[1] == kNoValue) continue;
    const ValueId id = node.inputs[1];
    const std::shared_ptr<const Array> array = graph.value(id).constant;
    if (!array || array->type() != ElementType::float32 || array->count() == 0) continue;
    const std::optional<Columns> columns = columns_of(node.op, array->shape());
    if (!columns) continue;
    ValueId& now = rounded.try_emplace({id, columns->outer}, kNoValue).first->second;
    if (now == kNoValue) {
      const std::string value_name = graph.value(id).name;
      now = graph.add_constant(value_name, Array(ElementType::float32, array->shape(),
                                                 std::make_shared<const RoundedBytes>(array, *columns, dtype)));
    }
    node.inputs[1] = now;
  }
  remove_dead_code(graph);
}

}  // namespace tessera
