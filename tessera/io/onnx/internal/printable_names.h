#pragma once

#include <tessera_onnx.pb.h>

namespace tessera::onnx {

// Names with control characters, or that are no UTF-8, as printable() writes them, wherever they stand in the model. So
// no name of a file can break a line of a message, a script, a page or a JSON document.
void make_names_printable(pb::ModelProto& model);

}  // namespace tessera::onnx
