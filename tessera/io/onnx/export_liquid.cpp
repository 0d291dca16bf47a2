// Liquid cells have no operator in ONNX. Those with constant weights were expanded before (expand_liquid_cells()).

#include "tessera/io/onnx/internal/writers.h"

namespace tessera::onnx {

void write(const Cfc&, NodeWriter& out) {
  out.refuse(
      "ONNX has no operator for a CfC cell, and only one with constant float32 weights can be written as a loop");
}
void write(const Ltc&, NodeWriter& out) {
  out.refuse(
      "ONNX has no operator for an LTC cell, and only one with constant float32 weights can be written as a loop");
}

}  // namespace tessera::onnx
