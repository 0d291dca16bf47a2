// In place of the importer and the exporter, in builds without them.

#include "tessera/graph/graph.h"
#include "tessera/io/onnx/export.h"
#include "tessera/io/onnx/external_files.h"
#include "tessera/io/onnx/import.h"
#include "tessera/io/onnx/metadata.h"
#include "tessera/io/onnx/tensor_file.h"

namespace tessera {
namespace {

[[noreturn]] void refuse() {
  fail(Code::unsupported, Hint{"build Tessera with protobuf and the onnx package there, and -DTESSERA_ONNX=ON"},
       "this build of Tessera cannot read or write ONNX files");
}

}  // namespace

std::string ImportProblem::to_string() const { return reason; }
Graph import_onnx(const std::filesystem::path&, const ImportOptions&) { refuse(); }
Graph import_onnx_bytes(std::span<const std::byte>, const std::filesystem::path&, const ImportOptions&) { refuse(); }
ImportReport check_onnx(const std::filesystem::path&, const ImportOptions&) { refuse(); }
ImportReport check_onnx_bytes(std::span<const std::byte>, const std::filesystem::path&, const ImportOptions&) {
  refuse();
}
std::map<std::string, std::string> onnx_metadata(const std::filesystem::path&) { refuse(); }
std::map<std::string, std::string> onnx_metadata_bytes(std::span<const std::byte>) { refuse(); }
std::vector<std::string> onnx_external_files(std::span<const std::byte>) { refuse(); }
Array parse_onnx_tensor(std::span<const std::byte>) { refuse(); }
Array load_onnx_tensor(const std::filesystem::path&) { refuse(); }
std::vector<std::byte> export_onnx_bytes(const Graph&, const ExportOptions&) { refuse(); }
void export_onnx(const Graph&, const std::filesystem::path&, const ExportOptions&) { refuse(); }
bool has_onnx() { return false; }

}  // namespace tessera
