// Liquid cells have no operator in ONNX.

#include "tessera/io/onnx/internal/writers.h"

namespace tessera::onnx {

void write(const Cfc&, NodeWriter& out) { out.refuse("ONNX has no operator for a CfC cell"); }
void write(const Ltc&, NodeWriter& out) { out.refuse("ONNX has no operator for an LTC cell"); }

}  // namespace tessera::onnx
