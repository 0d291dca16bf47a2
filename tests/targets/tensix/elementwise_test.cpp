#include "tessera/targets/tensix/ops/elementwise/elementwise.h"

#include "tessera/targets/tensix/ops/elementwise/elementwise_plan.h"

#include "card.h"

#include <cmath>
#include <functional>

namespace tessera::tensix {
namespace {

using Kind = Binary::Kind;

double exact(Kind kind, double a, double b) {
  switch (kind) {
    case Kind::add: return a + b;
    case Kind::sub: return a - b;
    case Kind::mul: return a * b;
    case Kind::div: return a / b;
    case Kind::min: return std::min(a, b);
    default: return std::max(a, b);
  }
}

// Index of an element of the result in an operand that is repeated.
std::size_t source(std::int64_t at, const Shape& shape, const Shape& from) {
  std::int64_t out = 0, step = 1;
  for (int d = 1; d <= shape.rank(); ++d) {
    const std::int64_t extent = shape[shape.rank() - d], index = at % extent;
    at /= extent;
    if (d > from.rank()) continue;
    const std::int64_t own = from[from.rank() - d];
    out += (own == 1 ? 0 : index) * step;
    step *= own;
  }
  return static_cast<std::size_t>(out);
}

TEST(Elementwise, BinaryOperatorsComeCloseToExactArithmeticWithBroadcasting) {
  const auto device = open_card();
  std::mt19937 rng(1);
  const std::pair<Shape, Shape> shapes[] = {{{3, 50, 70}, {3, 50, 70}},
                                            {{2, 3, 33, 5}, {1, 3, 1, 5}},
                                            {{1, 70}, {50, 1}},
                                            {{64}, {2, 1, 64}},
                                            {{1, 1, 1, 1}, {2, 2, 9, 9}}};
  for (const auto& [sa, sb] : shapes)
    for (const Kind kind : {Kind::add, Kind::sub, Kind::mul, Kind::min, Kind::max})
      for (const DType dtype : {DType::bfloat16, DType::float32})
        for (const Layout layout : {Layout::tile, Layout::row_major}) {
          const std::vector<float> a = random_values(sa, dtype, rng), b = random_values(sb, dtype, rng);
          const DeviceTensor y =
              binary(kind, on_card(device, a, sa, dtype, layout), on_card(device, b, sb, dtype, layout));
          const Shape shape = broadcast_shape("test", sa, sb);
          ASSERT_EQ(y.spec().logical_shape(), shape);
          EXPECT_EQ(y.spec().dtype(), dtype);
          EXPECT_EQ(y.spec().layout(), layout);
          const std::vector<float> got = values_of(y);
          for (std::int64_t i = 0; i < shape.volume(); ++i) {
            const double u = static_cast<double>(a[source(i, shape, sa)]),
                         v = static_cast<double>(b[source(i, shape, sb)]);
            const double want = exact(kind, u, v);
            // Four phases of a product are rounded on their own; the largest of them is the product itself.
            const double slack = tolerance(dtype == DType::float32 ? 24 : 8, kind == Kind::mul ? 5 : 2,
                                           std::abs(want) + std::abs(u) * (kind == Kind::mul ? std::abs(v) : 1e-3));
            ASSERT_NEAR(static_cast<double>(got[static_cast<std::size_t>(i)]), want, slack)
                << op_name(kind) << " " << u << " " << v;
          }
        }
}

TEST(Elementwise, IntegersWrapAroundAndKeepTheirType) {
  const auto device = open_card();
  const Shape shape{2, 32};
  std::vector<std::int32_t> big(64, 0x7fffffff);
  const Tensor host =
      Tensor::from_elements(std::as_bytes(std::span(big)), DType::int32, shape, DType::int32, Layout::tile);
  const DeviceTensor a = to_device(host, device);
  const DeviceTensor y = binary(Kind::add, a, a);
  const Bytes bytes = from_device(y).to_elements(DType::int32);
  std::int32_t first = 0;
  std::memcpy(&first, bytes.data(), sizeof first);
  EXPECT_EQ(first, -2);
  EXPECT_EQ(y.spec().dtype(), DType::int32);
  EXPECT_EQ(binary(Kind::div, a, a).spec().dtype(), DType::float32);
}

TEST(Elementwise, ActivationsRunBeforeAndAfter) {
  const auto device = open_card();
  std::mt19937 rng(2);
  const Shape shape{1, 1, 64, 96};
  const std::vector<float> a = random_values(shape, DType::bfloat16, rng),
                           b = random_values(shape, DType::bfloat16, rng);
  BinaryOptions options;
  options.activations = {vector_function("relu")};
  options.a_activations = {vector_function("neg")};
  const std::vector<float> got =
      values_of(binary(Kind::add, on_card(device, a, shape), on_card(device, b, shape), options));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], std::max(0.0f, b[i] - a[i]), tolerance(8, 1, 4)) << i;
}

