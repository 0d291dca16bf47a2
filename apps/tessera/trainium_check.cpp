// tessera trainium conv2d --check: the harness of the assignment, values first and then times, with its limits.

#include "command.h"
#include "trainium.h"

#include "tessera/core/error.h"
#include "tessera/report/table_rows.h"
#include "tessera/targets/neuron/kernels/harness.h"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace tessera::cli {
namespace {

struct ValuesChecked {
  Table table{{{.name = "case"},
               {.name = "dtype"},
               {.name = "image"},
               number("in", "in_channels"),
               number("out", "out_channels"),
               number("pool", "pool"),
               number("compared", "compared"),
               number("wrong", "wrong"),
               number("largest error", "relative_error"),
               number("of tolerance", "of_tolerance"),
               number("simulated", "simulated_us", "us")}};
  double points = 0, points_of = 0;
  std::string first_wrong;
};

ValuesChecked check_values(const NeuronSpec& spec, const CheckRequest& request) {
  ValuesChecked out;
  // Small images of all channels are one test of the assignment, which looks at float32 alone.
  std::string test;
  bool right = true;
  const auto end_test = [&] {
    if (test.empty()) return;
    out.points_of += neuron::kHarnessValuePoints;
    if (right) out.points += neuron::kHarnessValuePoints;
    right = true;
  };
  for (const ElementType type : {ElementType::float32, ElementType::float16}) {
    for (const neuron::HarnessCase& each : neuron::harness_cases(type)) {
      if (type == ElementType::float32 && each.name != test) {
        end_test();
        test = each.name;
      }
      const neuron::HarnessResult r = run_harness(spec, each, neuron::conv_step(request.step).run, request.every);
      const neuron::ConvProblem& p = each.problem;
      out.table.add_row({each.name, name(type), fmt::format("{}x{}x{}", p.n, p.h, p.w), p.ic, p.oc, p.pool, r.compared,
                         r.wrong, Cell(r.difference, fmt::format("{:.1e}", r.difference)),
                         Cell(r.worst, fmt::format("{:.0f}%", 100 * r.worst)), micros(r.profile.total_us())});
      if (r.ok()) continue;
      if (type == ElementType::float32) right = false;
      if (out.first_wrong.empty()) out.first_wrong = fmt::format("{}, {}: {}", each.name, p.text(), r.first_wrong);
    }
    end_test();
    test.clear();
  }
  return out;
}

struct TimesChecked {
  Table table{{{.name = "image"},
               {.name = "dtype"},
               number("pool", "pool"),
               number("simulated", "simulated_us", "us"),
               number("relaxed limit", "relaxed_us", "us"),
               number("limit", "limit_us", "us"),
               {.name = "verdict"},
               number("points", "points"),
               number("of", "points_of")}};
  double points = 0, points_of = 0, extra = 0, extra_of = 0;
  std::string first_missed;
};

TimesChecked check_times(const NeuronSpec& spec, const CheckRequest& request) {
  TimesChecked out;
  for (const neuron::HarnessLimit& each : neuron::harness_limits()) {
    const neuron::ConvProblem& p = each.problem;
    const double us = run_conv(spec, p, neuron::conv_step(request.step).run).profile.total_us();
    const double earned = each.earned(us);
    out.table.add_row({fmt::format("{}x{}", p.h, p.w), name(p.type), p.pool, micros(us), micros(each.relaxed_us),
                       micros(each.full_us), name(each.verdict(us)), Cell(earned, fmt::format("{:.6g}", earned)),
                       Cell(each.points, fmt::format("{:.6g}", each.points))});
    (each.extra ? out.extra : out.points) += earned;
    (each.extra ? out.extra_of : out.points_of) += each.points;
    if (!each.extra && each.verdict(us) == neuron::TimeVerdict::missed && out.first_missed.empty())
      out.first_missed =
          fmt::format("takes {:.0f} us for {}, and {:.0f} us are allowed", us, p.text(), each.relaxed_us);
  }
  return out;
}

}  // namespace

void print_trainium_check(const NeuronSpec& spec, const CheckRequest& request, const Context& context) {
  const ValuesChecked values = check_values(spec, request);
  View view;
  view.parts.push_back({.table = values.table});
  nlohmann::ordered_json json = {{"schema", 1}};
  json["rows"] = table_rows<nlohmann::ordered_json>(values.table);
  std::optional<TimesChecked> times;
  // As the harness has it: a kernel that is wrong is not timed.
  if (values.points == values.points_of) {
    times = check_times(spec, request);
    const double points = values.points + times->points, of = values.points_of + times->points_of;
    view.parts.push_back({.table = times->table,
                          .after = fmt::format("\nvalues {:.6g} of {:.6g} points, times {:.6g} of {:.6g}: {:.6g} of "
                                               "{:.6g}, and {:.6g} of {:.6g} extra\n",
                                               values.points, values.points_of, times->points, times->points_of, points,
                                               of, times->extra, times->extra_of)});
    json["times"] = table_rows<nlohmann::ordered_json>(times->table);
    json["points"] = points, json["points_of"] = of;
    json["extra_points"] = times->extra, json["extra_points_of"] = times->extra_of;
  }
  view.json = json.dump(1) + "\n";
  context.print(view);
  check(values.first_wrong.empty(), Code::internal, "step '{}' is wrong: {}", request.step, values.first_wrong);
  check(!times || times->first_missed.empty(), Code::internal, "step '{}' is too slow: it {}", request.step,
        times ? times->first_missed : "");
}

}  // namespace tessera::cli
