#include "tests/targets/cpu/quantize_case.h"

#include <gtest/gtest.h>

namespace tessera::cpu {
namespace {

struct ConvCase {
  Window window;
  std::int64_t groups = 1;
  Shape x, w;
};

ConvCase conv_case(Fuzz& fuzz, bool depthwise) {
  ConvCase test;
  test.groups = depthwise ? fuzz.one_of<std::int64_t>({2, 3, 16, 17, 63, 64, 70, 129}) : fuzz.pick(1, 3);
  const std::int64_t ic = depthwise ? 1 : fuzz.one_of<std::int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 16, 21}),
                     oc = depthwise ? 1 : fuzz.one_of<std::int64_t>({1, 3, 7, 16, 17, 33, 40});
  const bool flat = fuzz.pick(0, 3) == 0;
  const auto extent = [&] { return fuzz.pick(5, 12); };
  const std::int64_t images = fuzz.pick(1, 2);
  const std::size_t spatial = flat ? 1 : 2;
  std::vector<std::int64_t> x{images, test.groups * ic}, w{test.groups * oc, ic};
  for (std::size_t d = 0; d < spatial; ++d) {
    x.push_back(extent());
    w.push_back(fuzz.pick(1, 3));
    test.window.strides.push_back(fuzz.pick(1, 3));
    test.window.dilations.push_back(fuzz.pick(1, 2));
  }
  for (std::size_t d = 0; d < 2 * spatial; ++d) test.window.pads.push_back(fuzz.pick(0, 2));
  test.x = Shape(x), test.w = Shape(w);
  return test;
}

// Of all bits, or such that VNNI can take them: int8 without zero points, and runs of four.
struct Weights {
  ElementType type;
  Operand bytes, zeros;
  Shape per;
};
Weights weights_of(const ConvCase& test, bool simple, Fuzz& fuzz) {
  Weights out;
  out.type = simple ? ElementType::int8 : byte_type(fuzz);
  out.per = fuzz.pick(0, 1) == 0 ? Shape{test.w[0]} : Shape{};
  out.bytes = {bytes_of(out.type, test.w, fuzz), true};
  out.zeros = {simple ? Array(out.type, out.per) : bytes_of(out.type, out.per, fuzz), true};
  return out;
}

KernelCase quantized_conv(const ConvCase& test, const Weights& w, Fuzz& fuzz, bool extreme = false) {
  const ElementType xt = byte_type(fuzz), yt = byte_type(fuzz);
  QLinearConv op;
  op.window = test.window, op.groups = test.groups;
  const bool known = fuzz.pick(0, 1) == 0;
  std::vector<Operand> operands{{bytes_of(xt, test.x, fuzz)},
                                {scale_of(Shape{}, fuzz, extreme), known},
                                {bytes_of(xt, Shape{}, fuzz), known},
                                w.bytes,
                                {scale_of(w.per, fuzz, extreme), true},
                                w.zeros,
                                {scale_of(Shape{}, fuzz, extreme), true},
                                {bytes_of(yt, Shape{}, fuzz), true}};
  Array bias(ElementType::int32, Shape{test.w[0]});
  for (std::int32_t& v : bias.as<std::int32_t>())
    v = static_cast<std::int32_t>(extreme ? fuzz.pick(-0x80000000ll, 0x7fffffffll) : fuzz.pick(-9999, 9999));
  if (fuzz.pick(0, 1) == 0) operands.push_back({std::move(bias), true});
  KernelCase out = one_node(op, std::move(operands));
  // fused inputs come after all of the operator's own
  return out;
}

