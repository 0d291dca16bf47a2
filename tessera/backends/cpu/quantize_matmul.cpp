// QLinearMatMul and MatMulInteger, exactly as defined, where the left matrix and the result have one scale and one zero
// point. Both matrices become 16-bit differences from their zero points, the right one transposed.

#include "tessera/backends/cpu/internal/families.h"
#include "tessera/backends/cpu/internal/integer_dot.h"
#include "tessera/backends/cpu/internal/requantize.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/ops/quantize.h"

#include <fmt/format.h>

#include <memory>

namespace tessera::cpu {
namespace {

struct Inputs {
  std::size_t b = 3, a_zero = 2, b_zero = 5;
  bool requantizes = true;
};
Inputs inputs_of(const Op& op) { return std::holds_alternative<QLinearMatMul>(op) ? Inputs{} : Inputs{1, 2, 3, false}; }

struct Sizes {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;  // of one right matrix: all rows of the left are one batch
  std::int64_t length = 0;                      // of a row, padded
};

std::optional<Sizes> sizes_of(const Problem& problem, const Inputs& in) {
  const Shape a = problem.input(0).shape(), b = problem.input(in.b).shape();
  if (a.rank() < 2 || b.rank() < 2) return std::nullopt;
  Sizes s;
  s.k = a[-1], s.n = b[-1];
  if (b.rank() == 2) {
    s.m = s.k == 0 ? 0 : a.volume() / s.k;
  } else {
    if (a.rank() != b.rank()) return std::nullopt;
    for (int d = 0; d < a.rank() - 2; ++d) {
      if (a[d] != b[d]) return std::nullopt;
      s.batch *= a[d];
    }
    s.m = a[-2];
  }
  s.length = round_up_length(s.k, kIntegerStep);
  return s;
}

constexpr std::int64_t kBlock = 16;  // rows that one thread takes at a time

std::int64_t rows_bytes(const Sizes& s) { return kBlock * s.length * 2; }
std::int64_t totals_bytes(const Sizes& s) { return round_up_length(kBlock * s.n * 4, 64); }
std::int64_t right_bytes(const Sizes& s) { return round_up_length(s.batch * s.n * s.length * 2, 64); }

bool is_one(const Problem& problem, std::size_t i) { return !problem.has(i) || problem.input(i).shape().volume() == 1; }

Answer consider(const KernelInfo& kernel, const Problem& problem) {
  const Inputs in = inputs_of(problem.node.op);
  const std::optional<Sizes> s = sizes_of(problem, in);
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  if (!s) return Refusal{"vectors, or batches that differ"};
  if (s->length > kIntegerLongest || s->k == 0) return Refusal{"the sums are longer than int32 holds, or empty"};
  if (!is_one(problem, in.a_zero)) return Refusal{"zero points for each row"};
  if (!is_one(problem, in.b_zero) && problem.input(in.b).rank() != 2) return Refusal{"zero points for each matrix"};
  if (in.requantizes) {
    for (const std::size_t i : {1, 4, 6})
      if (problem.input(i).type != ElementType::float32) return Refusal{"a scale is not float32"};
    for (const std::size_t i : {1, 6, 7})
      if (!is_one(problem, i)) return Refusal{"scales for each row"};
    if (!is_one(problem, 4)) return Refusal{"scales for each column"};
  }
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  offer.scratch_bytes = right_bytes(*s) + problem.threads * (rows_bytes(*s) + totals_bytes(*s));
  const Work w = work(problem.graph, problem.node);
  offer.estimate = estimate(problem, kernel.isa, w.flops + 2.0 * static_cast<double>(s->batch * s->n * s->length),
                            w.read_bytes + w.write_bytes, 0.25);
  return offer;
}

// A transposed matrix, less its zero points.
void pack(const Sizes& s, const std::byte* b, bool has_sign, const std::byte* zeros, bool one_zero, std::int16_t* to) {
  for (std::int64_t j = 0; j < s.n; ++j) {
    const std::int32_t zero = zeros == nullptr ? 0 : byte_value(zeros + (one_zero ? 0 : j), has_sign);
    for (std::int64_t k = 0; k < s.k; ++k)
      to[j * s.length + k] = static_cast<std::int16_t>(byte_value(b + k * s.n + j, has_sign) - zero);
    std::fill(to + j * s.length + s.k, to + (j + 1) * s.length, std::int16_t{0});
  }
}

Runner prepare(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache& weights) {
  const Inputs in = inputs_of(problem.node.op);
  const Sizes s = *sizes_of(problem, in);
  const bool has_a_zero = problem.has(in.a_zero), has_b_zero = problem.has(in.b_zero);
  const bool one_b_zero = is_one(problem, in.b_zero);
  const bool a_sign = problem.input(0).type == ElementType::int8,
             b_sign = problem.input(in.b).type == ElementType::int8,
             y_sign = problem.output().type == ElementType::int8;
  const auto dots = TSR_FOR_ISA(kernel.isa, integer_dots);
  std::shared_ptr<const PackedWeights> packed;
  const Array* zeros = problem.constant(in.b_zero);
  if (problem.constant(in.b) != nullptr && (!has_b_zero || zeros != nullptr))
    packed = weights.get(problem.graph.value(problem.node.inputs[in.b]).constant,
                         fmt::format("transposed integers {} zeros={}", s.length, zeros_text(constant_zeros(zeros))),
                         [&](const Array& b) {
                           PackedWeights out(static_cast<std::size_t>(right_bytes(s)));
                           for (std::int64_t i = 0; i < s.batch; ++i)
                             pack(s, b.bytes().data() + i * s.k * s.n, b_sign,
                                  zeros == nullptr ? nullptr : zeros->bytes().data(), one_b_zero,
                                  reinterpret_cast<std::int16_t*>(out.data()) + i * s.n * s.length);
                           return out;
                         });
  const std::int64_t blocks = (s.m + kBlock - 1) / kBlock;
  const int threads = problem.threads;
  return [=](const StepArgs& args) {
    const std::int32_t a_zero = has_a_zero ? byte_value(args.inputs[in.a_zero], a_sign) : 0;
    const auto* right = reinterpret_cast<const std::int16_t*>(packed ? packed->data() : args.scratch);
    if (!packed)
      parallel_for(s.batch, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          pack(s, args.inputs[in.b] + i * s.k * s.n, b_sign, has_b_zero ? args.inputs[in.b_zero] : nullptr, one_b_zero,
               reinterpret_cast<std::int16_t*>(args.scratch) + i * s.n * s.length);
      });
    const auto run_block = [&](std::int64_t at, std::byte* scratch) {
      const std::int64_t batch = at / blocks, first = at % blocks * kBlock, rows = std::min(kBlock, s.m - first);
      auto* left = reinterpret_cast<std::int16_t*>(scratch);
      auto* totals = reinterpret_cast<std::int32_t*>(scratch + rows_bytes(s));
      const std::int64_t row = batch * s.m + first;
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t k = 0; k < s.k; ++k)
          left[i * s.length + k] =
              static_cast<std::int16_t>(byte_value(args.inputs[0] + (row + i) * s.k + k, a_sign) - a_zero);
        std::fill(left + i * s.length + s.k, left + (i + 1) * s.length, std::int16_t{0});
      }
      dots(left, rows, right + batch * s.n * s.length, s.n, s.length, totals, s.n);
      if (!in.requantizes) {
        std::copy_n(totals, rows * s.n, args.output<std::int32_t>() + row * s.n);
        return;
      }
      const float multiplier = *args.input<float>(1) * *args.input<float>(4) / *args.input<float>(6);
      requantize(totals, rows * s.n, static_cast<double>(multiplier), byte_value(args.inputs[7], y_sign), y_sign,
                 args.outputs[0] + row * s.n);
    };
    const std::int64_t all = s.batch * blocks;
    parallel_for(threads, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t share = begin; share < end; ++share)
        for (std::int64_t at = all * share / threads; at < all * (share + 1) / threads; ++at)
          run_block(at, args.scratch + right_bytes(s) + share * (rows_bytes(s) + totals_bytes(s)));
    });
  };
}

constexpr CpuKernel kernel(std::string_view name, std::string_view op, Isa isa) {
  return {{.name = name, .op = op, .isa = isa, .type = ElementType::int8, .consider = consider}, prepare};
}

constexpr CpuKernel kKernels[] = {
    kernel("qlinear_matmul_i8_portable", QLinearMatMul::kName, Isa::portable),
    kernel("qlinear_matmul_i8_avx2", QLinearMatMul::kName, Isa::avx2),
    kernel("qlinear_matmul_i8_avx512", QLinearMatMul::kName, Isa::avx512),
    kernel("matmul_integer_i8_portable", MatMulInteger::kName, Isa::portable),
    kernel("matmul_integer_i8_avx2", MatMulInteger::kName, Isa::avx2),
    kernel("matmul_integer_i8_avx512", MatMulInteger::kName, Isa::avx512),
};

}  // namespace

std::span<const CpuKernel> quantize_matmul_kernels() { return kKernels; }

}  // namespace tessera::cpu
