#include "tessera/io/onnx/internal/parse_model.h"

#include "tessera/core/error.h"
#include "tessera/io/onnx/internal/graph_import.h"
#include "tessera/io/onnx/internal/printable_names.h"
#include "tessera/io/onnx/internal/weights_apart.h"

#include <google/protobuf/io/coded_stream.h>

#include <limits>
#include <optional>

namespace tessera::onnx {
namespace {

constexpr int kMaxMessageDepth =
    4 * kMaxDepth;  // a graph in a graph is four messages deep: nodes and attributes lie between

}  // namespace

std::vector<std::span<const std::byte>> parse_model(std::span<const std::byte> bytes, pb::ModelProto& model) {
  check(bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()), Code::parse,
        Hint{"save the model with its weights in files of their own (external data)"},
        "a model file has less than 2 GiB, not {} B", bytes.size());
  std::optional<WeightsApart> apart = weights_apart(bytes);
  const std::span<const std::byte> message = apart ? std::as_bytes(std::span(apart->rest)) : bytes;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(message.data()),
                                                static_cast<int>(message.size()));
  stream.SetRecursionLimit(kMaxMessageDepth);
  const bool parsed = model.ParseFromCodedStream(&stream) && stream.ConsumedEntireMessage();
  check(parsed, Code::parse, "these {} B are not an ONNX model, or not all of one", bytes.size());
  check(model.has_graph(), Code::parse, "the file has no graph: it is not an ONNX model");
  make_names_printable(model);
  return apart ? std::move(apart->raw) : std::vector<std::span<const std::byte>>();
}

}  // namespace tessera::onnx
