#include "any_tensor.h"
#include "bind.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/default_machine.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/time/device_queues.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <limits>
#include <string>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

// What TTNN prints for "no block".
std::string block_id(int id) {
  return std::to_string(id == tensix::FreeList::kNoBlock ? std::numeric_limits<std::uint64_t>::max()
                                                         : static_cast<std::uint64_t>(id));
}

nb::list block_table(const tensix::FreeList& list) {
  nb::list rows;
  const std::vector<tensix::FreeList::Block>& blocks = list.blocks();
  for (std::size_t id = 0; id < blocks.size(); ++id) {
    const tensix::FreeList::Block& block = blocks[id];
    if (!block.in_use) continue;
    nb::dict row;
    row["blockID"] = std::to_string(id);
    row["address"] = std::to_string(block.address);
    row["size"] = std::to_string(block.size_bytes);
    row["prevID"] = block_id(block.previous);
    row["nextID"] = block_id(block.next);
    row["allocated"] = block.allocated ? "yes" : "no";
    rows.append(row);
  }
  return rows;
}

struct View {
  tensix::MemoryView memory;
  nb::list blocks;
};

View memory_view(const tensix::Device& device, tensix::BufferType type) {
  device.check_open();
  return {device.memory_view(type), block_table(device.allocator().free_list(type))};
}

// Machine files use TTNN's names.
nb::object arch(const TensixSpec& card) {
  const nb::handle names = nb::type<TtnnArch>();
  check(nb::hasattr(names, card.arch.c_str()), Code::unsupported, "arch '{}' has no name in ttnn.Arch", card.arch);
  return names.attr(card.arch.c_str());
}

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

// The clock starts with the device, where the machine file has what a clock needs.
std::shared_ptr<tensix::Device> open_with_clock(int id, const tensix::DeviceOptions& options) {
  std::shared_ptr<tensix::Device> device = tensix::open_default_device(id, options);
  if (device->card().host_call_ns && device->card().host_write_bytes_per_s) tensix::DeviceQueues::of(device);
  return device;
}

// Which cores send programs to the others.
enum class DispatchCoreType : std::uint8_t { WORKER, ETH };
enum class DispatchCoreAxis : std::uint8_t { ROW, COL };
struct DispatchCoreConfig {
  DispatchCoreType type = DispatchCoreType::WORKER;
  DispatchCoreAxis axis = DispatchCoreAxis::ROW;
  bool operator==(const DispatchCoreConfig&) const = default;
};
using OptionalDispatch = std::optional<DispatchCoreConfig>;

// What nobody says: boards of several Wormhole chips have Ethernet cores to spare, Blackhole gives a column.
DispatchCoreConfig dispatch_of(const TensixSpec& card, std::optional<DispatchCoreType> type,
                               std::optional<DispatchCoreAxis> axis) {
  const bool blackhole = card.arch == "BLACKHOLE";
  const bool on_ethernet =
      card.chips > 1 && !blackhole && axis.value_or(DispatchCoreAxis::ROW) == DispatchCoreAxis::ROW;
  const DispatchCoreConfig config{type.value_or(on_ethernet ? DispatchCoreType::ETH : DispatchCoreType::WORKER),
                                  axis.value_or(blackhole ? DispatchCoreAxis::COL : DispatchCoreAxis::ROW)};
  check(config.type != DispatchCoreType::ETH || config.axis == DispatchCoreAxis::ROW, Code::invalid_argument,
        "COL axis is not supported for ETH dispatch core type");
  check(!blackhole || config.axis == DispatchCoreAxis::COL, Code::invalid_argument,
        "ROW dispatch core axis is not supported for blackhole arch unless fabric tensix MUX is enabled");
  return config;
}

// The grid of a machine file is what its usual dispatch leaves.
void check_dispatch(const OptionalDispatch& given) {
  if (!given) return;
  const TensixSpec card = tensix::load_default_card();
  check(*given == dispatch_of(card, {}, {}), Code::unsupported, Hint{"use a machine file with that grid"},
        "open_device: dispatch from other cores than usual leaves another grid than {} x {}", card.grid_x, card.grid_y);
}

void bind_dispatch(nb::module_& module) {
  nb::enum_<DispatchCoreType>(module, "DispatchCoreType", "Which kind of core sends programs to the others.")
      .value("WORKER", DispatchCoreType::WORKER)
      .value("ETH", DispatchCoreType::ETH);
  nb::enum_<DispatchCoreAxis>(module, "DispatchCoreAxis", "Whether those cores are a row or a column.")
      .value("ROW", DispatchCoreAxis::ROW)
      .value("COL", DispatchCoreAxis::COL);
  nb::class_<DispatchCoreConfig>(module, "DispatchCoreConfig", "Which cores send programs to the others.")
      .def(
          "__init__",
          [](DispatchCoreConfig* self, std::optional<DispatchCoreType> type, std::optional<DispatchCoreAxis> axis,
             const nb::object& fabric) {
            check(fabric.is_none(), Code::unsupported, "DispatchCoreConfig: fabrics between cards are not simulated");
            new (self) DispatchCoreConfig(dispatch_of(tensix::load_default_card(), type, axis));
          },
          "type"_a = nb::none(), "axis"_a = nb::none(), "fabric_tensix_config"_a = nb::none())
      .def_ro("type", &DispatchCoreConfig::type)
      .def_ro("axis", &DispatchCoreConfig::axis);
}

