#include "tessera/targets/tensix/ops/reduction/reduction.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/compute_defaults.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/operand_facts.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/card/shard_inheritance.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"
#include "tessera/targets/tensix/ops/pool/weighted_sum.h"
#include "tessera/targets/tensix/ops/reduction/reduced_rows.h"
#include "tessera/targets/tensix/ops/shape_ops/shape_ops.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/to_layout/to_layout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace tessera::tensix {
namespace {

double count_of(std::span<const double> x) { return static_cast<double>(x.size()); }

double sum_of(std::span<const double> x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum;
}

double product_of(std::span<const double> x) {
  double product = 1;
  for (const double v : x) product *= v;
  return product;
}

// NaN passes.
double extreme_of(std::span<const double> x, bool largest) {
  double best = largest ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  for (const double v : x)
    if (v != v || (largest ? v > best : v < best)) best = v;
  return best;
}

double variance_of(std::span<const double> x, double correction) {
  const double mean = sum_of(x) / count_of(x);
  double sum = 0;
  for (const double v : x) sum += (v - mean) * (v - mean);
  return sum / (count_of(x) - correction);
}

constexpr std::array kReductions = {
#define REDUCTION(name, adds, integers, expression) \
  Reduction{#name, adds, integers,                  \
            [](std::span<const double> x, [[maybe_unused]] double c) -> double { return expression; }},
#include "tessera/targets/tensix/ops/reduction/reductions.def"
#undef REDUCTION
};

float on_matrix_engine(const Reduction& f, std::span<const double> x, const ComputeConfig& compute) {
  const std::vector<float> values(x.begin(), x.end()), ones(x.size(), 1.0f);
  const double sum = static_cast<double>(weighted_sum(values, ones, compute));
  return static_cast<float>(f.name == "mean" ? sum / count_of(x) : sum);
}

Tensor reduced_tensor(const Reduction& f, const Tensor& x, const std::vector<bool>& reduced, const TensorSpec& target,
                      const ReduceOptions& options, const ComputeConfig& compute) {
  if (is_integer(x.dtype())) {
    const std::vector<std::int64_t> values = integers_of(x);
    const ReducedRows rows(x.shape(), reduced, {values.begin(), values.end()});
    std::vector<std::int64_t> y;
    for (std::int64_t r = 0; r < rows.count(); ++r)
      y.push_back(static_cast<std::int64_t>(f.value(rows.row(r), 0) * options.scalar));
    return tensor_of(y, target);
  }
  const std::vector<float> values = x.to_float32();
  const ReducedRows rows(x.shape(), reduced, {values.begin(), values.end()});
  const bool float32 = compute.fp32_dest_acc_en;
  std::vector<float> y;
  for (std::int64_t r = 0; r < rows.count(); ++r) {
    const double value = f.adds ? static_cast<double>(on_matrix_engine(f, rows.row(r), compute))
                                : f.value(rows.row(r), options.correction ? 1 : 0);
    y.push_back(from_vector_unit(static_cast<float>(value * options.scalar), float32));
  }
  return tensor_of(y, target);
}

}  // namespace

std::span<const Reduction> reductions() { return kReductions; }

const Reduction& reduction(std::string_view name) {
  const auto* found = std::ranges::find(kReductions, name, &Reduction::name);
  check(found != kReductions.end(), Code::not_found, "no reduction is called '{}'", name);
  return *found;
}

DeviceTensor reduce(const Reduction& f, const DeviceTensor& x, const ReduceOptions& options) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& shape = from.logical_shape();
  check(
      is_floating(from.dtype()) || (f.takes_integers && from.dtype() != DType::uint8 && from.dtype() != DType::uint16),
      Code::unsupported, Hint{"use typecast"}, "{}: operands of {} are not supported", f.name, name(from.dtype()));
  std::vector<bool> reduced(static_cast<std::size_t>(shape.rank()), !options.dims || options.dims->empty());
  const std::vector<int> dims = options.dims.value_or(std::vector<int>{});
  for (std::size_t i = 0; i < dims.size(); ++i) {
    check(dims[i] >= -shape.rank() && dims[i] < shape.rank(), Code::invalid_argument,
          "{}: unsupported dim {} at index {}: it needs to be at least 0 and less than rank {} (or below 0, from the "
          "end)",
          f.name, dims[i], i, shape.rank());
    const auto d = static_cast<std::size_t>(checked_dim(f.name, dims[i], shape.rank()));
    check(!reduced[d], Code::invalid_argument, "{}: dimension {} is given twice", f.name, d);
    reduced[d] = true;
  }
  std::vector<std::int64_t> kept, whole;
  for (std::size_t d = 0; d < reduced.size(); ++d) {
    whole.push_back(reduced[d] ? 1 : shape.dims()[d]);
    if (!reduced[d] || options.keep_dims) kept.push_back(whole.back());
  }
  if (is_rows(x)) return reduce(f, to_layout(x, Layout::tile), options);

  const Shape result(std::move(kept));
  const MemoryConfig place = options.memory_config ? placement_like(options.memory_config, from, x.device()->grid())
                                                   : inherited_placement(from, Shape(std::move(whole)));
  DeviceTensor y =
      DeviceTensor::allocate(x.device(), TensorSpec(result, from.dtype(), Layout::tile, place, from.tile()));
  const CoreRangeSet cores = options.cores.value_or(all_cores(*x.device()));
  check_program_fits(*x.device(), {{"in", cores, 2 * tile_bytes(from.dtype())},
                                   {"scaler", cores, tile_bytes(DType::bfloat16)},
                                   {"out", cores, 2 * tile_bytes(from.dtype())}});
  const ComputeConfig compute = options.compute.value_or(precise_compute(x.device()->card()));
  auto work = counted(ProgramKind::reduce, {facts_of(from), facts_of(y.spec())}, options.cores);
  write_values(y, [&] { return reduced_tensor(f, read_pages(x), reduced, y.spec(), options, compute); });
  finish_program({ProgramKind::reduce, fmt::format("{} to {}", shape.to_string(), result.to_string()),
                  stream_transfers(x, y), std::move(work), std::string(f.name)},
                 {&x}, y);
  return y;
}

}  // namespace tessera::tensix
