// The extension module tessera._tessera. It only translates: what it does is in the C++ library.

#include "bind.h"
#include "card_operators.h"

NB_MODULE(_tessera, module) {
  module.doc() = "The C++ part of tessera.";
  module.attr("__version__") = TESSERA_VERSION;
  tessera::python::bind_error(module);
  tessera::python::bind_dtype(module);
  tessera::python::bind_session(module);
  tessera::python::bind_plan(module);
  tessera::python::bind_quantize(module);
  tessera::python::bind_vision(module);
  tessera::python::bind_fused_conv2d_maxpool(module);
  tessera::python::bind_ncp_wiring(module);
  tessera::python::bind_ncp_layer(module);
  tessera::python::bind_ncp_function(module);
  tessera::python::bind_ncp_trainer(module);
  tessera::python::bind_ncp_profile(module);
  tessera::python::bind_ttnn_enums(module);
  tessera::python::bind_core_grid(module);
  tessera::python::bind_shape(module);
  tessera::python::bind_memory_config(module);
  tessera::python::bind_tensor_spec(module);
  tessera::python::bind_device(module);
  tessera::python::bind_sub_devices(module);
  tessera::python::bind_tensor(module);
  tessera::python::bind_queues(module);
  tessera::python::bind_ops(module);
  tessera::python::bind_reports(module);
  tessera::python::bind_conv2d_config(module);
  tessera::python::bind_compute_config(module);
  tessera::python::bind_matmul(module);
  tessera::python::bind_pool(module);
  tessera::python::bind_conv2d(module);
  tessera::python::bind_prepare_conv(module);
  tessera::python::bind_conv_transpose2d(module);
  tessera::python::bind_nki(module);
  tessera::python::bind_card_operators(module);
}
