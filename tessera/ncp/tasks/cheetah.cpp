#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/text.h"
#include "tessera/ncp/tasks/task.h"

#include <charconv>
#include <cmath>

namespace tessera::ncp {
namespace {

constexpr std::size_t kValidation = 5, kTest = 15, kTraining = 25;  // traces up to which a set goes
constexpr std::int64_t kWindow = 32, kStride = 10;

Dataset windows(std::span<const Trace> traces) {
  Dataset out{.steps = kWindow, .inputs = static_cast<int>(traces[0].columns)};
  for (const Trace& trace : traces)
    for (std::int64_t first = 0; first < trace.rows - kWindow; first += kStride) {
      const auto begin = trace.values.begin() + first * trace.columns;
      out.input.insert(out.input.end(), begin, begin + kWindow * trace.columns);
      out.targets.insert(out.targets.end(), begin + trace.columns, begin + (kWindow + 1) * trace.columns);
      ++out.samples;
    }
  return out;
}

}  // namespace

Trace read_trace(const std::filesystem::path& path) {
  return with_context("while reading " + path.string(), [&] {
    const std::string text = read_text_file(path);
    Trace trace;
    std::int64_t line = 1, in_line = 0;
    const auto end_line = [&] {
      if (in_line > 0) {
        if (trace.columns == 0) trace.columns = in_line;
        check(in_line == trace.columns, Code::parse, "line {} has {} numbers, the first has {}", line, in_line,
              trace.columns);
        ++trace.rows;
      }
      in_line = 0;
    };
    const char* at = text.data();
    const char* end = at + text.size();
    while (at < end) {
      if (*at == '\n') {
        end_line();
        ++line;
        ++at;
      } else if (*at == ' ' || *at == ',' || *at == '\t' || *at == '\r') {
        ++at;
      } else {
        double value = 0;
        if (*at == '+') ++at;
        const auto [next, error] = std::from_chars(at, end, value);
        check(error == std::errc{} && std::isfinite(value), Code::parse, "line {}, number {}: '{}' is no finite number",
              line, in_line + 1,
              std::string_view(at, static_cast<std::size_t>(std::min<std::ptrdiff_t>(end - at, 20))));
        trace.values.push_back(value);
        ++in_line;
        at = next;
      }
    }
    end_line();
    check(trace.rows > 0, Code::parse, "there are no numbers");
    return trace;
  });
}

Task cheetah_task(std::span<const Trace> traces) {
  check(traces.size() >= kTraining, Code::invalid_argument,
        "{} traces: 0 to 4 validate, 5 to 14 test and 15 to 24 train, so at least 25 are needed", traces.size());
  for (std::size_t i = 0; i < traces.size(); ++i)
    check(traces[i].rows > kWindow && traces[i].columns == traces[0].columns && traces[i].columns > 0,
          Code::invalid_argument, "trace {} has {} frames of {} numbers: more than {} frames are needed, of {} numbers",
          i, traces[i].rows, traces[i].columns, kWindow, traces[0].columns);
  Task task{.name = "cheetah"};
  task.validation = windows(traces.first(kValidation));
  task.test = windows(traces.subspan(kValidation, kTest - kValidation));
  task.training = windows(traces.subspan(kTest, kTraining - kTest));
  task.outputs = task.training.inputs;
  return task;
}

}  // namespace tessera::ncp
