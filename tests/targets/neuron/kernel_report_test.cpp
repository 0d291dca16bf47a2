#include "tessera/targets/neuron/views/kernel_report.h"

#include "tessera/machine/machine_file.h"
#include "tessera/report/view_text.h"
#include "tessera/targets/neuron/kernels/conv2d.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <numeric>

namespace tessera::neuron {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

const NeuronSpec& trainium2() {
  static const Machine machine = load_machine(TESSERA_MACHINES_DIR "/trainium2.toml");
  return neuron_of(machine);
}

Kernel traced(std::string_view step, const ConvProblem& p) {
  Kernel kernel(trainium2(), {.values = false});
  const ConvTensors tensors{kernel.input("x", p.type, p.x_shape()), kernel.input("w", p.type, p.w_shape()),
                            kernel.input("bias", p.type, {p.oc}), kernel.output("y", p.type, p.y_shape())};
  conv_step(step).run(kernel, p, tensors);
  return kernel;
}

const ConvProblem kRows{.ic = 128, .oc = 128, .h = 10, .w = 64};
const auto what = [](const std::string& text) { return Field("what", &KernelAdvice::what, HasSubstr(text)); };

TEST(LongestChain, AddsUpToTheTimeOfTheKernel) {
  for (const std::string_view step : {"baseline", "halo", "native", "independent"}) {
    const Kernel kernel = traced(step, kRows);
    const LongestChain chain = longest_chain(kernel, kernel.schedule());
    double links = 0, engines = 0;
    for (const ChainLink& each : chain.links) links += each.ns;
    for (const ChainShare& each : chain.engines) engines += each.ns;
    EXPECT_NEAR(links, chain.ns, 1e-3) << step;
    EXPECT_NEAR(engines, chain.ns, 1e-3) << step;
    EXPECT_NEAR(chain.ns + trainium2().kernel_overhead_ns, kernel.profile().total_ns, 1e-3) << step;
  }
}

TEST(LongestChain, NamesTheLinesOfTheKernel) {
  Kernel k(trainium2(), {.values = false});
  const View x = k.input("x", ElementType::float32, {128, 4096}), y = k.output("y", ElementType::float32, {128, 4096});
  const View tile = k.sbuf("tile", ElementType::float32, {128, 4096});
  k.set_location("mine.py:1");
  k.dma_copy(tile, x);
  k.set_location("mine.py:2");
  for (int i = 0; i < 9; ++i) k.tensor_scalar(tile, tile, MathOp::multiply, 2.0F);
  k.set_location("mine.py:3");
  k.dma_copy(y, tile);
  const LongestChain chain = longest_chain(k, k.schedule());
  ASSERT_FALSE(chain.links.empty());
  EXPECT_EQ(chain.links[0].line, "mine.py:2");
  EXPECT_EQ(chain.links[0].engine, "vector");
  EXPECT_EQ(chain.links[0].times, 9);
  EXPECT_GE(chain.links[0].last_ns - chain.links[0].first_ns, chain.links[0].ns);
  EXPECT_THAT(chain.links, Contains(Field(&ChainLink::line, "mine.py:1")));
  EXPECT_THAT(chain.links, Contains(Field(&ChainLink::line, "mine.py:3")));
}

TEST(LongestChain, NamesLinesOfCppWhereNoScriptDoes) {
  const Kernel kernel = traced("baseline", kRows);
  EXPECT_THAT(longest_chain(kernel, kernel.schedule()).links, Each(Field(&ChainLink::line, HasSubstr(".cpp:"))));
}

TEST(Traffic, CountsWhatIsLoadedAgain) {
  const ConvProblem p{.ic = 128, .oc = 128, .h = 6, .w = 64};
  const Kernel kernel = traced("baseline", p);
  const TensorTraffic &x = kernel.traffic()[0], &w = kernel.traffic()[1], &y = kernel.traffic()[3];
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(x.bytes, 4 * 128 * 6 * 64);
  EXPECT_GT(x.distinct_bytes, 3 * x.bytes);  // nine windows, shifted
  EXPECT_EQ(w.distinct_bytes, w.bytes);
  EXPECT_GE(w.loads, w.distinct_loads);
  EXPECT_EQ(y.stored_bytes, y.bytes);
  EXPECT_EQ(y.loads, 0);
}

// What the case study did from step to step is what is advised for the step before.
TEST(KernelAdvice, SaysWhatTheNextStepDoes) {
  const ConvProblem p{.h = 34, .w = 130};
  const auto advised = [&](std::string_view step, ElementType type) {
    ConvProblem typed = p;
    typed.type = type;
    return kernel_report(traced(step, typed), "").advice;
  };
  EXPECT_THAT(advised("baseline", ElementType::float32),
              AllOf(Contains(what("hoist the loads of w")), Contains(what("keep rows of x with their halo"))));
  EXPECT_THAT(advised("halo", ElementType::float32),
              AllOf(Contains(what("hoist the loads of w")), Not(Contains(what("halo")))));
  EXPECT_THAT(advised("native", ElementType::float32),
              AllOf(Contains(what("multiply 16-bit operands")), Not(Contains(what("hoist")))));
  EXPECT_THAT(advised("native", ElementType::float16),
              AllOf(Contains(what("let the PE array read windows")), Not(Contains(what("16-bit")))));
}

TEST(KernelAdvice, FusesWhatGoesThroughHbm) {
  Kernel k(trainium2(), {.values = false});
  const View x = k.input("x", ElementType::float32, {128, 8192}), y = k.output("y", ElementType::float32, {128, 8192});
  const View between = k.output("between", ElementType::float32, {128, 8192});
  const View a = k.sbuf("a", ElementType::float32, {128, 8192}), b = k.sbuf("b", ElementType::float32, {128, 8192});
  k.dma_copy(a, x);
  k.dma_copy(between, a);
  for (int i = 0; i < 2; ++i) k.dma_copy(b, between);
  k.dma_copy(y, b);
  EXPECT_THAT(kernel_report(k, "").advice, Contains(what("fuse what writes between with what reads it")));
}

TEST(KernelReport, IsTheSameInEveryForm) {
  const Kernel kernel = traced("baseline", kRows);
  const KernelReport report = kernel_report(kernel, "a title <b>");
  const nlohmann::json json = nlohmann::json::parse(render(explanation(report), Format::json));
  EXPECT_EQ(json["rows"].size(), report.chain.links.size());
  EXPECT_EQ(json["advice"].size(), report.advice.size());
  EXPECT_EQ(json["rows"][0]["chain_us"].get<double>(), report.chain.links[0].ns / 1000);
  const std::string text = render(explanation(report, 2), Format::table);
  EXPECT_THAT(text, AllOf(HasSubstr("a title <b>\n"), HasSubstr("shorter ones"), HasSubstr("keep rows of x")));
  const std::string page = kernel_page(kernel, report);
  EXPECT_THAT(page, AllOf(HasSubstr("<h1>a title &lt;b&gt;</h1>"), HasSubstr(">tensor<"), HasSubstr("keep rows of x"),
                          HasSubstr("total_time"), Not(HasSubstr("<b>"))));
}

TEST(KernelReport, OfAKernelThatDoesNothing) {
  const Kernel kernel(trainium2(), {.values = false});
  const KernelReport report = kernel_report(kernel, "nothing");
  EXPECT_TRUE(report.chain.links.empty());
  EXPECT_TRUE(report.advice.empty());
  EXPECT_THAT(kernel_page(kernel, report), HasSubstr("nothing"));
}

}  // namespace
}  // namespace tessera::neuron
