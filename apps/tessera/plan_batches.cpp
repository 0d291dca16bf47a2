#include "plan_batches.h"

#include "diagnostics.h"
#include "plan_search.h"
#include "progress.h"

#include "tessera/core/refusal.h"
#include "tessera/core/text.h"
#include "tessera/io/plan_document.h"
#include "tessera/report/table_rows.h"
#include "tessera/report/units.h"
#include "tessera/scale/shared_work.h"
#include "tessera/target/batch_choice.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::cli {
namespace {

constexpr std::int64_t kLargestAutomatic = 256;

// One batch: its plan, or why it has none.
struct Tried {
  std::int64_t batch = 0;
  std::shared_ptr<const NetworkPlan> plan = {};
  std::string refusal = {};
  bool without_time = false;  // not even tried
};

// Of the batch. Any other is one of the whole request.
bool is_of_batch(const Refusal& refusal) { return refusal.out_of_memory() || refusal.code == Code::unsupported; }

class Batches {
 public:
  Batches(const ModelArgument& model, const PlanArgument& argument, const Target& target, const Machine& machine,
          const PlanRequest& request, const Context& context)
      : model_(model),
        argument_(argument),
        target_(target),
        machine_(machine),
        request_(request),
        context_(context),
        list_(*request.batches),
        objective_(request.objective.value_or(PlanObjective::device)),
        goal_(request.goal.value_or(BatchGoal::throughput)),
        all_(planning_world()),
        state_(target.planning_state()) {
    if (request.max_latency_s) bound_ns_ = *request.max_latency_s * 1e9;
    check(model.batch == 0, Code::invalid_argument, "--batch {} and --batches {} exclude each other", model.batch,
          argument.batches);
    check(model.inputs.empty(), Code::invalid_argument, "--input fixes the batch, but --batches {} asks for several",
          argument.batches);
  }

  void run() {
    const InterruptWatch watch;
    together(all_, [&] {
      if (all_.rank() == 0) check_outputs(argument_, target_);  // the others need not even have the folders
    });
    for (std::size_t i = 0; end_ == End::none_left && has(i); ++i) try_batch(i);
    if (!tried_.empty() && std::ranges::none_of(tried_, [](const Tried& each) { return each.plan != nullptr; }))
      throw_nothing_planned();
    finish();
  }

 private:
  using Clock = std::chrono::steady_clock;

  double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool budget_spent() const { return request_.budget_s && seconds() > *request_.budget_s; }
  bool any_planned() const { return best_.has_value() || !times_.empty(); }

  bool has(std::size_t i) const {
    if (!list_.empty()) return i < list_.size();
    if (i == 0) return true;
    return tried_.back().plan && batch_at(i) <= kLargestAutomatic && larger_may_serve(times_, goal_, bound_ns_);
  }
  std::int64_t batch_at(std::size_t i) const { return list_.empty() ? std::int64_t{1} << i : list_[i]; }

  void try_batch(std::size_t i) {
    Tried one{batch_at(i)};
    ModelArgument argument = model_;
    argument.batch = one.batch;
    if (first_decides(all_, any_planned() && budget_spent())) return without_time(i);
    PlanSearch search = this->search();
    search.title = fmt::format(", batch {}", one.batch);
    if (!list_.empty()) search.title += fmt::format(" ({} of {})", i + 1, list_.size());
    search.quiet = context_.quiet;
    search.quick_first = !any_planned() && (!argument_.file.empty() || request_.budget_s);
    if (request_.budget_s) search.out_of_time = [this] { return budget_spent(); };
    search.batch_is_wanted = true;
    search.state = state_;
    try {
      Result<std::shared_ptr<const NetworkPlan>> planned =
          attempt([&] { return std::shared_ptr<const NetworkPlan>(plan_together(all_, argument, search)); });
      if (!planned) {
        if (!is_of_batch(planned.refusal())) raise(planned.refusal());
        if (!first_refusal_) first_refusal_ = planned.refusal();
        one.refusal = planned.refusal().reason();
        tried_.push_back(std::move(one));
        return;
      }
      one.plan = *planned;
      take(std::move(one));
      if (!tried_.back().plan->stopped()) return;
      if (first_decides(all_, InterruptWatch::came()))
        end_ = End::interrupted;
      else
        without_time(i + 1);
    } catch (const PlanningStopped& stopped) {
      if (!any_planned()) end_without_plan(all_, stopped, argument_);
      if (!first_decides(all_, InterruptWatch::came())) return without_time(i);
      end_ = End::interrupted;
    }
  }

