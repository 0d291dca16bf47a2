#include "bind.h"
#include "ttnn_enums.h"

#include "tessera/machine/conv2d_config.h"

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

// A field that can be set to what leaves the whole config valid.
template <class Value>
void bind_field(nb::class_<Conv2dConfig>& config, const char* name, Value Conv2dConfig::* field) {
  config.def_prop_rw(
      name, [field](const Conv2dConfig& self) { return self.*field; },
      [field](Conv2dConfig& self, Value value) {
        Conv2dConfig changed = self;
        changed.*field = std::move(value);
        check_conv2d_config(changed);
        self = std::move(changed);
      });
}

// In the order of the struct.
void init(Conv2dConfig* self, std::optional<DataType> weights_dtype, std::optional<std::string> activation,
          bool deallocate_activation, bool reallocate_halo_output, bool config_tensors_in_dram,
          int act_block_h_override, int act_block_w_div, bool reshard_if_not_optimal, bool override_sharding_config,
          std::optional<TensorMemoryLayout> shard_layout, std::optional<CoreRangeSet> core_grid, bool transpose_shards,
          Layout output_layout, bool enable_act_double_buffer, bool enable_weights_double_buffer, bool full_inner_dim,
          std::optional<bool> enable_kernel_stride_folding, bool enable_activation_reuse,
          std::optional<bool> force_split_reader, bool override_output_sharding_config, PaddingMode padding_mode) {
  Conv2dConfig config{plain(weights_dtype),
                      std::move(activation),
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
                      padding_mode};
  check_conv2d_config(config);
  new (self) Conv2dConfig(std::move(config));
}

}  // namespace

void bind_conv2d_config(nb::module_& module) {
  nb::enum_<PaddingMode>(module, "PaddingMode")
      .value("ZEROS", PaddingMode::zeros)
      .value("REPLICATE", PaddingMode::replicate);
  nb::class_<Conv2dConfig> config(module, "Conv2dConfig",
                                  "How a convolution is asked to run; fields are checked as they are set.");
  config.def("__init__", &init, nb::kw_only(), "weights_dtype"_a = nb::none(), "activation"_a = nb::none(),
             "deallocate_activation"_a = false, "reallocate_halo_output"_a = true, "config_tensors_in_dram"_a = false,
             "act_block_h_override"_a = 0, "act_block_w_div"_a = 1, "reshard_if_not_optimal"_a = false,
             "override_sharding_config"_a = false, "shard_layout"_a = nb::none(), "core_grid"_a = nb::none(),
             "transpose_shards"_a = false, "output_layout"_a = Layout::tile, "enable_act_double_buffer"_a = false,
             "enable_weights_double_buffer"_a = false, "full_inner_dim"_a = false,
             "enable_kernel_stride_folding"_a = nb::none(), "enable_activation_reuse"_a = false,
             "force_split_reader"_a = nb::none(), "override_output_sharding_config"_a = false,
             "padding_mode"_a = PaddingMode::zeros);
  config.def_prop_rw(
      "weights_dtype",
      [](const Conv2dConfig& self) {
        return self.weights_dtype ? std::optional<DataType>(DataType{*self.weights_dtype}) : std::nullopt;
      },
      [](Conv2dConfig& self, const std::optional<DataType>& dtype) { self.weights_dtype = plain(dtype); },
      nb::for_setter(nb::arg("value").none()));
  bind_field(config, "activation", &Conv2dConfig::activation);
  bind_field(config, "deallocate_activation", &Conv2dConfig::deallocate_activation);
  bind_field(config, "reallocate_halo_output", &Conv2dConfig::reallocate_halo_output);
  bind_field(config, "config_tensors_in_dram", &Conv2dConfig::config_tensors_in_dram);
  bind_field(config, "act_block_h_override", &Conv2dConfig::act_block_h_override);
  bind_field(config, "act_block_w_div", &Conv2dConfig::act_block_w_div);
  bind_field(config, "reshard_if_not_optimal", &Conv2dConfig::reshard_if_not_optimal);
  bind_field(config, "override_sharding_config", &Conv2dConfig::override_sharding_config);
  bind_field(config, "shard_layout", &Conv2dConfig::shard_layout);
  bind_field(config, "core_grid", &Conv2dConfig::core_grid);
  bind_field(config, "transpose_shards", &Conv2dConfig::transpose_shards);
  bind_field(config, "output_layout", &Conv2dConfig::output_layout);
  bind_field(config, "enable_act_double_buffer", &Conv2dConfig::enable_act_double_buffer);
  bind_field(config, "enable_weights_double_buffer", &Conv2dConfig::enable_weights_double_buffer);
  bind_field(config, "full_inner_dim", &Conv2dConfig::full_inner_dim);
  bind_field(config, "enable_kernel_stride_folding", &Conv2dConfig::enable_kernel_stride_folding);
  bind_field(config, "enable_activation_reuse", &Conv2dConfig::enable_activation_reuse);
  bind_field(config, "force_split_reader", &Conv2dConfig::force_split_reader);
  bind_field(config, "override_output_sharding_config", &Conv2dConfig::override_output_sharding_config);
  bind_field(config, "padding_mode", &Conv2dConfig::padding_mode);
  config.def(nb::self == nb::self, nb::sig("def __eq__(self, arg: object, /) -> bool"));
}

}  // namespace tessera::python
