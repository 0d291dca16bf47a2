#include "plan_search.h"

#include "diagnostics.h"
#include "progress.h"
#include "simulate_time.h"
#include "world.h"

#include "tessera/core/error.h"
#include "tessera/core/sha256.h"
#include "tessera/scale/shared_work.h"
#include "tessera/session/calibration.h"
#include "tessera/targets/tensix/plan/card_plan_file.h"
#include "tessera/targets/tensix/plan/digest.h"
#include "tessera/targets/tensix/views/plan_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <span>
#include <utility>

namespace tessera::cli {
namespace {

// The model of the argument with so many images where its batch is open, else as it is.
Model small_model(const ModelArgument& argument, std::int64_t images) {
  if (argument.batch <= images || !argument.inputs.empty()) return load_model(argument);
  ModelArgument one = argument;
  one.batch = images;
  try {
    return load_model(one);
  } catch (const Error&) {
    return load_model(argument);  // its batch cannot be changed
  }
}

// "layer3.*:shard=BLOCK". Names of nodes may have colons.
tensix::Pin parse_pin(const std::string& text) {
  const std::size_t equals = text.rfind('='), colon = text.rfind(':', equals);
  check(equals != std::string::npos && colon != std::string::npos && colon > 0 && colon + 1 < equals &&
            equals + 1 < text.size(),
        Code::invalid_argument, Hint{"--pin 'layer3.*:shard=BLOCK', --pin conv1:act_block_h_override=64"},
        "--pin '{}' is not PATTERN:FIELD=VALUE", text);
  return {text.substr(0, colon), text.substr(colon + 1, equals - colon - 1), text.substr(equals + 1)};
}

}  // namespace

Communicator& planning_world() {
  static const std::unique_ptr<Communicator> alone = single_process();
  if (!in_a_world()) return *alone;
  must_agree(world(), "the version", TESSERA_VERSION);
  return world();
}

tensix::PlanRequest plan_request(const CardRequestArgument& argument) {
  tensix::PlanRequest request{
      .objective = argument.objective == "device" ? tensix::Objective::device : tensix::Objective::end_to_end,
      .min_pcc = argument.min_pcc,
      .max_reshards = argument.max_reshards,
      .pins = {},
      .l1_small_bytes = argument.l1_small_bytes,
      .metal_trace = !argument.no_trace,
      .command_queues = argument.command_queues,
      .mesh = argument.mesh,
      .budget_s = argument.budget_s,
      .partial = argument.partial};
  for (const std::string& text : argument.pins) request.pins.push_back(parse_pin(text));
  return request;
}

PlannedNetwork plan_together(Communicator& all, const ModelArgument& argument, const PlanSearch& search) {
  PlannedNetwork out;
  together(all, [&] {
    Model model = load_model(argument);
    const std::int64_t batch = batch_of(model.graph);
    check(!search.batch_is_wanted || batch == argument.batch, Code::invalid_argument,
          Hint{"export it with an open batch, or plan it as it is, without --batches"},
          "the batch of {} is {} and cannot be {}: its inputs say so", argument.model, batch, argument.batch);
    out.name = std::move(model.name);
    out.network = tensix::lower(model.graph, {.host_fallback = true});
  });
  must_agree(all, "the network", tensix::network_digest(out.network));
  must_agree(all, "the machine", tensix::machine_digest(search.machine));
  Progress progress("planning " + out.name + search.title, 0, search.quiet || all.rank() != 0);
  tensix::PlanHooks hooks;
  hooks.on_progress = [&](std::size_t done, std::size_t nodes, const std::string& what) {
    progress.at(done, nodes, what);
  };
  hooks.calibration = [&](std::int64_t images) {
    Model model = small_model(argument, images);
    return calibrate(model.graph, std::move(model.inputs));
  };
  hooks.stop = [&] { return first_decides(all, InterruptWatch::came()); };
  if (search.over) hooks.over = [&] { return first_decides(all, search.over()); };
  if (all.size() > 1) {
    hooks.agree = [&](bool mine) { return first_decides(all, mine); };
    hooks.score = [&](std::size_t count, FunctionRef<Payload(std::size_t)> piece) {
      return share_work(all, count, piece);
    };
  }
  hooks.hurry = search.hurry;
  hooks.kept = search.kept;
  out.plan = tensix::plan_network(out.network, search.machine, search.request, hooks);
  out.plan.model = argument.model;
  if (all.size() > 1) {
    const std::string text = tensix::encode_card_plan(out.plan);
    must_agree(all, "the plan", sha256_hex(std::as_bytes(std::span(text)), 16));
  }
  return out;
}

void end_without_plan(Communicator& all, const tensix::Interrupted& interrupted, const CardRequestArgument& request,
                      const std::string& file) {
  check(first_decides(all, InterruptWatch::came()), Code::unsupported, Hint{"a larger --budget"},
        "no plan was found within the {} s of --budget: {}", request.budget_s, interrupted.message());
  if (all.rank() == 0) {
    fmt::print(stderr, "interrupted: {}\n", interrupted.message());
    if (!file.empty()) fmt::print(stderr, "{} was not written\n", file);
  }
  throw EndsWith{kInterrupted};
}

void write_artifacts(const PlannedNetwork& planned, const CardRequestArgument& request, const Machine& machine,
                     const Context& context) {
  if (!request.reports.empty()) {
    const tensix::PlanReport report = tensix::rehearsed_plan_report(planned.plan, machine, planned.network);
    for (const std::string& file : request.reports) tensix::write_plan_report(file, report);
  }
  if (!request.emit.for_card()) return;
  tensix::CardPlan script = planned.plan;
  script.model = planned.name;
  emit_card_plan(request.emit, planned.network, script, context);
}

void tell_files(const std::string& file, const CardRequestArgument& request, const Context& context) {
  if (context.quiet || (context.format != Format::table && context.format != Format::markdown)) return;
  if (!file.empty()) context.print(fmt::format("written to {}\n", file));
  for (const std::string& report : request.reports) context.print(fmt::format("report in {}\n", report));
}

}  // namespace tessera::cli
