#include "tessera/io/onnx/tensor_file.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/onnx/internal/tensor.h"

#include <limits>

namespace tessera {

Array parse_onnx_tensor(std::span<const std::byte> bytes) {
  check(bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()), Code::parse,
        "a tensor message has less than 2 GiB, not {} B", bytes.size());
  onnx::pb::TensorProto tensor;
  check(tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())), Code::parse,
        "these {} B are not a tensor in ONNX's form", bytes.size());
  return onnx::tensor_array(tensor, {});
}

Array load_onnx_tensor(const std::filesystem::path& path) {
  return with_context(fmt::format("while reading '{}'", path.string()),
                      [&] { return parse_onnx_tensor(read_file(path, std::numeric_limits<int>::max())); });
}

}  // namespace tessera
