#include "tessera/targets/tensix/ops/batch_norm/batch_norm.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/compute_defaults.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"
#include "tessera/targets/tensix/ops/reduction/reduction.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::tensix {
namespace {

constexpr std::string_view kOp = "batch_norm";

void check_parameter(std::string_view what, const std::optional<DeviceTensor>& t, const DeviceTensor& x, DType dtype) {
  if (!t) return;
  check_together(kOp, {&x, &*t});
  check(t->spec().dtype() == dtype, Code::unsupported, Hint{"use typecast"},
        "{}: {} is {}, the other parameters {}; all must have the same dtype", kOp, what, name(t->spec().dtype()),
        name(dtype));
  check(t->spec().layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
        "{}: {} must be in TILE layout, it is in {}", kOp, what, name(t->spec().layout()));
  check(!t->spec().memory_config().is_sharded(), Code::unsupported, Hint{"use to_memory_config"},
        "{}: {} must be interleaved", kOp, what);
  const std::int64_t channels = x.spec().logical_shape()[1];
  check(t->spec().logical_shape().rank() >= 2 && t->spec().logical_shape()[1] == channels &&
            t->spec().logical_shape().volume() == channels,
        Code::invalid_argument, "{}: {} must be [1, {}, 1, 1], it is {}", kOp, what, channels,
        t->spec().logical_shape().to_string());
}

// Over all but the channels.
DeviceTensor mean_of(const DeviceTensor& x, const BatchNormOptions& options) {
  return reduce(reduction("mean"), x,
                {.dims = std::vector<int>{0, 2, 3},
                 .keep_dims = true,
                 .memory_config = options.memory_config,
                 .compute = options.compute});
}

// old (1 - momentum) + new momentum, over the old.
void move_statistic(const std::optional<DeviceTensor>& statistic, const DeviceTensor& batch, float momentum) {
  if (!statistic) return;
  whole_program(ProgramKind::batch_norm, "running_statistics", {&batch, &*statistic}, *statistic, [&] {
    std::vector<double> y = numbers_of(*statistic);
    const std::vector<double> fresh = numbers_of(batch);
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = (1 - static_cast<double>(momentum)) * y[i] + static_cast<double>(momentum) * fresh[i];
    return y;
  });
}

void count_batch_norm(TensorWork& w) { w.element_wise(w.inputs(), true); }

}  // namespace

DeviceTensor batch_norm(const DeviceTensor& x, const BatchNormOptions& options) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& shape = from.logical_shape();
  check(shape.rank() == 4, Code::unsupported, "{}: the input must have rank 4, it has {}", kOp, shape.rank());
  check(from.dtype() == DType::bfloat16 || from.dtype() == DType::float32, Code::unsupported, Hint{"use typecast"},
        "{}: the input must be BFLOAT16 or FLOAT32, it is {}", kOp, name(from.dtype()));
  check(from.layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
        "{}: the input must be in TILE layout, it is in {}", kOp, name(from.layout()));
  check(!from.memory_config().is_sharded(), Code::unsupported, Hint{"use to_memory_config"},
        "{}: the input must be interleaved", kOp);
  using Parameter = std::pair<std::string_view, const std::optional<DeviceTensor>*>;
  const std::array<Parameter, 4> parameters = {Parameter{"running_mean", &options.mean},
                                               Parameter{"running_var", &options.variance},
                                               Parameter{"weight", &options.weight}, Parameter{"bias", &options.bias}};
  std::optional<DType> dtype;
  for (const auto& [what, t] : parameters) {
    if (*t && !dtype) dtype = (*t)->spec().dtype();
    check_parameter(what, *t, x, dtype.value_or(from.dtype()));
  }
  check(options.training || (options.mean && options.variance), Code::invalid_argument,
        "{}: running_mean and running_var must be given when not training", kOp);
  if (options.output) {
    check_output(kOp, *options.output, shape, x);
    check(options.output->spec().dtype() == from.dtype(), Code::invalid_argument, "{}: the output is {}, the input {}",
          kOp, name(options.output->spec().dtype()), name(from.dtype()));
  }

  std::optional<DeviceTensor> mean = options.mean, variance = options.variance;
  if (options.training) {
    mean = mean_of(x, options);
    const DeviceTensor centered = binary(Binary::Kind::sub, x, *mean, {.memory_config = options.memory_config});
    const VectorFunction square = vector_function("square");
    variance =
        mean_of(unary("square", std::span(&square, 1), centered, {.memory_config = options.memory_config}), options);
  }
  DeviceTensors inputs{&x, &*mean, &*variance};
  for (const auto* t : {&options.weight, &options.bias})
    if (*t) inputs.push_back(&**t);
  const bool wide = from.dtype() == DType::float32 || (options.compute && options.compute->fp32_dest_acc_en);
  const auto compute = [&] {
    std::vector<double> y = numbers_of(x);
    const std::vector<double> means = numbers_of(*mean), variances = numbers_of(*variance);
    const std::vector<double> weights = options.weight ? numbers_of(*options.weight) : std::vector<double>{},
                              biases = options.bias ? numbers_of(*options.bias) : std::vector<double>{};
    const std::int64_t area = shape[2] * shape[3];
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto c = static_cast<std::size_t>(static_cast<std::int64_t>(i) / area % shape[1]);
      double v = (y[i] - means[c]) / std::sqrt(variances[c] + static_cast<double>(options.epsilon));
      if (!weights.empty()) v *= weights[c];
      if (!biases.empty()) v += biases[c];
      y[i] = static_cast<double>(from_vector_unit(static_cast<float>(v), wide));
    }
    return y;
  };
  const DeviceTensor y =
      options.output
          ? whole_program(ProgramKind::batch_norm, kOp, inputs, *options.output, compute)
          : whole_program(ProgramKind::batch_norm, kOp, inputs,
                          from.with_memory_config(place_of_result(options.memory_config, x, shape)), compute);
  if (options.training) {
    move_statistic(options.mean, *mean, options.momentum);
    move_statistic(options.variance, *variance, options.momentum);
  }
  return y;
}

const CardOp card_op_batch_norm = {.kind = ProgramKind::batch_norm, .count = count_batch_norm};

}  // namespace tessera::tensix
