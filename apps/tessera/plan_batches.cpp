#include "plan_batches.h"

#include "card_plan_table.h"
#include "diagnostics.h"
#include "interrupt_watch.h"
#include "plan_search.h"

#include "tessera/core/refusal.h"
#include "tessera/report/units.h"
#include "tessera/scale/shared_work.h"
#include "tessera/targets/tensix/plan/batch_choice.h"
#include "tessera/targets/tensix/plan/card_plan_file.h"
#include "tessera/targets/tensix/plan/plan_difference.h"
#include "tessera/targets/tensix/views/plan_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace tessera::cli {
namespace {

using tensix::BatchGoal;
using tensix::BatchTime;
using tensix::CardPlan;

constexpr std::int64_t kLargestBatch = std::int64_t{1} << 20;
constexpr std::size_t kMostBatches = 64;
constexpr std::int64_t kLargestAutomatic = 256;

// Rising; none: found on the way, doubling.
using BatchList = std::vector<std::int64_t>;

BatchList parse_batches(const std::string& text) {
  const Hint hint{"--batches 1,2,4,8,16, --batches 1-8, or --batches auto"};
  if (text == "auto") return {};
  const auto number = [&](std::string_view part) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    check(error == std::errc() && end == part.data() + part.size() && value >= 1 && value <= kLargestBatch,
          Code::invalid_argument, hint, "--batches '{}': '{}' is no number from 1 to {}", text, part, kLargestBatch);
    return value;
  };
  std::set<std::int64_t> batches;
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const std::size_t dash = part.find('-');
    const std::int64_t first = number(part.substr(0, dash));
    const std::int64_t last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    check(first <= last, Code::invalid_argument, hint, "--batches '{}': the range {} ends before it begins", text,
          part);
    for (std::int64_t batch = first; batch <= last && batches.size() <= kMostBatches; ++batch) batches.insert(batch);
    check(batches.size() <= kMostBatches, Code::invalid_argument, Hint{"name those that matter, or --batches auto"},
          "--batches '{}' are more than {}: each takes a search of its own", text, kMostBatches);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return {batches.begin(), batches.end()};
}

// "5ms" in ns.
double parse_latency(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double scale = unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : unit == "ns" ? 1 : 0;
  check(error == std::errc() && scale > 0 && value > 0 && value * scale < 1e18, Code::invalid_argument,
        Hint{"--max-latency 5ms, --max-latency 800us"}, "--max-latency '{}' is no time above 0 with its unit", text);
  return value * scale;
}

// One batch: its plan, or why it has none.
struct Tried {
  std::int64_t batch = 0;
  std::optional<CardPlan> plan = {};
  std::string refusal = {};
  bool without_time = false;  // not even tried
};

// Of the batch. Any other is one of the whole request.
bool is_of_batch(const Refusal& refusal) { return refusal.out_of_memory() || refusal.code == Code::unsupported; }

class Batches {
 public:
  Batches(const ModelArgument& model, const CardRequestArgument& argument, const Machine& machine,
          const std::string& file, const Context& context)
      : model_(model),
        argument_(argument),
        machine_(machine),
        file_(file),
        context_(context),
        list_(parse_batches(argument.batches.list)),
        request_(plan_request(argument)),
        goal_(argument.batches.goal == "latency" ? BatchGoal::latency : BatchGoal::throughput),
        all_(planning_world()) {
    if (!argument.batches.max_latency.empty()) bound_ns_ = parse_latency(argument.batches.max_latency);
    check(model.batch == 0, Code::invalid_argument, "--batch {} and --batches {} say both how many images there are",
          model.batch, argument.batches.list);
    check(model.inputs.empty(), Code::invalid_argument,
          "--input has the batch that its arrays have, and --batches {} asks for several", argument.batches.list);
  }

  void run() {
    const InterruptWatch watch;
    together(all_, [&] {
      if (all_.rank() == 0) check_outputs(argument_, file_);  // the others need not even have the folders
    });
    for (std::size_t i = 0; end_ == End::none_left && has(i); ++i) try_batch(i);
    if (!tried_.empty() && std::ranges::none_of(tried_, [](const Tried& each) { return each.plan.has_value(); }))
      throw_nothing_planned();
    finish();
  }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool budget_spent() const { return argument_.budget_given && seconds() > argument_.budget_s; }
  bool any_planned() const { return best_.has_value() || !times_.empty(); }

