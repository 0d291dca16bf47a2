// Gemm and MatMul on the dense engine: rows are rows of A, columns those of B. A constant B is packed once, another one
// in every run.

#include "tessera/core/element_type_of.h"
#include "tessera/targets/cpu/kernels/dense/block_panels.h"
#include "tessera/targets/cpu/kernels/dense/dense.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/flush.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace tessera::cpu {
namespace {

struct GemmShape {
  std::int64_t m = 0, k = 0, n = 0;
  bool transpose_a = false, transpose_b = false;
  float alpha = 1, beta = 1;
  // Matrices of A and B, and which of them make each matrix of the result.
  std::int64_t a_count = 1, b_count = 1;
  std::vector<std::pair<std::int64_t, std::int64_t>> batches = {{0, 0}};
};

GemmShape read_gemm(const Gemm& op, const Shape& a, const Shape& b) {
  GemmShape s;
  s.m = a[op.transpose_a ? 1 : 0], s.k = a[op.transpose_a ? 0 : 1], s.n = b[op.transpose_b ? 0 : 1];
  s.transpose_a = op.transpose_a, s.transpose_b = op.transpose_b, s.alpha = op.alpha, s.beta = op.beta;
  return s;
}

GemmShape read_matmul(const Shape& a, const Shape& b) {
  GemmShape s;
  std::vector<std::int64_t> p(a.begin(), a.end()), q(b.begin(), b.end());
  if (p.size() == 1) p.insert(p.begin(), 1);
  if (q.size() == 1) q.push_back(1);
  s.m = p[p.size() - 2], s.k = p.back(), s.n = q.back();
  p.resize(p.size() - 2), q.resize(q.size() - 2);
  const std::size_t rank = std::max(p.size(), q.size());
  p.insert(p.begin(), rank - p.size(), 1), q.insert(q.begin(), rank - q.size(), 1);
  const auto broadcast = [&](std::size_t d) { return p[d] == 1 ? q[d] : p[d]; };  // an extent of 0 stays one
  std::int64_t count = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    s.a_count *= p[d], s.b_count *= q[d];
    count *= broadcast(d);
  }
  if (s.b_count == 1) {  // one tall matrix
    s.m *= s.a_count;
    s.a_count = 1;
    return s;
  }
  s.batches.clear();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at_a = 0, at_b = 0, step_a = 1, step_b = 1;
    for (std::size_t d = rank; d-- > 0;) {
      const std::int64_t extent = broadcast(d), index = rest % extent;
      rest /= extent;
      if (p[d] > 1) at_a += index * step_a;
      if (q[d] > 1) at_b += index * step_b;
      step_a *= p[d], step_b *= q[d];
    }
    s.batches.push_back({at_a, at_b});
  }
  return s;
}

GemmShape read_shape(const Problem& problem) {
  const Shape a = problem.input(0).shape(), b = problem.input(1).shape();
  const auto* gemm = std::get_if<Gemm>(&problem.node.op);
  return gemm ? read_gemm(*gemm, a, b) : read_matmul(a, b);
}

// The matrix that Gemm adds: of each column (a constant one is made ready once), or of each element.
struct Addend {
  enum class Kind : std::uint8_t { none, constant_columns, columns, elements };
  Kind kind = Kind::none;
  std::int64_t row_stride = 0, column_stride = 0;
};

Addend read_addend(const Problem& problem, const GemmShape& s) {
  if (!std::holds_alternative<Gemm>(problem.node.op) || problem.node.op_inputs() < 3 || !problem.has(2) || s.beta == 0)
    return {};
  const Shape c = problem.input(2).shape();
  const std::int64_t columns = c.rank() > 0 ? c[c.rank() - 1] : 1, rows = c.rank() > 1 ? c[0] : 1;
  Addend addend;
  addend.column_stride = columns > 1 ? 1 : 0;
  addend.row_stride = rows > 1 ? columns : 0;
  addend.kind = rows > 1              ? Addend::Kind::elements
                : problem.constant(2) ? Addend::Kind::constant_columns
                                      : Addend::Kind::columns;
  return addend;
}

struct Layout {
  std::int64_t a = -1, b = -1, bias = -1, bytes = 0;  // offsets in scratch, -1: not there
};

