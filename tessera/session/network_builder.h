#pragma once

// Builds a network in C++, operator by operator, with weights that the program has:
//
//   NetworkBuilder b("net");
//   const NetworkValue x = b.input("x", TensorType(ElementType::float32, Shape{1, 3, 224, 224}));
//   const NetworkValue y = b.relu("r1", b.conv("c1", x, weights, bias, {.strides = {2, 2}, .pads = {3, 3, 3, 3}}));
//   const Network network = std::move(b).finish({y});
//
// Images are N C H W, weights of convolutions O I H W. Every call checks its operands and names the operator in its
// Error. Models with other operators come as ONNX files.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/graph/ops/window.h"
#include "tessera/graph/tensor_type.h"
#include "tessera/session/network.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

// A result or input of the network that is being built.
enum class NetworkValue : std::int32_t {};

struct BatchNormWeights {
  Array scale, bias, mean, variance;
  float epsilon = 1e-5f;
};

class TSR_API NetworkBuilder {
 public:
  explicit NetworkBuilder(std::string name);
  NetworkBuilder(NetworkBuilder&&) noexcept;
  NetworkBuilder& operator=(NetworkBuilder&&) noexcept;
  ~NetworkBuilder();

  NetworkValue input(const std::string& name, TensorType type);
  NetworkValue constant(const std::string& name, Array value);
  TensorType type(NetworkValue x) const;

  NetworkValue conv(const std::string& name, NetworkValue x, Array weights, std::optional<Array> bias = {},
                    Window window = {}, std::int64_t groups = 1);
  NetworkValue batch_norm(const std::string& name, NetworkValue x, BatchNormWeights weights);
  NetworkValue max_pool(const std::string& name, NetworkValue x, Window window);
  NetworkValue average_pool(const std::string& name, NetworkValue x, Window window, bool count_include_pad = false);
  NetworkValue global_average_pool(const std::string& name, NetworkValue x);
  // x weights^T + bias: weights are [outputs, inputs].
  NetworkValue dense(const std::string& name, NetworkValue x, Array weights, std::optional<Array> bias = {});
  NetworkValue matmul(const std::string& name, NetworkValue a, NetworkValue b);

  NetworkValue add(const std::string& name, NetworkValue a, NetworkValue b);
  NetworkValue subtract(const std::string& name, NetworkValue a, NetworkValue b);
  NetworkValue multiply(const std::string& name, NetworkValue a, NetworkValue b);
  NetworkValue divide(const std::string& name, NetworkValue a, NetworkValue b);

  NetworkValue relu(const std::string& name, NetworkValue x);
  NetworkValue sigmoid(const std::string& name, NetworkValue x);
  NetworkValue tanh(const std::string& name, NetworkValue x);
  NetworkValue silu(const std::string& name, NetworkValue x);
  NetworkValue gelu(const std::string& name, NetworkValue x);
  NetworkValue clip(const std::string& name, NetworkValue x, float least, float most);
  NetworkValue softmax(const std::string& name, NetworkValue x, std::int64_t axis = -1);

  NetworkValue concat(const std::string& name, const std::vector<NetworkValue>& parts, std::int64_t axis);
  NetworkValue reshape(const std::string& name, NetworkValue x, const std::vector<std::int64_t>& shape);
  NetworkValue flatten(const std::string& name, NetworkValue x, std::int64_t axis = 1);
  NetworkValue transpose(const std::string& name, NetworkValue x, std::vector<std::int64_t> order);

  // The network, checked. Its outputs are those, in that order.
  Network finish(const std::vector<NetworkValue>& outputs) &&;

 private:
  std::unique_ptr<Graph> graph_;
};

}  // namespace tessera
