// How often weights are made and how long they are kept.

#include "tessera/core/error.h"
#include "tessera/graph/evaluate.h"
#include "tessera/graph/passes/pass.h"
#include "tessera/session/session.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace tessera {
namespace {

constexpr std::int64_t kUnknown = TensorType::kUnknown;

Array random_array(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Array out(ElementType::float32, shape);
  for (float& value : out.as<float>()) value = normal(random);
  return out;
}

// Weights as a file would give them.
class Counting : public DeferredBytes {
 public:
  explicit Counting(Array array) : DeferredBytes(array.bytes().size()), array_(std::move(array)) {}
  void write(std::byte* to) const override {
    ++written;
    std::memcpy(to, array_.bytes().data(), size());
  }
  void forget() const override { ++forgotten; }

  mutable std::atomic<int> written = 0, forgotten = 0;

 private:
  const Array array_;
};

struct Network {
  Graph graph;
  std::shared_ptr<const Counting> conv, dense, table;
};

constexpr std::int64_t kChannels = 64;

// conv -> batch norm -> relu -> global average -> dense -> + a table that no kernel packs
Network network() {
  Network n;
  Graph& g = n.graph;
  const auto deferred = [&](const char* name, const Shape& shape, unsigned seed,
                            std::shared_ptr<const Counting>& bytes) {
    bytes = std::make_shared<const Counting>(random_array(shape, seed));
    return g.add_constant(name, Array(ElementType::float32, shape, bytes));
  };
  const auto constant = [&](const char* name, unsigned seed) {
    Array values = random_array(Shape{kChannels}, seed);
    for (float& v : values.as<float>()) v = std::abs(v) + 0.5f;
    return g.add_constant(name, std::move(values));
  };
  const ValueId x =
      g.add_input("x", {ElementType::float32, std::vector<std::int64_t>{kUnknown, kChannels, kUnknown, 9}});
  ValueId y = g.add("conv", Conv{.window = {.pads = {1, 1, 1, 1}}},
                    {x, deferred("w", Shape{kChannels, kChannels, 3, 3}, 1, n.conv)});
  y = g.add("bn", BatchNorm{},
            {y, constant("scale", 2), constant("shift", 3), constant("mean", 4), constant("var", 5)});
  y = g.add("relu", Unary{Unary::Kind::relu}, {y});
  y = g.add("pool", GlobalPool{}, {y});
  y = g.add("flat", Flatten{}, {y});
  Gemm gemm;
  gemm.transpose_b = true;
  y = g.add("dense", gemm, {y, deferred("d", Shape{500, kChannels}, 6, n.dense)});
  g.outputs = {g.add("y", Binary{Binary::Kind::add}, {y, deferred("t", Shape{3, 500}, 7, n.table)})};
  return n;
}

// How these pack may follow from the batch: whether it does depends on the host's caches.
std::vector<std::string> winograd_kernels() {
  std::vector<std::string> names;
  for (const cpu::CpuKernel& kernel : cpu::kernels())
    if (std::string_view(kernel.info.name).starts_with("winograd")) names.emplace_back(kernel.info.name);
  return names;
}

double distance(const Array& got, const Array& wanted) {
  const std::vector<double> a = got.to_double(), b = wanted.to_double();
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return difference / largest;
}

// Sums of kChannels * 9 products in another order, and again of kChannels of them.
const double kRounding = 8 * std::sqrt(kChannels * 9.0) * std::ldexp(1.0, -24);

TEST(Weights, ThatAreDeferredAreKeptPackedAndNotTwice) {
  const Network n = network();
  const Session session(n.graph, {.kernels_off = winograd_kernels()});
  const std::vector<Array> first{random_array(Shape{1, kChannels, 8, 9}, 10)},
      second{random_array(Shape{3, kChannels, 8, 9}, 11)};
  const std::vector<Array> y1 = session.run(first);
  const int made = n.conv->written;
  const std::vector<Array> y2 = session.run(second);
  EXPECT_EQ(session.plans_made(), 2u);
  EXPECT_EQ(n.conv->written, made) << "the second plan finds them packed";
  EXPECT_FALSE(n.conv->is_kept());
  EXPECT_FALSE(n.dense->is_kept());
  EXPECT_GT(n.conv->forgotten, 0);
  EXPECT_TRUE(n.table->is_kept()) << "what a run reads must be there";
  // The definition, which asks for all of them.
  EXPECT_LE(distance(y1[0], evaluate(n.graph, first)[0]), kRounding);
  EXPECT_LE(distance(y2[0], evaluate(n.graph, second)[0]), kRounding);
}

TEST(Weights, ComeBackForAPlanThatPacksThemInAnotherWay) {
  const Network n = network();
  const std::vector<Array> x{random_array(Shape{1, kChannels, 8, 9}, 10)};
  const std::vector<Array> wanted = evaluate(network().graph, x);
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa > host_isa()) continue;
    const Session session(n.graph, {.isa = isa});
    EXPECT_LE(distance(session.run(x)[0], wanted[0]), kRounding) << name(isa);
    EXPECT_FALSE(n.conv->is_kept());
  }
}

TEST(Weights, InFewerBitsGiveWhatTheRoundedNetworkGives) {
  const std::vector<Array> x{random_array(Shape{1, kChannels, 8, 9}, 10)};
  std::int64_t before = 0;
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::bfloat8_b, DType::bfloat4_b}) {
    Graph rounded = network().graph;
    run_passes(rounded);
    if (dtype != DType::float32) round_weights(rounded, dtype);
    const Session session(network().graph, {.weights = dtype});
    EXPECT_LE(distance(session.run(x)[0], evaluate(rounded, x)[0]), kRounding) << name(dtype);
    const std::int64_t bytes = session.prepare(x).weight_bytes;
    if (dtype != DType::float32) {
      EXPECT_LT(bytes, before) << name(dtype);
    }
    before = bytes;
  }
}

TEST(Weights, InFewerBitsNeedValuesInFloat32) {
  EXPECT_THROW(Session(network().graph, {.storage = ElementType::bfloat16, .weights = DType::bfloat8_b}), Error);
}

}  // namespace
}  // namespace tessera
