#include "tessera/kernel_plan/parts.h"

#include "tessera/core/error.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

TensorType f32(Shape shape) { return {ElementType::float32, std::move(shape)}; }

Offer last_offer(const Problem& problem) {
  Offer offer;
  offer.inputs.assign(problem.node.inputs.size(), Order::channels_last);
  offer.outputs.assign(problem.types.outputs.size(), Order::channels_last);
  offer.estimate = {1e-3, "compute"};
  return offer;
}
Answer wide(const KernelInfo&, const Problem& problem) {
  Offer offer = last_offer(problem);
  offer.wide_inputs = ~std::uint64_t{0};
  offer.wide_outputs = true;
  return offer;
}
Answer narrow(const KernelInfo&, const Problem& problem) {
  Offer offer = last_offer(problem);
  offer.may_overwrite = 0;
  return offer;
}
Answer moves(const KernelInfo&, const Problem& problem) {
  Offer offer = last_offer(problem);
  offer.wide_inputs = ~std::uint64_t{0};
  offer.wide_outputs = offer.side_by_side = true;
  offer.estimate = {1e-3, "memory"};
  return offer;
}

constexpr KernelInfo kConv{.name = "conv", .op = "Conv", .consider = wide};
constexpr KernelInfo kPool{.name = "pool", .op = "MaxPool", .consider = wide};
constexpr KernelInfo kUnary{.name = "unary", .op = "Unary", .consider = narrow};
constexpr KernelInfo kConcat{.name = "concat", .op = "Concat", .consider = moves};
constexpr KernelInfo kSplit{.name = "split", .op = "Split", .consider = moves};
constexpr const KernelInfo* kKernels[] = {&kConv, &kPool, &kUnary, &kConcat, &kSplit};

PlanOptions options() {
  PlanOptions o;
  o.machine.cpu().dram_read_bytes_per_s = 1e10;
  return o;
}

// Networks of convolutions over 8x8 pixels.
struct Network {
  Graph g;
  ValueId x = g.add_input("x", f32({1, 4, 8, 8}));

  ValueId conv(const std::string& name, ValueId from, std::int64_t channels) {
    const std::int64_t in = g.value(from).type.shape()[1];
    const ValueId w = g.add_constant(name + ".w", Array(ElementType::float32, Shape{channels, in, 1, 1}));
    return g.add(name, Conv{}, {from, w});
  }
  ValueId relu(const std::string& name, ValueId from) { return g.add(name, Unary{Unary::Kind::relu}, {from}); }
  ValueId concat(const std::string& name, std::vector<ValueId> parts) {
    return g.add(name, Concat{1}, std::move(parts));
  }
  std::vector<ValueId> split(const std::string& name, ValueId from, std::vector<std::int64_t> sizes) {
    const auto count = sizes.size();
    return g.add_node(name, Split{1, std::move(sizes), static_cast<int>(count)}, {from}, count);
  }
};

// What lives at the same time may not overlap, unless it lies in one and the same buffer.
void expect_no_overlaps(const Plan& plan) {
  for (std::size_t a = 0; a < plan.buffers.size(); ++a)
    for (std::size_t b = a + 1; b < plan.buffers.size(); ++b) {
      if (root_of(plan, static_cast<int>(a)) != static_cast<int>(a)) continue;
      if (root_of(plan, static_cast<int>(b)) != static_cast<int>(b)) continue;
      const PlanBuffer &p = plan.buffers[a], &q = plan.buffers[b];
      if (p.place != PlanBuffer::Place::arena || q.place != PlanBuffer::Place::arena) continue;
      const bool together = p.first <= q.last && q.first <= p.last;
      const bool apart = p.offset + p.bytes <= q.offset || q.offset + q.bytes <= p.offset;
      EXPECT_TRUE(!together || apart) << a << " and " << b;
    }
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    for (const auto* buffers : {&plan.steps[s].inputs, &plan.steps[s].outputs})
      for (const int b : *buffers) {
        if (b < 0) continue;
        const PlanBuffer& root = plan.buffers[static_cast<std::size_t>(root_of(plan, b))];
        EXPECT_TRUE(root.first <= static_cast<int>(s) && static_cast<int>(s) <= root.last) << plan.step_name(s);
      }
}

