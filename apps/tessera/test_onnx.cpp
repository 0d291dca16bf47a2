// tessera test-onnx: standard ONNX test directories on this machine, or through the reference.

#include "command.h"
#include "progress.h"

#include "tessera/graph/evaluate.h"
#include "tessera/io/onnx/import.h"
#include "tessera/io/onnx/tensor_file.h"
#include "tessera/session/session.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kMaxValueBytes = 1 << 30;  // no test of an operator needs more in one value

enum class Status { passed, failed, unsupported };

std::string_view name(Status status) {
  return status == Status::passed ? "passed" : status == Status::failed ? "failed" : "unsupported";
}

struct Result {
  std::string test;
  std::string op;
  Status status = Status::passed;
  std::string reason;
};

struct Tolerance {
  double relative, absolute;
};

// Whole numbers and bool must be equal. ONNX's own runner allows 1e-3 of any floating type; the 16-bit types get two of
// their steps, since a reference that rounds once and one that rounds at every step differ by that.
Tolerance tolerance_of(ElementType type) {
  switch (type) {
    case ElementType::float32:
    case ElementType::float64: return {1e-3, 1e-5};
    case ElementType::float16: return {2e-3, 1e-4};
    case ElementType::bfloat16: return {1.6e-2, 1e-3};
    default: return {0, 0};
  }
}

bool close(double got, double wanted, Tolerance t) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted);
  if (std::isinf(got) || std::isinf(wanted)) return got == wanted;
  return std::abs(got - wanted) <= t.absolute + t.relative * std::abs(wanted);
}

void compare(const Array& got, const Array& wanted, const std::string& output) {
  check(got.type() == wanted.type() && got.shape() == wanted.shape(), Code::invalid_argument,
        "output '{}' is {} instead of {}", output, got.to_string(), wanted.to_string());
  const Tolerance tolerance = tolerance_of(got.type());
  if (tolerance.relative == 0) {
    if (std::equal(got.bytes().begin(), got.bytes().end(), wanted.bytes().begin())) return;
  }
  const std::vector<double> a = got.to_double(), b = wanted.to_double();
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!close(a[i], b[i], tolerance) && wrong++ == 0) first = i;
  // Beyond what a double can tell. Floats of 8 bits are equal where their values are: NaN has several patterns.
  if (wrong == 0 && tolerance.relative == 0 && !is_narrow(got.type())) wrong = 1;
  check(wrong == 0, Code::invalid_argument, "output '{}': {} of {} elements differ, the first at {}: {} instead of {}",
        output, wrong, a.size(), first, a.empty() ? 0 : a[first], b.empty() ? 0 : b[first]);
}

void check_sizes(const Graph& graph) {
  for (const Value& value : graph.values) {
    if (!value.type.is_static()) continue;
    const double bytes =
        static_cast<double>(value.type.shape().volume()) * static_cast<double>(element_bytes(value.type.type));
    check(bytes <= kMaxValueBytes, Code::unsupported, "'{}' ({}) needs more than 1 GiB", value.name,
          value.type.to_string());
  }
}

std::vector<fs::path> sorted_children(const fs::path& folder) {
  std::vector<fs::path> children;
  for (const auto& child : fs::directory_iterator(folder)) children.push_back(child.path());
  std::sort(children.begin(), children.end());
  return children;
}

int run_data_sets(const Graph& graph, const fs::path& folder, const std::string& device) {
  const std::optional<Session> session = device == "cpu" ? std::optional<Session>(Session(graph)) : std::nullopt;
  int sets = 0;
  for (const fs::path& set : sorted_children(folder)) {
    if (!fs::is_directory(set) || !set.filename().string().starts_with("test_data_set_")) continue;
    with_context(fmt::format("in {}", set.filename().string()), [&] {
      std::vector<Array> inputs;
      for (std::size_t i = 0; i < graph.inputs.size(); ++i)
        inputs.push_back(load_onnx_tensor(set / fmt::format("input_{}.pb", i)));
      const std::vector<Array> outputs = session ? session->run(inputs) : evaluate(graph, inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i)
        compare(outputs[i], load_onnx_tensor(set / fmt::format("output_{}.pb", i)), graph.value(graph.outputs[i]).name);
    });
    ++sets;
  }
  return sets;
}

// The operator that a test is about: the only one, or else the first that has a problem.
std::string subject(const ImportReport& report) {
  std::vector<std::string> names;
  for (const auto& op : report.operators)
    if (op.op_type != "Constant" || report.operators.size() == 1)
      names.push_back(op.domain.empty() ? op.op_type : op.domain + "." + op.op_type);
  if (names.size() == 1) return names[0];
  for (const ImportProblem& problem : report.problems)
    if (!problem.op_type.empty()) return problem.op_type;
  return "(several)";
}

