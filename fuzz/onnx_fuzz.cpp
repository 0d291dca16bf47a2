#include "fuzz.h"

#include "tessera/io/onnx/import.h"

#include <functional>
#include <string>

namespace {

// Problems are values, thrown from one place: what they say, less the names and numbers in it, tells them apart.
int place_of(const tessera::ImportReport& report) {
  std::string text;
  for (const tessera::ImportProblem& problem : report.problems) {
    bool quoted = false;
    const bool known = problem.reason.find("has no operator") == std::string::npos;
    for (const char c : (known ? problem.op_type : "") + problem.reason.substr(0, 200)) {
      if (c == '\'')
        quoted = !quoted;
      else if (!quoted && (c < '0' || c > '9'))
        text += c;
    }
    if (text.size() > 300) break;
  }
  return static_cast<int>(std::hash<std::string>{}(text) & 0x3fffffff) + 1;
}

}  // namespace

int fuzz_one(std::span<const std::uint8_t> input) {
  tessera::ImportReport report;
  try {
    report = tessera::check_onnx_bytes(std::as_bytes(input));
  } catch (const tessera::Error& error) {
    return tessera::fuzz::refused(error);
  }
  for (const tessera::ImportProblem& problem : report.problems)
    tessera::fuzz::require(problem.code != tessera::Code::internal, "a problem is not our own fault");
  if (!report.problems.empty()) return place_of(report);

  tessera::Graph graph = tessera::import_onnx_bytes(std::as_bytes(input));
  std::size_t bytes = 0;
  for (const tessera::Value& value : graph.values)
    if (value.constant) bytes += value.constant->bytes().size();
  tessera::fuzz::require(bytes <= 64 * (input.size() + 1024), "no more constants than the file has");
  tessera::verify(graph);
  tessera::infer_types(graph);
  return 0;
}