Plan plan_of(Network& net, std::vector<ValueId> outputs, const PlanOptions& o = options()) {
  net.g.outputs = std::move(outputs);
  Plan plan = make_plan(net.g, kKernels, o);
  expect_no_overlaps(plan);
  return plan;
}

const PlanBuffer& made(const Plan& plan, const std::string& value) {
  for (const Step& step : plan.steps)
    if (step.node != Step::kConversion)
      for (const int b : step.outputs)
        if (b >= 0 && plan.graph.value(plan.buffers[static_cast<std::size_t>(b)].value).name == value)
          return plan.buffers[static_cast<std::size_t>(b)];
  fail(Code::not_found, "no step makes {}", value);
}

// "cat+3": where it lies, directly.
std::string place(const Plan& plan, const std::string& value) {
  const PlanBuffer& buffer = made(plan, value);
  if (buffer.part_of < 0) return "alone";
  return fmt::format("{}+{}", plan.graph.value(plan.buffers[static_cast<std::size_t>(buffer.part_of)].value).name,
                     buffer.channel);
}

const Step& step(const Plan& plan, const std::string& node) {
  for (const Step& s : plan.steps)
    if (s.node != Step::kConversion && plan.graph.nodes[static_cast<std::size_t>(s.node)].name == node) return s;
  fail(Code::not_found, "no step runs {}", node);
}

TEST(Parts, WhatAConcatJoinsIsMadeInItsResult) {
  Network net;
  const ValueId a = net.conv("a", net.x, 3), b = net.conv("b", a, 5), cat = net.concat("cat", {a, b});
  const Plan plan = plan_of(net, {net.conv("y", cat, 2)});
  EXPECT_EQ(place(plan, "a"), "cat+0");
  EXPECT_EQ(place(plan, "b"), "cat+3");
  EXPECT_EQ(place(plan, "cat"), "alone");
  EXPECT_EQ(made(plan, "b").offset, made(plan, "cat").offset + 3 * 4);
  EXPECT_EQ(made(plan, "b").pixel, 8);
  EXPECT_EQ(made(plan, "cat").pixel, 0);
  EXPECT_TRUE(step(plan, "cat").in_place);
  EXPECT_EQ(step(plan, "cat").work.write_bytes, 0);
  EXPECT_EQ(step(plan, "cat").offer.estimate.seconds, 0);
}

TEST(Parts, WhatSomeoneReadsPixelByPixelIsCopied) {
  Network net;
  const ValueId a = net.conv("a", net.x, 3), b = net.conv("b", net.x, 5), cat = net.concat("cat", {a, b});
  const Plan plan = plan_of(net, {net.conv("y", cat, 2), net.relu("r", a)});
  EXPECT_EQ(place(plan, "a"), "alone");
  EXPECT_EQ(place(plan, "b"), "cat+3");
  EXPECT_FALSE(step(plan, "cat").in_place);
  EXPECT_EQ(step(plan, "cat").work.write_bytes, 3 * 64 * 4);
  EXPECT_NEAR(step(plan, "cat").offer.estimate.seconds, 1e-3 * 3 / 8, 1e-9);
}

TEST(Parts, WhatIsMadePixelByPixelIsCopied) {
  Network net;
  const ValueId a = net.relu("a", net.conv("first", net.x, 3)), b = net.conv("b", net.x, 5);
  const Plan plan = plan_of(net, {net.conv("y", net.concat("cat", {a, b}), 2)});
  EXPECT_EQ(place(plan, "a"), "alone");
  EXPECT_EQ(place(plan, "b"), "cat+3");
}

