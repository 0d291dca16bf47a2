#include "tessera/targets/tensix/time/host_model.h"

#include "tessera/core/error.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

constexpr int kMeasuredGroups = 8;  // those of grouped_program_ns

double required(const std::optional<double>& value, std::string_view field) {
  check(value.has_value(), Code::not_found,
        Hint{"give it in the machine file, or compare with machines/wormhole_n150.toml"},
        "the machine has no '{}', which the time of a host needs", field);
  return *value;
}

double nanoseconds(std::int64_t bytes, double rate) { return static_cast<double>(bytes) / rate * 1e9; }

}  // namespace

double HostModel::write_ns(std::int64_t bytes, int chip) const {
  return nanoseconds(bytes, chip % chips_per_board == 0 ? write_bytes_per_s : remote_write_bytes_per_s);
}

double HostModel::read_ns(std::int64_t bytes, int chip) const {
  return nanoseconds(bytes, chip % chips_per_board == 0 ? read_bytes_per_s : remote_read_bytes_per_s);
}

HostModel host_model(const TensixSpec& card) {
  HostModel out;
  out.call_ns = required(card.host_call_ns, "host_call_ns");
  out.enqueue_ns = required(card.host_program_ns, "host_program_ns");
  out.replay_ns = required(card.host_trace_ns, "host_trace_ns");
  out.traced_program_ns = card.traced_program_ns;
  out.untraced_program_ns = card.untraced_program_ns;
  out.kernel_group_ns =
      (required(card.grouped_program_ns, "grouped_program_ns") - card.traced_program_ns) / (kMeasuredGroups - 1);
  out.launch_ns = card.op_gap_ns;
  out.command_ns = card.traced_program_ns;
  const double write = required(card.host_write_bytes_per_s, "host_write_bytes_per_s");
  const double read = required(card.host_read_bytes_per_s, "host_read_bytes_per_s");
  out.write_bytes_per_s = std::min(write, required(card.host_tensor_bytes_per_s, "host_tensor_bytes_per_s"));
  out.read_bytes_per_s = std::min(read, *card.host_tensor_bytes_per_s);
  // A remote chip loses as much of the rate as it does of the peak, at most down to that peak.
  out.remote_write_bytes_per_s =
      std::min(out.write_bytes_per_s, card.host_write_remote_bytes_per_s.value_or(out.write_bytes_per_s));
  out.remote_read_bytes_per_s =
      std::min(out.read_bytes_per_s, card.host_read_remote_bytes_per_s.value_or(out.read_bytes_per_s));
  out.chips_per_board = std::max(1, card.chips);
  out.command_queues = card.command_queues;
  return out;
}

double dram_move_ns(const TensixSpec& card, std::int64_t bytes) {
  return nanoseconds(bytes, card.dram_achieved_bytes_per_s.value_or(card.dram_model_bytes_per_s));
}

// ResNet-50, batch 16, on 64 cores: 1,470,464 B for 107 programs is what its tests reserve.
std::int64_t trace_bytes(const DeviceStep& step, int cores) {
  constexpr std::int64_t kBytesPerCore = 210, kBytesPerProgram = 256;
  return step.programs * (kBytesPerProgram + kBytesPerCore * cores);
}

}  // namespace tessera::tensix
