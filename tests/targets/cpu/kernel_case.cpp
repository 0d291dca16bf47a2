#include "tests/targets/cpu/kernel_case.h"

#include "tessera/core/error.h"
#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/evaluate.h"
#include "tessera/targets/cpu/kernels/move/convert_order.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>

namespace tessera::cpu {
namespace {

// A machine of which only proportions matter here.
CpuSpec machine() {
  CpuSpec spec;
  spec.vector_bits = 512;
  spec.l1d_bytes = 32 << 10;
  spec.l2_bytes = 1 << 20;
  spec.f32_flop_per_s = spec.f32_all_flop_per_s = 1e11;
  spec.dram_read_bytes_per_s = spec.dram_read_all_bytes_per_s = 1e10;
  return spec;
}

// Memory whose end is the end of a page, before one that faults.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    mapped_ = (bytes + page - 1) / page * page + page;
    void* at = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(at != MAP_FAILED, Code::out_of_memory, "no {} bytes for an input", mapped_);
    at_ = static_cast<std::byte*>(at);
    check(mprotect(at_ + mapped_ - page, page, PROT_NONE) == 0, Code::internal, "a page cannot be protected");
    end_ = at_ + mapped_ - page;
  }
  ~Guarded() { munmap(at_, mapped_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;
  std::byte* begin() const { return end_ - bytes_; }

 private:
  std::size_t bytes_ = 0, mapped_ = 0;
  std::byte *at_ = nullptr, *end_ = nullptr;
};

double step_of(ElementType type) {
  switch (type) {
    case ElementType::bfloat16: return std::ldexp(1.0, -8);
    case ElementType::float16: return std::ldexp(1.0, -11);
    case ElementType::float64: return std::ldexp(1.0, -53);
    default: return std::ldexp(1.0, -24);
  }
}

// The array that input i of the node is, or null.
const Array* operand(const KernelCase& test, std::size_t i) {
  const ValueId id = test.graph.nodes.at(0).inputs[i];
  if (id == kNoValue) return nullptr;
  const auto at = std::find(test.graph.inputs.begin(), test.graph.inputs.end(), id);
  return at == test.graph.inputs.end() ? test.graph.value(id).constant.get()
                                       : &test.arrays.at(static_cast<std::size_t>(at - test.graph.inputs.begin()));
}

bool is_finite(const Array& array) {
  return std::ranges::all_of(array.to_double(), [](double v) { return std::isfinite(v); });
}

// Bit by bit, but that a NaN is a NaN.
bool same(const Array& a, const Array& b) {
  return std::ranges::equal(a.to_double(), b.to_double(), [](double x, double y) {
    return std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y);
  });
}

// What multiplies bfloat16 takes subnormal factors, sums and results for zeros.
double flushed(const KernelInfo& kernel, const KernelCase& test) {
  if (kernel.arithmetic == Arithmetic::f32) return 0;
  const double factors = static_cast<double>(test.reduction) * std::max(1.0, test.magnitude);
  return static_cast<double>(std::numeric_limits<float>::min()) * (1 + factors);
}

void expect_close(const Array& got, const Array& wanted, const KernelCase& test, const KernelInfo& kernel,
                  const std::string& what) {
  ASSERT_EQ(got.type(), wanted.type()) << what;
  ASSERT_EQ(got.shape(), wanted.shape()) << what;
  const std::vector<double> a = got.to_double(), b = wanted.to_double();
  int shown = 0;
  for (std::size_t i = 0; i < a.size() && shown < 3; ++i) {
    if (std::isnan(b[i]) ? std::isnan(a[i]) : a[i] == b[i]) continue;
    const double allowed = tolerance(got.type(), test, b[i]) + flushed(kernel, test);
    if (std::isfinite(a[i]) && std::isfinite(b[i]) && std::abs(a[i] - b[i]) <= allowed) continue;
    ADD_FAILURE() << what << ": element " << i << " is " << a[i] << " instead of " << b[i] << " (allowed: " << allowed
                  << ")";
    ++shown;
  }
}

}  // namespace

std::span<const CpuKernel> tested_kernels() {
  static const std::vector<CpuKernel> tested = [] {
    constexpr std::string_view kEmulated[] = {"conv2d_bf16_32x32_amx_emulated",
                                              "conv_transpose_bf16_32x32_amx_emulated", "gemm_bf16_32x32_amx_emulated",
                                              "matmul_bf16_32x32_amx_emulated"};
    std::vector<CpuKernel> all(kernels().begin(), kernels().end());
    for (const std::string_view name : kEmulated) {
      const std::string family(name.substr(0, name.find("_32x32")));
      CpuKernel emulated = *std::ranges::find(kernels(), family + "_4x8_portable",
                                              [](const CpuKernel& kernel) { return kernel.info.name; });
      emulated.info.name = name;
      emulated.info.arithmetic = Arithmetic::bf16_tiles;
      emulated.info.m = emulated.info.n = 32;
      all.push_back(emulated);
    }
    return all;
  }();
  return tested;
}

