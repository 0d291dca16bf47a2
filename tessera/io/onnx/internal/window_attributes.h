#pragma once

#include "tessera/graph/ops/window.h"
#include "tessera/io/onnx/internal/node_reader.h"

namespace tessera::onnx {

// The attributes that convolutions and pools share.
inline Window read_window(NodeReader& node) {
  Window window;
  window.kernel = node.integers("kernel_shape");
  window.strides = node.integers("strides");
  window.dilations = node.integers("dilations");
  window.pads = node.integers("pads");
  window.auto_pad = node.choice<AutoPad>("auto_pad", "NOTSET",
                                         {{"NOTSET", AutoPad::none},
                                          {"SAME_UPPER", AutoPad::same_upper},
                                          {"SAME_LOWER", AutoPad::same_lower},
                                          {"VALID", AutoPad::valid},
                                          {"", AutoPad::none}});
  if (window.auto_pad != AutoPad::none) window.pads.clear();  // they say nothing then
  return window;
}

}  // namespace tessera::onnx
