#include "plan_card.h"

#include "arguments.h"
#include "card_plan_table.h"
#include "diagnostics.h"
#include "plan_search.h"
#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/emit/script.h"
#include "tessera/scale/shared_work.h"
#include "tessera/targets/tensix/plan/card_plan_file.h"
#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/views/plan_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>

namespace tessera::cli {
namespace {

using tensix::CardPlan;

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
  options.push_back(
      command
          .add_option_function<double>(
              "--budget", [&o](double s) { o.budget_s = s, o.budget_given = true; },
              "For a card: seconds of searching, at most, of all batches together; what is best by then is taken")
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
    tensix::check_plan_report_name(report);
    add(report, Directories::create);
  }
  if (!request.emit.given()) return;
  const std::filesystem::path script = request.emit.words[1];
  add(script, Directories::must_exist);
  add(script.parent_path() / emit::weights_file_of(script), Directories::must_exist);
}

void plan_for_card(const ModelArgument& argument, const CardRequestArgument& request, const Machine& machine,
                   const std::string& file, const Context& context) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  PlanSearch search{.machine = machine,
                    .request = plan_request(request),
                    .title = "",
                    .quiet = context.quiet,
                    .hurry = !file.empty() || request.budget_given};
  if (request.budget_given) search.over = [&] { return seconds() > request.budget_s; };
  const InterruptWatch watch;
  Communicator& all = planning_world();
  together(all, [&] {
    if (all.rank() == 0) check_outputs(request, file);  // the others need not even have the folders
  });
  PlannedNetwork planned;
  try {
    planned = plan_together(all, argument, search);
  } catch (const tensix::Interrupted& interrupted) {
    end_without_plan(all, interrupted, request, file);
  }
  const CardPlan& plan = planned.plan;
  together(all, [&] {
    if (!file.empty() && all.rank() == 0) tensix::save_card_plan(file, plan);
  });
  const bool interrupted = plan.interrupted && first_decides(all, InterruptWatch::came());  // not for want of time
  if (interrupted && all.rank() != 0) throw EndsWith{kInterrupted};
  if (interrupted) {
    fmt::print(stderr, "interrupted: {} of {} operators were placed with everything weighed; ",
               plan.interrupted->weighed, plan.interrupted->of);
    fmt::print(stderr, "{}\n",
               file.empty() ? "there was nothing to be written"
                            : file + " holds the best plan so far, found in a hurry and marked so");
    throw EndsWith{kInterrupted};
  }
  if (all.rank() != 0) return;
  write_artifacts(planned, request, machine, context);
  show_card_plan(plan, file, seconds(), context);
  tell_files(file, request, context);
  if (!InterruptWatch::came()) return;
  fmt::print(stderr, "interrupted when the plan was complete: nothing is missing\n");
  throw EndsWith{kInterrupted};
}

}  // namespace tessera::cli