double tolerance(ElementType type, const KernelCase& test, double wanted) {
  const double f32 = step_of(ElementType::float32), storage = step_of(type);
  const double magnitude = std::max(test.magnitude, std::abs(wanted));
  const double sums = test.rounding * 4 * std::sqrt(static_cast<double>(test.reduction)) * f32 * magnitude;
  const double tiny = static_cast<double>(std::numeric_limits<float>::denorm_min()) * test.ulps;
  // A stored result may fall on the other side of a rounding border.
  return sums + 2 * test.ulps * f32 * std::abs(wanted) + (storage > f32 ? 2 * storage * std::abs(wanted) : 0) + tiny;
}

std::variant<std::vector<Array>, Refusal> run_kernel(const CpuKernel& kernel, const KernelCase& test, int threads,
                                                     bool wide) {
  const Node& node = test.graph.nodes.at(0);
  const KernelMachine spec(machine());
  Problem problem{test.graph, node, infer_node(test.graph, node), test.orders, spec, threads, test.exact, test.weights};
  problem.orders.resize(node.inputs.size(), Order::row_major);
  const Answer answer = kernel.info.consider(kernel.info, problem);
  if (const auto* refusal = std::get_if<Refusal>(&answer)) return *refusal;
  const Offer& offer = std::get<Offer>(answer);
  problem.orders = offer.inputs;
  // Channels of the wider operand before and behind the kernel's own: any numbers, no multiple of a vector.
  constexpr std::int64_t kBefore = 3, kBehind = 6;
  if (wide) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool takes = offer.takes_wide(i) && problem.has(i) && offer.inputs[i] == Order::channels_last;
      problem.input_pixels.push_back(takes ? kBefore + problem.input(i).shape()[1] + kBehind : 0);
    }
    for (std::size_t i = 0; i < problem.types.outputs.size(); ++i) {
      const bool takes = offer.wide_outputs && offer.outputs[i] == Order::channels_last;
      problem.output_pixels.push_back(takes ? kBefore + problem.output(i).shape()[1] + kBehind : 0);
    }
  }
  const auto pixel_of = [](const std::vector<std::int64_t>& pixels, std::size_t i) {
    return i < pixels.size() ? pixels[i] : 0;
  };
  WeightCache weights;
  const Runner run = kernel.prepare(kernel.info, problem, offer, weights);

  std::vector<std::unique_ptr<PackedWeights>> memory;
  const auto allocate = [&](std::int64_t bytes) {
    memory.push_back(std::make_unique<PackedWeights>(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))));
    return memory.back()->data();
  };
  std::deque<Guarded> guarded;
  std::vector<const std::byte*> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Array* array = operand(test, i);
    if (array == nullptr) {
      inputs.push_back(nullptr);
      continue;
    }
    // Inputs come from callers too: aligned to their element alone, and what is behind them is not ours to read.
    const std::int64_t element = element_bytes(array->type());
    if (const std::int64_t pixel = pixel_of(problem.input_pixels, i); pixel > 0 && !array->bytes().empty()) {
      std::vector<std::byte> last(array->bytes().size());
      convert_order(array->bytes().data(), Order::row_major, last.data(), offer.inputs[i], array->shape(), element);
      const std::int64_t channels = array->shape()[1], pixels = array->shape().volume() / channels;
      const std::int64_t bytes = (pixels * pixel - kBehind) * element;
      std::byte* whole = guarded.emplace_back(static_cast<std::size_t>(bytes)).begin();
      std::memset(whole, 0xff, static_cast<std::size_t>(bytes));  // NaN
      for (std::int64_t p = 0; p < pixels; ++p)
        std::memcpy(whole + (p * pixel + kBefore) * element, last.data() + p * channels * element,
                    static_cast<std::size_t>(channels * element));
      inputs.push_back(whole + kBefore * element);
      continue;
    }
    std::byte* copy = guarded.emplace_back(array->bytes().size()).begin();
    convert_order(array->bytes().data(), Order::row_major, copy, offer.inputs[i], array->shape(), element);
    inputs.push_back(copy);
  }
  constexpr std::byte kUntouched{0xcd};
  std::vector<std::byte*> outputs;
  for (std::size_t i = 0; i < problem.types.outputs.size(); ++i) {
    const TensorType& type = problem.types.outputs[i];
    const std::int64_t pixel = pixel_of(problem.output_pixels, i), element = element_bytes(type.type);
    const std::int64_t count = type.shape().volume();
    const std::int64_t bytes = (pixel > 0 && count > 0 ? count / type.shape()[1] * pixel : count) * element;
    outputs.push_back(allocate(bytes));
    std::memset(outputs.back(), std::to_integer<int>(kUntouched), static_cast<std::size_t>(bytes));
    if (pixel > 0) outputs.back() += kBefore * element;
  }
  std::byte* scratch = offer.scratch_bytes > 0 ? allocate(offer.scratch_bytes) : nullptr;
  if (scratch != nullptr) std::memset(scratch, 0xff, static_cast<std::size_t>(offer.scratch_bytes));  // NaN
  set_max_threads(threads);
  for (int twice = 0; twice < 2; ++twice) run({inputs, outputs, scratch});
  // A view is what its input is, whatever the kernel would have written.
  if (offer.view_of >= 0 && problem.types.outputs[0].shape().volume() > 0)
    std::memcpy(outputs[0], inputs[static_cast<std::size_t>(offer.view_of)],
                static_cast<std::size_t>(problem.types.outputs[0].shape().volume() *
                                         element_bytes(problem.types.outputs[0].type)));
  set_max_threads(0);

  std::vector<Array> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorType& type = problem.types.outputs[i];
    Array& result = results.emplace_back(type.type, type.shape());
    if (const std::int64_t pixel = pixel_of(problem.output_pixels, i); pixel > 0 && !result.bytes().empty()) {
      const std::int64_t channels = type.shape()[1], pixels = type.shape().volume() / channels,
                         element = element_bytes(type.type);
      const std::byte* whole = outputs[i] - kBefore * element;
      std::vector<std::byte> last(result.bytes().size());
      bool untouched = true;
      for (std::int64_t p = 0; p < pixels; ++p)
        for (std::int64_t b = 0; b < pixel * element; ++b) {
          const std::byte byte = whole[p * pixel * element + b];
          const std::int64_t at = b - kBefore * element;
          if (at >= 0 && at < channels * element)
            last[static_cast<std::size_t>(p * channels * element + at)] = byte;
          else
            untouched = untouched && byte == kUntouched;
        }
      EXPECT_TRUE(untouched) << kernel.info.name << " writes beside its output";
      convert_order(last.data(), offer.outputs[i], result.bytes().data(), Order::row_major, type.shape(), element);
      continue;
    }
    if (!result.bytes().empty())
      convert_order(outputs[i], offer.outputs[i], result.bytes().data(), Order::row_major, type.shape(),
                    element_bytes(type.type));
  }
  return results;
}