  PlanSearch search() const { return {.target = target_, .machine = machine_, .request = request_}; }

  void take(Tried one) {
    times_.push_back(batch_time(one.plan->totals(), objective_));
    at_.push_back(tried_.size());
    tried_.push_back(std::move(one));
    const BatchChoice choice = choose_batch(times_, goal_, bound_ns_);
    if (choice.best && at_[*choice.best] + 1 == tried_.size()) {
      best_ = at_[*choice.best];
      chosen_ = tried_.back().plan;
    }
  }

  void without_time(std::size_t i) {
    for (; i < list_.size(); ++i)
      tried_.push_back({.batch = list_[i],
                        .refusal = fmt::format("not planned: the --budget of {} s was used up", *request_.budget_s),
                        .without_time = true});
    end_ = End::no_time;
  }

  [[noreturn]] void throw_nothing_planned() const {
    if (all_.rank() != 0) throw EndsWith{kUserError};  // the first says it
    Refusal refusal = *first_refusal_;
    refusal.context.push_back(
        fmt::format("while planning a batch of {}", tried_[0].batch) +
        (tried_.size() > 1 ? fmt::format("; {} larger ones are refused as well", tried_.size() - 1) : ""));
    raise(refusal);
  }

  void finish() {
    if (!best_) {
      if (all_.rank() != 0) throw EndsWith{kUserError};  // the first says it
      context_.print(context_.format == Format::json ? json_text() : render(table(), context_.format));
      throw_over_the_bound();
    }
    std::optional<emit::Script> script;
    together(all_, [&] {
      if (all_.rank() == 0) script = write_plan(*chosen_, argument_);
    });
    if (all_.rank() == 0 && (end_ != End::interrupted || !chosen_->stopped())) {
      write_artifacts(*chosen_, script, argument_, search(), context_);
      show();
    }
    if (end_ != End::interrupted) {
      if (!InterruptWatch::came()) return;
      if (all_.rank() == 0) fmt::print(stderr, "interrupted after all plans were complete: nothing is missing\n");
      throw EndsWith{kInterrupted};
    }
    if (all_.rank() == 0) tell_interrupted();
    throw EndsWith{kInterrupted};
  }

  void tell_interrupted() const {
    const std::optional<SearchStopped> hurried = chosen_->stopped();
    if (hurried)
      fmt::print(stderr, "interrupted: {} of {} operators of batch {} were fully searched; ", hurried->weighed,
                 hurried->of, chosen_->batch());
    else
      fmt::print(stderr, "interrupted: batch {} is the best of those planned so far; ", chosen_->batch());
    if (argument_.file.empty())
      fmt::print(stderr, "no -o was given\n");
    else
      fmt::print(stderr, "{} holds {}\n", argument_.file,
                 hurried ? "the best plan found so far, marked as interrupted" : "its plan");
  }

  [[noreturn]] void throw_over_the_bound() const {
    const BatchChoice choice = choose_batch(times_, goal_, bound_ns_);
    const BatchTime& near = times_[*choice.nearest];
    fail(Code::unsupported,
         Hint{fmt::format("use --max-latency {:.2f}ms{}", std::ceil(near.latency_ns * 1e-4) * 1e-2,
                          tried_[0].batch > 1 ? ", or try smaller batches" : "")},
         "no batch meets the limit of {}: the closest is {} with {} {}, {} too much", format_time(*bound_ns_),
         tried_[at_[*choice.nearest]].batch, format_time(near.latency_ns),
         objective_ == PlanObjective::device ? "on the device" : "end to end",
         format_time(near.latency_ns - *bound_ns_));
  }

