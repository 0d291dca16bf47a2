#include "bind.h"
#include "sub_devices.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/device.h"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using DevicePointer = std::shared_ptr<tensix::Device>;

struct SubDevice {
  tensix::CoreRangeSet cores;
};
struct ManagerId {
  int value = 0;
};

// What a device knows of its sub-devices.
struct Managers {
  std::weak_ptr<tensix::Device> device;
  std::map<int, std::vector<SubDevice>> all;
  std::optional<int> loaded;
  int next = 1;

  const std::vector<SubDevice>* now() const { return loaded ? &all.at(*loaded) : nullptr; }
};

Managers& managers_of(const DevicePointer& device) {
  static std::map<const tensix::Device*, Managers> known;
  std::erase_if(known, [](const auto& each) { return each.second.device.expired(); });
  Managers& managers = known[device.get()];
  managers.device = device;
  return managers;
}

const SubDevice& sub_device(const DevicePointer& device, SubDeviceId id) {
  const std::vector<SubDevice>* now = managers_of(device).now();
  const int count = now == nullptr ? 0 : static_cast<int>(now->size());
  check(now != nullptr && id.value >= 0 && id.value < count, Code::invalid_argument,
        Hint{"load_sub_device_manager makes them"}, "there is no sub-device {}, {} are loaded", id.value, count);
  return (*now)[static_cast<std::size_t>(id.value)];
}

ManagerId create(const DevicePointer& device, const std::vector<SubDevice>& parts, std::int64_t local_l1_bytes) {
  const tensix::CoreGrid grid = device->grid();
  check(!parts.empty(), Code::invalid_argument, "create_sub_device_manager: there are no sub-devices");
  check(local_l1_bytes >= 0 && local_l1_bytes <= device->card().l1_max_worker_bytes, Code::invalid_argument,
        "create_sub_device_manager: {} B of L1 for a sub-device of its own are not there", local_l1_bytes);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const tensix::CoreRange box = parts[i].cores.bounding_box();
    check(box.end.x < grid.x && box.end.y < grid.y, Code::invalid_argument,
          "create_sub_device_manager: the cores {} are not all among the {} x {} of the device",
          parts[i].cores.to_string(), grid.x, grid.y);
    for (std::size_t j = 0; j < i; ++j)
      for (const tensix::CoreRange& a : parts[i].cores.ranges())
        for (const tensix::CoreRange& b : parts[j].cores.ranges())
          check(!a.intersects(b), Code::invalid_argument,
                "create_sub_device_manager: the sub-devices {} and {} share cores ({} and {})", j, i, b.to_string(),
                a.to_string());
  }
  Managers& managers = managers_of(device);
  managers.all[managers.next] = parts;
  return {managers.next++};
}

void bind_methods(nb::module_& module) {
  nb::object type = module.attr("Device");
  const auto def = [&](const char* name, auto function, const auto&... arguments) {
    type.attr(name) = nb::cpp_function(function, nb::scope(type), nb::name(name), nb::is_method(), arguments...);
  };
  def("create_sub_device_manager", &create, "sub_devices"_a, "local_l1_size"_a);
  def(
      "load_sub_device_manager",
      [](const DevicePointer& device, ManagerId id) {
        Managers& managers = managers_of(device);
        check(managers.all.contains(id.value), Code::invalid_argument, "there is no sub-device manager {}", id.value);
        managers.loaded = id.value;
      },
      "sub_device_manager_id"_a);
  def("clear_loaded_sub_device_manager", [](const DevicePointer& device) { managers_of(device).loaded.reset(); });
  def(
      "remove_sub_device_manager",
      [](const DevicePointer& device, ManagerId id) {
        Managers& managers = managers_of(device);
        check(managers.loaded != id.value, Code::invalid_argument, Hint{"clear_loaded_sub_device_manager first"},
              "the sub-device manager {} is loaded", id.value);
        check(managers.all.erase(id.value) == 1, Code::invalid_argument, "there is no sub-device manager {}", id.value);
      },
      "sub_device_manager_id"_a);
  // What the host waits for: it waits for all of them here, so that only names are checked.
  def(
      "set_sub_device_stall_group",
      [](const DevicePointer& device, const std::vector<SubDeviceId>& ids) {
        for (const SubDeviceId id : ids) sub_device(device, id);
      },
      "sub_device_ids"_a);
  def("reset_sub_device_stall_group", [](const DevicePointer& device) { device->check_open(); });
  def("get_sub_device_ids", [](const DevicePointer& device) {
    const std::vector<SubDevice>* now = managers_of(device).now();
    std::vector<SubDeviceId> ids;
    for (int i = 0; now != nullptr && i < static_cast<int>(now->size()); ++i) ids.push_back({i});
    return ids;
  });
}

}  // namespace

OptionalCores cores_of(std::string_view op, const AnyTensor& x, const OptionalCores& cores,
                       const OptionalSubDevice& id) {
  check(!cores || !id, Code::invalid_argument, "{}: sub_core_grids and sub_device_id do not go together", op);
  if (cores) return cores;
  const DevicePointer& device = x.device(op).device();
  if (id) return sub_device(device, *id).cores;
  const std::vector<SubDevice>* now = managers_of(device).now();
  return now == nullptr ? std::nullopt : std::optional(now->front().cores);
}

void bind_sub_devices(nb::module_& module) {
  nb::class_<SubDeviceId>(module, "SubDeviceId", "The number of a sub-device that is loaded.")
      .def(nb::init<int>(), "id"_a)
      .def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__int__", [](const SubDeviceId& id) { return id.value; })
      .def("__hash__", [](const SubDeviceId& id) { return id.value; })
      .def("__repr__", [](const SubDeviceId& id) { return fmt::format("SubDeviceId({})", id.value); });
  nb::class_<ManagerId>(module, "SubDeviceManagerId", "What create_sub_device_manager returns.")
      .def("__int__", [](const ManagerId& id) { return id.value; })
      .def("__repr__", [](const ManagerId& id) { return fmt::format("SubDeviceManagerId({})", id.value); });
  nb::class_<SubDevice>(module, "SubDevice", "Cores that programs can be confined to.")
      .def(
          "__init__",
          [](SubDevice* self, const std::vector<tensix::CoreRangeSet>& cores) {
            check(!cores.empty() && !cores[0].empty(), Code::invalid_argument, "SubDevice: it has no Tensix cores");
            check(cores.size() == 1, Code::unsupported, "SubDevice: only Tensix cores are simulated");
            new (self) SubDevice{cores[0]};
          },
          "cores"_a)
      .def("__repr__", [](const SubDevice& s) { return fmt::format("SubDevice({})", s.cores.to_string()); });
  bind_methods(module);
}

}  // namespace tessera::python
