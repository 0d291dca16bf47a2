#include "tessera/targets/tensix/plan/card_plan_file.h"
#include "tests/text_cases.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/io/plan_document.h"
#include "tessera/machine/machine_digest.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/plan/digest.h"
#include "tests/targets/tensix/plan/sample_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <string>

namespace tessera::tensix {
namespace {

namespace fs = std::filesystem;
using tensix::CardPlan;
using tensix::plan_with_every_field;
using tensix::PlannedStep;
using testing::AllOf;
using testing::HasSubstr;

void expect_equal(const MemoryConfig& a, const MemoryConfig& b) {
  EXPECT_EQ(a.to_string(), b.to_string());
  EXPECT_EQ(a, b);
}

void expect_equal(const tensix::StepTime& a, const tensix::StepTime& b) {
  EXPECT_EQ(a.reader_ns, b.reader_ns);
  EXPECT_EQ(a.weights_ns, b.weights_ns);
  EXPECT_EQ(a.multicast_ns, b.multicast_ns);
  EXPECT_EQ(a.dram_ns, b.dram_ns);
  EXPECT_EQ(a.tilize_ns, b.tilize_ns);
  EXPECT_EQ(a.math_ns, b.math_ns);
  EXPECT_EQ(a.pack_ns, b.pack_ns);
  EXPECT_EQ(a.writer_ns, b.writer_ns);
  EXPECT_EQ(a.fixed_ns, b.fixed_ns);
  EXPECT_EQ(a.ns, b.ns);
  EXPECT_EQ(a.bound_by, b.bound_by);
  EXPECT_EQ(a.roof_ns, b.roof_ns);
  EXPECT_EQ(a.basis, b.basis);
}

void expect_equal(const tensix::SimulatedStep& a, const tensix::SimulatedStep& b) {
  EXPECT_EQ(a.node, b.node);
  EXPECT_EQ(a.op, b.op);
  EXPECT_EQ(a.config, b.config);
  EXPECT_EQ(a.result, b.result);
  EXPECT_EQ(a.cores, b.cores);
  EXPECT_EQ(a.circular_buffer_bytes, b.circular_buffer_bytes);
  EXPECT_EQ(a.halo_bytes, b.halo_bytes);
  EXPECT_EQ(a.output_bytes, b.output_bytes);
  EXPECT_EQ(a.l1_peak_bytes, b.l1_peak_bytes);
  EXPECT_EQ(a.l1_small_bytes, b.l1_small_bytes);
  expect_equal(a.time, b.time);
  EXPECT_EQ(a.programs, b.programs);
  EXPECT_EQ(a.note, b.note);
}

void expect_equal(const PlannedStep& a, const PlannedStep& b) {
  EXPECT_EQ(a.node, b.node);
  EXPECT_EQ(a.op, b.op);
  EXPECT_EQ(a.config.conv, b.config.conv);
  EXPECT_EQ(a.config.conv_fields, b.config.conv_fields);
  EXPECT_EQ(a.config.dtype, b.config.dtype);
  EXPECT_EQ(a.config.weights_dtype, b.config.weights_dtype);
  EXPECT_EQ(a.config.fidelity, b.config.fidelity);
  EXPECT_EQ(a.config.fp32_dest_acc_en, b.config.fp32_dest_acc_en);
  EXPECT_EQ(a.config.packer_l1_acc, b.config.packer_l1_acc);
  EXPECT_EQ(a.config.memory, b.config.memory);
  EXPECT_EQ(a.config.height_slices, b.config.height_slices);
  EXPECT_EQ(a.config.slices, b.config.slices);
  ASSERT_EQ(a.moves.size(), b.moves.size());
  for (std::size_t i = 0; i < a.moves.size(); ++i) {
    EXPECT_EQ(a.moves[i].kind, b.moves[i].kind);
    EXPECT_EQ(a.moves[i].value, b.moves[i].value);
    expect_equal(a.moves[i].to, b.moves[i].to);
    EXPECT_EQ(a.moves[i].ns, b.moves[i].ns);
    EXPECT_EQ(a.moves[i].why, b.moves[i].why);
    EXPECT_EQ(a.moves[i].l1_peak_bytes, b.moves[i].l1_peak_bytes);
  }
  EXPECT_EQ(a.reads, b.reads);
  EXPECT_EQ(a.makes, b.makes);
  EXPECT_EQ(a.frees, b.frees);
  EXPECT_EQ(a.result.shape, b.result.shape);
  EXPECT_EQ(a.result.dtype, b.result.dtype);
  EXPECT_EQ(a.result.layout, b.result.layout);
  expect_equal(a.result.memory, b.result.memory);
  expect_equal(a.predicted, b.predicted);
  EXPECT_EQ(a.pcc, b.pcc);
  EXPECT_EQ(a.why, b.why);
  ASSERT_EQ(a.alternatives.size(), b.alternatives.size());
  for (std::size_t i = 0; i < a.alternatives.size(); ++i) {
    EXPECT_EQ(a.alternatives[i].config, b.alternatives[i].config);
    EXPECT_EQ(a.alternatives[i].refusal, b.alternatives[i].refusal);
    EXPECT_EQ(a.alternatives[i].ns, b.alternatives[i].ns);
    EXPECT_EQ(a.alternatives[i].l1_bytes, b.alternatives[i].l1_bytes);
  }
}

std::string refusal(const std::string& text) {
  try {
    parse_card_plan(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The sample's text with one piece changed.
std::string changed(const std::string& from, const std::string& to) {
  std::string text = encode_card_plan(plan_with_every_field());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(CardPlanFile, EveryFieldComesBack) {
  const CardPlan plan = plan_with_every_field(), again = parse_card_plan(encode_card_plan(plan));
  EXPECT_EQ(again.model, plan.model);
  EXPECT_EQ(again.model_inputs, plan.model_inputs);
  EXPECT_EQ(again.network_digest, plan.network_digest);
  EXPECT_EQ(again.machine, plan.machine);
  EXPECT_EQ(again.machine_digest, plan.machine_digest);
  EXPECT_EQ(again.request, plan.request);
  EXPECT_EQ(again.batch, plan.batch);
  EXPECT_EQ(again.folded_inputs, plan.folded_inputs);
  EXPECT_EQ(again.pass_images, plan.pass_images);
  EXPECT_EQ(again.grouped_images, plan.grouped_images);
  ASSERT_EQ(again.placed_inputs.size(), plan.placed_inputs.size());
  for (std::size_t i = 0; i < plan.placed_inputs.size(); ++i) {
    EXPECT_EQ(again.placed_inputs[i].value, plan.placed_inputs[i].value);
    EXPECT_EQ(again.placed_inputs[i].memory, plan.placed_inputs[i].memory);
  }
  EXPECT_EQ(again.metal_trace, plan.metal_trace);
  EXPECT_EQ(again.command_queues, plan.command_queues);
  EXPECT_EQ(again.separate_transfers, plan.separate_transfers);
  EXPECT_EQ(again.kernels_ns, plan.kernels_ns);
  EXPECT_EQ(again.device_ns, plan.device_ns);
  EXPECT_EQ(again.end_to_end_ns, plan.end_to_end_ns);
  EXPECT_EQ(again.programs, plan.programs);
  EXPECT_EQ(again.l1_peak_bytes, plan.l1_peak_bytes);
  EXPECT_EQ(again.l1_limit_bytes, plan.l1_limit_bytes);
  EXPECT_EQ(again.pcc, plan.pcc);
  ASSERT_EQ(again.steps.size(), plan.steps.size());
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    SCOPED_TRACE(i);
    expect_equal(again.steps[i], plan.steps[i]);
  }
}

TEST(CardPlanFile, TheSamePlanIsTheSameBytes) {
  const std::string text = encode_card_plan(plan_with_every_field());
  EXPECT_EQ(encode_card_plan(plan_with_every_field()), text);
  EXPECT_EQ(encode_card_plan(parse_card_plan(text)), text);
  EXPECT_EQ(text.back(), '\n');
}

// Files that others have written stay readable: a change of this text is a change of the schema, unless it only adds.
// TESSERA_RENEW_GOLDEN=1 writes it anew.
TEST(CardPlanFile, TheFormIsAsItWas) {
  const fs::path file = fs::path(TESSERA_TEST_DATA) / "card_plan" / "every_field.json";
  const std::string text = encode_card_plan(plan_with_every_field());
  if (std::getenv("TESSERA_RENEW_GOLDEN") != nullptr) write_file_atomically(file, text, Directories::create);
  EXPECT_EQ(text, read_text_file(file));
}

TEST(CardPlanFile, LinesAreShortEnoughToRead) {
  const std::string text = encode_card_plan(plan_with_every_field());
  std::size_t lines = 0, longest = 0;
  for (std::size_t at = 0; at < text.size(); ++lines) {
    const std::size_t end = text.find('\n', at);
    longest = std::max(longest, end - at);
    at = end + 1;
  }
  EXPECT_LE(longest, 120u);
  EXPECT_LT(lines, 220u);
  EXPECT_THAT(text, HasSubstr(R"("reads": ["x", "skip"],)"));
}

TEST(CardPlanFile, FieldsThatAreWrongAreNamedWithWhatWasFound) {
  for (const for_tests::TextCase& wrong : for_tests::text_cases("card_plan/refusals.txt", 4, 3)) {
    SCOPED_TRACE(wrong.place);
    EXPECT_THAT(refusal(changed(wrong[0], wrong[1])), AllOf(HasSubstr(wrong[2]), HasSubstr(wrong[3])));
  }
}

TEST(CardPlanFile, IsReadOutOfAPlanDocument) {
  const std::string plan = encode_card_plan(plan_with_every_field());
  const auto document = [&](const std::string& target) {
    return R"({"kind": "tessera plan", "target": ")" + target + R"(", "body": )" + plan + "}";
  };
  EXPECT_EQ(encode_card_plan(parse_card_plan(document("tensix"))), plan);
  EXPECT_THAT(refusal(document("cpu")), HasSubstr("this machine's own processor"));
}

TEST(CardPlanFile, WhatIsNoCardPlanIsRefused) {
  EXPECT_THAT(refusal(""), HasSubstr("no JSON"));
  EXPECT_THAT(refusal("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal("{}"), AllOf(HasSubstr("no plan for a card"), HasSubstr("--device")));
  EXPECT_THAT(refusal(R"({"kind": "tessera plan"})"), HasSubstr("this machine's own processor"));
  EXPECT_THAT(refusal(changed(R"("schema": 1)", R"("schema": 2)")), HasSubstr("schema 2"));
  EXPECT_THAT(refusal(changed(R"("schema": 1)", R"("schema": 0)")), HasSubstr("schema 0"));
  EXPECT_THAT(refusal(std::string(1 << 20, '[')), HasSubstr("deeper than"));
  const std::string whole = encode_card_plan(plan_with_every_field());
  for (std::size_t length = 0; length + 2 < whole.size(); length += 101)
    EXPECT_THAT(refusal(whole.substr(0, length)), HasSubstr("no JSON")) << length;
}

TEST(CardPlanFile, TimesAreKeptToAPicosecond) {
  CardPlan plan = plan_with_every_field();
  plan.kernels_ns = 12345.678949;
  plan.device_ns = 4e-4;
  plan.end_to_end_ns = 0.1 + 1e15;
  plan.steps[0].predicted.time.math_ns = 1e300;
  const CardPlan again = parse_card_plan(encode_card_plan(plan));
  EXPECT_EQ(again.kernels_ns, 12345.679);
  EXPECT_EQ(again.device_ns, 0);
  EXPECT_EQ(again.end_to_end_ns, plan.end_to_end_ns);
  EXPECT_EQ(again.steps[0].predicted.time.math_ns, 1e300);
}

TEST(CardPlanFile, WhatIsNoNumberIsNotWritten) {
  CardPlan plan = plan_with_every_field();
  plan.steps[0].predicted.time.math_ns = std::numeric_limits<double>::infinity();
  EXPECT_THROW(encode_card_plan(plan), Error);
}

TEST(CardPlanFile, GoesThroughAFile) {
  const fs::path path = fs::path(testing::TempDir()) / "card_plan_file_test.json";
  save_card_plan(path, plan_with_every_field());
  EXPECT_TRUE(looks_like_plan(path));
  EXPECT_EQ(encode_card_plan(load_card_plan(path)), read_text_file(path));
  write_file_atomically(path, "{]");
  try {
    load_card_plan(path);
    ADD_FAILURE() << "read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("while reading " + path.string()));
  }
  write_file_atomically(path, "\x08\x07model");
  EXPECT_FALSE(looks_like_plan(path));
  fs::remove(path);
  EXPECT_FALSE(looks_like_plan(path));
}

TEST(CardPlanFile, HoldsForItsMachineOnly) {
  CardPlan plan;
  Machine machine = load_machine(TESSERA_MACHINES_DIR "/wormhole_n150.toml");
  plan.machine = machine.name;
  plan.machine_digest = machine_digest(machine);
  EXPECT_NO_THROW(check_machine(plan, machine));
  machine.figures[3].note += " as ever";
  EXPECT_NO_THROW(check_machine(plan, machine));
  machine.figures[3].value = std::int64_t{3};
  try {
    check_machine(plan, machine);
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("wormhole_n150.toml"), HasSubstr(plan.machine_digest)));
  }
  try {
    check_machine(plan, load_machine(TESSERA_MACHINES_DIR "/wormhole_n300.toml"));
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("is for wormhole_n150"), HasSubstr("wormhole_n300")));
  }
}

TEST(CardPlanFile, HoldsForItsNetworkOnly) {
  CardPlan plan;
  plan.model = "resnet18";
  const tensix::LoweredGraph one = tensix::lower(make_zoo_model("resnet18", 1));
  plan.network_digest = tensix::network_digest(one);
  EXPECT_NO_THROW(check_network(plan, one));
  EXPECT_EQ(tensix::network_digest(tensix::lower(make_zoo_model("resnet18", 1))), plan.network_digest);
  try {
    check_network(plan, tensix::lower(make_zoo_model("resnet18", 2)));
    ADD_FAILURE() << "taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("'resnet18' has changed"), HasSubstr(plan.network_digest)));
  }
}

}  // namespace
}  // namespace tessera::tensix
