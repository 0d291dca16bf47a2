// Sessions that several threads use at once, with signals.

#include "on_threads.h"

#include "tessera/graph/evaluate.h"
#include "tessera/graph/ops/control_flow_run.h"
#include "tessera/kernel_plan/plan.h"
#include "tessera/session/profile.h"
#include "tessera/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <random>
#include <stdexcept>

namespace tessera {
namespace {

using for_tests::on_threads;
using for_tests::OnThreads;
using testing::AnyOf;
using testing::Each;
using testing::HasSubstr;

constexpr std::int64_t kUnknown = TensorType::kUnknown;
constexpr int kChannels = 6;

TensorType f32(std::vector<std::int64_t> dims) { return {ElementType::float32, std::move(dims)}; }

Array random_array(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Array out(ElementType::float32, shape);
  for (float& value : out.as<float>()) value = uniform(random);
  return out;
}

// x [?, 3, ?, ?] -> conv -> relu -> pool -> mean -> product -> softmax; and the positive ones of the means, which are
// as many as the values say: a stage of their own.
Graph network() {
  Graph g;
  const ValueId x = g.add_input("x", f32({kUnknown, 3, kUnknown, kUnknown}));
  const ValueId w = g.add_constant("w", random_array(Shape{kChannels, 3, 3, 3}, 1));
  const ValueId m = g.add_constant("m", random_array(Shape{kChannels, kChannels}, 2));
  const ValueId zero = g.add_constant("zero", Array::scalar<float>(0));
  ValueId y = g.add("conv", Conv{.window = {.pads = {1, 1, 1, 1}}}, {x, w});
  y = g.add("pool", MaxPool{.window = {.kernel = {2, 2}}}, {y});
  y = g.add("means", GlobalPool{}, {y});
  y = g.add("flat", Flatten{}, {y});
  y = g.add("product", MatMul{}, {y, m});
  const ValueId positive = g.add("positive", Binary{Binary::Kind::greater}, {y, zero});
  const ValueId rows = g.add("rows", Transpose{}, {g.add("where", NonZero{}, {positive})});
  const ValueId picked = g.add("picked", GatherND{}, {y, rows});
  g.outputs = {g.add("chances", Softmax{1}, {y}), g.add("half", Unary{Unary::Kind::neg}, {picked})};
  return g;
}

// Inputs are of size 1: the convolution adds up 27 products, the mean as many as there are pixels, the product as many
// as there are channels, and each addition rounds; Winograd's kernels round 16 times as much.
double tolerance(const Array& x) {
  const double additions = 27 + static_cast<double>(x.shape()[2] * x.shape()[3]) + kChannels;
  return 16 * additions * 27 * kChannels * std::numeric_limits<float>::epsilon();
}

void check_same(const std::vector<Array>& got, const std::vector<Array>& wanted, double allowed) {
  check(got.size() == wanted.size(), Code::internal, "{} outputs, not {}", got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    check(got[i].shape() == wanted[i].shape(), Code::internal, "output {} has another shape", i);
    const std::vector<double> a = got[i].to_double(), b = wanted[i].to_double();
    for (std::size_t k = 0; k < a.size(); ++k)
      check(std::abs(a[k] - b[k]) <= allowed, Code::internal, "output {} at {} is {}, not {}", i, k, a[k], b[k]);
  }
}

Array input(int n) { return random_array(Shape{1 + n % 2, 3, 5 + n % 4, 7}, static_cast<unsigned>(n)); }

// A handler of signals, while it lives; what it counts.
class Signals {
 public:
  explicit Signals(int number) : number_(number) {
    came_ = 0;
    struct sigaction action{};
    action.sa_handler = [](int) {
      came_.fetch_add(1, std::memory_order_relaxed);
    };  // no SA_RESTART: calls are interrupted
    ::sigaction(number, &action, &before_);
  }
  ~Signals() { ::sigaction(number_, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  static int came() { return came_; }

 private:
  static inline std::atomic<int> came_ = 0;
  int number_;
  struct sigaction before_{};
};

TEST(SessionsOnThreads, EightCompareOneWithTheDefinitionWhileSignalsArrive) {
  const Graph graph = network();
  SessionOptions options;
  options.threads = 2;
  options.max_plans = 2;  // fewer than there are shapes: plans go while others run by them
  const Session session(graph, options);
  const Signals signals(SIGUSR1);
  std::atomic<int> done = 0;
  OnThreads threads(8, [&](int t) {
    struct Done {
      std::atomic<int>& count;
      ~Done() { ++count; }
    } const when_it_ends{done};
    for (int i = 0; i < 6; ++i) {
      const std::vector<Array> inputs{input(t + i)};
      check_same(session.run(inputs), evaluate(graph, inputs), tolerance(inputs[0]));
    }
  });
  while (done < 8) {
    for (std::thread& thread : threads.threads()) pthread_kill(thread.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(threads.join(), Each(""));
  EXPECT_GT(Signals::came(), 0);
}

TEST(SessionsOnThreads, PlansTimesAndValuesCanBeAskedForWhileOthersRun) {
  const Graph graph = network();
  const Session session(graph, {.threads = 2});
  const auto thrown = on_threads(6, [&](int t) {
    for (int i = 0; i < 3; ++i) {
      const std::vector<Array> inputs{input(i)};
      switch (t) {
        case 0: check(session.prepare(inputs).steps > 0, Code::internal, "a plan without steps"); break;
        case 1: check(!session.plans(inputs).empty(), Code::internal, "no plan"); break;
        case 2: check(!session.profile(inputs, 1, 0).steps.empty(), Code::internal, "nothing was timed"); break;
        case 3: {
          int values = 0;
          session.observe(inputs, [&](const std::string&, const Array&) { ++values; });
          check(values > 0, Code::internal, "no value was shown");
          break;
        }
        default: check_same(session.run(inputs), evaluate(graph, inputs), tolerance(inputs[0]));
      }
    }
  });
  EXPECT_THAT(thrown, Each(""));
  EXPECT_GT(session.plans_made(), 0u);
}

TEST(SessionsOnThreads, SessionsOfOneGraphComeAndGo) {
  const Graph graph = network();  // they share its weights
  const auto thrown = on_threads(4, [&](int t) {
    SessionOptions options;
    options.threads = 1 + t % 2;
    options.storage = t == 3 ? ElementType::bfloat16 : ElementType::float32;
    for (int i = 0; i < 3; ++i) {
      const std::vector<Array> inputs{input(i)};
      Session session(graph, options);
      const std::vector<Array> got = session.run(inputs);
      // With values of half the bytes those that are just above zero may be other ones.
      if (t != 3) check_same(got, evaluate(graph, inputs), tolerance(inputs[0]));
    }
  });
  EXPECT_THAT(thrown, Each(""));
}

// Doubles a list while nobody stops it.
Graph endless() {
  auto body = std::make_shared<Graph>();
  body->add_input("i", {ElementType::int64, Shape{}});
  const ValueId go = body->add_input("go", {ElementType::boolean, Shape{}});
  const ValueId in = body->add_input("in", f32({kUnknown}));
  const ValueId out = body->add("out", Unary{Unary::Kind::neg}, {in});
  body->outputs = {body->add("on", Unary{Unary::Kind::identity}, {go}), out};
  Graph g;
  const ValueId trips = g.add_input("trips", {ElementType::int64, Shape{}});
  const ValueId x = g.add_input("x", f32({kUnknown}));
  g.outputs = g.add_node("loop", Loop{body, 1, 0}, {trips, kNoValue, x}, 1);
  return g;
}

TEST(SessionsOnThreads, AnInterruptEndsTheLoopsOfAllAndTheSessionGoesOn) {
  const Graph graph = endless();
  SessionOptions options;
  options.loop_limit = std::numeric_limits<std::int64_t>::max();
  const Session session(graph, options);
  const Signals signals(SIGINT);
  std::atomic<int> inside = 0;
  OnThreads threads(8, [&](int t) {
    bool first = true;
    on_loop_iteration() = [&] {
      if (std::exchange(first, false)) ++inside;
      if (Signals::came() > 0) throw std::runtime_error("interrupted");
    };
    // The others end by themselves, and may be interrupted too.
    const std::int64_t trips = t % 2 == 0 ? std::numeric_limits<std::int64_t>::max() : 100;
    session.run(std::vector<Array>{Array::scalar(trips), random_array(Shape{4}, 1)});
  });
  while (inside < 8) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  kill(getpid(), SIGINT);
  const std::vector<std::string> thrown = threads.join();
  for (std::size_t t = 0; t < thrown.size(); ++t)
    EXPECT_THAT(thrown[t], t % 2 == 0 ? testing::Matcher<std::string>(HasSubstr("interrupted"))
                                      : AnyOf("", HasSubstr("interrupted")));
  const std::vector<Array> inputs{Array::scalar<std::int64_t>(3), random_array(Shape{4}, 2)};
  EXPECT_TRUE(session.run(inputs)[0] == evaluate(graph, inputs)[0]);
}

TEST(SessionsOnThreads, AMemoryLimitStopsWhoGoesBeyondItAndNobodyElse) {
  const Graph graph = network();
  SessionOptions options;
  options.threads = 2;
  options.memory_limit_bytes = 64 << 10;
  const Session session(graph, options);
  const auto thrown = on_threads(6, [&](int t) {
    for (int i = 0; i < 4; ++i) {
      const bool large = t % 2 == 1;
      const std::vector<Array> inputs{large ? random_array(Shape{1, 3, 200, 200}, 1) : input(i)};
      if (!large) {
        check_same(session.run(inputs), evaluate(graph, inputs), tolerance(inputs[0]));
        continue;
      }
      try {
        session.run(inputs);
      } catch (const Error& error) {
        if (error.code() == Code::out_of_memory) continue;
      }
      fail(Code::internal, "the limit does not hold");
    }
  });
  EXPECT_THAT(thrown, Each(""));
}

}  // namespace
}  // namespace tessera