Layout scratch_layout(const Problem& problem, const GemmShape& s, const Addend& addend, const DenseKernel& kernel) {
  Layout layout;
  const auto take = [&](std::int64_t bytes) {
    const std::int64_t at = layout.bytes;
    layout.bytes += round_up(bytes, 64);
    return at;
  };
  if (widens(kernel) || s.transpose_a) layout.a = take(s.a_count * s.m * s.k * element_bytes(kernel.x_type()));
  if (problem.constant(1) == nullptr)
    layout.b = take(s.b_count * packed_elements(kernel, 1, s.k, s.n) * element_bytes(kernel.type));
  if (addend.kind == Addend::Kind::columns) layout.bias = take(round_up(s.n, kernel.columns) * 4);
  return layout;
}

Answer consider(const KernelInfo& info, const Problem& problem) {
  if (problem.input(0).type != info.type)
    return Refusal{fmt::format("stores {}, the input is {}", name(info.type), name(problem.input(0).type))};
  const GemmShape s = read_shape(problem);
  if (s.m * s.n * s.k == 0 || s.batches.empty()) return Refusal{"nothing to compute"};
  if (s.alpha != 1 && info.type != ElementType::float32)
    return Refusal{fmt::format("weights times alpha = {} do not fit {}", s.alpha, name(info.type))};
  const auto read = read_epilogue(problem);
  if (const auto* refusal = std::get_if<Refusal>(&read)) return *refusal;
  if (std::get<Epilogue>(read).pool != nullptr) return Refusal{"a fused pool"};
  const DenseKernel& kernel = dense_kernel(info);
  const bool expandable = problem.constant(1) != nullptr && s.alpha == 1 && s.b_count == 1;
  if (auto reason = refuse_weights(kernel, problem, expandable)) return Refusal{*reason};
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  offer.outputs = {Order::row_major};
  const Layout layout = scratch_layout(problem, s, read_addend(problem, s), kernel);
  offer.scratch_bytes = layout.bytes;
  const Work w = work(problem.graph, problem.node);
  offer.estimate =
      estimate(problem, as_wide(info), w.flops,
               w.read_bytes + w.write_bytes - saved_bytes(kernel, problem) + 2.0 * static_cast<double>(layout.bytes),
               dense_efficiency(kernel, s.m, s.n, s.k, 1, s.k));
  return offer;
}

template <class T>
float as_float(T value) {
  if constexpr (std::is_same_v<T, float>)
    return value;
  else
    return float_from_bfloat16(value);
}

// B, k x n or transposed, into panels; rows of panels are copied whole, one or (by pairs) two at a time.
template <class T>
void pack_b(const T* b, const GemmShape& s, const DenseKernel& kernel, Flush flush, T* to) {
  const auto scaled = [&](T value) {
    if constexpr (std::is_same_v<T, float>) return flush(value * s.alpha);
    return flush(value);
  };
  if (s.transpose_b) {
    if (kernel.step() == 1)
      pack_columns(kernel, s.k, s.n, b, to, [](std::int64_t k) { return k; }, scaled);
    else
      pack_panels(kernel, 1, s.k, s.n, to,
                  [&](std::int64_t column, std::int64_t k) { return scaled(b[column * s.k + k]); });
    return;
  }
  const std::int64_t depth = packed_depth(kernel, 1, s.k).elements(), pair = kernel.pair();
  parallel_for(ceil_div(s.n, kernel.columns), packing_grain(kernel, depth), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t panel = begin; panel < end; ++panel) {
      const std::int64_t first = panel * kernel.columns, count = std::min(kernel.columns, s.n - first);
      T* at = to + panel * depth * kernel.columns;
      for (std::int64_t k = 0; k < depth; k += pair, at += pair * kernel.columns) {
        if (pair == 1) {
          const T* from = b + k * s.n + first;
          for (std::int64_t n = 0; n < count; ++n) at[n] = scaled(from[n]);
          std::fill(at + count, at + kernel.columns, T{});
        } else if (k + 1 < s.k) {
          const T *even = b + k * s.n + first, *odd = even + s.n;
          for (std::int64_t n = 0; n < count; ++n) at[2 * n] = scaled(even[n]), at[2 * n + 1] = scaled(odd[n]);
          std::fill(at + 2 * count, at + 2 * kernel.columns, T{});
        } else {
          std::fill(at, at + 2 * kernel.columns, T{});
          if (k < s.k)
            for (std::int64_t n = 0; n < count; ++n) at[2 * n] = scaled(b[k * s.n + first + n]);
        }
      }
    }
  });
}