void bind_open(nb::module_& module) {
  bind_dispatch(module);
  module.def(
      "open_device",
      [](int device_id, std::int64_t l1_small_size, std::int64_t trace_region_size, const OptionalDispatch& dispatch,
         int num_command_queues, std::int64_t worker_l1_size, bool values) {
        check_dispatch(dispatch);
        return open_with_clock(device_id,
                               {l1_small_size, trace_region_size, worker_l1_size, num_command_queues, values});
      },
      "device_id"_a = 0, nb::kw_only(), "l1_small_size"_a = 0, "trace_region_size"_a = 0,
      "dispatch_core_config"_a = nb::none(), "num_command_queues"_a = 1, "worker_l1_size"_a = 0, "values"_a = true,
      "Opens a card in software: TESSERA_DEVICE or set_default_machine say which, and with it the cores that are "
      "left by dispatch. values=False: memory and errors only; nothing is computed, and what is read back is zero.");
  module.def(
      "CreateDevice",
      [](int device_id, int num_command_queues, std::int64_t l1_small_size, std::int64_t trace_region_size,
         const OptionalDispatch& dispatch, std::int64_t worker_l1_size) {
        check_dispatch(dispatch);
        return open_with_clock(device_id, {l1_small_size, trace_region_size, worker_l1_size, num_command_queues});
      },
      "device_id"_a, "num_command_queues"_a = 1, "l1_small_size"_a = 0, "trace_region_size"_a = 0,
      "dispatch_core_config"_a = nb::none(), nb::kw_only(), "worker_l1_size"_a = 0);
  for (const char* name : {"close_device", "CloseDevice"})
    module.def(name, &tensix::Device::close, "device"_a, "Frees everything on the device. Closing twice does nothing.");
  module.def("DeallocateBuffers", &tensix::Device::deallocate_buffers, "device"_a, "Frees every buffer of the device.");
  module.def(
      "set_default_machine", [](const std::string& name) { tensix::set_default_machine(name); }, "name_or_path"_a,
      "The card that open_device opens from now on: a name such as 'blackhole_p150', or a machine file.");
  module.def("default_machine", &tensix::default_machine, "The name or path of the card that open_device opens.");

  module.def("GetNumAvailableDevices", [] { return tensix::load_default_card().chips; });
  module.def("get_dram_alignment", [] { return tensix::load_default_card().dram_alignment_bytes; });
  module.def("get_l1_alignment", [] { return tensix::load_default_card().l1_alignment_bytes; });
  module.def("get_max_worker_l1_unreserved_size", [] { return tensix::load_default_card().l1_max_worker_bytes; });
  module.def("get_arch_name", [] { return lower(tensix::load_default_card().arch); });
}

}  // namespace

void bind_device(nb::module_& module) {
  nb::class_<View>(module, "MemoryView", "The state of one memory, per bank.")
      .def_prop_ro("num_banks", [](const View& v) { return v.memory.num_banks; })
      .def_prop_ro("total_bytes_per_bank", [](const View& v) { return v.memory.total_bytes_per_bank; })
      .def_prop_ro("total_bytes_allocated_per_bank", [](const View& v) { return v.memory.allocated_bytes_per_bank; })
      .def_prop_ro("total_bytes_free_per_bank", [](const View& v) { return v.memory.free_bytes_per_bank; })
      .def_prop_ro("largest_contiguous_bytes_free_per_bank",
                   [](const View& v) { return v.memory.largest_free_block_bytes_per_bank; })
      .def_prop_ro(
          "block_table", [](const View& v) { return v.blocks; },
          nb::sig("def block_table(self) -> list[dict[str, str]]"),
          "The allocator's blocks, their addresses counted from the start of the bank.");
  module.def("get_memory_view", &memory_view, "device"_a, "buffer_type"_a);

  nb::class_<tensix::Device>(module, "Device", "A card in software, with real bytes in its banks.")
      .def("arch", [](const tensix::Device& d) { return arch(d.card()); })
      .def("id", &tensix::Device::id)
      .def("get_device_id", &tensix::Device::id)
      .def("get_device_ids", [](const tensix::Device& d) { return std::vector{d.id()}; })
      .def("get_num_devices", [](const tensix::Device&) { return 1; })
      .def_prop_ro(
          "machine", [](const tensix::Device& d) { return d.machine().name; }, "The name of the machine file.")
      .def_prop_ro("core_grid", &tensix::Device::grid)
      .def("compute_with_storage_grid_size",
           [](const tensix::Device& d) { return tensix::CoreCoord{d.card().grid_x, d.card().grid_y}; })
      .def("dram_grid_size", [](const tensix::Device& d) { return tensix::CoreCoord{d.card().dram_banks, 1}; })
      .def("is_open", &tensix::Device::is_open)
      .def("num_program_cache_entries", &tensix::Device::cached_programs)
      .def("clear_program_cache", &tensix::Device::clear_program_cache)
      .def("disable_and_clear_program_cache", &tensix::Device::clear_program_cache)
      .def("sfpu_eps", [](const tensix::Device&) { return 1.1920899822825959e-07; })
      .def("sfpu_inf", [](const tensix::Device&) { return 1.7013999693950742e+38; })
      .def("sfpu_nan", [](const tensix::Device&) { return 7.0039998997052e+19; })
      .def("enable_program_cache", [](const tensix::Device&) {})
      .def("__repr__", [](const tensix::Device& d) {
        return fmt::format("Device(id={}, machine={}, grid={}x{}{})", d.id(), d.machine().name, d.card().grid_x,
                           d.card().grid_y, d.is_open() ? "" : ", closed");
      });
  bind_open(module);
}

}  // namespace tessera::python
