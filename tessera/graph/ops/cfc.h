#pragma once

// A closed-form continuous-time cell (Hasani et al., 2022) over sequences of B S I (or S B I without batch_first).
//
// Inputs: X; optional times since the step before (one for all, S B 1, or S B H for each unit; none: 1); optional first
// state B H (none: zeros); heads W [G H, Z] and their biases [G H]; decay [2, H] (time constants and amplitudes, mode
// pure alone); then weights [width, from] and biases [width] of each layer of the backbone. The backbone reads the
// input and the state side by side; Z is the width of its last layer, or I + H without one.
// Heads lie one after the other: f1, f2, time_a, time_b (G = 4), or f1 alone (pure, G = 1):
//
//   gated    (1 - gate) head(f1) + gate head(f2),  gate = sigmoid(time_a t + time_b)
//   no_gate             head(f1) + gate head(f2)
//   pure     A - A exp(-t (|tau| + |f1|)) f1
//
// Outputs: the state after every step, and after the last. A sparse cell is one whose weights have zeros.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera {

struct Cfc {
  static constexpr std::string_view kName = "Cfc";

  enum class Mode : std::uint8_t { gated, no_gate, pure };
  enum class Activation : std::uint8_t { lecun_tanh, silu, relu, tanh, gelu };  // of the backbone
  enum class Head : std::uint8_t { tanh, none, lecun_tanh };
  // Positions of inputs; those of the backbone come in pairs from kBackbone on.
  static constexpr std::size_t kX = 0, kTimes = 1, kState = 2, kHeads = 3, kBiases = 4, kDecay = 5, kBackbone = 6;

  Mode mode = Mode::gated;
  Activation activation = Activation::lecun_tanh;
  Head head = Head::tanh;
  bool batch_first = true;

  std::int64_t heads() const { return mode == Mode::pure ? 1 : 4; }
  bool operator==(const Cfc&) const = default;
};

TSR_API std::vector<TensorType> infer(const Cfc& op, const Knowns& inputs);
TSR_API Work work(const Cfc& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Cfc& op, const Arrays& inputs);

}  // namespace tessera
