#include "plan_options.h"

#include "arguments.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/emit/script.h"
#include "tessera/io/plan_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>

namespace tessera::cli {
namespace {

// "layer3.*:shard=BLOCK". Names of nodes may have colons.
PlanPin parse_pin(const std::string& text) {
  const std::size_t equals = text.rfind('='), colon = text.rfind(':', equals);
  check(equals != std::string::npos && colon != std::string::npos && colon > 0 && colon + 1 < equals &&
            equals + 1 < text.size(),
        Code::invalid_argument, Hint{"--pin 'layer3.*:shard=BLOCK', --pin conv1:act_block_h_override=64"},
        "--pin '{}' is not PATTERN:FIELD=VALUE", text);
  return {text.substr(0, colon), text.substr(colon + 1, equals - colon - 1), text.substr(equals + 1)};
}

constexpr std::int64_t kLargestBatch = std::int64_t{1} << 20;
constexpr std::size_t kMostBatches = 64;

// Rising; none: found on the way, doubling.
std::vector<std::int64_t> parse_batches(const std::string& text) {
  const Hint hint{"--batches 1,2,4,8,16, --batches 1-8, or --batches auto"};
  if (text == "auto") return {};
  const auto number = [&](std::string_view part) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    check(error == std::errc() && end == part.data() + part.size() && value >= 1 && value <= kLargestBatch,
          Code::invalid_argument, hint, "--batches '{}': '{}' is not a number from 1 to {}", text, part, kLargestBatch);
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
    check(batches.size() <= kMostBatches, Code::invalid_argument, Hint{"name fewer, or use --batches auto"},
          "--batches '{}' lists more than {}: each needs its own search", text, kMostBatches);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return {batches.begin(), batches.end()};
}

// "5ms" in seconds.
double parse_latency(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double scale = unit == "s" ? 1e9 : unit == "ms" ? 1e6 : unit == "us" ? 1e3 : unit == "ns" ? 1 : 0;
  check(error == std::errc() && scale > 0 && value > 0 && value * scale < 1e18, Code::invalid_argument,
        Hint{"--max-latency 5ms, --max-latency 800us"}, "--max-latency '{}' is not a positive time with a unit", text);
  return value * scale * 1e-9;
}

}  // namespace

void add_plan_options(CLI::App& command, PlanArgument& o) {
  PlanRequest& r = o.request;
  command
      .add_option_function<std::string>(
          "--objective",
          [&r](const std::string& word) {
            r.objective = word == "device" ? PlanObjective::device : PlanObjective::end_to_end;
          },
          "For a card: what to minimise: time on the device, or end to end with the host")
      ->check(CLI::IsMember({"device", "end_to_end"}))
      ->default_str("device");
  command.add_option("--min-pcc", r.min_pcc, "For a card: minimum correlation (PCC) of the outputs with float32")
      ->check(number_between(0, 1))
      ->type_name("X");
  command
      .add_option("--max-reshards", r.max_reshards, "For a card: maximum number of reshards, even if more were faster")
      ->check(whole_number(0))
      ->type_name("N");
  command
      .add_option("--pin", o.pins, "For a card: fix a field of all layers whose name matches: 'layer3.*:shard=BLOCK'")
      ->expected(1)
      ->take_all()
      ->type_name("PATTERN:FIELD=VALUE");
  command
      .add_option("--budget", r.budget_s,
                  "For a card: time limit of the search in seconds, for all batches together; the best plan found by "
                  "then is used")
      ->check(positive_number())
      ->type_name("S")
      ->default_str("20");
  command.add_flag("--partial", r.partial, "For a card: run operators that the card lacks on the host");
  command.add_option("--mesh", r.mesh, "For a card: number of cards, each with its own batch")
      ->check(CLI::Range(1, 1024))
      ->type_name("N")
      ->default_str("1");
  command.add_option("--cq", r.command_queues, "For a card: number of command queues")
      ->check(CLI::Range(1, 2))
      ->default_str("2");
  command.add_flag("--no-trace", r.no_trace, "For a card: call operators one by one instead of replaying a trace");
  command.add_option("--l1-small", r.l1_small_bytes, "For a card: size of L1_SMALL on each core, in bytes")
      ->check(whole_number(0))
      ->type_name("BYTES")
      ->default_str("32768");
  command
      .add_option("--html,--report", o.reports,
                  "For a card: write a report; the file name chooses the format: .html, .md, .csv, .json or .txt")
      ->expected(1)
      ->take_all()
      ->type_name("FILE");
  CLI::Option* list =
      command
          .add_option("--batches", o.batches,
                      "For a card: plan each of these batch sizes and choose one: 1,2,4,8 or 1-8; auto doubles the "
                      "batch while it pays")
          ->check([](const std::string& text) { return text.empty() ? std::string("none is said") : std::string(); })
          ->type_name("LIST");
  command.add_option("--goal", o.goal, "For a card: how to choose the batch, by the times of --objective")
      ->check(CLI::IsMember({"throughput", "latency"}))
      ->default_str("throughput")
      ->needs(list);
  command.add_option("--max-latency", o.max_latency, "For a card: latency limit for the chosen batch: 5ms or 800us")
      ->type_name("TIME")
      ->needs(list);
  add_emit_option(command, o.emit);
  command.add_option("-o,--output", o.file, "Write a plan file, which other commands take as --plan or as MODEL")
      ->type_name("FILE");
}

PlanRequest plan_request(const PlanArgument& argument) {
  PlanRequest request = argument.request;
  for (const std::string& text : argument.pins) request.pins.push_back(parse_pin(text));
  if (!argument.batches.empty()) request.batches = parse_batches(argument.batches);
  if (!argument.goal.empty()) request.goal = argument.goal == "latency" ? BatchGoal::latency : BatchGoal::throughput;
  if (!argument.max_latency.empty()) request.max_latency_s = parse_latency(argument.max_latency);
  request.report = !argument.reports.empty();
  return request;
}

void set_kernel_fields(PlanRequest& request, const SessionArgument& session, const CLI::App& command) {
  const SessionOptions options = session_options(session);
  const auto given = [&](const char* option) { return command.count(option) > 0; };
  if (given("--threads")) request.threads = options.threads;
  if (given("--isa")) request.isa = options.isa;
  if (given("--dtype")) request.storage = options.storage;
  if (given("--weights")) request.weights = options.weights;
  request.exact = options.exact;
  request.passes_off = options.passes_off;
  request.kernels_off = options.kernels_off;
  request.kernels = options.kernels;
  request.kernels_are_for = options.kernels_are_for;
  request.memory_limit_bytes = options.memory_limit_bytes;
}

void check_outputs(const PlanArgument& argument, const Target& target) {
  std::vector<std::filesystem::path> files;
  const auto add = [&](const std::filesystem::path& path, Directories directories) {
    check_can_write(path, directories);
    const std::filesystem::path full = std::filesystem::weakly_canonical(path);
    check(std::ranges::find(files, full) == files.end(), Code::invalid_argument, Hint{"give each file its own name"},
          "{} would be written twice", path.string());
    files.push_back(full);
  };
  if (!argument.file.empty()) add(argument.file, Directories::must_exist);
  for (const std::filesystem::path& report : argument.reports) {
    target.check_report(report);
    add(report, Directories::create);
  }
  if (!argument.emit.given()) return;
  const std::filesystem::path script = argument.emit.script();
  add(script, Directories::must_exist);
  add(script.parent_path() / emit::weights_file_of(script), Directories::must_exist);
}

}  // namespace tessera::cli
