#include "bind.h"
#include "compute_config.h"
#include "ttnn_conv2d_config.h"
#include "ttnn_enums.h"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using Config = TtnnConv2dConfig;

// None, a name, a ttnn.UnaryOpType or a ttnn.UnaryWithParam, as the text that the library reads: "relu", "elu(0.5)".
std::optional<std::string> activation_text(const nb::object& given) {
  if (given.is_none()) return std::nullopt;
  if (nb::isinstance<nb::str>(given)) return nb::cast<std::string>(given);
  const tensix::VectorFunction f = function_of(given, true);
  const bool has_parameter = f.name == "leaky_relu" || f.name == "elu";
  return has_parameter ? fmt::format("{}({})", f.name, f.activation.function.alpha) : f.name;
}

std::optional<DataType> named(const std::optional<DType>& dtype) {
  return dtype ? std::optional<DataType>(DataType{*dtype}) : std::nullopt;
}

// A field that can be set to what leaves the whole config valid.
template <class Value>
void bind_field(nb::class_<Config>& config, const char* name, Value tensix::Conv2dConfig::* field) {
  config.def_prop_rw(
      name, [field](const Config& self) { return self.*field; },
      [field](Config& self, Value value) {
        Config changed = self;
        changed.*field = std::move(value);
        tensix::check_conv2d_config(changed);
        self = std::move(changed);
      });
}

void bind_type(nb::class_<Config>& config, const char* name, std::optional<DType> Config::* field) {
  config.def_prop_rw(
      name, [field](const Config& self) { return named(self.*field); },
      [field](Config& self, const std::optional<DataType>& dtype) { self.*field = plain(dtype); },
      nb::for_setter(nb::arg("value").none()));
}

// In the order of the struct.
void init(Config* self, std::optional<DataType> weights_dtype, const nb::object& activation, bool deallocate_activation,
          bool reallocate_halo_output, bool config_tensors_in_dram, int act_block_h_override, int act_block_w_div,
          bool reshard_if_not_optimal, bool override_sharding_config,
          std::optional<tensix::TensorMemoryLayout> shard_layout, std::optional<tensix::CoreRangeSet> core_grid,
          bool transpose_shards, Layout output_layout, bool enable_act_double_buffer, bool enable_weights_double_buffer,
          bool full_inner_dim, std::optional<bool> enable_kernel_stride_folding, bool enable_activation_reuse,
          std::optional<bool> force_split_reader, bool override_output_sharding_config,
          tensix::PaddingMode padding_mode, std::optional<DataType> activation_dtype,
          std::optional<DataType> output_dtype) {
  Config config{{plain(weights_dtype),
                 activation_text(activation),
                 deallocate_activation,
                 reallocate_halo_output,
                 config_tensors_in_dram,
                 act_block_h_override,
                 act_block_w_div,
                 reshard_if_not_optimal,
                 override_sharding_config,
                 shard_layout,
                 std::move(core_grid),
                 transpose_shards,
                 output_layout,
                 enable_act_double_buffer,
                 enable_weights_double_buffer,
                 full_inner_dim,
                 enable_kernel_stride_folding,
                 enable_activation_reuse,
                 force_split_reader,
                 override_output_sharding_config,
                 padding_mode},
                plain(activation_dtype),
                plain(output_dtype)};
  tensix::check_conv2d_config(config);
  new (self) Config(std::move(config));
}

}  // namespace

void bind_conv2d_config(nb::module_& module) {
  nb::enum_<tensix::PaddingMode>(module, "PaddingMode")
      .value("Zeros", tensix::PaddingMode::zeros)
      .value("Replicate", tensix::PaddingMode::replicate);
  nb::class_<Config> config(
      module, "Conv2dConfig",
      "How a convolution is asked to run; fields are checked as they are set. activation_dtype and output_dtype are "
      "additions: what the input is converted to first, and the dtype of the output where conv2d is given none.");
  config.def("__init__", &init, nb::kw_only(), "weights_dtype"_a = nb::none(), "activation"_a = nb::none(),
             "deallocate_activation"_a = false, "reallocate_halo_output"_a = true, "config_tensors_in_dram"_a = false,
             "act_block_h_override"_a = 0, "act_block_w_div"_a = 1, "reshard_if_not_optimal"_a = false,
             "override_sharding_config"_a = false, "shard_layout"_a = nb::none(), "core_grid"_a = nb::none(),
             "transpose_shards"_a = false, "output_layout"_a = Layout::tile, "enable_act_double_buffer"_a = false,
             "enable_weights_double_buffer"_a = false, "full_inner_dim"_a = false,
             "enable_kernel_stride_folding"_a = nb::none(), "enable_activation_reuse"_a = false,
             "force_split_reader"_a = nb::none(), "override_output_sharding_config"_a = false,
             "padding_mode"_a = tensix::PaddingMode::zeros, "activation_dtype"_a = nb::none(),
             "output_dtype"_a = nb::none());
  config.def_prop_rw(
      "weights_dtype", [](const Config& self) { return named(self.weights_dtype); },
      [](Config& self, const std::optional<DataType>& dtype) { self.weights_dtype = plain(dtype); },
      nb::for_setter(nb::arg("value").none()));
  bind_type(config, "activation_dtype", &Config::activation_dtype);
  bind_type(config, "output_dtype", &Config::output_dtype);
  config.def_prop_rw(
      "activation", [](const Config& self) { return self.activation; },
      [](Config& self, const nb::object& activation) { self.activation = activation_text(activation); },
      nb::for_setter(nb::arg("value").none()));
  bind_field(config, "deallocate_activation", &tensix::Conv2dConfig::deallocate_activation);
  bind_field(config, "reallocate_halo_output", &tensix::Conv2dConfig::reallocate_halo_output);
  bind_field(config, "config_tensors_in_dram", &tensix::Conv2dConfig::config_tensors_in_dram);
  bind_field(config, "act_block_h_override", &tensix::Conv2dConfig::act_block_h_override);
  bind_field(config, "act_block_w_div", &tensix::Conv2dConfig::act_block_w_div);
  bind_field(config, "reshard_if_not_optimal", &tensix::Conv2dConfig::reshard_if_not_optimal);
  bind_field(config, "override_sharding_config", &tensix::Conv2dConfig::override_sharding_config);
  bind_field(config, "shard_layout", &tensix::Conv2dConfig::shard_layout);
  bind_field(config, "core_grid", &tensix::Conv2dConfig::core_grid);
  bind_field(config, "transpose_shards", &tensix::Conv2dConfig::transpose_shards);
  bind_field(config, "output_layout", &tensix::Conv2dConfig::output_layout);
  bind_field(config, "enable_act_double_buffer", &tensix::Conv2dConfig::enable_act_double_buffer);
  bind_field(config, "enable_weights_double_buffer", &tensix::Conv2dConfig::enable_weights_double_buffer);
  bind_field(config, "full_inner_dim", &tensix::Conv2dConfig::full_inner_dim);
  bind_field(config, "enable_kernel_stride_folding", &tensix::Conv2dConfig::enable_kernel_stride_folding);
  bind_field(config, "enable_activation_reuse", &tensix::Conv2dConfig::enable_activation_reuse);
  bind_field(config, "force_split_reader", &tensix::Conv2dConfig::force_split_reader);
  bind_field(config, "override_output_sharding_config", &tensix::Conv2dConfig::override_output_sharding_config);
  bind_field(config, "padding_mode", &tensix::Conv2dConfig::padding_mode);
  config.def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"));
}

}  // namespace tessera::python
