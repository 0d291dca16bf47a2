#pragma once

// The memory reports that TTNN users know. (report/memory_state.h gives the same facts in clean form.)
//
// The three files (l1_usage_summary.csv, memory_usage_summary.csv, detailed_memory_usage.csv) keep the format of the
// real ones, quirks included: tools read them. "Total Free L1 Space" there is the largest free block times the number
// of banks, rows have no labels (DRAM, L1, L1_SMALL in this order), the detailed file is text.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/device.h"

#include <filesystem>
#include <optional>
#include <string>

namespace tessera::tensix {

struct MemoryReport {
  std::string l1_usage_summary;
  std::string memory_usage_summary;
  std::string detailed_memory_usage;
};

// The state now; program files carry the program's id in front.
TSR_API MemoryReport memory_report(const Device& device, std::optional<std::int64_t> program_id = std::nullopt);

// $TT_METAL_LOGS_PATH, else $TT_METAL_HOME, else the working directory; then generated/reports.
TSR_API std::filesystem::path memory_report_directory();

// Writes <directory>/<prefix>l1_usage_summary.csv and the other two; the directory is made if it is not there.
TSR_API void dump_device_memory_state(const Device& device, const std::string& prefix = "",
                                      const std::filesystem::path& directory = memory_report_directory());

// While on, every new program on any device adds its rows to program_* files in memory_report_directory(); a program
// that is in the cache already adds nothing. Switching on starts the files anew.
TSR_API void enable_memory_reports();
TSR_API void disable_memory_reports();

// Called by Device for each new program.
void note_program(const Device& device, std::int64_t program_id);

}  // namespace tessera::tensix
