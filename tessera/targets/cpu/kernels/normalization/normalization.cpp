// BatchNorm, InstanceNorm, GroupNorm, LayerNorm, RmsNorm and Lrn.

#include "tessera/core/element_type_of.h"
#include "tessera/targets/cpu/kernels/elementwise/elementwise.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/normalization/normalization_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

namespace tessera::cpu {
namespace {

// x as batch x channels x area.
struct Extents {
  std::int64_t batch = 1, channels = 1, area = 1;
};
Extents extents_of(const Shape& shape) {
  Extents e;
  for (int d = 0; d < shape.rank(); ++d) (d == 0 ? e.batch : d == 1 ? e.channels : e.area) *= shape[d];
  return e;
}

// Element i of an operand of the kernel's type.
float element(const std::byte* at, ElementType type, std::int64_t i) {
  return type == ElementType::bfloat16 ? static_cast<float>(reinterpret_cast<const BFloat16*>(at)[i])
                                       : reinterpret_cast<const float*>(at)[i];
}

std::optional<Refusal> refusal_of(const KernelInfo& kernel, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  for (std::size_t i = 0; i < problem.node.inputs.size(); ++i)
    if (problem.has(i) && problem.input(i).type != kernel.type)
      return Refusal{fmt::format("input {} is {}", i, name(problem.input(i).type))};
  return std::nullopt;
}

Offer offer_for(const KernelInfo& kernel, const Problem& problem, double flops_each, bool any_order) {
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::row_major);
  if (any_order) offer.inputs[0] = problem.orders[0];
  offer.outputs.assign(problem.types.outputs.size(), offer.inputs[0]);
  offer.may_overwrite = problem.types.outputs.size() == 1 ? 0 : -1;
  offer.estimate = estimate(problem, kernel.isa, flops_each * static_cast<double>(problem.output().shape().volume()),
                            streamed_bytes(problem), 0.2);
  return offer;
}

NormalizationFunctions functions_of(const KernelInfo& kernel) {
  return TSR_FOR_ISA(kernel.isa, normalization_functions)(kernel.type == ElementType::bfloat16);
}

// Summed up as differences to the first element: numbers that are far from 0 and close together keep their digits.
double mean_of(const NormalizationFunctions& f, const std::byte* x, ElementType type, std::int64_t n) {
  const float first = element(x, type, 0);
  return static_cast<double>(first) + f.sum(x, n, first) / static_cast<double>(n);
}

// What each channel is moved and scaled by.
struct Channels {
  std::vector<float> centers, factors, shifts;
};

Answer consider_batch(const KernelInfo& kernel, const Problem& problem) {
  if (std::get<BatchNorm>(problem.node.op).training) return Refusal{"it is training"};
  if (problem.input(0).type != kernel.type) return Refusal{fmt::format("elements are {}", name(problem.input(0).type))};
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  for (std::size_t i = 1; i < 5; ++i)
    if (problem.constant(i) == nullptr) return Refusal{"its statistics are computed"};
  return offer_for(kernel, problem, 3, true);
}

Runner prepare_batch(const KernelInfo& kernel, const Problem& problem, const Offer& offer, WeightCache&) {
  const auto& op = std::get<BatchNorm>(problem.node.op);
  const Extents e = extents_of(problem.output().shape());
  auto channels = std::make_shared<Channels>();
  const std::vector<double> scale = problem.constant(1)->to_double(), bias = problem.constant(2)->to_double(),
                            mean = problem.constant(3)->to_double(), variance = problem.constant(4)->to_double();
  for (std::size_t c = 0; c < scale.size(); ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + static_cast<double>(op.epsilon));
    const float center = static_cast<float>(mean[c]);
    channels->centers.push_back(center);
    channels->factors.push_back(static_cast<float>(factor));
    // What rounding the mean has left out.
    channels->shifts.push_back(static_cast<float>(bias[c] - (mean[c] - static_cast<double>(center)) * factor));
  }
  const NormalizationFunctions f = functions_of(kernel);
  const std::int64_t bytes = element_bytes(kernel.type);
  // By pixels, each with all its channels, or by channels.
  const bool by_pixels = offer.inputs[0] == Order::channels_last || e.area == 1;
  const std::int64_t rows = by_pixels ? e.batch * e.area : e.batch * e.channels,
                     length = by_pixels ? e.channels : e.area;
  return [=, shared = std::shared_ptr<const Channels>(channels)](const StepArgs& args) {
    const std::byte* x = args.inputs[0];
    std::byte* y = args.outputs[0];
    const Channels& ch = *shared;
    parallel_for(rows, std::max<std::int64_t>(1, kCheapGrain / std::max<std::int64_t>(length, 1)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     const std::int64_t at = r * length * bytes;
                     const auto c = static_cast<std::size_t>(by_pixels ? 0 : r % e.channels);
                     if (by_pixels)
                       f.affine_each(x + at, y + at, length, ch.centers.data(), ch.factors.data(), ch.shifts.data());
                     else
                       f.affine(x + at, y + at, length, ch.centers[c], ch.factors[c], ch.shifts[c]);
                   }
                 });
  };
}

