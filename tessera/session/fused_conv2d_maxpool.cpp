#include "tessera/session/fused_conv2d_maxpool.h"

#include "tessera/core/error.h"
#include "tessera/graph/graph.h"

#include <utility>

namespace tessera {
namespace {

constexpr const char* kName = "fused_conv2d_maxpool";

std::int64_t extent(const Array& array, int dimension) { return array.shape()[dimension]; }

void check_weights(const Array& w, const Array& bias, std::int64_t pool_size) {
  check(w.type() == ElementType::float32 || w.type() == ElementType::bfloat16 || w.type() == ElementType::float16,
        Code::unsupported, "{}: weights are float32, bfloat16 or float16, not {}", kName, name(w.type()));
  check(w.shape().rank() == 4, Code::invalid_argument,
        "{}: weights have 4 dimensions (output channels, input channels, height, width), not the {} of {}", kName,
        w.shape().rank(), w.shape().to_string());
  check(w.count() > 0, Code::invalid_argument, "{}: weights of shape {} hold nothing", kName, w.shape().to_string());
  check(bias.shape() == Shape{extent(w, 0)}, Code::invalid_argument,
        "{}: bias of shape {} does not fit weights {}: one number for each of {} output channels is needed", kName,
        bias.shape().to_string(), w.shape().to_string(), extent(w, 0));
  check(bias.type() == w.type(), Code::invalid_argument, Hint{"convert one to the type of the other"},
        "{}: bias is {}, weights are {}", kName, name(bias.type()), name(w.type()));
  check(pool_size >= 1, Code::invalid_argument, "{}: pool_size is {}, at least 1 is needed", kName, pool_size);
}

// Operands stay as they are where there are kernels for their type; others are float32 within.
Graph make_graph(const Array& w, const Array& bias, std::int64_t pool_size) {
  Graph graph;
  graph.name = kName;
  const bool cast = w.type() == ElementType::float16;
  const auto widened = [&](ValueId id, const char* label) {
    return cast ? graph.add(label, Cast{.to = ElementType::float32}, {id}) : id;
  };
  constexpr std::int64_t kAny = TensorType::kUnknown;
  const ValueId x = graph.add_input("x", {w.type(), std::vector<std::int64_t>{kAny, extent(w, 1), kAny, kAny}});
  const ValueId weights = widened(graph.add_constant("w", w), "w:f32");
  const ValueId offsets = widened(graph.add_constant("bias", bias), "bias:f32");
  ValueId y = graph.add("conv", Conv{}, {widened(x, "x:f32"), weights, offsets});
  if (pool_size > 1)
    y = graph.add("pool", MaxPool{.window = {.kernel = {pool_size, pool_size}, .strides = {pool_size, pool_size}}},
                  {y});
  if (cast) y = graph.add("y", Cast{.to = w.type()}, {y});
  graph.outputs = {y};
  return graph;
}

Graph checked_graph(const Array& w, const Array& bias, std::int64_t pool_size) {
  check_weights(w, bias, pool_size);
  return make_graph(w, bias, pool_size);
}

}  // namespace

FusedConv2dMaxPool::FusedConv2dMaxPool(const Array& w, const Array& bias, std::int64_t pool_size,
                                       const SessionOptions& options)
    : type_(w.type()), w_(w.shape()), pool_size_(pool_size), session_(checked_graph(w, bias, pool_size), options) {}

Shape FusedConv2dMaxPool::output_shape(const Array& x) const {
  const Shape& shape = x.shape();
  check(x.type() == type_, Code::invalid_argument, Hint{"convert one to the type of the other"},
        "{}: the input is {}, weights are {}", kName, name(x.type()), name(type_));
  check(shape.rank() == 4, Code::invalid_argument,
        "{}: the input has 4 dimensions (images, channels, height, width), not the {} of {}", kName, shape.rank(),
        shape.to_string());
  check(shape[1] == w_[1], Code::invalid_argument, "{}: input {} has {} channels, weights {} take {}", kName,
        shape.to_string(), shape[1], w_.to_string(), w_[1]);
  const std::int64_t oh = shape[2] - w_[2] + 1, ow = shape[3] - w_[3] + 1;
  check(oh >= 1 && ow >= 1, Code::invalid_argument, Hint{"pad the input first: there is no padding here"},
        "{}: a filter of {}x{} does not fit images of {}x{}", kName, w_[2], w_[3], shape[2], shape[3]);
  check(oh >= pool_size_ && ow >= pool_size_, Code::invalid_argument,
        "{}: the convolution gives {}x{}, a pool of {}x{} does not fit that", kName, oh, ow, pool_size_, pool_size_);
  return Shape{shape[0], w_[0], oh / pool_size_, ow / pool_size_};
}

Array FusedConv2dMaxPool::operator()(const Array& x) const {
  const Shape shape = output_shape(x);
  if (shape.volume() == 0) return Array(type_, shape);
  return std::move(session_.run({x}).front());
}

Array fused_conv2d_maxpool(const Array& x, const Array& w, const Array& bias, std::int64_t pool_size,
                           const SessionOptions& options) {
  return FusedConv2dMaxPool(w, bias, pool_size, options)(x);
}

}  // namespace tessera
