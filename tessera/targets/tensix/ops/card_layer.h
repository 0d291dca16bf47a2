#pragma once

// What a node of a network asks of an operator of the card: a struct of the operator's own, with the operator's row.
// Who walks over a network asks the row; only who knows the operator looks inside.

#include "tessera/core/array.h"
#include "tessera/core/export.h"

#include <any>
#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace tessera::tensix {

struct CardOp;

using Constant = std::shared_ptr<const Array>;

class CardLayer {
 public:
  // `layer.op()` is its row, or null for what the card has no operator for.
  template <class Layer>
    requires(!std::same_as<Layer, CardLayer> &&
             requires(const Layer& layer) {
               { layer.op() } -> std::same_as<const CardOp*>;
             })
  CardLayer(Layer layer)  // NOLINT: a layer is a card layer
      : op_(layer.op()), value_(std::move(layer)) {}

  const CardOp* op() const { return op_; }

  // Null: another operator's.
  template <class Layer>
  const Layer* as() const {
    return std::any_cast<Layer>(&value_);
  }
  template <class Layer>
  Layer* as() {
    return std::any_cast<Layer>(&value_);
  }
  template <class Layer>
  bool is() const {
    return as<Layer>() != nullptr;
  }

 private:
  const CardOp* op_;
  std::any value_;
};

// A function of a room's own struct, as rows have it: of any layer.
template <auto function>
struct OnLayer;
template <class Layer, class Result, class... Rest, Result (*function)(Layer&, Rest...)>
struct OnLayer<function> {
  using AnyLayer = std::conditional_t<std::is_const_v<Layer>, const CardLayer, CardLayer>;
  static Result call(AnyLayer& layer, Rest... rest) {
    return function(*layer.template as<std::remove_const_t<Layer>>(), std::forward<Rest>(rest)...);
  }
};
template <auto function>
inline constexpr auto on_layer = &OnLayer<function>::call;

// Weights for several images side by side in channels: one after the other.
TSR_API Constant repeated(const Constant& given, std::int64_t times);

}  // namespace tessera::tensix
