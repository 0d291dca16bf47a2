#include "compare_machines.h"

#include "arguments.h"
#include "diagnostics.h"
#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/session/compare_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace tessera::cli {
namespace {

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// "wormhole_n150=0.45"
std::pair<std::string, double> price_of(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::optional<double> price =
      equals == std::string::npos ? std::nullopt : number_in(std::string_view(text).substr(equals + 1));
  check(price && *price >= 0, Code::invalid_argument, Hint{"--price wormhole_n150=0.45"},
        "--price {}: it is a machine and what an hour of it costs", text);
  return {text.substr(0, equals), *price};
}

}  // namespace

void compare_on_machines(const ModelArgument& model, const MachinesArgument& argument, const Context& context) {
  std::vector<std::string> machines;
  for (const std::string& device : argument.devices) {
    const std::vector<std::string> named = device == "all" ? comparable_machines() : std::vector{device};
    for (const std::string& name : named)
      if (std::ranges::find(machines, name) == machines.end()) machines.push_back(name);
  }
  if (!argument.page.empty()) check_can_write(argument.page);
  MachineComparisonRequest request{.budget_s = argument.budget_s};
  for (const std::string& price : argument.prices) request.prices.insert(price_of(price));
  std::optional<Progress> progress;
  request.on_progress = [&](std::size_t done, std::size_t all, const std::string& what) {
    if (!progress) progress.emplace("comparing", all, context.quiet);
    progress->at(done, what);
  };
  const InterruptWatch watch;
  request.stop = [] { return InterruptWatch::came(); };
  const LoadedNetwork network = load_network(model);  // what is wrong with it is no row; copies share its weights
  const std::vector<MachineRow> rows = compare_machines([&] { return network; }, machines, request);
  progress.reset();
  if (!argument.page.empty()) write_file_atomically(argument.page, machine_page(network.name, rows));
  context.print(machine_table(rows));
  if (context.for_people() && !context.quiet) {
    context.print(
        "\ntime: a batch on the machine alone; basis: what most of it rests on (tessera explain, docs/evidence.md)\n");
    if (!argument.page.empty()) context.print(fmt::format("page in {}\n", argument.page.string()));
  }
  if (InterruptWatch::came()) throw EndsWith{kInterrupted};
}

void add_machines_options(CLI::App& command, MachinesArgument& argument) {
  CLI::Option* devices =
      command
          .add_option("--devices", argument.devices,
                      "Plan the network for each of these machines and set them side by side; all: every one there is")
          ->delimiter(',')
          ->type_name("NAME");
  command.add_option("--budget", argument.budget_s, "With --devices: seconds of planning, for all machines together")
      ->needs(devices)
      ->check(number_from(0))
      ->type_name("S")
      ->default_str("60");
  command.add_option("--price", argument.prices, "With --devices: what an hour of a machine costs")
      ->needs(devices)
      ->delimiter(',')
      ->type_name("NAME=PER_HOUR");
  command.add_option("--html", argument.page, "With --devices: a page with bars")->needs(devices)->type_name("FILE");
}

}  // namespace tessera::cli