TEST(Parts, TheCallersInputsAndOutputsAndConstantsAreCopied) {
  Network net;
  const ValueId a = net.conv("a", net.x, 3);
  const ValueId c = net.g.add_constant("c", Array(ElementType::float32, Shape{1, 2, 8, 8}));
  const ValueId cat = net.concat("cat", {net.x, a, c});
  const Plan plan = plan_of(net, {net.conv("y", cat, 2), a});
  EXPECT_EQ(place(plan, "a"), "alone");
  EXPECT_FALSE(step(plan, "cat").in_place);
  EXPECT_EQ(step(plan, "cat").work.write_bytes, (4 + 3 + 2) * 64 * 4);
}

TEST(Parts, WhatASplitGivesIsReadWhereItLies) {
  Network net;
  const std::vector<ValueId> parts = net.split("cut", net.conv("a", net.x, 9), {1, 3, 5});
  const Plan plan = plan_of(net, {net.conv("y", parts[1], 2), net.relu("r", parts[2])});
  EXPECT_EQ(made(plan, net.g.value(parts[1]).name).part_of >= 0, true);
  EXPECT_EQ(made(plan, net.g.value(parts[1]).name).channel, 1);
  EXPECT_EQ(made(plan, net.g.value(parts[1]).name).pixel, 9);
  EXPECT_EQ(place(plan, net.g.value(parts[2]).name), "alone");
  EXPECT_FALSE(step(plan, "cut").in_place);
}

// As in YOLO: both halves of a value, and what comes of the second, side by side.
TEST(Parts, PartsOfASplitThatAreJoinedInOrderTakeItAlong) {
  Network net;
  const ValueId first = net.conv("first", net.x, 6);
  const std::vector<ValueId> halves = net.split("cut", first, {3, 3});
  const ValueId m = net.conv("m", halves[1], 5);
  const Plan plan = plan_of(net, {net.conv("y", net.concat("cat", {m, halves[0], halves[1]}), 2)});
  EXPECT_EQ(place(plan, "first"), "cat+5");
  EXPECT_EQ(place(plan, "m"), "cat+0");
  EXPECT_EQ(made(plan, net.g.value(halves[1]).name).pixel, 11);
  EXPECT_EQ(made(plan, net.g.value(halves[1]).name).offset, made(plan, "cat").offset + 8 * 4);
  EXPECT_TRUE(step(plan, "cut").in_place);
  EXPECT_TRUE(step(plan, "cat").in_place);
}

TEST(Parts, PartsOfASplitThatAreJoinedOtherwiseAreCopied) {
  const auto in_place = [](const std::function<std::vector<ValueId>(const std::vector<ValueId>&, ValueId)>& order) {
    Network net;
    const std::vector<ValueId> halves = net.split("cut", net.conv("first", net.x, 6), {3, 3});
    const ValueId m = net.conv("m", halves[1], 5);
    const Plan plan = plan_of(net, {net.conv("y", net.concat("cat", order(halves, m)), 2)});
    EXPECT_TRUE(step(plan, "cut").in_place);
    EXPECT_EQ(place(plan, "first"), "alone");
    EXPECT_TRUE(made(plan, "m").part_of >= 0);
    return step(plan, "cat").in_place;
  };
  EXPECT_FALSE(in_place([](const auto& h, ValueId m) { return std::vector{h[1], h[0], m}; }));
  EXPECT_FALSE(in_place([](const auto& h, ValueId m) { return std::vector{h[0], m, h[1]}; }));
  EXPECT_FALSE(in_place([](const auto& h, ValueId m) { return std::vector{m, h[1]}; }));
  EXPECT_FALSE(in_place([](const auto& h, ValueId m) { return std::vector{h[1], m}; }));
}

