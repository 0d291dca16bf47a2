#include "tessera/core/error.h"
#include "tessera/core/memory_size.h"
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
  std::size_t longest = 0;
  for (const Range& part : parts) longest = std::max(longest, part.count);
  // Every sequence takes the room of the longest.
  const double bytes = static_cast<double>(parts.size()) * static_cast<double>(longest) *
                       static_cast<double>(inputs.size() + targets.size() + 1) * sizeof(float);
  check(bytes <= static_cast<double>(default_memory_limit_bytes() / 4), Code::out_of_memory,
        Hint{"cut the longest sequences into shorter ones"},
        "{} sequences, the longest of {} steps, take {:.4g} GB as a table; a quarter of the memory that there is has "
        "{:.4g} GB",
        parts.size(), longest, bytes * 1e-9, static_cast<double>(default_memory_limit_bytes() / 4) * 1e-9);
  const auto make = [&](std::size_t begin, std::size_t end) {
    Dataset out{.samples = static_cast<std::int64_t>(end - begin),
                .steps = static_cast<std::int64_t>(longest),
                .inputs = static_cast<int>(inputs.size())};
    for (std::size_t p = begin; p < end; ++p) {
      out.lengths.push_back(static_cast<std::int32_t>(parts[p].count));
      for (std::size_t t = 0; t < longest; ++t) {
        const bool real = t < parts[p].count;
        const std::vector<double>& row = table.rows[parts[p].first + (real ? t : 0)];
        for (const std::size_t i : inputs) out.input.push_back(real ? static_cast<float>(row[i]) : 0.0f);
        if (elapsed >= 0)
          out.timespans.push_back(real ? static_cast<float>(row[static_cast<std::size_t>(elapsed)]) : 1.0f);
        if (options.readout == Readout::every_step || t + 1 == parts[p].count)
          for (const std::size_t i : targets) out.targets.push_back(real ? static_cast<float>(row[i]) : 0.0f);
      }
    }
    return out;
  };
  const std::size_t tenth = std::max<std::size_t>(1, parts.size() / 10);
  Task task{.name = "csv", .loss = options.loss, .readout = options.readout};
  task.training = make(0, parts.size() - 2 * tenth);
  task.validation = make(parts.size() - 2 * tenth, parts.size() - tenth);
  task.test = make(parts.size() - tenth, parts.size());
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