// Groups of channels within one sample.
struct Groups {
  Extents e;
  std::int64_t groups = 1;
  double epsilon = 0;
  bool per_group_scale = false;
};

Groups groups_of(const Problem& problem) {
  const Extents e = extents_of(problem.output().shape());
  if (const auto* op = std::get_if<GroupNorm>(&problem.node.op))
    return {e, op->groups, op->epsilon, op->per_group_scale};
  return {e, e.channels, std::get<InstanceNorm>(problem.node.op).epsilon, false};
}

Answer consider_groups(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refusal_of(kernel, problem)) return *refusal;
  Offer offer = offer_for(kernel, problem, 7, true);
  const Groups g = groups_of(problem);
  // Sums, and what each channel is moved and scaled by.
  if (offer.inputs[0] == Order::channels_last)
    offer.scratch_bytes = g.e.batch * g.e.channels * static_cast<std::int64_t>(2 * sizeof(double) + 3 * sizeof(float));
  return offer;
}

Runner prepare_groups(const KernelInfo& kernel, const Problem& problem, const Offer& offer, WeightCache&) {
  const Groups g = groups_of(problem);
  const Extents e = g.e;
  const NormalizationFunctions f = functions_of(kernel);
  const ElementType type = kernel.type;
  const std::int64_t bytes = element_bytes(type), per = e.channels / g.groups;
  const auto index = [=](std::int64_t c) { return g.per_group_scale ? c / per : c; };
  if (e.batch * e.channels * e.area == 0) return [](const StepArgs&) {};
  if (offer.inputs[0] == Order::row_major)
    return [=](const StepArgs& args) {
      const std::byte *x = args.inputs[0], *scale = args.inputs[1], *bias = args.inputs[2];
      std::byte* y = args.outputs[0];
      const std::int64_t length = per * e.area;
      parallel_for(
          e.batch * g.groups, std::max<std::int64_t>(1, kCostlyGrain / length),
          [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
              const std::byte* from = x + row * length * bytes;
              const double mean = mean_of(f, from, type, length);
              const float center = static_cast<float>(mean);
              const double variance = f.squares(from, length, center) / static_cast<double>(length);
              const double inverse = 1.0 / std::sqrt(variance + g.epsilon);
              for (std::int64_t k = 0; k < per; ++k) {
                const std::int64_t c = row % g.groups * per + k, at = (row * length + k * e.area) * bytes;
                const double factor = inverse * static_cast<double>(element(scale, type, index(c)));
                const double shift =
                    static_cast<double>(element(bias, type, index(c))) - (mean - static_cast<double>(center)) * factor;
                f.affine(x + at, y + at, e.area, center, static_cast<float>(factor), static_cast<float>(shift));
              }
            }
          });
    };
  return [=](const StepArgs& args) {
    const std::byte *x = args.inputs[0], *scale = args.inputs[1], *bias = args.inputs[2];
    std::byte* y = args.outputs[0];
    const std::int64_t all = e.batch * e.channels, sample = e.channels * e.area;
    double* sums = reinterpret_cast<double*>(args.scratch);
    double* means = sums + all;
    float* centers = reinterpret_cast<float*>(means + all);
    float *factors = centers + all, *shifts = factors + all;
    const std::int64_t blocks = ceil_div(e.channels, kColumns);
    const auto for_columns = [&](auto&& body) {
      parallel_for(e.batch * blocks, std::max<std::int64_t>(1, kCostlyGrain / (e.area * kColumns)),
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t b = begin; b < end; ++b) {
                       const std::int64_t first = b % blocks * kColumns, n = b / blocks;
                       body(x + (n * sample + first) * bytes, n * e.channels + first,
                            static_cast<int>(std::min<std::int64_t>(kColumns, e.channels - first)));
                     }
                   });
    };
    // Calls visit(first channel, sum over its group's channels) for every group.
    const auto for_groups = [&](auto&& visit) {
      for (std::int64_t first = 0; first < all; first += per) {
        double total = 0;
        for (std::int64_t k = 0; k < per; ++k) total += sums[first + k];
        visit(first, total / static_cast<double>(per * e.area));
      }
    };
    // As in mean_of: every channel of a group relative to the first of the group.
    for (std::int64_t at = 0; at < all; ++at)
      centers[at] = element(x, type, at / e.channels * sample + at % e.channels / per * per);
    for_columns([&](const std::byte* from, std::int64_t c, int columns) {
      f.column_sums(from, e.area, e.channels, columns, centers + c, sums + c);
    });
    for_groups([&](std::int64_t first, double difference) {
      const double mean = static_cast<double>(centers[first]) + difference;
      for (std::int64_t k = 0; k < per; ++k) {
        means[first + k] = mean;
        centers[first + k] = static_cast<float>(mean);
      }
    });
    for_columns([&](const std::byte* from, std::int64_t c, int columns) {
      f.column_squares(from, e.area, e.channels, columns, centers + c, sums + c);
    });
    for_groups([&](std::int64_t first, double variance) {
      const double inverse = 1.0 / std::sqrt(variance + g.epsilon);
      for (std::int64_t k = 0; k < per; ++k) {
        const std::int64_t at = first + k, c = at % e.channels;
        const double factor = inverse * static_cast<double>(element(scale, type, index(c)));
        factors[at] = static_cast<float>(factor);
        shifts[at] = static_cast<float>(static_cast<double>(element(bias, type, index(c))) -
                                        (means[at] - static_cast<double>(centers[at])) * factor);
      }
    });
    parallel_for(e.batch * e.area, std::max<std::int64_t>(1, kCheapGrain / e.channels),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t p = begin; p < end; ++p) {
                     const std::int64_t at = p * e.channels * bytes, first = p / e.area * e.channels;
                     f.affine_each(x + at, y + at, e.channels, centers + first, factors + first, shifts + first);
                   }
                 });
  };
}

