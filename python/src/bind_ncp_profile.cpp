// Device profiles and the profiler of liquid layers: what tessera.mlx_profile is made of.

#include "bind.h"
#include "ncp_layer.h"

#include "tessera/core/error.h"
#include "tessera/report/roofline_picture.h"
#include "tessera/targets/apple/verdicts/guide.h"
#include "tessera/targets/apple/verdicts/profiler.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using apple::DeviceProfile;

nb::object value_of(const std::optional<double>& value) { return value ? nb::cast(*value) : nb::none(); }

nb::dict export_stats(const apple::Stats& stats) {
  nb::dict out, kinds, units, why;
  for (const apple::Stat& stat : stats.items) {
    out[stat.key.c_str()] = value_of(stat.value);
    kinds[stat.key.c_str()] = stat.kind;
    units[stat.key.c_str()] = stat.unit;
    if (!stat.why.empty()) why[stat.key.c_str()] = stat.why;
  }
  out["device"] = stats.device;
  out["kind"] = stats.kind;
  out["note"] = stats.note;
  out["kinds"] = kinds;
  out["units"] = units;
  out["why"] = why;  // there is no value
  return out;
}

nb::list export_verdicts(const std::vector<apple::Verdict>& verdicts) {
  nb::list out;
  for (const apple::Verdict& v : verdicts) {
    nb::dict row;
    row["check"] = v.check;
    row["value"] = v.value;
    row["target"] = v.target;
    row["unit"] = v.unit;
    row["relation"] = v.at_most ? "<=" : ">=";
    row["ok"] = v.ok;
    row["kind"] = v.kind;
    row["why"] = v.why;
    out.append(row);
  }
  return out;
}

apple::ProfileSettings settings_of(std::int64_t batch_size, std::int64_t seq_length, int num_runs,
                                   const std::string& fusion) {
  const std::optional<ncp::Fusion> parsed = ncp::parse_fusion(fusion);
  check(parsed.has_value(), Code::invalid_argument, "there is no fusion '{}': they are none, elementwise and full",
        fusion);
  return {.batch_size = batch_size, .seq_length = seq_length, .num_runs = num_runs, .fusion = *parsed};
}

template <class Function>
auto released(Function&& function) {
  const nb::gil_scoped_release release;
  return function();
}

// A curve for each key that says how good a run was, over the history.
std::string history_svg(const apple::Profiler& profiler) {
  std::vector<Curve> curves = {
      {.title = "tflops", .unit = "TFLOP/s", .target = profiler.device().min_tflops()},
      {.title = "bandwidth", .unit = "GB/s", .target = profiler.device().min_bandwidth()},
      {.title = "ne_utilization", .unit = "%", .target = 100 * profiler.device().target_utilization},
      {.title = "time_mean", .unit = "s"},
      {.title = "peak_usage", .unit = "MB"}};
  for (Curve& curve : curves)
    for (const apple::Stats& stats : profiler.history()) {
      const apple::Stat* stat = stats.find(curve.title);
      if (stat != nullptr && stat->value) curve.values.push_back(*stat->value);
    }
  return curves_to_svg(fmt::format("{}, {}", profiler.device().title, profiler.device().kind()), curves);
}

void bind_device_profile(nb::module_& module) {
  nb::class_<DeviceProfile>(module, "NcpDevice", "A device as the hardware guide for liquid networks sees it.")
      .def_static(
          "get", [](const std::string& name) { return released([&] { return apple::device_profile(name); }); },
          "name"_a,
          "By name ('M1', 'M1 Pro', 'apple_m1_max', 'host'); the host is measured when it is first asked for.")
      .def_static(
          "detect", [] { return released([] { return apple::detect_device(); }); }, "What this runs on.")
      .def_static("names", &apple::device_profile_names)
      .def_static("from_json", &apple::device_profile_from_json, "text"_a)
      .def("to_json", &apple::device_profile_to_json)
      .def("get_optimal_batch_size", &DeviceProfile::get_optimal_batch_size)
      .def("get_optimal_hidden_size", &DeviceProfile::get_optimal_hidden_size)
      .def("get_optimal_backbone", &DeviceProfile::get_optimal_backbone)
      .def_prop_ro("min_tflops", &DeviceProfile::min_tflops)
      .def_prop_ro("min_bandwidth", &DeviceProfile::min_bandwidth, "GB/s")
      .def_prop_ro("memory_budget", &DeviceProfile::memory_budget, "MB")
      .def_prop_ro("kind", [](const DeviceProfile& d) { return std::string(d.kind()); })
      .def_ro("name", &DeviceProfile::name)
      .def_ro("title", &DeviceProfile::title)
      .def_ro("unit", &DeviceProfile::unit)
      .def_ro("measured", &DeviceProfile::measured)
      .def_ro("peak_flop_per_s", &DeviceProfile::peak_flop_per_s)
      .def_ro("peak_bytes_per_s", &DeviceProfile::peak_bytes_per_s)
      .def_ro("launch_ns", &DeviceProfile::launch_ns)
      .def_ro("neural_engine_cores", &DeviceProfile::neural_engine_cores)
      .def_ro("batch_sizes", &DeviceProfile::batch_sizes)
      .def_ro("hidden_sizes", &DeviceProfile::hidden_sizes)
      .def_ro("hidden_limit", &DeviceProfile::hidden_limit)
      .def_ro("backbone_units", &DeviceProfile::backbone_units)
      .def_ro("learning_rate", &DeviceProfile::learning_rate)
      .def_ro("backbone_dropout", &DeviceProfile::backbone_dropout)
      .def_ro("advice", &DeviceProfile::advice)
      .def(
          "__eq__", [](const DeviceProfile& a, const DeviceProfile& b) { return a == b; }, nb::is_operator())
      .def("__repr__", [](const DeviceProfile& d) { return fmt::format("<DeviceConfig {}, {}>", d.name, d.kind()); });
}

