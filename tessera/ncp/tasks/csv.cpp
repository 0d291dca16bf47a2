#include "tessera/core/error.h"
#include "tessera/ncp/tasks/number_table.h"
#include "tessera/ncp/tasks/task.h"

#include <algorithm>
#include <cmath>

namespace tessera::ncp {
namespace {

// An output for each: more are a column that is no class.
constexpr int kMostClasses = 32768;

struct Range {
  std::size_t first, count;
};

std::vector<Range> sequences(const NumberTable& table, int by, const CsvOptions& options) {
  std::vector<Range> out;
  if (by >= 0) {
    const auto column = static_cast<std::size_t>(by);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      if (i == 0 || table.rows[i][column] != table.rows[i - 1][column]) out.push_back({i, 0});
      ++out.back().count;
    }
    return out;
  }
  const auto window = static_cast<std::size_t>(options.window);
  const auto stride = static_cast<std::size_t>(options.stride > 0 ? options.stride : options.window);
  check(table.rows.size() >= window, Code::invalid_argument, "there are {} rows, less than a window of {}",
        table.rows.size(), window);
  for (std::size_t first = 0; first + window <= table.rows.size(); first += stride) out.push_back({first, window});
  return out;
}

}  // namespace

Task csv_task(std::string_view text, const CsvOptions& options) {
  check(options.window >= 1 && options.stride >= 0, Code::invalid_argument, "windows of {} rows that begin every {}",
        options.window, options.stride);
  const NumberTable table = parse_number_table(text);
  std::vector<std::size_t> inputs, targets;
  int elapsed = -1, sequence = -1;
  for (std::size_t i = 0; i < table.names.size(); ++i) {
    const std::string& name = table.names[i];
    if (name == "elapsed")
      elapsed = static_cast<int>(i);
    else if (name == "sequence")
      sequence = static_cast<int>(i);
    else
      (name.starts_with("target") ? targets : inputs).push_back(i);
  }
  check(!inputs.empty() && !targets.empty(), Code::parse,
        Hint{"name the columns of targets 'target', or 'target_a', 'target_b' and so on"},
        "the table has {} columns of inputs and {} of targets: at least one of each is needed", inputs.size(),
        targets.size());
  check(options.loss != Loss::softmax_cross_entropy || targets.size() == 1, Code::invalid_argument,
        "a class is one number, the table has {} columns of targets", targets.size());
  const std::vector<Range> parts = sequences(table, sequence, options);
  check(parts.size() >= 3, Code::invalid_argument,
        "{} sequences are too few: at least one each to train on, to validate and to test", parts.size());
  // Rows of the table from the first sequence to the last one's end, each of them once.
  const auto make = [&](std::size_t begin, std::size_t end) {
    const std::size_t from = parts[begin].first, to = parts[end - 1].first + parts[end - 1].count;
    Dataset out{.samples = static_cast<std::int64_t>(end - begin), .inputs = static_cast<int>(inputs.size())};
    const auto add = [&](std::size_t row, const std::vector<std::size_t>& columns, std::vector<float>& values) {
      for (const std::size_t i : columns) values.push_back(static_cast<float>(table.rows[row][i]));
    };
    out.input.reserve((to - from) * inputs.size());
    for (std::size_t row = from; row < to; ++row) {
      add(row, inputs, out.input);
      if (elapsed >= 0) add(row, {static_cast<std::size_t>(elapsed)}, out.timespans);
      if (options.readout == Readout::every_step) add(row, targets, out.targets);
    }
    for (std::size_t p = begin; p < end; ++p) {
      out.begins.push_back(static_cast<std::int64_t>(parts[p].first - from));
      out.lengths.push_back(static_cast<std::int32_t>(parts[p].count));
      out.steps = std::max(out.steps, static_cast<std::int64_t>(parts[p].count));
      if (options.readout == Readout::last_step) add(parts[p].first + parts[p].count - 1, targets, out.targets);
    }
    return out;
  };
  const std::size_t tenth = std::max<std::size_t>(1, parts.size() / 10);
  Task task{.name = "csv", .loss = options.loss, .readout = options.readout};
  task.training = make(0, parts.size() - 2 * tenth);
  task.validation = make(parts.size() - 2 * tenth, parts.size() - tenth);
  task.test = make(parts.size() - tenth, parts.size());
  task.windowed = sequence < 0;
  task.outputs = static_cast<int>(targets.size());
  if (options.loss == Loss::softmax_cross_entropy) {
    double most = 0;
    for (const std::vector<double>& row : table.rows) {
      const double label = row[targets[0]];
      check(label >= 0 && label < kMostClasses && label == std::floor(label), Code::parse,
            Hint{"number classes from 0 on, or take another --loss"},
            "column '{}' has {}: a class is a whole number from 0 to {}", table.names[targets[0]], label,
            kMostClasses - 1);
      most = std::max(most, label);
    }
    task.outputs = options.classes > 0 ? options.classes : static_cast<int>(most) + 1;
  }
  return task;
}

}  // namespace tessera::ncp
