#include "tessera/targets/apple/contract/apple_target.h"

#include "tessera/core/error.h"
#include "tessera/io/emit/script.h"
#include "tessera/io/ncp_file.h"
#include "tessera/target/script_target.h"
#include "tessera/targets/apple/emit/mlx.h"

#include <array>
#include <filesystem>
#include <utility>

namespace tessera::apple {
namespace {

constexpr std::array kLanguages = {Language{.name = "mlx"}};

class AppleTarget : public ScriptTarget {
 public:
  std::string_view family() const override { return "unified"; }
  std::span<const Language> languages() const override { return kLanguages; }

  using Target::emit;
  // Of a liquid layer's weights, or of a network.
  Emitted emit(const EmitRequest& request) const override {
    const std::string weights = emit::weights_file_of(request.script);
    const std::filesystem::path path(request.model);
    if (path.extension() != ".safetensors") {
      LoadedNetwork network = request.load();
      return {.script = mlx_script(std::move(network.graph), network.name, weights)};
    }
    check(std::filesystem::weakly_canonical(path.parent_path() / path.filename()) !=
              std::filesystem::weakly_canonical(request.script.parent_path() / weights),
          Code::invalid_argument, Hint{"give the script another name"},
          "the script's weights would overwrite '{}', which they come from", request.model);
    const NcpFile layer = load_ncp_file(path);
    return {.script = mlx_script(layer.layer, layer.parameters, path.stem().string(), weights)};
  }
};

}  // namespace

const Target& target() {
  static const AppleTarget target;
  return target;
}

}  // namespace tessera::apple