  bool has(std::size_t i) const {
    if (!list_.empty()) return i < list_.size();
    if (i == 0) return true;
    return tried_.back().plan && batch_at(i) <= kLargestAutomatic && tensix::larger_may_serve(times_, goal_, bound_ns_);
  }
  std::int64_t batch_at(std::size_t i) const { return list_.empty() ? std::int64_t{1} << i : list_[i]; }

  void try_batch(std::size_t i) {
    Tried one{batch_at(i)};
    ModelArgument argument = model_;
    argument.batch = one.batch;
    if (first_decides(all_, any_planned() && budget_spent())) return without_time(i);
    PlanSearch search{.machine = machine_, .request = request_, .title = fmt::format(", batch {}", one.batch)};
    if (!list_.empty()) search.title += fmt::format(" ({} of {})", i + 1, list_.size());
    search.quiet = context_.quiet;
    search.hurry = !any_planned() && (!file_.empty() || argument_.budget_given);
    if (argument_.budget_given) search.over = [this] { return budget_spent(); };
    search.batch_is_wanted = true;
    search.kept = kept_;
    try {
      Result<PlannedNetwork> planned = attempt([&] { return plan_together(all_, argument, search); });
      if (!planned) {
        if (!is_of_batch(planned.refusal())) raise(planned.refusal());
        if (!first_refusal_) first_refusal_ = planned.refusal();
        one.refusal = planned.refusal().reason();
        tried_.push_back(std::move(one));
        return;
      }
      take(std::move(one), std::move(*planned));
      if (!tried_.back().plan->interrupted) return;
      if (first_decides(all_, InterruptWatch::came()))
        end_ = End::interrupted;
      else
        without_time(i + 1);
    } catch (const tensix::Interrupted& interrupted) {
      if (!any_planned()) end_without_plan(all_, interrupted, argument_, file_);
      if (!first_decides(all_, InterruptWatch::came())) return without_time(i);
      end_ = End::interrupted;
    }
  }

  void take(Tried one, PlannedNetwork planned) {
    one.plan = planned.plan;
    times_.push_back(tensix::batch_time(planned.plan, request_.objective));
    at_.push_back(tried_.size());
    tried_.push_back(std::move(one));
    const tensix::BatchChoice choice = tensix::choose_batch(times_, goal_, bound_ns_);
    if (choice.best && at_[*choice.best] + 1 == tried_.size()) {
      best_ = at_[*choice.best];
      chosen_ = std::move(planned);
    }
  }

  void without_time(std::size_t i) {
    for (; i < list_.size(); ++i)
      tried_.push_back({.batch = list_[i],
                        .refusal = fmt::format("not planned: the {} s of --budget are spent", argument_.budget_s),
                        .without_time = true});
    end_ = End::no_time;
  }

  [[noreturn]] void throw_nothing_planned() const {
    if (all_.rank() != 0) throw EndsWith{kUserError};  // the first says it
    Refusal refusal = *first_refusal_;
    refusal.context.push_back(
        fmt::format("while planning a batch of {}", tried_[0].batch) +
        (tried_.size() > 1 ? fmt::format("; {} larger ones are refused too", tried_.size() - 1) : ""));
    raise(refusal);
  }

  void finish() {
    if (!best_) {
      if (all_.rank() != 0) throw EndsWith{kUserError};  // the first says it
      context_.print(context_.format == Format::json ? json_text() : render(table(), context_.format));
      throw_over_the_bound();
    }
    together(all_, [&] {
      if (!file_.empty() && all_.rank() == 0) tensix::save_card_plan(file_, chosen_->plan);
    });
    if (all_.rank() == 0 && (end_ != End::interrupted || !chosen_->plan.interrupted)) {
      write_artifacts(*chosen_, argument_, machine_, context_);
      show();
    }
    if (end_ != End::interrupted) {
      if (!InterruptWatch::came()) return;
      if (all_.rank() == 0) fmt::print(stderr, "interrupted when the plans were complete: nothing is missing\n");
      throw EndsWith{kInterrupted};
    }
    if (all_.rank() == 0) tell_interrupted();
    throw EndsWith{kInterrupted};
  }

