#include "tessera/targets/tensix/card/memory_report.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/file_system.h"

#include <array>
#include <cstdlib>
#include <mutex>

namespace tessera::tensix {
namespace {

constexpr std::array kReported{BufferType::dram, BufferType::l1, BufferType::l1_small};

// Header lines; program files have a first column, in the others it is empty.
std::string l1_header(bool program) {
  return fmt::format(
      "This report indicates available space for interleaving L1 buffers\n"
      "{}, Largest Contiguous Free Block (B), Total Free L1 Space (B)\n",
      program ? "Program ID" : "");
}

std::string summary_header(bool program) {
  return fmt::format("{}, Total Allocatable Size (B), Total Allocated (B), Total Free (B), Largest Free Block (B)\n",
                     program ? "Program ID" : "");
}

std::string l1_row(const Device& device, const std::string& id) {
  const MemoryView l1 = device.memory_view(BufferType::l1);
  return fmt::format("{},{},{}\n", id, l1.largest_free_block_bytes_per_bank,
                     l1.largest_free_block_bytes_per_bank * l1.num_banks);
}

std::string summary_rows(const Device& device, const std::string& id) {
  std::string text;
  for (BufferType type : kReported) {
    const MemoryView v = device.memory_view(type);
    text += fmt::format("{},{},{},{},{}\n", text.empty() ? id : "", v.total_bytes_per_bank, v.allocated_bytes_per_bank,
                        v.free_bytes_per_bank, v.largest_free_block_bytes_per_bank);
  }
  return text;
}

std::string block_id(int id) { return id == FreeList::kNoBlock ? "none" : std::to_string(id); }

std::string allocator_state(const FreeList& list) {
  std::string text = "FreeListOpt allocator info:\nsegregated free blocks by size:\n";
  const auto& classes = list.free_blocks_by_class();
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::int64_t from = FreeList::kSmallestClassBytes << i;
    const std::string to = i + 1 == classes.size() ? "inf" : std::to_string(from * 2);
    text += fmt::format("  Size class {}: ({} - {}) blocks: ", i, from, to);
    for (int id : classes[i]) text += fmt::format("{} ", id);
    text += "\n";
  }
  text += "Free slots in block table: ";
  for (int id : list.unused_block_ids()) text += fmt::format("{} ", id);
  text += "\nBlock table:\n";
  for (const char* column : {"Block", "Address", "Size", "PrevID", "NextID", "Allocated"})
    text += fmt::format("{:>12} ", column);
  text += "\n";
  const auto& blocks = list.blocks();
  for (std::size_t id = 0; id < blocks.size(); ++id) {
    const FreeList::Block& b = blocks[id];
    if (!b.in_use) continue;
    text += fmt::format("{:>12} {:>12} {:>12} {:>12} {:>12} {:>12}\n", id, b.address, b.size_bytes,
                        block_id(b.previous), block_id(b.next), b.allocated ? "yes" : "no");
  }
  return text;
}

std::string detailed_rows(const Device& device, const std::string& id) {
  std::string text;
  for (BufferType type : kReported) {
    const MemoryView v = device.memory_view(type);
    text += fmt::format("{},{}\n", text.empty() ? id : "", name(type));
    text += fmt::format(",Total allocatable (B):,{}\n,Total allocated (B):,{}\n,Total free (B):,{}\n",
                        v.total_bytes_per_bank * v.num_banks, v.allocated_bytes_per_bank * v.num_banks,
                        v.free_bytes_per_bank * v.num_banks);
    text += allocator_state(device.allocator().free_list(type));
  }
  return text;
}

void write_report(const MemoryReport& report, const std::string& prefix, const std::filesystem::path& directory) {
  make_folders(directory);
  write_file_atomically(directory / (prefix + "l1_usage_summary.csv"), report.l1_usage_summary);
  write_file_atomically(directory / (prefix + "memory_usage_summary.csv"), report.memory_usage_summary);
  write_file_atomically(directory / (prefix + "detailed_memory_usage.csv"), report.detailed_memory_usage);
}

// What program_* files hold so far. Devices of several threads may report.
struct ProgramReports {
  std::mutex mutex;
  bool enabled = false;
  std::filesystem::path directory;
  MemoryReport so_far;
};

ProgramReports& program_reports() {
  static ProgramReports reports;
  return reports;
}

}  // namespace

MemoryReport memory_report(const Device& device, std::optional<std::int64_t> program_id) {
  const std::string id = program_id ? std::to_string(*program_id) : "";
  const bool program = program_id.has_value();
  return {l1_header(program) + l1_row(device, id), summary_header(program) + summary_rows(device, id),
          detailed_rows(device, id)};
}

std::filesystem::path memory_report_directory() {
  for (const char* variable : {"TT_METAL_LOGS_PATH", "TT_METAL_HOME"})
    if (const char* value = std::getenv(variable); value != nullptr && *value != '\0')
      return std::filesystem::path(value) / "generated" / "reports";
  return std::filesystem::path("generated") / "reports";
}

void dump_device_memory_state(const Device& device, const std::string& prefix, const std::filesystem::path& directory) {
  device.check_open();
  check(prefix.find('/') == std::string::npos, Code::invalid_argument,
        "the prefix '{}' of report files must not contain a '/'", prefix);
  write_report(memory_report(device), prefix, directory);
}

void enable_memory_reports() {
  ProgramReports& reports = program_reports();
  const std::lock_guard lock(reports.mutex);
  if (reports.enabled) return;
  reports.enabled = true;
  reports.directory = std::filesystem::absolute(memory_report_directory());
  reports.so_far = {l1_header(true), summary_header(true), ""};
}

void disable_memory_reports() {
  ProgramReports& reports = program_reports();
  const std::lock_guard lock(reports.mutex);
  reports.enabled = false;
}

void note_program(const Device& device, std::int64_t program_id) {
  ProgramReports& reports = program_reports();
  const std::lock_guard lock(reports.mutex);
  if (!reports.enabled) return;
  const std::string id = std::to_string(program_id);
  reports.so_far.l1_usage_summary += l1_row(device, id);
  reports.so_far.memory_usage_summary += summary_rows(device, id);
  reports.so_far.detailed_memory_usage += detailed_rows(device, id);
  write_report(reports.so_far, "program_", reports.directory);
}

}  // namespace tessera::tensix
