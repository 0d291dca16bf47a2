#include "bind.h"

#include "tessera/targets/tensix/card/memory_report.h"
#include "tessera/targets/tensix/time/kernel_time.h"

#include <nanobind/stl/string.h>

#include <optional>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

nb::str text(std::string_view view) { return nb::str(view.data(), view.size()); }

nb::dict as_dict(const tensix::Transfer& transfer) {
  nb::dict out;
  out["from"] = text(name(transfer.from));
  out["to"] = text(name(transfer.to));
  out["bytes"] = transfer.bytes;
  out["pieces"] = transfer.pieces;
  out["local_bytes"] = transfer.local_bytes;
  out["busiest_bank_bytes"] = transfer.busiest_bank_bytes;
  return out;
}

nb::list transfers(const tensix::Device& device) {
  nb::list out;
  const std::optional<TensixCosts> costs = tensix::costs_of(device.machine());
  for (const tensix::TraceRecord& record : device.trace()) {
    nb::list moved;
    for (const tensix::Transfer& transfer : record.transfers) moved.append(as_dict(transfer));
    nb::dict row;
    row["op"] = text(record.op());
    row["detail"] = record.detail;
    row["total_bytes"] = record.total_bytes();
    row["transfers"] = moved;
    if (tensix::is_program(record)) {
      const tensix::StepTime time = tensix::time_of(record, device.card(), costs);
      row["kernel_ns"] = time.ns;
      row["bound_by"] = text(name(time.bound_by));
      row["basis"] = text(name(time.basis));
    }
    out.append(row);
  }
  return out;
}

}  // namespace

void bind_reports(nb::module_& module) {
  module.def(
      "dump_device_memory_state",
      [](const tensix::Device& device, const std::string& prefix) { tensix::dump_device_memory_state(device, prefix); },
      "device"_a, "prefix"_a = "",
      "Writes three report files under generated/reports in $TT_METAL_LOGS_PATH, $TT_METAL_HOME or the working "
      "directory.");
  module.def("EnableMemoryReports", &tensix::enable_memory_reports,
             "From now on every new program adds its rows to program_* report files.");
  module.def("DisableMemoryReports", &tensix::disable_memory_reports);
  module.def(
      "transfers", &transfers, "device"_a, nb::sig("def transfers(device: Device) -> list[dict[str, typing.Any]]"),
      "What every operation on the device has moved so far: op, detail, total_bytes, and transfers with from, "
      "to, bytes,\n"
      "pieces, local_bytes, busiest_bank_bytes. Programs also have kernel_ns, what it is bound_by, and its basis:\n"
      "\"fitted\" to programs measured on such cards, \"scaled\" from another generation, \"assumed\" (nobody has\n"
      "measured such a program), or a lower \"bound\" from the bytes it moves.");
  module.def("clear_transfers", &tensix::Device::clear_trace, "device"_a);
}

}  // namespace tessera::python