template <class T>
void pack_all_b(const std::byte* b, const GemmShape& s, const DenseKernel& kernel, Flush flush, std::byte* to) {
  for (std::int64_t i = 0; i < s.b_count; ++i)
    pack_b(reinterpret_cast<const T*>(b) + i * s.k * s.n, s, kernel, flush,
           reinterpret_cast<T*>(to) + i * packed_elements(kernel, 1, s.k, s.n));
}

void pack_all_b(const std::byte* b, const GemmShape& s, const DenseKernel& kernel, Flush flush, std::byte* to) {
  if (kernel.type == ElementType::float32)
    pack_all_b<float>(b, s, kernel, flush, to);
  else
    pack_all_b<std::uint16_t>(b, s, kernel, flush, to);
}

// A constant B, in fewer bits if the kernel wants it so.
PackedWeights packed_b(const Array& b, const GemmShape& s, const DenseKernel& kernel, Flush flush) {
  PackedWeights panels(
      static_cast<std::size_t>(s.b_count * packed_elements(kernel, 1, s.k, s.n) * element_bytes(kernel.type)));
  pack_all_b(b.bytes().data(), s, kernel, flush, panels.data());
  if (!kernel.expand) return panels;
  PackedWeights packed(static_cast<std::size_t>(expanded_bytes(kernel, s.k, s.n)));
  pack_expanded(kernel, s.k, s.n, reinterpret_cast<const float*>(panels.data()), packed.data());
  return packed;
}

// A, stored k x m, as m x k of what the tile reads.
template <class T, class X>
void transpose_a(const T* a, const GemmShape& s, X* to) {
  constexpr std::int64_t kBlock = 16;
  parallel_for(s.m, round_up(std::max<std::int64_t>(kBlock, (1 << 14) / s.k), kBlock),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; i += kBlock)
                   for (std::int64_t p = 0; p < s.k; ++p)
                     for (std::int64_t j = i; j < std::min(i + kBlock, end); ++j)
                       if constexpr (std::is_same_v<T, X>)
                         to[j * s.k + p] = a[p * s.m + j];
                       else
                         to[j * s.k + p] = as_float(a[p * s.m + j]);
               });
}

const void* transposed_a(const StepArgs& args, const GemmShape& s, const DenseKernel& kernel, std::byte* to) {
  if (kernel.type == ElementType::float32)
    transpose_a(args.input<float>(0), s, reinterpret_cast<float*>(to));
  else if (widens(kernel))
    transpose_a(args.input<std::uint16_t>(0), s, reinterpret_cast<float*>(to));
  else
    transpose_a(args.input<std::uint16_t>(0), s, reinterpret_cast<std::uint16_t*>(to));
  return to;
}

template <class T>
void column_bias(const T* c, const GemmShape& s, const Addend& addend, std::int64_t padded, float* to) {
  for (std::int64_t n = 0; n < padded; ++n) to[n] = n < s.n ? s.beta * as_float(c[n * addend.column_stride]) : 0.0f;
}

void column_bias(const std::byte* c, ElementType type, const GemmShape& s, const Addend& addend, std::int64_t padded,
                 float* to) {
  if (type == ElementType::float32)
    column_bias(reinterpret_cast<const float*>(c), s, addend, padded, to);
  else
    column_bias(reinterpret_cast<const std::uint16_t*>(c), s, addend, padded, to);
}

std::vector<DenseJob> make_jobs(const GemmShape& s, const DenseKernel& kernel) {
  std::vector<DenseJob> jobs;
  for (std::size_t i = 0; i < s.batches.size(); ++i) {
    DenseJob& job = jobs.emplace_back();
    job.grid_w = job.width = s.m;
    job.pixel = job.depth = s.k;
    job.taps = {{0, 0}};
    job.x_first = s.batches[i].first * s.m * s.k;
    job.y = job.residual = {static_cast<std::int64_t>(i) * s.m * s.n, 0, 0, s.n};
    job.columns = s.n;
    job.weights_first = s.batches[i].second * packed_elements(kernel, 1, s.k, s.n);
  }
  return jobs;
}

