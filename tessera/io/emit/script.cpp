#include "tessera/io/emit/script.h"

#include "tessera/io/safetensors.h"

#include "tessera/core/file.h"

namespace tessera::emit {

std::string weights_file_of(const std::filesystem::path& script) {
  return std::filesystem::path(script).filename().replace_extension(".safetensors").string();
}

void save_script(const std::filesystem::path& path, const Script& script) {
  if (!script.weights.empty()) {
    std::vector<SafetensorsTensor> tensors;
    tensors.reserve(script.weights.size());
    for (const ScriptWeight& weight : script.weights)
      tensors.push_back({weight.name, weight.array->type(), weight.shape, weight.array->bytes()});
    save_safetensors(path.parent_path() / script.weights_file, tensors, {{"format", "np"}});
  }
  write_file_atomically(path, script.text);
}

}  // namespace tessera::emit