// Rows of the axes from `axis` on, for LayerNorm and RmsNorm.
struct Rows {
  std::int64_t rows = 1, length = 1;
  double epsilon = 0;
};

Rows rows_of(const Problem& problem) {
  const Shape shape = problem.input(0).shape();
  const auto* layer = std::get_if<LayerNorm>(&problem.node.op);
  const auto* rms = std::get_if<RmsNorm>(&problem.node.op);
  Rows out;
  out.epsilon = static_cast<double>(layer != nullptr ? layer->epsilon : rms->epsilon);
  const int axis = normalized_axis(layer != nullptr ? layer->axis : rms->axis, shape.rank(), name(problem.node.op));
  for (int d = 0; d < shape.rank(); ++d) (d < axis ? out.rows : out.length) *= shape[d];
  return out;
}

Answer consider_rows(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refusal_of(kernel, problem)) return *refusal;
  const Rows r = rows_of(problem);
  for (std::size_t i = 1; i < problem.node.inputs.size(); ++i) {
    if (!problem.has(i)) continue;
    // One value for each place in a row: an operand that ends as x does and begins with ones.
    const Shape x = problem.input(0).shape(), s = problem.input(i).shape();
    std::int64_t length = 1;
    for (int d = 1; d <= s.rank() && length < r.length; ++d) {
      if (s[-d] != x[-d]) return Refusal{fmt::format("input {} repeats within a row", i)};
      length *= s[-d];
    }
    if (s.volume() != r.length || length != r.length) return Refusal{fmt::format("input {} is not one row", i)};
  }
  return offer_for(kernel, problem, 7, false);
}

Runner prepare_rows(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache&) {
  const Rows r = rows_of(problem);
  const bool centered = std::holds_alternative<LayerNorm>(problem.node.op), has_bias = problem.has(2);
  const NormalizationFunctions f = functions_of(kernel);
  const ElementType type = kernel.type;
  const std::int64_t bytes = element_bytes(type);
  if (r.rows * r.length == 0) return [](const StepArgs&) {};
  return [=](const StepArgs& args) {
    const std::byte *x = args.inputs[0], *scale = args.inputs[1], *bias = has_bias ? args.inputs[2] : nullptr;
    std::byte* y = args.outputs[0];
    const auto statistic = [&](std::size_t i) { return i < args.outputs.size() ? args.output<float>(i) : nullptr; };
    float *means = centered ? statistic(1) : nullptr, *inverses = centered ? statistic(2) : nullptr;
    parallel_for(r.rows, std::max<std::int64_t>(1, kCostlyGrain / r.length), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t at = row * r.length * bytes;
        const double count = static_cast<double>(r.length);
        const double mean = centered ? mean_of(f, x + at, type, r.length) : 0.0;
        const float center = static_cast<float>(mean), rest = static_cast<float>(mean - static_cast<double>(center));
        const double inverse = 1.0 / std::sqrt(f.squares(x + at, r.length, center) / count + r.epsilon);
        if (y != nullptr) f.scaled(x + at, y + at, r.length, center, rest, static_cast<float>(inverse), scale, bias);
        if (means != nullptr) means[row] = center;
        if (inverses != nullptr) inverses[row] = static_cast<float>(inverse);
      }
    });
  };
}

