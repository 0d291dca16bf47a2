#include "plan_card.h"

#include "calibration.h"
#include "card_plan_table.h"
#include "diagnostics.h"
#include "number_argument.h"
#include "progress.h"
#include "world.h"

#include "tessera/backends/sim/tensix/lower.h"
#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/sha256.h"
#include "tessera/io/card_plan_file.h"
#include "tessera/io/emit/script.h"
#include "tessera/planner/digest.h"
#include "tessera/planner/plan_network.h"
#include "tessera/report/plan_report.h"
#include "tessera/scale/shared_work.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>

namespace tessera::cli {
namespace {

using planner::CardPlan;

// While it lives, the first SIGINT or SIGTERM is only remembered.
class InterruptWatch {
 public:
  InterruptWatch() {
    signal_ = 0;
    struct sigaction action{};
    action.sa_handler = [](int number) { signal_ = number; };
    action.sa_flags = SA_RESETHAND;  // the second one ends the process
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &before_int_);
    ::sigaction(SIGTERM, &action, &before_term_);
  }
  ~InterruptWatch() {
    ::sigaction(SIGINT, &before_int_, nullptr);
    ::sigaction(SIGTERM, &before_term_, nullptr);
  }
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  static int signal() { return signal_; }  // 0: none came

 private:
  static volatile std::sig_atomic_t signal_;
  struct sigaction before_int_{}, before_term_{};
};
volatile std::sig_atomic_t InterruptWatch::signal_ = 0;

// Those that plan with this process: what mpirun started, or it alone.
Communicator& planning_world() {
  static const std::unique_ptr<Communicator> alone = single_process();
  if (!in_a_world()) return *alone;
  must_agree(world(), "the version", TESSERA_VERSION);
  return world();
}

// "layer3.*:shard=BLOCK". Names of nodes may have colons.
planner::Pin parse_pin(const std::string& text) {
  const std::size_t equals = text.rfind('='), colon = text.rfind(':', equals);
  check(equals != std::string::npos && colon != std::string::npos && colon > 0 && colon + 1 < equals &&
            equals + 1 < text.size(),
        Code::invalid_argument, Hint{"--pin 'layer3.*:shard=BLOCK', --pin conv1:act_block_h_override=64"},
        "--pin '{}' is not PATTERN:FIELD=VALUE", text);
  return {text.substr(0, colon), text.substr(colon + 1, equals - colon - 1), text.substr(equals + 1)};
}

planner::PlanRequest request_of(const CardRequestArgument& argument) {
  planner::PlanRequest request{
      .objective = argument.objective == "device" ? planner::Objective::device : planner::Objective::end_to_end,
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

void show_card_plan(const CardPlan& plan, const std::string& file, double seconds, const Context& context) {
  const Table table = card_plan_table(plan);
  if (context.format == Format::json) {
    nlohmann::json out = card_plan_summary_json(plan);
    out["schema"] = 1;
    out["steps"] = nlohmann::json::parse(render_json(table))["rows"];
    if (!file.empty()) out["file"] = file;
    return context.print(out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  context.print(table);
  if (context.format == Format::csv || context.quiet) return;
  context.print("\n" + card_plan_summary(plan) + fmt::format("planned in {:.1f} s on this machine\n", seconds));
  if (!file.empty()) context.print(fmt::format("written to {}\n", file));
}

void write_reports(const std::vector<std::string>& files, const CardPlan& plan, const Machine& machine,
                   const tensix::LoweredGraph& network) {
  if (files.empty()) return;
  const PlanReport report = rehearsed_plan_report(plan, machine, network);
  for (const std::string& file : files) write_plan_report(file, report);
}

}  // namespace

std::vector<CLI::Option*> add_card_request(CLI::App& command, CardRequestArgument& o) {
  std::vector<CLI::Option*> options;
  options.push_back(
      command.add_option("--objective", o.objective, "For a card: time on the device, or with the host around it")
          ->check(CLI::IsMember({"device", "end_to_end"}))
          ->default_str("device"));
  options.push_back(command
                        .add_option("--min-pcc", o.min_pcc,
                                    "For a card: least correlation of the outputs with float32, by its arithmetic")
                        ->check(number_between(0, 1))
                        ->type_name("X"));
  options.push_back(
      command.add_option("--max-reshards", o.max_reshards, "For a card: reshards at most, even if more were faster")
          ->check(whole_number(0))
          ->type_name("N"));
  options.push_back(
      command.add_option("--pin", o.pins, "For a card: a field of all layers whose name fits, 'layer3.*:shard=BLOCK'")
          ->expected(1)
          ->take_all()
          ->type_name("PATTERN:FIELD=VALUE"));
  options.push_back(command.add_option("--budget", o.budget_s, "For a card: seconds of searching, at most")
                        ->check(positive_number())
                        ->type_name("S")
                        ->default_str("20"));
  options.push_back(
      command.add_flag("--partial", o.partial, "For a card: what it has no operator for runs on the host"));
  options.push_back(
      command.add_option("--mesh", o.mesh, "For a card: cards that share the work, each with a batch of its own")
          ->check(CLI::Range(1, 1024))
          ->type_name("N")
          ->default_str("1"));
  options.push_back(command.add_option("--cq", o.command_queues, "For a card: command queues")
                        ->check(CLI::Range(1, 2))
                        ->default_str("2"));
  options.push_back(command.add_flag("--no-trace", o.no_trace, "For a card: operators are called one by one"));
  options.push_back(
      command.add_option("--l1-small", o.l1_small_bytes, "For a card: bytes of each core's L1 that L1_SMALL gets")
          ->check(whole_number(0))
          ->type_name("BYTES")
          ->default_str("32768"));
  options.push_back(command
                        .add_option("--html,--report", o.reports,
                                    "For a card: write a report; .html, .md, .csv, .json or .txt, as the name says")
                        ->expected(1)
                        ->take_all()
                        ->type_name("FILE"));
  return options;
}

void check_outputs(const CardRequestArgument& request, const std::string& file) {
  std::vector<std::filesystem::path> files;
  const auto add = [&](const std::filesystem::path& path, Directories directories) {
    check_can_write(path, directories);
    const std::filesystem::path full = std::filesystem::weakly_canonical(path);
    check(std::ranges::find(files, full) == files.end(), Code::invalid_argument, Hint{"give each a name of its own"},
          "{} would be written twice: the second would replace the first", path.string());
    files.push_back(full);
  };
  if (!file.empty()) add(file, Directories::must_exist);
  for (const std::string& report : request.reports) {
    check_plan_report_name(report);
    add(report, Directories::create);
  }
  if (!request.emit.given()) return;
  const std::filesystem::path script = request.emit.words[1];
  add(script, Directories::must_exist);
  add(script.parent_path() / emit::weights_file_of(script), Directories::must_exist);
}

void plan_for_card(const ModelArgument& argument, const CardRequestArgument& request, const Machine& machine,
                   const std::string& file, const Context& context) {
  const planner::PlanRequest wanted = request_of(request);
  const InterruptWatch watch;
  Communicator& all = planning_world();
  Model model;
  tensix::LoweredGraph network;
  together(all, [&] {
    if (all.rank() == 0) check_outputs(request, file);  // the others need not even have the folders
    model = load_model(argument);
    network = tensix::lower(model.graph, {.host_fallback = true});
  });
  must_agree(all, "the network", planner::network_digest(network));
  must_agree(all, "the machine", planner::machine_digest(machine));
  const auto begin = std::chrono::steady_clock::now();
  CardPlan plan;
  try {
    Progress progress("planning " + model.name, 0, context.quiet || all.rank() != 0);
    planner::PlanHooks hooks;
    hooks.on_progress = [&](std::size_t done, std::size_t nodes, const std::string& what) {
      progress.at(done, nodes, what);
    };
    hooks.calibration = [&] { return calibration_of(argument); };
    hooks.stop = [&] { return first_decides(all, InterruptWatch::signal() != 0); };
    if (all.size() > 1) {
      hooks.agree = [&](bool mine) { return first_decides(all, mine); };
      hooks.score = [&](std::size_t count, FunctionRef<Payload(std::size_t)> piece) {
        return share_work(all, count, piece);
      };
    }
    hooks.hurry = !file.empty();
    plan = planner::plan_network(network, machine, wanted, hooks);
  } catch (const planner::Interrupted& interrupted) {
    if (all.rank() != 0) throw EndsWith{kInterrupted};
    fmt::print(stderr, "interrupted: {}\n", interrupted.message());
    if (!file.empty()) fmt::print(stderr, "{} was not written\n", file);
    throw EndsWith{kInterrupted};
  }
  plan.model = argument.model;
  if (all.size() > 1) {
    const std::string text = encode_card_plan(plan);
    must_agree(all, "the plan", sha256_hex(std::as_bytes(std::span(text)), 16));
  }
  together(all, [&] {
    if (!file.empty() && all.rank() == 0) save_card_plan(file, plan);
  });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (plan.interrupted && all.rank() != 0) throw EndsWith{kInterrupted};
  if (plan.interrupted) {
    fmt::print(stderr, "interrupted: {} of {} operators were placed with everything weighed; ",
               plan.interrupted->weighed, plan.interrupted->of);
    fmt::print(stderr, "{} holds the best plan so far, found in a hurry and marked so\n", file);
    throw EndsWith{kInterrupted};
  }
  if (all.rank() != 0) return;
  write_reports(request.reports, plan, machine, network);
  if (request.emit.for_card()) {
    CardPlan script = plan;
    script.model = model.name;
    emit_card_plan(request.emit, network, script, context);
  }
  show_card_plan(plan, file, seconds, context);
  if (!context.quiet && (context.format == Format::table || context.format == Format::markdown))
    for (const std::string& report : request.reports) context.print(fmt::format("report in {}\n", report));
  if (InterruptWatch::signal() == 0) return;
  fmt::print(stderr, "interrupted when the plan was complete: nothing is missing\n");
  throw EndsWith{kInterrupted};
}

}  // namespace tessera::cli