  void tell_interrupted() const {
    if (const auto& hurried = chosen_->plan.interrupted)
      fmt::print(stderr, "interrupted: {} of {} operators of batch {} were placed with everything weighed; ",
                 hurried->weighed, hurried->of, chosen_->plan.batch);
    else
      fmt::print(stderr, "interrupted: batch {} is the best of those that were planned by then; ", chosen_->plan.batch);
    if (file_.empty())
      fmt::print(stderr, "nothing was to be written\n");
    else
      fmt::print(stderr, "{} holds {}\n", file_,
                 chosen_->plan.interrupted ? "the best plan so far, found in a hurry and marked so" : "its plan");
  }

  [[noreturn]] void throw_over_the_bound() const {
    const tensix::BatchChoice choice = tensix::choose_batch(times_, goal_, bound_ns_);
    const BatchTime& near = times_[*choice.nearest];
    fail(Code::unsupported,
         Hint{fmt::format("--max-latency {:.2f}ms would do{}", std::ceil(near.latency_ns * 1e-4) * 1e-2,
                          tried_[0].batch > 1 ? ", or smaller batches might" : "")},
         "no batch has its results within {}: the nearest is {} with {} {}, {} too much", format_time(*bound_ns_),
         tried_[at_[*choice.nearest]].batch, format_time(near.latency_ns),
         request_.objective == tensix::Objective::device ? "on the device" : "end to end",
         format_time(near.latency_ns - *bound_ns_));
  }

  std::string verdict(std::size_t row) const {
    const Tried& one = tried_[row];
    if (!one.plan) return one.without_time ? one.refusal : "refused: " + one.refusal;
    if (best_ && *best_ == row) return "chosen";
    const double latency_ns = tensix::batch_time(*one.plan, request_.objective).latency_ns;
    if (bound_ns_ && latency_ns > *bound_ns_) return fmt::format("{} too late", format_time(latency_ns - *bound_ns_));
    return "";
  }

  Table table() const {
    std::vector<Column> columns{{.name = "batch", .align = Align::right},
                                {.name = "kernels", .key = "kernels_ns", .align = Align::right},
                                {.name = "device", .key = "device_ns", .align = Align::right},
                                {.name = "frames/s", .key = "device_frames_per_s", .align = Align::right},
                                {.name = "end to end", .key = "end_to_end_ns", .align = Align::right},
                                {.name = "frames/s", .key = "end_to_end_frames_per_s", .align = Align::right},
                                {.name = "latency", .key = "latency_ns", .align = Align::right},
                                {.name = "L1 peak", .key = "l1_peak_bytes", .unit = "B", .align = Align::right},
                                {.name = "reshards", .align = Align::right}};
    const bool pcc = request_.min_pcc > 0;
    if (pcc) columns.push_back({.name = "PCC", .key = "pcc", .align = Align::right});
    columns.push_back({.name = "bound by", .key = "bound_by"});
    columns.push_back({.name = "verdict"});
    Table table(std::move(columns));
    const auto rate = [](const BatchTime& time) {
      return Cell(time.frames_per_s(), fmt::format("{:.0f}", time.frames_per_s()));
    };
    for (std::size_t row = 0; row < tried_.size(); ++row) {
      std::vector<Cell> cells{tried_[row].batch};
      if (const std::optional<CardPlan>& plan = tried_[row].plan) {
        const tensix::PlanTotals totals = tensix::totals_of(*plan);
        const auto bound = tensix::mostly_bound_by(*plan);
        for (Cell& cell : std::vector<Cell>{
                 kernel_time_cell(plan->kernels_ns), kernel_time_cell(plan->device_ns),
                 rate(tensix::batch_time(*plan, tensix::Objective::device)), kernel_time_cell(plan->end_to_end_ns),
                 rate(tensix::batch_time(*plan, tensix::Objective::end_to_end)), kernel_time_cell(plan->latency_ns),
                 bytes_of_core(plan->l1_peak_bytes), Cell(totals.reshards + totals.inner_reshards)})
          cells.push_back(std::move(cell));
        if (pcc) cells.push_back(accuracy_cell(plan->pcc));
        cells.push_back(bound ? Cell(bound->by, fmt::format("{} {:.0f}%", bound->by, 100 * bound->share)) : Cell());
      }
      cells.resize(table.columns().size() - 1);
      cells.emplace_back(verdict(row));
      table.add_row(std::move(cells));
    }
    return table;
  }

