#pragma once

// What a layer can be trained for: data that is made here, or read from files that the user has.

#include "tessera/core/export.h"
#include "tessera/ncp/trainer.h"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::ncp {

struct Task {
  std::string name{};
  Dataset training{};
  Dataset validation{};  // may have no samples
  Dataset test{};
  Loss loss = Loss::mean_squared_error;
  Readout readout = Readout::every_step;
  int outputs = 1;        // that a layer has to have
  bool windowed = false;  // sequences were cut from a table as long as options say
};

// The parity of a stream of up to 31 bits, given as runs: an event is a bit and how long ago the one before it came
// (in 32nds). The sets of the paper on closed-form continuous-time networks: 100,000 sequences to train on, 10,000 to
// test; for validation 10,000 more, which the paper does not have. Fewer where asked for: the first ones.
struct XorSizes {
  std::int64_t training = 100000;
  std::int64_t validation = 10000;
  std::int64_t test = 10000;
};
TSR_API Task xor_task(const XorSizes& sizes = {});

// One of its sets as it is drawn, before elapsed times are divided by 32.
struct XorStreams {
  static constexpr int kSteps = 32;
  std::vector<std::int8_t> events{};    // [streams, kSteps]
  std::vector<std::int16_t> elapsed{};  // likewise
  std::vector<std::int8_t> mask{};      // likewise: 1 where there is an event
  std::vector<std::int8_t> labels{};
  std::vector<std::int32_t> bits{};    // of each stream
  std::vector<std::int32_t> counts{};  // of its events
};
TSR_API XorStreams draw_xor(std::uint32_t seed, std::int64_t streams);

// From sine and cosine over one and a half periods to a sine of twice the frequency: the example of ncps. One sequence,
// which is also the test.
TSR_API Task sine_task(int steps = 48);

// Half-cheetah: recordings of 1000 frames of 17 numbers, of which the next frame is to be told. 31 of them: 0 to 4
// validate, 5 to 14 test, 15 to 24 train; windows of 32 frames that begin every 10.
struct Trace {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values{};
};
TSR_API Trace
read_trace(const std::filesystem::path& path);  // text: a row in a line, numbers apart by blanks or commas
TSR_API Task cheetah_task(std::span<const Trace> traces);

// A table with names in its first line. Columns whose name begins with "target" are targets, "elapsed" is the time
// since the row before, rows with the same number in "sequence" are one sequence; all others are inputs. Without a
// column "sequence" windows are cut. A tenth of the sequences, the last ones, is for the test; a tenth before them
// validates.
struct CsvOptions {
  Loss loss = Loss::mean_squared_error;
  Readout readout = Readout::every_step;
  std::int64_t window = 32;
  std::int64_t stride = 0;  // 0: the window
  int classes = 0;          // of softmax_cross_entropy; 0: as many as occur
};
TSR_API Task csv_task(std::string_view text, const CsvOptions& options = {});

}  // namespace tessera::ncp