TEST(QuantizedConvKernels, AreExact) {
  for (Fuzz fuzz; fuzz.next();) {
    const bool depthwise = fuzz.pick(0, 2) == 0, simple = fuzz.pick(0, 1) == 0;
    const ConvCase test = conv_case(fuzz, depthwise);
    const Weights w = weights_of(test, simple, fuzz);
    SCOPED_TRACE(test.x.to_string() + " by " + test.w.to_string());
    const bool vnni = simple && (depthwise || test.w[1] >= 4);
    expect_exact(quantized_conv(test, w, fuzz), vnni);
    const ElementType xt = byte_type(fuzz);
    ConvInteger plain;
    plain.window = test.window, plain.groups = test.groups;
    const bool zeros = fuzz.pick(0, 1) == 0;
    expect_exact(one_node(plain, {{bytes_of(xt, test.x, fuzz)},
                                  w.bytes,
                                  zeros ? Operand{bytes_of(xt, Shape{}, fuzz)} : Operand{},
                                  zeros ? w.zeros : Operand{}}),
                 simple && !depthwise && test.w[1] >= 4);
  }
}

TEST(QuantizedConvKernels, BoundsAndResidualSumsAreExact) {
  for (Fuzz fuzz; fuzz.next();) {
    const bool depthwise = fuzz.pick(0, 3) == 0;
    const ConvCase test = conv_case(fuzz, depthwise);
    const Weights w = weights_of(test, true, fuzz);
    SCOPED_TRACE(test.x.to_string() + " by " + test.w.to_string());
    KernelCase node = quantized_conv(test, w, fuzz);
    if (fuzz.pick(0, 1) == 0) fuse_bounds(node, fuzz);
    const bool sum = fuzz.pick(0, 1) == 0;
    if (sum) {
      fuse_sum(node, fuzz);
      if (fuzz.pick(0, 1) == 0) fuse_bounds(node, fuzz);
    }
    expect_exact(std::move(node), depthwise ? !sum : test.w[1] >= 4);
  }
}

TEST(QuantizedConvKernels, ScalesOutOfRangeAndSumsThatWrapAreAsDefined) {
  for (Fuzz fuzz; fuzz.next();) {
    const ConvCase test = conv_case(fuzz, fuzz.pick(0, 2) == 0);
    const Weights w = weights_of(test, fuzz.pick(0, 1) == 0, fuzz);
    SCOPED_TRACE(test.x.to_string() + " by " + test.w.to_string());
    expect_exact(quantized_conv(test, w, fuzz, true));
  }
}

TEST(QuantizedMatMulKernels, AreExact) {
  for (Fuzz fuzz; fuzz.next();) {
    const std::int64_t m = fuzz.pick(1, 35), k = fuzz.pick(1, 70), n = fuzz.pick(1, 70), batch = fuzz.pick(1, 3);
    const bool batched = fuzz.pick(0, 1) == 0, simple = fuzz.pick(0, 1) == 0, constant = simple || fuzz.pick(0, 1) == 0,
               columns = !batched && fuzz.pick(0, 1) == 0;
    const Shape a{batch, m, k}, b = batched ? Shape{batch, k, n} : Shape{k, n}, per = columns ? Shape{n} : Shape{};
    const ElementType at = byte_type(fuzz), bt = simple ? ElementType::int8 : byte_type(fuzz), yt = byte_type(fuzz);
    const Operand right{bytes_of(bt, b, fuzz), constant}, a_zero{bytes_of(at, Shape{}, fuzz)};
    const Operand b_zero{simple ? Array(bt, per) : bytes_of(bt, per, fuzz), constant};
    SCOPED_TRACE(a.to_string() + " by " + b.to_string());
    const bool zeros = simple || fuzz.pick(0, 1) == 0;
    expect_exact(one_node(MatMulInteger{},
                          {{bytes_of(at, a, fuzz)}, right, zeros ? a_zero : Operand{}, zeros ? b_zero : Operand{}}),
                 simple && k >= 4);
    KernelCase node = one_node(QLinearMatMul{}, {{bytes_of(at, a, fuzz)},
                                                 {scale_of(Shape{}, fuzz)},
                                                 a_zero,
                                                 right,
                                                 {scale_of(per, fuzz), true},
                                                 b_zero,
                                                 {scale_of(Shape{}, fuzz), true},
                                                 {bytes_of(yt, Shape{}, fuzz), true}});
    if (fuzz.pick(0, 1) == 0) fuse_bounds(node, fuzz);
    expect_exact(std::move(node), simple && k >= 4);
  }
}

}  // namespace
}  // namespace tessera::cpu