Answer consider_lrn(const KernelInfo& kernel, const Problem& problem) {
  if (auto refusal = refusal_of(kernel, problem)) return *refusal;
  if (problem.input(0).shape().rank() < 3) return Refusal{"it has no pixels"};
  const double size = static_cast<double>(std::get<Lrn>(problem.node.op).size);
  Offer offer = offer_for(kernel, problem, 2 * size + 30, false);
  offer.may_overwrite = -1;  // neighbours are read again
  return offer;
}

Runner prepare_lrn(const KernelInfo& kernel, const Problem& problem, const Offer&, WeightCache&) {
  const auto& op = std::get<Lrn>(problem.node.op);
  const Extents e = extents_of(problem.output().shape());
  LrnArgs lrn;
  lrn.channels = e.channels;
  lrn.stride = e.area;
  lrn.before = (op.size - 1) / 2;
  lrn.after = op.size / 2;
  lrn.bias = op.bias;
  lrn.factor = op.alpha / static_cast<float>(op.size);
  lrn.beta = op.beta;
  const auto range = TSR_FOR_ISA(kernel.isa, lrn_range);
  return [=](const StepArgs& args) {
    const float* x = args.input<float>(0);
    float* y = args.output<float>();
    parallel_for(e.batch * e.channels, std::max<std::int64_t>(1, kCostlyGrain / std::max<std::int64_t>(e.area, 1)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     const std::int64_t sample = row / e.channels * e.channels * e.area;
                     range(x + sample, y + sample, row % e.channels, e.area, lrn);
                   }
                 });
  };
}

using Consider = Answer (*)(const KernelInfo&, const Problem&);
using Prepare = Runner (*)(const KernelInfo&, const Problem&, const Offer&, WeightCache&);

constexpr CpuKernel kernel(std::string_view name, std::string_view op, Isa isa, ElementType type, Consider consider,
                           Prepare prepare) {
  return {{.name = name, .op = op, .isa = isa, .type = type, .consider = consider}, prepare};
}

#define TSR_NORM(stem, Op, consider, prepare)                                                      \
  kernel(stem "_f32_portable", Op::kName, Isa::portable, ElementType::float32, consider, prepare), \
      kernel(stem "_f32_avx2", Op::kName, Isa::avx2, ElementType::float32, consider, prepare),     \
      kernel(stem "_f32_avx512", Op::kName, Isa::avx512, ElementType::float32, consider, prepare)
#define TSR_NORM_BF16(stem, Op, consider, prepare)                                                   \
  kernel(stem "_bf16_portable", Op::kName, Isa::portable, ElementType::bfloat16, consider, prepare), \
      kernel(stem "_bf16_avx2", Op::kName, Isa::avx2, ElementType::bfloat16, consider, prepare),     \
      kernel(stem "_bf16_avx512", Op::kName, Isa::avx512, ElementType::bfloat16, consider, prepare)

constexpr CpuKernel kKernels[] = {
    TSR_NORM("batch_norm", BatchNorm, consider_batch, prepare_batch),
    TSR_NORM_BF16("batch_norm", BatchNorm, consider_batch, prepare_batch),
    TSR_NORM("instance_norm", InstanceNorm, consider_groups, prepare_groups),
    TSR_NORM_BF16("instance_norm", InstanceNorm, consider_groups, prepare_groups),
    TSR_NORM("group_norm", GroupNorm, consider_groups, prepare_groups),
    TSR_NORM_BF16("group_norm", GroupNorm, consider_groups, prepare_groups),
    TSR_NORM("layer_norm", LayerNorm, consider_rows, prepare_rows),
    TSR_NORM_BF16("layer_norm", LayerNorm, consider_rows, prepare_rows),
    TSR_NORM("rms_norm", RmsNorm, consider_rows, prepare_rows),
    TSR_NORM_BF16("rms_norm", RmsNorm, consider_rows, prepare_rows),
    TSR_NORM("lrn", Lrn, consider_lrn, prepare_lrn),
};

}  // namespace

std::span<const CpuKernel> normalization_kernels() { return kKernels; }

}  // namespace tessera::cpu