TEST(Parts, AConcatInAConcatIsOnePlaceForAll) {
  Network net;
  const ValueId a = net.conv("a", net.x, 3), b = net.conv("b", a, 5);
  const ValueId inner = net.concat("inner", {a, b}), c = net.conv("c", inner, 2);
  const Plan plan = plan_of(net, {net.conv("y", net.concat("outer", {c, inner}), 2)});
  EXPECT_EQ(place(plan, "inner"), "outer+2");
  EXPECT_EQ(place(plan, "b"), "inner+3");
  EXPECT_EQ(made(plan, "b").pixel, 10);
  EXPECT_EQ(made(plan, "b").offset, made(plan, "outer").offset + 5 * 4);
  EXPECT_TRUE(step(plan, "inner").in_place && step(plan, "outer").in_place);
}

// As in DenseNet, where each layer joins all there was before.
TEST(Parts, AConcatOfWhatAnotherJoinedTakesThatAlong) {
  Network net;
  const ValueId a = net.conv("a", net.x, 3), b = net.conv("b", a, 5);
  const ValueId c = net.conv("c", net.concat("inner", {a, b}), 2);
  const Plan plan = plan_of(net, {net.conv("y", net.concat("outer", {a, b, c}), 2)});
  EXPECT_EQ(place(plan, "inner"), "outer+0");
  EXPECT_EQ(place(plan, "c"), "outer+8");
  EXPECT_TRUE(step(plan, "inner").in_place && step(plan, "outer").in_place);
}

TEST(Parts, AValueJoinedTwiceIsInPlaceOnce) {
  Network net;
  const ValueId a = net.conv("a", net.x, 3);
  const Plan plan = plan_of(net, {net.conv("y", net.concat("cat", {a, a}), 2)});
  EXPECT_EQ(place(plan, "a"), "cat+0");
  EXPECT_EQ(step(plan, "cat").work.write_bytes, 3 * 64 * 4);
}

TEST(Parts, AResultDoesNotOverwriteAPartNorTheWholeBeforeItsTime) {
  Network net;
  const ValueId a = net.conv("a", net.x, 4), b = net.conv("b", net.x, 4);
  const ValueId cat = net.concat("cat", {a, b});
  const std::vector<ValueId> halves = net.split("cut", cat, {4, 4});
  const ValueId r = net.relu("r", cat);  // would like to lie where cat lies, which a later step reads in parts
  const Plan plan = plan_of(net, {net.conv("y", r, 2), net.conv("z", halves[1], 2)});
  const PlanBuffer &whole = made(plan, "cat"), &result = made(plan, "r");
  EXPECT_TRUE(step(plan, "cut").in_place && step(plan, "cat").in_place);
  EXPECT_LT(result.view_of, 0);
  EXPECT_TRUE(whole.offset + whole.bytes <= result.offset || result.offset + result.bytes <= whole.offset);
}

TEST(Parts, AreLeftOutOnRequest) {
  Network net;
  const ValueId a = net.conv("a", net.x, 3), b = net.conv("b", a, 5);
  PlanOptions o = options();
  o.parts = false;
  const Plan plan = plan_of(net, {net.conv("y", net.concat("cat", {a, b}), 2)}, o);
  EXPECT_EQ(place(plan, "a"), "alone");
  EXPECT_FALSE(step(plan, "cat").in_place);
}

// The whole is taken as soon as its first part is made, and what comes between has no room beside it.
TEST(Parts, GiveWayToCopiesWhereMemoryIsShort) {
  Network net;
  const ValueId a = net.conv("a", net.x, 1);
  ValueId b = net.conv("b0", a, 32);
  for (int i = 1; i < 3; ++i) b = net.conv("b" + std::to_string(i), b, 32);
  const ValueId cat = net.concat("cat", {a, net.conv("c", b, 31)});
  const ValueId y = net.conv("y", cat, 1);
  const Plan free = plan_of(net, {y});
  EXPECT_TRUE(step(free, "cat").in_place);
  PlanOptions o = options();
  o.memory_limit_bytes = free.arena_bytes - 1;
  const Plan tight = plan_of(net, {y}, o);
  EXPECT_FALSE(step(tight, "cat").in_place);
  EXPECT_LT(tight.arena_bytes, free.arena_bytes);
}

}  // namespace
}  // namespace tessera