  std::string json_text() const {
    nlohmann::json out{{"schema", 1},
                       {"goal", name(goal_)},
                       {"objective", name(request_.objective)},
                       {"cards", request_.mesh},
                       {"max_latency_ns", bound_ns_ ? nlohmann::json(*bound_ns_) : nlohmann::json()},
                       {"batches", nlohmann::json::parse(render_json(table()))["rows"]},
                       {"chosen", nullptr}};
    if (chosen_) {
      out["chosen"] = card_plan_summary_json(chosen_->plan);
      out["chosen"]["steps"] = nlohmann::json::parse(render_json(card_plan_table(chosen_->plan)))["rows"];
      if (!file_.empty()) out["file"] = file_;
    }
    return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }

  void show() const {
    if (context_.format == Format::json) return context_.print(json_text());
    context_.print(table());
    if (context_.format == Format::csv || context_.quiet) return;
    const std::string_view times = request_.objective == tensix::Objective::device ? "on the device" : "end to end";
    std::string why = goal_ == BatchGoal::throughput ? fmt::format("most frames/s {}", times)
                                                     : fmt::format("least time of a batch {}", times);
    if (bound_ns_) why += fmt::format(" of those within {}", format_time(*bound_ns_));
    if (request_.mesh > 1) why += fmt::format("; frames of all {} cards", request_.mesh);
    context_.print(fmt::format("\nchosen: batch {}, {}\n{}planned {} batch{} in {:.1f} s on this machine\n",
                               chosen_->plan.batch, why, card_plan_summary(chosen_->plan), times_.size(),
                               times_.size() == 1 ? "" : "es", seconds()));
    tell_files(file_, argument_, context_);
  }

  const ModelArgument& model_;
  const CardRequestArgument& argument_;
  const Machine& machine_;
  const std::string& file_;
  const Context& context_;
  BatchList list_;
  tensix::PlanRequest request_;
  BatchGoal goal_;
  std::optional<double> bound_ns_;
  Communicator& all_;
  Clock::time_point begin_ = Clock::now();
  std::shared_ptr<tensix::KeptAccuracy> kept_ = std::make_shared<tensix::KeptAccuracy>();

  std::vector<Tried> tried_;         // rows of the table
  std::vector<BatchTime> times_;     // of those with a plan,
  std::vector<std::size_t> at_;      // which are these rows
  std::optional<std::size_t> best_;  // row
  std::optional<PlannedNetwork> chosen_;
  enum class End : std::uint8_t { none_left, no_time, interrupted } end_ = End::none_left;
  std::optional<Refusal> first_refusal_;
};

}  // namespace

std::vector<CLI::Option*> add_batches_request(CLI::App& command, BatchesArgument& o) {
  CLI::Option* list =
      command
          .add_option(
              "--batches", o.list,
              "For a card: plan each of these batches and choose one; 1,2,4,8 or 1-8, auto: doubled while it pays")
          ->check([](const std::string& text) { return text.empty() ? std::string("none is said") : std::string(); })
          ->type_name("LIST");
  CLI::Option* goal =
      command.add_option("--goal", o.goal, "For a card: what a batch is chosen for, by the times of --objective")
          ->check(CLI::IsMember({"throughput", "latency"}))
          ->default_str("throughput")
          ->needs(list);
  CLI::Option* latency =
      command
          .add_option("--max-latency", o.max_latency, "For a card: no batch whose results take longer, 5ms or 800us")
          ->type_name("TIME")
          ->needs(list);
  return {list, goal, latency};
}

void plan_batches(const ModelArgument& model, const CardRequestArgument& request, const Machine& machine,
                  const std::string& file, const Context& context) {
  Batches(model, request, machine, file, context).run();
}

}  // namespace tessera::cli
