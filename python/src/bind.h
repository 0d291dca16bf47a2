#pragma once

// One bind_<stem>.cpp for each part of the library; module.cpp calls them in this order.

#include <nanobind/nanobind.h>

namespace tessera::python {

void bind_error(nanobind::module_& module);
void bind_dtype(nanobind::module_& module);
void bind_session(nanobind::module_& module);
void bind_plan(nanobind::module_& module);
void bind_quantize(nanobind::module_& module);
void bind_vision(nanobind::module_& module);
void bind_fused_conv2d_maxpool(nanobind::module_& module);

// ncps
void bind_ncp_wiring(nanobind::module_& module);
void bind_ncp_layer(nanobind::module_& module);
void bind_ncp_function(nanobind::module_& module);
void bind_ncp_trainer(nanobind::module_& module);
void bind_ncp_profile(nanobind::module_& module);

// ttnn
void bind_ttnn_enums(nanobind::module_& module);
void bind_core_grid(nanobind::module_& module);
void bind_shape(nanobind::module_& module);
void bind_memory_config(nanobind::module_& module);
void bind_tensor_spec(nanobind::module_& module);
void bind_device(nanobind::module_& module);
void bind_sub_devices(nanobind::module_& module);
void bind_tensor(nanobind::module_& module);
void bind_queues(nanobind::module_& module);
void bind_ops(nanobind::module_& module);
void bind_reports(nanobind::module_& module);
void bind_conv2d_config(nanobind::module_& module);
void bind_compute_config(nanobind::module_& module);
void bind_matmul(nanobind::module_& module);
void bind_pool(nanobind::module_& module);
void bind_conv2d(nanobind::module_& module);
void bind_prepare_conv(nanobind::module_& module);
void bind_conv_transpose2d(nanobind::module_& module);

// nki
void bind_nki(nanobind::module_& module);

}  // namespace tessera::python