  std::string verdict(std::size_t row) const {
    const Tried& one = tried_[row];
    if (!one.plan) return one.without_time ? one.refusal : "refused: " + one.refusal;
    if (best_ && *best_ == row) return "chosen";
    const double latency_ns = batch_time(one.plan->totals(), objective_).latency_ns;
    if (bound_ns_ && latency_ns > *bound_ns_) return fmt::format("{} too late", format_time(latency_ns - *bound_ns_));
    return "";
  }

  // The target's own figures between the batch and the verdict.
  Table table() const {
    std::vector<Column> columns{{.name = "batch", .align = Align::right}};
    std::vector<std::vector<Cell>> figures(tried_.size());
    for (std::size_t row = 0; row < tried_.size(); ++row) {
      if (!tried_[row].plan) continue;
      const Table own = tried_[row].plan->figures();
      if (columns.size() == 1) columns.insert(columns.end(), own.columns().begin(), own.columns().end());
      figures[row] = own.rows().at(0);
    }
    columns.push_back({.name = "verdict"});
    Table table(std::move(columns));
    for (std::size_t row = 0; row < tried_.size(); ++row) {
      std::vector<Cell> cells{tried_[row].batch};
      cells.insert(cells.end(), figures[row].begin(), figures[row].end());
      cells.resize(table.columns().size() - 1);
      cells.emplace_back(verdict(row));
      table.add_row(std::move(cells));
    }
    return table;
  }

  std::string json_text() const {
    nlohmann::ordered_json out{
        {"schema", 1},
        {"goal", name(goal_)},
        {"objective", objective_ == PlanObjective::device ? "device" : "end_to_end"},
        {"cards", request_.mesh.value_or(1)},
        {"max_latency_ns", bound_ns_ ? nlohmann::ordered_json(*bound_ns_) : nlohmann::ordered_json()},
        {"batches", table_rows<nlohmann::ordered_json>(table())},
        {"chosen", nullptr}};
    if (chosen_) out["chosen"] = nlohmann::ordered_json::parse(encode_plan_document(*chosen_));
    return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }

  void show() const {
    if (context_.format == Format::json) return context_.print(json_text());
    context_.print(table());
    if (context_.format == Format::csv || context_.quiet) return;
    const std::string_view times = objective_ == PlanObjective::device ? "on the device" : "end to end";
    std::string why = goal_ == BatchGoal::throughput ? fmt::format("most frames/s {}", times)
                                                     : fmt::format("lowest latency {}", times);
    if (bound_ns_) why += fmt::format(" of those within {}", format_time(*bound_ns_));
    if (request_.mesh.value_or(1) > 1) why += fmt::format("; frames of all {} cards", *request_.mesh);
    std::string summary;
    for (const View::Part& part : chosen_->shown().parts) summary += part.after;
    context_.print(fmt::format("\nchosen: batch {}, {}\n{}planned {} in {:.1f} s on this machine\n", chosen_->batch(),
                               why, summary.substr(summary.find_first_not_of('\n')), counted(times_.size(), "batch"),
                               seconds()));
    tell_files(argument_, context_);
  }

  const ModelArgument& model_;
  const PlanArgument& argument_;
  const Target& target_;
  const Machine& machine_;
  const PlanRequest& request_;
  const Context& context_;
  std::vector<std::int64_t> list_;  // empty: found on the way
  PlanObjective objective_;
  BatchGoal goal_;
  std::optional<double> bound_ns_;
  Communicator& all_;
  Clock::time_point begin_ = Clock::now();
  std::shared_ptr<PlanningState> state_;

  std::vector<Tried> tried_;         // rows of the table
  std::vector<BatchTime> times_;     // of those with a plan,
  std::vector<std::size_t> at_;      // which are these rows
  std::optional<std::size_t> best_;  // row
  std::shared_ptr<const NetworkPlan> chosen_;
  enum class End : std::uint8_t { none_left, no_time, interrupted } end_ = End::none_left;
  std::optional<Refusal> first_refusal_;
};

}  // namespace

void plan_batches(const ModelArgument& model, const PlanArgument& argument, const Target& target,
                  const Machine& machine, const PlanRequest& request, const Context& context) {
  Batches(model, argument, target, machine, request, context).run();
}

}  // namespace tessera::cli