template <apple::Stats (apple::Profiler::*profile)(const apple::ProfileSettings&)>
nb::dict take(apple::Profiler& self, std::int64_t batch_size, std::int64_t seq_length, int num_runs,
              const std::string& fusion) {
  const apple::ProfileSettings settings = settings_of(batch_size, seq_length, num_runs, fusion);
  return export_stats(released([&] { return (self.*profile)(settings); }));
}

void bind_profiler(nb::module_& module) {
  nb::class_<apple::Profiler>(module, "NcpProfiler")
      .def(
          "__init__",
          [](apple::Profiler* self, const NcpLayer& layer, const DeviceProfile& device) {
            new (self) apple::Profiler(layer.layer(), device);
          },
          "layer"_a, "device"_a)
      .def("profile_compute", &take<&apple::Profiler::profile_compute>, "batch_size"_a, "seq_length"_a, "num_runs"_a,
           "fusion"_a)
      .def("profile_memory", &take<&apple::Profiler::profile_memory>, "batch_size"_a, "seq_length"_a, "num_runs"_a,
           "fusion"_a)
      .def("profile_hardware", &take<&apple::Profiler::profile_hardware>, "batch_size"_a, "seq_length"_a, "num_runs"_a,
           "fusion"_a)
      .def("profile_stream", &take<&apple::Profiler::profile_stream>, "batch_size"_a, "seq_length"_a, "num_runs"_a,
           "fusion"_a)
      .def(
          "validate_performance",
          [](apple::Profiler& self, std::int64_t batch_size, std::int64_t seq_length, int num_runs,
             const std::string& fusion) {
            const apple::ProfileSettings settings = settings_of(batch_size, seq_length, num_runs, fusion);
            return export_verdicts(released([&] { return apple::validate_performance(self, settings); }));
          },
          "batch_size"_a, "seq_length"_a, "num_runs"_a, "fusion"_a)
      .def(
          "verify_hardware_usage",
          [](apple::Profiler& self, std::int64_t batch_size, std::int64_t seq_length, int num_runs,
             const std::string& fusion) {
            const apple::ProfileSettings settings = settings_of(batch_size, seq_length, num_runs, fusion);
            return export_verdicts(released([&] { return apple::verify_hardware_usage(self, settings); }));
          },
          "batch_size"_a, "seq_length"_a, "num_runs"_a, "fusion"_a)
      .def_prop_ro("history",
                   [](const apple::Profiler& self) {
                     nb::list out;
                     for (const apple::Stats& stats : self.history())
                       out.append(nb::make_tuple(stats.what, export_stats(stats)));
                     return out;
                   })
      .def_prop_ro("device", [](const apple::Profiler& self) { return self.device(); })
      .def("summary", &apple::Profiler::summary)
      .def("history_svg", &history_svg);
}

}  // namespace

void bind_ncp_profile(nb::module_& module) {
  bind_device_profile(module);
  bind_profiler(module);
  module.def(
      "ncp_lint",
      [](const NcpLayer& layer, const DeviceProfile& device, std::int64_t batch_size, std::int64_t seq_length) {
        nb::list out;
        for (const apple::Finding& f : apple::lint(layer.layer(), device, batch_size, seq_length)) {
          nb::dict row;
          row["severity"] = std::string(name(f.severity));
          row["rule"] = f.rule;
          row["subject"] = f.subject;
          row["message"] = f.message;
          out.append(row);
        }
        return out;
      },
      "layer"_a, "device"_a, "batch_size"_a, "seq_length"_a);
  module.def(
      "ncp_fusion_report",
      [](const NcpLayer& layer, std::int64_t batch_size, std::int64_t seq_length) {
        const apple::FusionReport report = apple::fusion_report(layer.layer(), batch_size, seq_length);
        nb::dict out;
        for (const auto& [key, work] : {std::pair{"none", &report.none}, std::pair{"elementwise", &report.elementwise},
                                        std::pair{"full", &report.full}}) {
          const ncp::KernelWork total = work->total();
          nb::dict row;
          row["kernels"] = total.launches;
          row["flops"] = total.flops;
          row["bytes"] = total.bytes;
          out[key] = row;
        }
        return out;
      },
      "layer"_a, "batch_size"_a, "seq_length"_a);
  module.def(
      "ncp_training_settings",
      [](const DeviceProfile& device, const NcpLayer* layer, std::int64_t seq_length) {
        const apple::TrainingSettings s = layer == nullptr
                                              ? apple::configure_training(device)
                                              : apple::configure_training(device, layer->layer(), seq_length);
        nb::dict out;
        out["batch_size"] = s.batch_size;
        out["learning_rate"] = s.learning_rate;
        out["backbone_dropout"] = s.backbone_dropout;
        out["parameter_type"] = s.parameter_type;
        out["compute_type"] = s.compute_type;
        out["loss_scaling"] = s.loss_scaling;
        return out;
      },
      "device"_a, "layer"_a.none(), "seq_length"_a);
}

}  // namespace tessera::python
