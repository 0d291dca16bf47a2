#pragma once

// A CfC layer in training: forward with a tape, and the way back over it.

#include "tessera/ncp/gradient_exchange.h"
#include "tessera/ncp/internal/backward_kernels.h"
#include "tessera/ncp/internal/batch_chunks.h"
#include "tessera/ncp/internal/dense_kernels.h"
#include "tessera/ncp/internal/trained_product.h"
#include "tessera/ncp/sequence.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera::ncp {

struct TrainedCfcCell {
  std::int64_t hidden = 0;
  std::int64_t offset = 0;  // of its part in a row of the padded state
  std::vector<TrainedProduct> backbone{};
  TrainedProduct heads{};
  GatheredWeights w_tau{}, amplitude{};  // of the pure mode
  std::int64_t w_tau_gradient = 0, amplitude_gradient = 0;

  TrainedProduct& entry() { return backbone.empty() ? heads : backbone.front(); }
  const TrainedProduct& entry() const { return backbone.empty() ? heads : backbone.front(); }
};

class CfcGradient {
 public:
  CfcGradient(const CfcLayer& layer, Precision precision, const DenseKernel& dense, const BackwardKernel& back);

  void set_parameters(const ParameterSet<float>& parameters);
  // Vectors of the result have their sizes and are zero.
  void forward(const Sequence<float>& sequence, std::span<const std::int32_t> lengths, SequenceResult<float>& result,
               const BatchShare& share);
  void backward(std::span<const float> d_output, std::span<const float> d_state, std::span<const float> d_memory,
                SequenceGradients<float>& gradients, GradientExchange* exchange);
  // Samples that are worked on together, in a batch of so many.
  std::int64_t rows_of_chunk(std::int64_t batch) const;

 private:
  // Products whose gradients lie one behind the other in a packed row.
  struct Piece {
    std::int64_t first = 0, count = 0;  // products, by number
    std::int64_t begin = 0, end = 0;    // in the row
  };
  struct CellTape {
    std::vector<std::vector<float>> active{};  // what each layer of a backbone gives
    std::vector<std::vector<float>> slope{};   // and its slopes, which become gradients of its sums
    std::vector<float> trace{}, more{};        // of the heads, likewise
    std::vector<float> time_slope{};           // of states by the elapsed time, where its gradient is wanted
  };
  // A row for each sample and step, in the chunk's order.
  struct Tape {
    std::vector<float> x{}, elapsed{}, d_elapsed{};
    std::vector<float> before{}, mixed{}, after{};  // padded states: before a step, after mixed memory, after the step
    std::vector<float> memory_trace{}, memory_more{};
    std::vector<float> output{};  // after a projection; on the way back its gradient
    std::vector<CellTape> cells{};
    // Of one step, a row for each sample.
    std::vector<float> memory{}, d_state{}, d_memory{}, above{};
    std::vector<float> d_readout{}, d_input{};
    std::vector<float> gradient{};       // packed
    std::vector<std::uint32_t> pairs{};  // inputs of a product, for a kernel that takes pairs
  };

  void add_cell(const CfcLayer& layer, const ParameterSet<float>& list, const std::string& prefix, std::int64_t hidden,
                std::int64_t inputs);
  void add_memory(const ParameterSet<float>& list);
  std::int64_t state_width(const TrainedCfcCell& cell) const {
    return mode_ == CfcMode::pure ? cell.heads.width : cell.heads.width / kQuad;
  }
  std::int32_t place_of(int parameter, std::int64_t index) const;
  void gather(const float* padded, float* to) const;
  void scatter(const float* from, float* padded) const;

  void size_tape(const BatchChunk& chunk, Tape& tape) const;
  void read_inputs(const Sequence<float>& sequence, const BatchChunk& chunk, Tape& tape) const;
  void forward_chunk(const Sequence<float>& sequence, const BatchChunk& chunk, Tape& tape,
                     SequenceResult<float>& result) const;
  void forward_cell(std::size_t index, const BatchChunk& chunk, Tape& tape, std::int64_t step) const;
  void drop(const BatchChunk& chunk, Tape& tape, std::size_t cell, std::size_t layer, std::int64_t step) const;
  void write_results(const BatchChunk& chunk, const Tape& tape, SequenceResult<float>& result) const;

  void backward_chunk(std::span<const float> d_output, std::span<const float> d_state, std::span<const float> d_memory,
                      const BatchChunk& chunk, Tape& tape, SequenceGradients<float>& gradients,
                      bool with_weights) const;
  void read_output_gradients(std::span<const float> d_output, const BatchChunk& chunk, Tape& tape) const;
  void backward_step(const BatchChunk& chunk, Tape& tape, std::int64_t step) const;
  // Of products from `first` on, over rows of the tape.
  void add_weight_gradients(Tape& tape, std::int64_t begin, std::int64_t end, std::int64_t first,
                            std::int64_t count) const;
  void add_weight_gradients(const BatchChunk& chunk, Tape& tape, const Piece& piece) const;
  std::vector<Piece> pieces() const;
  void backward_and_exchange(std::span<const float> d_output, std::span<const float> d_state,
                             std::span<const float> d_memory, SequenceGradients<float>& gradients,
                             GradientExchange& exchange);
  void backward_inputs(const BatchChunk& chunk, Tape& tape, SequenceGradients<float>& gradients) const;

  // out = rows times weights, with gradients of sums as rows.
  DenseStep back_product(const GatheredWeights& weights, std::int64_t rows, const float* d, std::int64_t stride,
                         std::uint32_t* scratch) const;
  void add_outer(const TrainedProduct& product, std::int64_t rows, const float* d, Segment first, Segment second,
                 std::vector<float>& gradient) const;
  std::int64_t row_of(std::int64_t sample, std::int64_t step) const {
    return sizes_.batch_first ? sample * steps_ + step : step * batch_ + sample;
  }

  LayerSizes sizes_{};
  CfcMode mode_ = CfcMode::standard;
  Activation activation_ = Activation::lecun_tanh;
  DialectRules rules_{};
  double dropout_ = 0;
  Precision precision_;
  const DenseKernel* dense_;
  const BackwardKernel* back_;

  std::vector<std::int64_t> first_place_{};  // of each parameter in the row of all
  std::int32_t nowhere_ = 0;
  std::vector<TrainedCfcCell> cells_{};
  std::optional<TrainedProduct> memory_{}, projection_{};
  PackedGradients packed_{};
  std::int64_t state_width_ = 0;
  std::int64_t gradient_width_ = 0;  // of a row of the state's gradient: products write whole blocks
  std::int64_t above_width_ = 0;
  std::vector<float> nothing_{};  // zeros that sums start from
  std::int64_t most_pairs_ = 0;   // of the inputs of any product

  std::vector<float> row_{};       // all parameters, masked
  std::vector<float> gradient_{};  // likewise
  std::vector<float> sum_{};       // of packed rows, over all processes
  std::vector<float> masks_{};     // of each parameter: 1, 0 for frozen ones, or its mask

  // Of the last forward().
  std::int64_t batch_ = 0, steps_ = 0;
  std::optional<std::uint64_t> dropout_seed_{};
  bool differentiate_timespans_ = false;
  std::vector<std::int64_t> share_{};  // places of samples in a batch that is elsewhere as well; none: their own
  std::vector<BatchChunk> chunks_{};
  std::vector<Tape> tapes_{};
};

}  // namespace tessera::ncp
