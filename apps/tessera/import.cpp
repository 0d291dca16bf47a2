// tessera import: what in an ONNX model can be run here, and what cannot.

#include "arguments.h"
#include "command.h"

#include "tessera/core/text.h"
#include "tessera/io/onnx/import.h"
#include "tessera/report/table_rows.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace tessera::cli {
namespace {

struct CheckOptions {
  std::string model;
  bool check = false;
  std::vector<std::string> shapes, dimensions;
};

std::string full_name(const std::string& domain, const std::string& op) {
  return domain.empty() ? op : domain + "." + op;
}

Cell optional_cell(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

Table problem_table(const ImportReport& report) {
  Table table({{.name = "node"},
               {.name = "operator", .key = "op_type"},
               {.name = "domain"},
               {.name = "opset", .align = Align::right},
               {.name = "attribute"},
               {.name = "kind"},
               {.name = "reason"},
               {.name = "what would help", .key = "fix"}});
  for (const ImportProblem& p : report.problems)
    table.add_row({optional_cell(p.node), optional_cell(p.op_type), optional_cell(p.domain),
                   p.opset == 0 ? Cell() : Cell(p.opset), optional_cell(p.attribute), name(p.code), p.reason,
                   optional_cell(p.fix)});
  return table;
}

Table operator_table(const ImportReport& report) {
  Table table({{.name = "operator", .key = "op_type"},
               {.name = "nodes", .align = Align::right},
               {.name = "known", .key = "supported"}});
  for (const auto& op : report.operators)
    table.add_row({full_name(op.domain, op.op_type), op.count, Cell(op.supported, op.supported ? "yes" : "no")});
  return table;
}

std::string report_json(const ImportReport& report) {
  nlohmann::json out = {
      {"schema", 1}, {"ir_version", report.ir_version}, {"producer", report.producer}, {"notes", report.notes}};
  out["opsets"] = nlohmann::json::object();
  for (const auto& [domain, version] : report.opsets) out["opsets"][domain.empty() ? "ai.onnx" : domain] = version;
  out["problems"] = table_rows(problem_table(report));
  out["operators"] = table_rows(operator_table(report));
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

void check_model(const CheckOptions& options, const Context& context) {
  const ImportReport report = check_onnx(options.model, parse_import_options(options.shapes, options.dimensions));
  if (context.format == Format::json) {
    context.print(report_json(report));
  } else if (context.format == Format::csv) {
    context.print(problem_table(report));
  } else {
    if (!report.problems.empty()) {
      context.print(problem_table(report));
      context.print("\n");
    }
    context.print(operator_table(report));
    std::int64_t nodes = 0;
    for (const auto& op : report.operators) nodes += op.count;
    std::string opsets;
    for (const auto& [domain, version] : report.opsets)
      opsets += fmt::format("{}{} {}", opsets.empty() ? "" : ", ", domain.empty() ? "ai.onnx" : domain, version);
    if (!context.quiet)
      context.print(fmt::format(
          "\n{}: {} nodes of {} operators, opset {}, made by {}; {}\n", options.model, nodes, report.operators.size(),
          opsets.empty() ? "unknown" : opsets, report.producer.empty() ? "an unnamed tool" : report.producer,
          report.problems.empty() ? "no problems" : fmt::format("{} problems", report.problems.size())));
    for (const std::string& note : report.notes)
      if (!context.quiet) context.print("note: " + note + "\n");
  }
  if (!report.problems.empty())
    fail(report.problems.front().code == Code::internal ? Code::internal : Code::unsupported,
         "{} cannot be imported: {}", options.model, counted(report.problems.size(), "problem"));
}

}  // namespace

void add_import(CLI::App& app, const Context& context) {
  CLI::App* import = app.add_subcommand("import", "Check an ONNX model: list all problems and the operators it uses");
  auto options = std::make_shared<CheckOptions>();
  import->add_option("model", options->model, "An .onnx file")->required()->type_name("MODEL");
  import->add_flag("--check", options->check, "List problems and operators; exit with 1 if there is a problem")
      ->required();
  import->add_option("--shape", options->shapes, "The shape of an input: NAME:1x3x224x224")
      ->expected(1)
      ->take_all()
      ->type_name("SHAPE");
  import->add_option("--dim", options->dimensions, "The value of a named dimension: batch=8")
      ->expected(1)
      ->take_all()
      ->type_name("NAME=N");
  import->callback([options, &context] { check_model(*options, context); });
}

}  // namespace tessera::cli
