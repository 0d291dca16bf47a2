#include "tessera/targets/cpu/kernels/integer/requantize.h"

#include "tessera/graph/ops/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tessera::cpu {
namespace {

struct Bounds {
  std::int32_t low = 0, high = 255;
};

Bounds bounds_of(ElementType type) { return type == ElementType::int8 ? Bounds{-128, 127} : Bounds{0, 255}; }

// What Clip leaves of them: where its bounds cross, the upper one wins.
bool narrow(const Problem& problem, const FusedOp& clip, Bounds& bounds) {
  for (std::size_t i = 1; i < clip.operands.size(); ++i) {
    const auto at = static_cast<std::size_t>(clip.operands[i]);
    const Array* bound = clip.operands[i] < 0 ? nullptr : problem.constant(at);
    if (bound == nullptr || bound->count() != 1) return false;
    const auto value = static_cast<std::int32_t>(bound->to_int64()[0]);
    if (i == 1) {
      bounds.low = std::max(bounds.low, value);
      bounds.high = std::max(bounds.high, bounds.low);
    } else {
      bounds.high = std::min(bounds.high, value);
      bounds.low = std::min(bounds.low, bounds.high);
    }
  }
  return true;
}

// Sums of bytes with such scales, and their quotients, are normal numbers or of no matter.
bool is_moderate(float scale) { return scale > 0x1p-60f && scale < 0x1p60f; }

// The constants of a QLinearAdd whose operand i is input_of(i) of the node; `chained` of them is q.
template <class InputOf>
bool read_add(const Problem& problem, std::size_t chained, std::int32_t zero, const InputOf& input_of,
              IntegerEpilogue& to) {
  const std::size_t other = 3 - chained;
  const auto at = [&](std::size_t i) { return static_cast<std::size_t>(input_of(i)); };
  for (const std::size_t i : {1, 2, 4, 5, 6, 7})
    if (input_of(i) < 0 || problem.constant(at(i)) == nullptr) return false;
  const auto scale = [&](std::size_t i) { return static_cast<float>(problem.constant(at(i))->to_double()[0]); };
  const auto integer = [&](std::size_t i) { return static_cast<std::int32_t>(problem.constant(at(i))->to_int64()[0]); };
  int exponent = 0;
  to.adds = true;
  to.residual_sign = problem.input(at(other)).type == ElementType::int8;
  to.shift = zero - integer(chained + 2);
  to.residual_less = -integer(other + 2);
  to.scale = scale(chained + 1);
  to.residual_scale = scale(other + 1);
  to.sum_scale = scale(6);
  to.reciprocal = 1 / to.sum_scale;
  to.divides = !is_moderate(to.scale) || !is_moderate(to.residual_scale) || !is_moderate(to.sum_scale) ||
               std::frexp(to.sum_scale, &exponent) == 1 - 0x1p-24f;
  to.sum_zero = integer(7);
  return true;
}

}  // namespace

std::string zeros_text(const Array* zeros) {
  const std::vector<std::int64_t> values = constant_zeros(zeros);
  if (std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == values[0]; }))
    return values.empty() ? "" : std::to_string(values[0]);
  std::string text;
  for (const std::int64_t value : values) text += std::to_string(value) + ",";
  return text;
}

std::variant<Requantization, Refusal> read_requantization(const Problem& problem, std::size_t y_zero) {
  if (problem.constant(y_zero) == nullptr) return Refusal{"the zero point of the result is computed"};
  Requantization to;
  IntegerEpilogue& e = to.epilogue;
  e.zero = static_cast<std::int32_t>(problem.constant(y_zero)->to_int64()[0]);
  Bounds bounds = bounds_of(problem.op_output().type), sum_bounds;
  for (std::size_t i = 0; i < problem.node.fused.size(); ++i) {
    const FusedOp& fused = problem.node.fused[i];
    if (std::holds_alternative<Clip>(fused.op)) {
      if (!narrow(problem, fused, e.adds ? sum_bounds : bounds)) return Refusal{"bounds are computed"};
    } else if (std::holds_alternative<QLinearAdd>(fused.op) && !e.adds) {
      const std::size_t chained = fused.operands[0] == FusedOp::kChained ? 0 : 3;
      to.residual = fused.operands[3 - chained];
      const auto input_of = [&](std::size_t operand) { return fused.operands[operand]; };
      if (to.residual < 0 || !read_add(problem, chained, e.zero, input_of, e))
        return Refusal{"scales of a sum are computed"};
      sum_bounds = bounds_of(problem.input(static_cast<std::size_t>(fused.operands[7])).type);
    } else {
      return Refusal{fmt::format("cannot apply a fused {}", name(fused.op))};
    }
  }
  e.low = static_cast<float>(bounds.low - e.zero);
  e.high = static_cast<float>(bounds.high - e.zero);
  e.sum_low = static_cast<float>(sum_bounds.low - e.sum_zero);
  e.sum_high = static_cast<float>(sum_bounds.high - e.sum_zero);
  return to;
}

std::variant<IntegerEpilogue, Refusal> read_requantized_add(const Problem& problem) {
  IntegerEpilogue e;
  if (!read_add(problem, 0, 0, [](std::size_t i) { return static_cast<int>(i); }, e))
    return Refusal{"scales or zero points are computed"};
  Bounds bounds = bounds_of(problem.op_output().type);
  for (const FusedOp& fused : problem.node.fused)
    if (!std::holds_alternative<Clip>(fused.op) || !narrow(problem, fused, bounds))
      return Refusal{fmt::format("cannot apply a fused {}", name(fused.op))};
  e.sum_low = static_cast<float>(bounds.low - e.sum_zero);
  e.sum_high = static_cast<float>(bounds.high - e.sum_zero);
  return e;
}

}  // namespace tessera::cpu
