#include "tessera/io/onnx/metadata.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/io/internal/loaded_file.h"
#include "tessera/io/onnx/internal/parse_model.h"

namespace tessera {

std::map<std::string, std::string> onnx_metadata_bytes(std::span<const std::byte> model) {
  onnx::pb::ModelProto proto;
  onnx::parse_model(model, proto);
  std::map<std::string, std::string> out;
  for (const auto& entry : proto.metadata_props()) out[printable(entry.key())] = printable(entry.value(), true);
  if (!proto.doc_string().empty()) out["doc_string"] = printable(proto.doc_string(), true);
  return out;
}

std::map<std::string, std::string> onnx_metadata(const std::filesystem::path& model) {
  return with_context(fmt::format("while reading '{}'", model.string()),
                      [&] { return onnx_metadata_bytes(io::LoadedFile(model).bytes()); });
}

}  // namespace tessera
