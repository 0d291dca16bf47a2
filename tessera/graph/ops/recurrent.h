#pragma once

// Recurrent layers over S B I (or B S I with batch_first): inputs X W R, optional B sequence_lens initial_h (initial_c
// P). Outputs Y and Y_h (and Y_c).

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct Recurrent {
  static constexpr std::string_view kName = "Recurrent";

  enum class Kind : std::uint8_t { rnn, gru, lstm };
  enum class Direction : std::uint8_t { forward, reverse, bidirectional };
  Kind kind = Kind::lstm;
  Direction direction = Direction::forward;
  std::int64_t hidden = 0;
  std::vector<std::string> activations = {};  // ONNX names, per direction; empty: the defaults of the kind
  std::vector<float> activation_alpha = {}, activation_beta = {};
  std::optional<float> clip = {};
  bool linear_before_reset = false;  // gru
  bool input_forget = false;         // lstm
  bool batch_first = false;          // layout = 1

  bool operator==(const Recurrent&) const = default;
};

TSR_API std::vector<TensorType> infer(const Recurrent& op, const Knowns& inputs);
TSR_API Work work(const Recurrent& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Recurrent& op, const Arrays& inputs);

}  // namespace tessera