Result run_test(const fs::path& folder, const std::string& device) {
  Result result{folder.filename().string(), "?", Status::passed, {}};
  const auto set = [&](Status status, std::string reason) {
    result.status = status;
    result.reason = std::move(reason);
  };
  try {
    const ImportReport report = check_onnx(folder / "model.onnx");
    result.op = subject(report);
    if (!report.problems.empty()) {
      const auto fault = std::find_if(report.problems.begin(), report.problems.end(),
                                      [](const auto& p) { return p.code != Code::unsupported; });
      const bool ours = fault == report.problems.end();
      set(ours ? Status::unsupported : Status::failed, (ours ? report.problems.front() : *fault).reason);
      return result;
    }
    const Graph graph = import_onnx(folder / "model.onnx");
    check_sizes(graph);
    if (run_data_sets(graph, folder, device) == 0) set(Status::failed, "there is no test_data_set_0");
  } catch (const Error& error) {
    set(error.code() == Code::unsupported ? Status::unsupported : Status::failed, error.message());
  } catch (const std::exception& error) {
    set(Status::failed, error.what());
  } catch (...) {
    set(Status::failed, "an unknown error was thrown");
  }
  return result;
}

void find_tests(const fs::path& folder, std::vector<fs::path>& tests) {
  if (fs::exists(folder / "model.onnx")) {
    tests.push_back(folder);
    return;
  }
  for (const fs::path& child : sorted_children(folder))
    if (fs::is_directory(child) && !fs::is_symlink(child)) find_tests(child, tests);
}

struct Counts {
  std::int64_t passed = 0, failed = 0, unsupported = 0;
  void add(Status status) { ++(status == Status::passed ? passed : status == Status::failed ? failed : unsupported); }
};

Table by_operator(const std::vector<Result>& results) {
  std::map<std::string, std::pair<Counts, std::string>> operators;
  for (const Result& result : results) {
    auto& [counts, reason] = operators[result.op];
    counts.add(result.status);
    if (reason.empty() || result.status == Status::failed) reason = result.reason.empty() ? reason : result.reason;
  }
  Table table({{.name = "operator"},
               {.name = "passed", .align = Align::right},
               {.name = "failed", .align = Align::right},
               {.name = "unsupported", .align = Align::right},
               {.name = "why", .key = "reason"}});
  for (const auto& [op, entry] : operators)
    table.add_row({op, entry.first.passed, entry.first.failed, entry.first.unsupported,
                   entry.second.empty() ? Cell() : Cell(entry.second.substr(0, entry.second.find('\n')))});
  return table;
}

Table all_tests(const std::vector<Result>& results, bool only_failed) {
  Table table({{.name = "test"}, {.name = "operator"}, {.name = "status"}, {.name = "reason"}});
  for (const Result& r : results)
    if (!only_failed || r.status == Status::failed)
      table.add_row({r.test, r.op, name(r.status), r.reason.empty() ? Cell() : Cell(r.reason)});
  return table;
}

void run_tests(const std::vector<std::string>& folders, const std::string& device, const Context& context) {
  std::vector<fs::path> tests;
  for (const std::string& folder : folders) {
    check(fs::is_directory(folder), Code::not_found, "'{}' is not a directory", folder);
    find_tests(folder, tests);
  }
  check(!tests.empty(), Code::not_found,
        Hint{"a test directory has a model.onnx and test_data_set_0/input_0.pb, output_0.pb, ..."},
        "there is no test under {}", folders.front());
  std::vector<Result> results;
  Counts counts;
  Progress progress("tests", tests.size(), context.quiet);
  for (const fs::path& test : tests) {
    progress.at(results.size(), test.filename().string());
    results.push_back(run_test(test, device));
    counts.add(results.back().status);
  }
  if (context.format == Format::json) {
    nlohmann::json out = nlohmann::json::parse(render_json(all_tests(results, false)));
    out["summary"] = {{"passed", counts.passed}, {"failed", counts.failed}, {"unsupported", counts.unsupported}};
    context.print(out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else if (context.format == Format::csv) {
    context.print(all_tests(results, false));
  } else {
    context.print(by_operator(results));
    if (counts.failed > 0) {
      context.print("\n");
      context.print(all_tests(results, true));
    }
    context.print(
        fmt::format("\n{} passed, {} failed, {} unsupported\n", counts.passed, counts.failed, counts.unsupported));
  }
  check(counts.failed == 0, Code::invalid_argument, "{} of {} tests failed", counts.failed, results.size());
}

}  // namespace

void add_test_onnx(CLI::App& app, const Context& context) {
  CLI::App* test = app.add_subcommand("test-onnx", "Run ONNX test directories on this machine");
  auto folders = std::make_shared<std::vector<std::string>>();
  test->add_option("folders", *folders,
                   "Directories with a model.onnx and test_data_set_N/{input,output}_K.pb, or directories of such "
                   "directories. Integers must be equal. Tolerances, relative and absolute: 1e-3 and 1e-5 for float32 "
                   "and float64, 2e-3 and 1e-4 for float16, 1.6e-2 and 1e-3 for bfloat16. Exits with 1 if a test fails")
      ->required()
      ->type_name("DIR");
  auto device = std::make_shared<std::string>("cpu");
  test->add_option("--device", *device, "cpu, or reference (plain loops, exact and slow)")
      ->check(CLI::IsMember({"cpu", "reference"}))
      ->default_str("cpu");
  test->callback([folders, device, &context] { run_tests(*folders, *device, context); });
}

}  // namespace tessera::cli
