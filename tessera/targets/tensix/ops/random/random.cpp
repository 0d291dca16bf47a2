#include "tessera/targets/tensix/ops/random/random.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise_operand.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <random>
#include <vector>

namespace tessera::tensix {
namespace {

std::mt19937 generator(std::uint32_t seed) { return std::mt19937(seed != 0 ? seed : std::random_device{}()); }

void check_tiles(std::string_view op, const TensorSpec& spec) {
  check(spec.layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
        "{}: the tensor must be in TILE layout, it is in {}", op, name(spec.layout()));
}

void count_random(TensorWork& w) { w.element_wise(1, false); }

}  // namespace

DeviceTensor random(const std::shared_ptr<Device>& device, const TensorSpec& spec, Distribution distribution,
                    double first, double second, std::uint32_t seed) {
  const bool uniform = distribution == Distribution::uniform;
  const std::string_view op = uniform ? "rand" : "randn";
  check(!uniform || first < second, Code::invalid_argument, "{}: low ({}) must be less than high ({})", op, first,
        second);
  DeviceTensor y = DeviceTensor::allocate(device, spec);
  return whole_program(ProgramKind::random, op, {&y}, y, [&] {
    std::mt19937 next = generator(seed);
    std::uniform_real_distribution<double> even(first, uniform ? second : first + 1);
    std::normal_distribution<double> bell(first, uniform ? 1 : second);
    std::vector<double> values(static_cast<std::size_t>(spec.logical_shape().volume()));
    for (double& v : values) v = uniform ? even(next) : bell(next);
    return values;
  });
}

DeviceTensor uniform(const DeviceTensor& x, double from, double to, std::uint32_t seed) {
  x.check_allocated();
  check(from < to, Code::invalid_argument, "uniform: from ({}) must be less than to ({})", from, to);
  check_tiles("uniform", x.spec());
  check(x.spec().dtype() == DType::bfloat16 || x.spec().dtype() == DType::float32, Code::unsupported,
        Hint{"use typecast"}, "uniform: the tensor must be BFLOAT16 or FLOAT32, it is {}", name(x.spec().dtype()));
  return whole_program(ProgramKind::random, "uniform", {&x}, x, [&] {
    std::mt19937 next = generator(seed);
    std::uniform_real_distribution<double> even(from, to);
    std::vector<double> values(static_cast<std::size_t>(x.spec().logical_shape().volume()));
    for (double& v : values) v = even(next);
    return values;
  });
}

DeviceTensor bernoulli(const DeviceTensor& x, std::uint32_t seed, std::optional<DType> dtype,
                       const std::optional<DeviceTensor>& output, const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  check_tiles("bernoulli", from);
  check(from.dtype() == DType::bfloat16 || from.dtype() == DType::float32, Code::unsupported, Hint{"use typecast"},
        "bernoulli: the input must be BFLOAT16 or FLOAT32, it is {}", name(from.dtype()));
  const DType to = output ? output->spec().dtype() : dtype.value_or(DType::float32);
  check(to == DType::bfloat16 || to == DType::float32, Code::unsupported,
        "bernoulli: the result must be BFLOAT16 or FLOAT32, not {}", name(to));
  if (output) check_output("bernoulli", *output, from.logical_shape(), x);
  const DeviceTensor y =
      output ? *output
             : DeviceTensor::allocate(x.device(),
                                      TensorSpec(from.logical_shape(), to, Layout::tile,
                                                 place_of_result(config, x, from.logical_shape()), from.tile()));
  return whole_program(ProgramKind::random, "bernoulli", {&x}, y, [&] {
    std::mt19937 next = generator(seed);
    std::uniform_real_distribution<double> even(0, 1);
    std::vector<double> values = numbers_of(x);
    for (double& v : values) v = even(next) < v ? 1 : 0;
    return values;
  });
}

DeviceTensor dropout(const DeviceTensor& x, double probability, double scale, std::uint32_t seed,
                     const std::optional<MemoryConfig>& config, const std::optional<DeviceTensor>& output) {
  x.check_allocated();
  check_tiles("dropout", x.spec());
  check(is_floating(x.spec().dtype()), Code::unsupported, Hint{"use typecast"}, "dropout: {} is not supported",
        name(x.spec().dtype()));
  check(probability >= 0 && probability <= 1, Code::invalid_argument, "dropout: {} is no probability", probability);
  const Shape& shape = x.spec().logical_shape();
  if (output) check_output("dropout", *output, shape, x);
  const DeviceTensor y =
      output ? *output
             : DeviceTensor::allocate(x.device(), x.spec().with_memory_config(place_of_result(config, x, shape)));
  return whole_program(ProgramKind::random, "dropout", {&x}, y, [&] {
    std::mt19937 next = generator(seed);
    std::uniform_real_distribution<double> even(0, 1);
    std::vector<double> values = numbers_of(x);
    for (double& v : values) v = even(next) < probability ? 0 : v * scale;
    return values;
  });
}

const CardOp card_op_random = {.kind = ProgramKind::random, .count = count_random};

}  // namespace tessera::tensix