std::vector<std::string> expect_kernels_agree(const KernelCase& test) {
  const Node& node = test.graph.nodes.at(0);
  std::vector<const Array*> operands;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) operands.push_back(operand(test, i));
  const std::vector<Array> wanted = evaluate(node, operands);
  const bool finite =
      std::ranges::all_of(operands, [](const Array* array) { return array == nullptr || is_finite(*array); });
  std::vector<std::string> accepted;
  for (const CpuKernel& kernel : tested_kernels()) {
    if (kernel.info.op != name(node.op) || kernel.info.name == "view" || kernel.info.isa > host_isa()) continue;
    if (!kernel.info.exact() && !finite) continue;  // neighbours of infinities are not what the definition says
    KernelCase rounded = test;
    rounded.rounding = kernel.info.rounding;
    std::vector<Array> alone;  // what one thread made
    for (const int threads : {1, 2, 3}) {
      const auto result = run_kernel(kernel, test, threads);
      if (!std::holds_alternative<std::vector<Array>>(result)) break;
      const auto& outputs = std::get<std::vector<Array>>(result);
      if (threads == 1) {
        accepted.push_back(std::string(kernel.info.name));
        alone = outputs;
      }
      for (std::size_t i = 0; i < outputs.size(); ++i)
        EXPECT_TRUE(same(outputs[i], alone[i]))
            << kernel.info.name << ": output " << i << " depends on the number of threads (1 and " << threads << ")";
      const auto in_wider = run_kernel(kernel, test, threads, true);
      for (std::size_t i = 0; i < outputs.size(); ++i)
        EXPECT_TRUE(same(std::get<std::vector<Array>>(in_wider)[i], alone[i]))
            << kernel.info.name << ": output " << i << " is another inside of a wider one, on " << threads
            << " threads";
      if (threads > 1) continue;
      for (std::size_t i = 0; i < outputs.size() && i < wanted.size(); ++i)
        expect_close(outputs[i], wanted[i], rounded, kernel.info,
                     fmt::format("{} on {} threads, output {}", kernel.info.name, threads, i));
    }
  }
  return accepted;
}

Array random_array(ElementType type, const Shape& shape, std::mt19937_64& random) {
  Array out(type, shape);
  std::normal_distribution<float> normal;
  visit_element_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& value : out.as<T>()) {
      if constexpr (is_floating_v<T>)
        value = T(normal(random));
      else
        value = static_cast<T>(random() % 7);
    }
  });
  return out;
}

Array nasty_array(ElementType type, const Shape& shape, std::mt19937_64& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNasty[] = {0.0f,    -0.0f,   kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
                              1e-40f,  -1e-40f, 3e38f,     -3e38f,     88.8f,
                              -104.0f, 1e-6f};
  Array out = random_array(type, shape, random);
  visit_element_type(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (is_floating_v<T>)
      for (T& value : out.as<T>())
        if (random() % 3 == 0) value = T(kNasty[random() % std::size(kNasty)]);
  });
  return out;
}

}  // namespace tessera::cpu
