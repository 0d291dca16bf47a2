// Tables, and tasks that are made of them. The first byte says how.

#include "fuzz.h"
#include "text.h"

#include "tessera/core/csv.h"
#include "tessera/ncp/tasks/task.h"

int fuzz_one(std::span<const std::uint8_t> input) {
  using namespace tessera;
  if (input.empty()) return 0;
  const std::uint8_t how = input[0];
  const std::string_view text = fuzz::text_of(input.subspan(1));
  try {
    if (how % 2 == 0) {
      parse_csv(text);
      return 0;
    }
    ncp::CsvOptions options;
    options.loss = how & 2 ? ncp::Loss::softmax_cross_entropy : ncp::Loss::mean_squared_error;
    options.readout = how & 4 ? ncp::Readout::last_step : ncp::Readout::every_step;
    options.window = 1 + how / 16;
    options.stride = how / 8 % 4;
    const ncp::Task task = ncp::csv_task(text, options);
    fuzz::require(task.training.samples >= 0 && task.outputs > 0, "a task has outputs");
  } catch (const Error& error) {
    return fuzz::refused(error);
  }
  return 0;
}
