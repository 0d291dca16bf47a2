#include "tessera/targets/neuron/kernels/conv2d.h"

#include "tessera/core/error.h"
#include "tessera/targets/neuron/kernels/conv2d_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace tessera::neuron {
namespace {

constexpr std::array kSteps = {
    ConvStep{"baseline", "one copy of a window and of a weight slice for every product", conv2d_baseline},
    ConvStep{"halo", "rows with their halo in one copy; windows cut in SBUF", conv2d_halo},
    ConvStep{"hoisted", "weights in one copy for all taps; float32 sums and operands", conv2d_hoisted},
    ConvStep{"cached", "weights turned once and kept; one conversion of each window", conv2d_cached},
    ConvStep{"native", "operands keep their type", conv2d_native},
    ConvStep{"small", "the whole image at once, shared by all output channels", conv2d_small},
    ConvStep{"independent", "somebody else's: windows straight into the PE array", conv2d_independent},
};

}  // namespace

double ConvProblem::flops() const {
  return 2.0 * static_cast<double>(n * oc * ic * k * k) * static_cast<double>(oh() * ow());
}

std::int64_t ConvProblem::bytes() const {
  return (n * ic * h * w + oc * ic * k * k + oc + n * oc * (oh() / pool) * (ow() / pool)) * element_bytes(type);
}

std::string ConvProblem::text() const {
  return fmt::format("{}x{}x{}x{} to {} channels, kernel {}, pool {}, {}", n, ic, h, w, oc, k, pool, name(type));
}

void check_problem(const NeuronSpec& spec, const ConvProblem& p) {
  check(p.n >= 1 && p.ic >= 1 && p.oc >= 1 && p.k >= 1, Code::invalid_argument, "a convolution of {} does nothing",
        p.text());
  check(p.ic % kChannels == 0 && p.oc % kChannels == 0, Code::unsupported,
        Hint{"pad channels with zeros to the next multiple"},
        "{} input and {} output channels: multiples of {} are needed", p.ic, p.oc, kChannels);
  check(p.oh() >= 1 && p.ow() >= 1, Code::invalid_argument, Hint{"pad the image first: there is no padding here"},
        "a filter of {}x{} does not fit images of {}x{}", p.k, p.k, p.h, p.w);
  check(p.pool == 1 || p.pool == 2, Code::unsupported, "a pool of {}: 1 and 2 are what there is", p.pool);
  check(p.oh() % p.pool == 0 && p.ow() % p.pool == 0, Code::unsupported,
        "a pool of {} does not divide the {}x{} of the convolution", p.pool, p.oh(), p.ow());
  check(p.ow() <= spec.moving_max_columns, Code::unsupported,
        Hint{"cut the image into parts that overlap by the filter's columns less one"},
        "a row of {} columns does not fit the {} of one accumulation", p.ow(), spec.moving_max_columns);
  check(p.type == ElementType::float32 || p.type == ElementType::float16 || p.type == ElementType::bfloat16,
        Code::unsupported, "operands are float32, float16 or bfloat16, not {}", name(p.type));
}

ConvBound conv_bound(const NeuronSpec& spec, const ConvProblem& p) {
  const double passes = p.type == ElementType::float32 ? spec.fp32_cycle_factor : 1;
  const double macs_per_cycle = static_cast<double>(spec.pe_rows) * spec.pe_columns / passes;
  return {p.flops() / 2 / macs_per_cycle / spec.pe_clock_hz * 1e9,
          static_cast<double>(p.bytes()) / (spec.dma_engine_bytes_per_s * spec.dma_engines) * 1e9,
          spec.kernel_overhead_ns, spec.dma_issue_ns + spec.dma_latency_ns};
}

namespace {

// What all steps keep to, though a schedule need not: rows that are pooled together are summed together.
void check_step(const NeuronSpec& spec, const ConvProblem& p) {
  check_problem(spec, p);
  check(p.ow() * p.pool <= spec.moving_max_columns, Code::unsupported, Hint{"tune a schedule: those take it"},
        "{} rows of {} columns do not fit the {} of one accumulation", p.pool, p.ow(), spec.moving_max_columns);
}

}  // namespace

std::span<const ConvStep> conv_steps() { return kSteps; }

const ConvStep& conv_step(std::string_view wanted) {
  std::vector<std::string_view> names;
  for (const ConvStep& each : kSteps) {
    if (each.name == wanted) return each;
    names.push_back(each.name);
  }
  fail(Code::not_found, Hint{fmt::format("the steps are {}", fmt::join(names, ", "))}, "there is no step '{}'", wanted);
}

ConvRun run_conv(const NeuronSpec& spec, const ConvProblem& p, ConvKernel run) {
  check_step(spec, p);
  Kernel kernel(spec, {.values = false});
  const ConvTensors tensors{kernel.input("x", p.type, p.x_shape()), kernel.input("w", p.type, p.w_shape()),
                            kernel.input("bias", p.type, {p.oc}), kernel.output("y", p.type, p.y_shape())};
  run(kernel, p, tensors);
  ConvRun out{kernel.profile(), std::nullopt};
  out.profile.model_flops = p.flops();
  return out;
}

ConvProblem conv_problem(const Array& x, const Array& w, const Array& bias, std::int64_t pool) {
  check(x.shape().rank() == 4 && w.shape().rank() == 4 && w.shape()[2] == w.shape()[3] &&
            w.shape()[1] == x.shape()[1] && bias.shape() == Shape{w.shape()[0]} && w.type() == x.type() &&
            bias.type() == x.type(),
        Code::invalid_argument,
        "x {}, w {} and bias {} are no convolution: [n, ic, h, w], [oc, ic, k, k], [oc], one type", x.to_string(),
        w.to_string(), bias.to_string());
  return {x.shape()[0], x.shape()[1], w.shape()[0], x.shape()[2], x.shape()[3], w.shape()[2], pool, x.type()};
}

ConvRun run_conv(const NeuronSpec& spec, const Array& x, const Array& w, const Array& bias, std::int64_t pool,
                 ConvKernel run, KernelOptions options) {
  const ConvProblem p = conv_problem(x, w, bias, pool);
  check_step(spec, p);
  Kernel kernel(spec, options);
  const ConvTensors tensors{kernel.input("x", x), kernel.input("w", w), kernel.input("bias", bias),
                            kernel.output("y", p.type, p.y_shape())};
  run(kernel, p, tensors);
  ConvRun out{kernel.profile(), std::nullopt};
  out.profile.model_flops = p.flops();
  if (options.values) out.y = kernel.read(tensors.y);
  return out;
}

}  // namespace tessera::neuron
