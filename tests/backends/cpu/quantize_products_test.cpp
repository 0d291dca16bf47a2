#include "tests/backends/cpu/fuzz.h"
#include "tests/backends/cpu/one_node.h"

#include "tessera/core/isa.h"
#include "tessera/graph/ops/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera::cpu {
namespace {

std::size_t sets() { return std::min<std::size_t>(usable_isas().size(), 3); }

Array bytes_of(ElementType type, const Shape& shape, Fuzz& fuzz) {
  Array out(type, shape);
  // Ends of the type often: their products are the largest.
  const bool ends = fuzz.pick(0, 3) == 0;
  for (std::byte& b : out.bytes())
    b = ends ? fuzz.one_of({std::byte{0}, std::byte{255}, std::byte{127}, std::byte{128}})
             : static_cast<std::byte>(fuzz.random());
  return out;
}

// Quotients of powers of two end halfway between integers.
Array scale_of(const Shape& shape, Fuzz& fuzz) {
  Array out(ElementType::float32, shape);
  for (float& v : out.as<float>()) v = fuzz.one_of({0.125f, 0.25f, 0.1f, 0.037f, 1.0f, 0.0009765625f});
  return out;
}

ElementType byte_type(Fuzz& fuzz) { return fuzz.one_of({ElementType::int8, ElementType::uint8}); }

// Integers are right or wrong: no rounding is allowed for.
void expect_exact(KernelCase test) {
  test.ulps = 0;
  test.reduction = 0;
  EXPECT_EQ(expect_kernels_agree(std::move(test)).size(), sets());
}

TEST(QuantizedConvKernels, AreExact) {
  for (Fuzz fuzz; fuzz.next();) {
    const std::int64_t groups = fuzz.pick(1, 3), ic = fuzz.pick(1, 9), oc = fuzz.pick(1, 7), kernel = fuzz.pick(1, 3);
    const bool flat = fuzz.pick(0, 3) == 0, per_channel = fuzz.pick(0, 1) == 0;
    const auto extent = [&] { return fuzz.pick(5, 12); };
    const std::int64_t images = fuzz.pick(1, 2);
    const Shape x = flat ? Shape{images, groups * ic, extent()} : Shape{images, groups * ic, extent(), extent()};
    const Shape w = flat ? Shape{groups * oc, ic, kernel} : Shape{groups * oc, ic, kernel, kernel};
    const std::size_t spatial = flat ? 1 : 2;
    Window window;
    for (std::size_t d = 0; d < spatial; ++d) {
      window.strides.push_back(fuzz.pick(1, 3));
      window.dilations.push_back(fuzz.pick(1, 2));
    }
    for (std::size_t d = 0; d < 2 * spatial; ++d) window.pads.push_back(fuzz.pick(0, 2));
    const ElementType xt = byte_type(fuzz), wt = byte_type(fuzz), yt = byte_type(fuzz);
    const Shape per = per_channel ? Shape{groups * oc} : Shape{};
    const Operand weights{bytes_of(wt, w, fuzz), true}, w_zero{bytes_of(wt, per, fuzz), true};
    SCOPED_TRACE(x.to_string() + " by " + w.to_string());
    ConvInteger plain;
    plain.window = window, plain.groups = groups;
    const bool zeros = fuzz.pick(0, 1) == 0;
    expect_exact(one_node(plain, {{bytes_of(xt, x, fuzz)},
                                  weights,
                                  zeros ? Operand{bytes_of(xt, Shape{}, fuzz)} : Operand{},
                                  zeros ? w_zero : Operand{}}));
    QLinearConv op;
    op.window = window, op.groups = groups;
    Array bias(ElementType::int32, Shape{groups * oc});
    for (std::int32_t& v : bias.as<std::int32_t>()) v = static_cast<std::int32_t>(fuzz.pick(-9999, 9999));
    std::vector<Operand> operands{{bytes_of(xt, x, fuzz)},         {scale_of(Shape{}, fuzz), true},
                                  {bytes_of(xt, Shape{}, fuzz)},   weights,
                                  {scale_of(per, fuzz), true},     w_zero,
                                  {scale_of(Shape{}, fuzz), true}, {bytes_of(yt, Shape{}, fuzz), true}};
    if (fuzz.pick(0, 1) == 0) operands.push_back({std::move(bias), true});
    expect_exact(one_node(op, std::move(operands)));
  }
}

TEST(QuantizedMatMulKernels, AreExact) {
  for (Fuzz fuzz; fuzz.next();) {
    const std::int64_t m = fuzz.pick(1, 35), k = fuzz.pick(1, 70), n = fuzz.pick(1, 19), batch = fuzz.pick(1, 3);
    const bool batched = fuzz.pick(0, 1) == 0, constant = fuzz.pick(0, 1) == 0,
               columns = !batched && fuzz.pick(0, 1) == 0;
    const Shape a{batch, m, k}, b = batched ? Shape{batch, k, n} : Shape{k, n};
    const ElementType at = byte_type(fuzz), bt = byte_type(fuzz), yt = byte_type(fuzz);
    const Operand right{bytes_of(bt, b, fuzz), constant}, a_zero{bytes_of(at, Shape{}, fuzz)};
    const Operand b_zero{bytes_of(bt, columns ? Shape{n} : Shape{}, fuzz), constant};
    SCOPED_TRACE(a.to_string() + " by " + b.to_string());
    const bool zeros = fuzz.pick(0, 1) == 0;
    expect_exact(one_node(MatMulInteger{},
                          {{bytes_of(at, a, fuzz)}, right, zeros ? a_zero : Operand{}, zeros ? b_zero : Operand{}}));
    expect_exact(one_node(QLinearMatMul{}, {{bytes_of(at, a, fuzz)},
                                            {scale_of(Shape{}, fuzz)},
                                            a_zero,
                                            right,
                                            {scale_of(Shape{}, fuzz), true},
                                            b_zero,
                                            {scale_of(Shape{}, fuzz), true},
                                            {bytes_of(yt, Shape{}, fuzz), true}}));
  }
}

}  // namespace
}  // namespace tessera::cpu