Runner prepare(const KernelInfo& info, const Problem& problem, const Offer&, WeightCache& weights) {
  struct State {
    GemmShape shape;
    Addend addend;
    Layout layout;
    DenseWork work;
    std::shared_ptr<const PackedWeights> weights;  // null: B comes with each run
    std::vector<float> bias;
    int residual = -1;
  };
  auto state = std::make_shared<State>();
  State& to = *state;
  const DenseKernel& kernel = dense_kernel(info);
  const GemmShape& s = to.shape = read_shape(problem);
  const Epilogue epilogue = std::get<Epilogue>(read_epilogue(problem));
  to.addend = read_addend(problem, s);
  to.layout = scratch_layout(problem, s, to.addend, kernel);
  to.work.kernel = &kernel;
  to.work.jobs = make_jobs(s, kernel);
  to.work.epilogue = dense_epilogue(epilogue);
  split_work(to.work, problem.threads);
  to.residual = epilogue.residual;
  const Flush flush{!problem.exact};
  if (problem.constant(1) != nullptr)
    to.weights = weights.get(
        problem.graph.value(problem.node.inputs[1]).constant,
        fmt::format("gemm transposed={} alpha={} {} flush={}", s.transpose_b, s.alpha, packing_key(kernel), flush.on),
        [&](const Array& array) { return packed_b(array, s, kernel, flush); });
  if (to.addend.kind == Addend::Kind::constant_columns) {
    to.bias.resize(static_cast<std::size_t>(round_up(s.n, kernel.columns)));
    column_bias(problem.constant(2)->bytes().data(), info.type, s, to.addend, static_cast<std::int64_t>(to.bias.size()),
                to.bias.data());
  }

  return [state](const StepArgs& args) {
    const State& from = *state;
    const GemmShape& shape = from.shape;
    const DenseKernel& tile = *from.work.kernel;
    DenseOperands operands;
    if (shape.transpose_a) {
      operands.x = transposed_a(args, shape, tile, args.scratch + from.layout.a);
    } else {
      operands.x = widened(args.inputs[0], tile, 1, shape.a_count * shape.m * shape.k, 0,
                           from.layout.a < 0 ? nullptr : args.scratch + from.layout.a);
    }
    if (from.weights) {
      operands.weights = from.weights->data();
    } else {
      pack_all_b(args.inputs[1], shape, tile, Flush{false}, args.scratch + from.layout.b);
      operands.weights = args.scratch + from.layout.b;
    }
    switch (from.addend.kind) {
      case Addend::Kind::none: break;
      case Addend::Kind::constant_columns: operands.bias = from.bias.data(); break;
      case Addend::Kind::columns: {
        auto* bias = reinterpret_cast<float*>(args.scratch + from.layout.bias);
        column_bias(args.inputs[2], tile.type, shape, from.addend, round_up(shape.n, tile.columns), bias);
        operands.bias = bias;
        break;
      }
      case Addend::Kind::elements:
        operands.addend = args.inputs[2];
        operands.addend_row = from.addend.row_stride;
        operands.addend_column = from.addend.column_stride;
        operands.addend_scale = shape.beta;
        break;
    }
    operands.residual = from.residual >= 0 ? args.inputs[static_cast<std::size_t>(from.residual)] : nullptr;
    operands.y = args.outputs[0];
    run_dense(from.work, operands);
  };
}

constexpr CpuKernel kKernels[] = {
#define M(storage, isa)
#define K(storage, rows, columns, set, vectors)               \
  TSR_DENSE_KERNEL("gemm", Gemm, storage, rows, columns, set) \
  TSR_DENSE_KERNEL("matmul", MatMul, storage, rows, columns, set)
#include "tessera/targets/cpu/kernels/dense/dense.def"
#undef K
#undef M
#define E(storage, weights, rows, columns, set)                               \
  TSR_DENSE_EXPAND_KERNEL("gemm", Gemm, storage, weights, rows, columns, set) \
  TSR_DENSE_EXPAND_KERNEL("matmul", MatMul, storage, weights, rows, columns, set)
#include "tessera/targets/cpu/kernels/dense/dense_expand.def"
#undef E
};

}  // namespace

std::span<const CpuKernel> gemm_kernels() { return kKernels; }

}  // namespace tessera::cpu
