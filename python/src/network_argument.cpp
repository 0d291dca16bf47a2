#include "network_argument.h"

#include "tessera/core/error.h"
#include "tessera/io/onnx/import.h"

namespace tessera::python {

Network network_of(const std::filesystem::path& model, const std::optional<Shapes>& shapes,
                   const std::optional<Dimensions>& dims, std::int64_t batch) {
  const std::string text = model.string();
  if (std::filesystem::exists(model) || text.ends_with(".onnx") || text.find('/') != std::string::npos)
    return load_network(model, ImportOptions{shapes.value_or(Shapes{}), dims.value_or(Dimensions{})});
  check(!shapes && !dims, Code::invalid_argument, "the shapes of zoo networks are fixed; batch changes the batch");
  return zoo_network(text, batch);
}

}  // namespace tessera::python