TEST(Elementwise, InPlaceWritesWhereTheFirstOperandIs) {
  const auto device = open_card();
  std::mt19937 rng(3);
  const Shape shape{1, 1, 128, 64};
  const std::vector<float> a = random_values(shape, DType::bfloat16, rng),
                           b = random_values(shape, DType::bfloat16, rng);
  DeviceTensor x = on_card(device, a, shape, DType::bfloat16, Layout::tile, height_shards(4, 32, 64));
  const DeviceTensor y = on_card(device, b, shape, DType::bfloat16, Layout::tile, height_shards(4, 32, 64));
  const CardState before(*device);
  BinaryOptions options;
  options.output = x;
  options.activations = {vector_function("relu")};
  const DeviceTensor z = binary(Kind::add, x, y, options);
  EXPECT_EQ(z.address(), x.address());
  EXPECT_EQ(CardState(*device).l1, before.l1);
  EXPECT_EQ(values_of(x), values_of(z));
  const std::vector<float> plain = values_of(binary(Kind::add, on_card(device, a, shape), on_card(device, b, shape)));
  const std::vector<float> got = values_of(z);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], plain[i] < 0 ? 0 : plain[i]);
}

TEST(Elementwise, FunctionsOfTheVectorUnitComeCloseToThoseOfTheLibrary) {
  const auto device = open_card();
  std::mt19937 rng(4);
  const Shape shape{3, 31, 65};
  const std::vector<std::pair<std::string, std::function<double(double)>>> functions = {
      {"relu", [](double x) { return std::max(x, 0.0); }},
      {"relu6", [](double x) { return std::clamp(x, 0.0, 6.0); }},
      {"silu", [](double x) { return x / (1 + std::exp(-x)); }},
      {"gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }},
      {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", [](double x) { return std::tanh(x); }},
      {"exp", [](double x) { return std::exp(x); }},
      {"hardswish", [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"hardsigmoid", [](double x) { return std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"square", [](double x) { return x * x; }},
      {"neg", [](double x) { return -x; }},
      {"abs", [](double x) { return std::abs(x); }},
      {"mish", [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
      {"softplus", [](double x) { return std::log1p(std::exp(x)); }},
  };
  for (const auto& [name, function] : functions)
    for (const DType dtype : {DType::bfloat16, DType::float32}) {
      const std::vector<float> x = random_values(shape, dtype, rng, 3);
      const VectorFunction f = vector_function(name);
      const std::vector<float> y = values_of(unary(name, {&f, 1}, on_card(device, x, shape, dtype)));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double want = function(static_cast<double>(x[i]));
        // In between there are numbers of the size of 1.
        const double between = dtype == DType::float32 ? 1 : 1e-3;
        ASSERT_NEAR(static_cast<double>(y[i]), want,
                    tolerance(dtype == DType::float32 ? 23 : 8, 2, std::abs(want) + between))
            << name << " of " << x[i];
      }
    }
}

TEST(Elementwise, FunctionsTakeTheirParameters) {
  std::vector<float> x = {-2, -0.5f, 0.5f, 9};
  apply(vector_function("leaky_relu", std::vector<float>{0.25f}), x, true);
  EXPECT_EQ(x, (std::vector<float>{-0.5f, -0.125f, 0.5f, 9}));
  apply(vector_function("clamp", std::vector<float>{-0.25f, 1}), x, true);
  EXPECT_EQ(x, (std::vector<float>{-0.25f, -0.125f, 0.5f, 1}));
  EXPECT_THROW(vector_function("leaky_relu"), Error);
  EXPECT_NO_THROW(vector_function("elu"));
  for (const char* name : {"leaky_relu", "elu"})
    EXPECT_THROW(vector_function(name, std::vector<float>{1, 2}), Error) << name;
  for (const char* name :
       {"abs", "exp", "gelu", "hardsigmoid", "hardswish", "identity", "log", "mish", "neg", "reciprocal", "relu",
        "relu6", "rsqrt", "sigmoid", "silu", "sqrt", "square", "swish", "tanh"})
    EXPECT_THROW(vector_function(name, std::vector<float>{1}), Error) << name;
  EXPECT_NO_THROW(vector_function("softplus", std::vector<float>{1, 20}));
  EXPECT_THROW(vector_function("softplus", std::vector<float>{1, 20, 3}), Error);
  EXPECT_THROW(vector_function("reluu"), Error);
}

TEST(Elementwise, RefusalsChangeNothing) {
  const auto device = open_card();
  std::mt19937 rng(5);
  const Shape shape{2, 3, 32, 32};
  const DeviceTensor a = on_card(device, random_values(shape, DType::bfloat16, rng), shape);
  const DeviceTensor b = on_card(device, random_values({3, 3, 32, 32}, DType::bfloat16, rng), {3, 3, 32, 32});
  const DeviceTensor rows =
      on_card(device, random_values(shape, DType::bfloat16, rng), shape, DType::bfloat16, Layout::row_major);
  const DeviceTensor whole = on_card(device, random_values(shape, DType::int32, rng), shape, DType::int32);
  const VectorFunction exp = vector_function("exp");
  const CardState before(*device);
  BinaryOptions into;
  into.output = rows;
  EXPECT_THROW(binary(Kind::add, a, b), Error);
  EXPECT_THROW(binary(Kind::add, rows, rows, into), Error);
  EXPECT_THROW(binary(Kind::add, a, whole), Error);
  EXPECT_THROW(unary("exp", {&exp, 1}, whole), Error);
  EXPECT_EQ(CardState(*device), before);
}

TEST(Elementwise, BuffersThatDoNotFitAreRefusedWithTheirNumbers) {
  const auto device = Device::open(load_machine("wormhole_n150"));
  const Shape big{1, 1, 679 * 32, 32}, small{1, 1, 128, 128};
  const DeviceTensor full =
      DeviceTensor::allocate(device, TensorSpec(big, DType::bfloat16, Layout::tile, height_shards(1, 679 * 32, 32)));
  const DeviceTensor x = DeviceTensor::allocate(device, TensorSpec(small, DType::bfloat16, Layout::tile));
  const CardState before(*device);
  try {
    const VectorFunction relu = vector_function("relu");
    unary("relu", {&relu, 1}, x);
    FAIL() << "relu found room for its buffers";
  } catch (const Error& error) {  // the numbers that TTNN gave in this situation
    EXPECT_EQ(error.code(), Code::out_of_memory);
    for (const char* text : {"L1", "[0-0 - 7-7]", "108544", "114016"})
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
  EXPECT_THROW(binary(Kind::add, x, x), Error);
  EXPECT_EQ(CardState(*device), before);
}

TEST(Elementwise, NanAndInfinityPass) {
  const auto device = open_card();
  std::vector<float> x(1024, 1.0f);
  x[0] = NAN, x[1] = INFINITY, x[2] = -INFINITY, x[3] = -0.0f, x[4] = 1e-40f, x[5] = 3e38f;
  const DeviceTensor t = on_card(device, x, {32, 32});
  const VectorFunction relu = vector_function("relu");
  const std::vector<float> y = values_of(unary("relu", {&relu, 1}, t));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], INFINITY);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[4], 0);
  const std::vector<float> z = values_of(binary(Kind::add, t, t));
  EXPECT_TRUE(std::isnan(z[0]));
  EXPECT_EQ(z[1], INFINITY);
  EXPECT_EQ(z[5], INFINITY);
}

}  // namespace
}  // namespace tessera::tensix
