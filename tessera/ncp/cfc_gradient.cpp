#include "tessera/ncp/internal/cfc_gradient.h"

#include "tessera/core/parallel_for.h"
#include "tessera/ncp/internal/cells.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::ncp {
namespace {

// Samples that share each load of the weights. More chunks would keep more threads busy, larger ones load less.
constexpr std::int64_t kFewestRows = 16;
constexpr std::int64_t kMostRows = 48;
constexpr std::int64_t kWantedChunks = 16;

}  // namespace

std::int64_t CfcGradient::rows_of_chunk(std::int64_t batch) const {
  const std::int64_t rows = std::clamp((batch + kWantedChunks - 1) / kWantedChunks, kFewestRows, kMostRows);
  return (rows + dense_->rows - 1) / dense_->rows * dense_->rows;
}

CfcGradient::CfcGradient(const CfcLayer& layer, Precision precision, const DenseKernel& dense,
                         const BackwardKernel& back)
    : sizes_(sizes(layer)),
      mode_(layer.mode),
      activation_(layer.activation),
      rules_(rules(layer.dialect)),
      dropout_(layer.backbone_dropout),
      precision_(precision),
      dense_(&dense),
      back_(&back) {
  const ParameterSet<float> list = zeros<float>(parameter_list(layer));
  std::int64_t total = 0;
  for (const Parameter<float>& item : list.items) {
    first_place_.push_back(total);
    total += item.info.count();
  }
  nowhere_ = static_cast<std::int32_t>(total);
  row_.resize(static_cast<std::size_t>(total + 1));
  gradient_.resize(row_.size());
  masks_.resize(static_cast<std::size_t>(total), 1.0f);

  std::int64_t inputs = layer.inputs;
  if (layer.wiring) {
    for (std::size_t l = 0; l < layer.wiring->layers.size(); ++l) {
      const auto hidden = static_cast<std::int64_t>(layer.wiring->layers[l].neurons.size());
      add_cell(layer, list, fmt::format("rnn_cell.layer_{}.", l), hidden, inputs);
      inputs = hidden;
    }
  } else {
    add_cell(layer, list, "rnn_cell.", layer.units, inputs);
  }
  if (layer.mixed_memory) add_memory(list);
  if (layer.projection > 0) {
    const Linear fc = find_linear(list, "fc");
    projection_ = make_trained_product(
        dense.lanes, false, fc.outputs, fc.inputs, 0, nowhere_, [&](int, std::int64_t unit, std::int64_t k) {
          return k < 0 ? place_of(fc.bias, unit) : place_of(fc.weight, unit * fc.inputs + k);
        });
    packed_.add(*projection_);
  }
  gradient_width_ = state_width_ + kQuad * dense.lanes;
  std::int64_t widest = gradient_width_;
  for (const TrainedCfcCell& cell : cells_) {
    above_width_ = std::max(above_width_, cell.entry().first_back.blocks * kQuad * dense.lanes);
    for (const TrainedProduct& product : cell.backbone) widest = std::max(widest, product.width);
  }
  nothing_.resize(static_cast<std::size_t>(std::max(widest, above_width_) + kQuad * dense.lanes));
}

std::int32_t CfcGradient::place_of(int parameter, std::int64_t index) const {
  return static_cast<std::int32_t>(first_place_[static_cast<std::size_t>(parameter)] + index);
}

void CfcGradient::add_cell(const CfcLayer& layer, const ParameterSet<float>& list, const std::string& prefix,
                           std::int64_t hidden, std::int64_t inputs) {
  TrainedCfcCell cell;
  cell.hidden = hidden;
  cell.offset = state_width_;
  const CfcCell<float> found(layer, list, prefix, static_cast<int>(inputs), static_cast<int>(hidden));
  const auto product_of = [&](const std::vector<Linear>& parts, std::int64_t first) {
    const std::int64_t all = parts[0].inputs;
    return make_trained_product(dense_->lanes, parts.size() == kQuad, parts[0].outputs, first, all - first, nowhere_,
                                [&](int part, std::int64_t unit, std::int64_t k) {
                                  const Linear& l = parts[static_cast<std::size_t>(part)];
                                  return k < 0 ? place_of(l.bias, unit) : place_of(l.weight, unit * all + k);
                                });
  };
  for (const Linear& linear : found.backbone) {
    const bool entry = cell.backbone.empty();
    cell.backbone.push_back(product_of({linear}, entry ? inputs : std::int64_t{linear.inputs}));
    packed_.add(cell.backbone.back());
  }
  const std::int64_t from_input = found.backbone.empty() ? inputs : std::int64_t{found.ff1.inputs};
  if (mode_ == CfcMode::pure) {
    cell.heads = product_of({found.ff1}, from_input);
    const auto padded = [&](int parameter) {
      GatheredWeights out{.inputs = 1, .blocks = cell.heads.blocks};
      for (std::int64_t i = 0; i < cell.heads.width; ++i)
        out.from.push_back(i < hidden ? place_of(parameter, i) : nowhere_);
      out.values.resize(out.from.size());
      return out;
    };
    cell.w_tau = padded(found.w_tau);
    cell.amplitude = padded(found.a);
    cell.w_tau_gradient = packed_.add(cell.w_tau);
    cell.amplitude_gradient = packed_.add(cell.amplitude);
  } else {
    cell.heads = product_of({found.ff1, found.ff2, found.time_a, found.time_b}, from_input);
  }
  state_width_ += state_width(cell);
  packed_.add(cell.heads);
  cells_.push_back(std::move(cell));
}

// In the coordinates of the padded state.
void CfcGradient::add_memory(const ParameterSet<float>& list) {
  std::vector<std::int64_t> unit_of(static_cast<std::size_t>(state_width_), -1);
  std::int64_t index = 0;
  for (const TrainedCfcCell& cell : cells_)
    for (std::int64_t i = 0; i < cell.hidden; ++i) unit_of[static_cast<std::size_t>(cell.offset + i)] = index++;
  const int input = list.find("lstm.input_map.weight"), bias = list.find("lstm.input_map.bias"),
            recurrent = list.find("lstm.recurrent_map.weight");
  const std::int64_t n = sizes_.state, inputs = sizes_.inputs;
  memory_ = make_trained_product(dense_->lanes, true, state_width_, inputs, state_width_, nowhere_,
                                 [&](int part, std::int64_t column, std::int64_t k) {
                                   const std::int64_t unit = unit_of[static_cast<std::size_t>(column)];
                                   if (unit < 0) return nowhere_;
                                   const std::int64_t row = part * n + unit;
                                   if (k < 0) return place_of(bias, row);
                                   if (k < inputs) return place_of(input, row * inputs + k);
                                   const std::int64_t from = unit_of[static_cast<std::size_t>(k - inputs)];
                                   return from < 0 ? nowhere_ : place_of(recurrent, row * n + from);
                                 });
  packed_.add(*memory_);
}

void CfcGradient::gather(const float* padded, float* to) const {
  for (const TrainedCfcCell& cell : cells_) to = std::copy_n(padded + cell.offset, cell.hidden, to);
}

void CfcGradient::scatter(const float* from, float* padded) const {
  for (const TrainedCfcCell& cell : cells_) {
    std::copy_n(from, cell.hidden, padded + cell.offset);
    from += cell.hidden;
  }
}

void CfcGradient::set_parameters(const ParameterSet<float>& parameters) {
  for (std::size_t i = 0; i < parameters.items.size(); ++i) {
    const Parameter<float>& item = parameters.items[i];
    float* mask = masks_.data() + first_place_[i];
    if (!item.info.trainable) {
      std::fill_n(mask, item.values.size(), 0.0f);
      continue;
    }
    // A mask is that of the two heads of the same cell.
    const std::string& name = item.info.name;
    const bool masked = name.ends_with("ff1.weight") || name.ends_with("ff2.weight");
    const int found = masked ? parameters.find(name.substr(0, name.size() - 10) + "sparsity_mask") : -1;
    if (found >= 0) std::copy_n(parameters.at(found), item.values.size(), mask);
    for (std::size_t k = 0; k < item.values.size(); ++k)
      row_[static_cast<std::size_t>(first_place_[i]) + k] = found < 0 ? item.values[k] : item.values[k] * mask[k];
  }
  const auto take = [&](TrainedProduct& product) {
    product.take(row_.data());
    if (precision_ == Precision::float32) return;
    for (GatheredWeights* weights : {&product.first, &product.second, &product.first_back, &product.second_back})
      back_->round(precision_, weights->values.data(), static_cast<std::int64_t>(weights->values.size()));
    if (!dense_->pairs) return;
    std::int64_t all = 0;
    for (GatheredWeights* weights : {&product.first, &product.second}) {
      weights->pair(kQuad * dense_->lanes);
      all += pairs_of(weights->inputs);
    }
    for (GatheredWeights* weights : {&product.first_back, &product.second_back}) weights->pair(kQuad * dense_->lanes);
    most_pairs_ = std::max({most_pairs_, all, pairs_of(product.width)});
  };
  for (TrainedCfcCell& cell : cells_) {
    for (TrainedProduct& product : cell.backbone) take(product);
    take(cell.heads);
    cell.w_tau.take(row_.data());
    cell.amplitude.take(row_.data());
  }
  if (memory_) take(*memory_);
  if (projection_) take(*projection_);
}

void CfcGradient::forward(const Sequence<float>& sequence, std::span<const std::int32_t> lengths,
                          SequenceResult<float>& result, const BatchShare& share) {
  batch_ = sequence.batch;
  steps_ = sequence.steps;
  dropout_seed_ = sequence.dropout_seed;
  differentiate_timespans_ = sequence.differentiate_timespans;
  share_ = share.samples;
  cut_batch(batch_, steps_, lengths, rows_of_chunk(share.whole > 0 ? share.whole : batch_), chunks_);
  if (tapes_.size() < chunks_.size()) tapes_.resize(chunks_.size());
  parallel_for(static_cast<std::int64_t>(chunks_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto c = static_cast<std::size_t>(begin); c < static_cast<std::size_t>(end); ++c)
      forward_chunk(sequence, chunks_[c], tapes_[c], result);
  });
}

void CfcGradient::backward(std::span<const float> d_output, std::span<const float> d_state,
                           std::span<const float> d_memory, SequenceGradients<float>& gradients,
                           GradientExchange* exchange) {
  if (exchange != nullptr) {
    backward_and_exchange(d_output, d_state, d_memory, gradients, *exchange);
  } else {
    parallel_for(static_cast<std::int64_t>(chunks_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto c = static_cast<std::size_t>(begin); c < static_cast<std::size_t>(end); ++c)
        backward_chunk(d_output, d_state, d_memory, chunks_[c], tapes_[c], gradients, true);
    });
    std::vector<const float*> packed;
    for (std::size_t c = 0; c < chunks_.size(); ++c) packed.push_back(tapes_[c].gradient.data());
    packed_.unpack(packed, nowhere_, gradient_);
  }
  for (std::size_t i = 0; i < gradients.parameters.items.size(); ++i) {
    std::vector<float>& to = gradients.parameters.items[i].values;
    const auto first = static_cast<std::size_t>(first_place_[i]);
    // A frozen parameter has no gradient, whatever was computed.
    for (std::size_t k = 0; k < to.size(); ++k)
      to[k] = masks_[first + k] == 0 ? 0.0f : gradient_[first + k] * masks_[first + k];
  }
}

// A state's gradient depends on that of the next step, so gradients of weights are final when all steps are done. Where
// there is enough of them, they are left for after the steps: bucket after bucket, each on its way to the others while
// the next one is computed.
void CfcGradient::backward_and_exchange(std::span<const float> d_output, std::span<const float> d_state,
                                        std::span<const float> d_memory, SequenceGradients<float>& gradients,
                                        GradientExchange& exchange) {
  const std::vector<Piece> all = pieces();
  const bool together = all.size() == 1;
  const auto for_chunks = [&](auto&& body) {
    parallel_for(static_cast<std::int64_t>(chunks_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto c = static_cast<std::size_t>(begin); c < static_cast<std::size_t>(end); ++c)
        body(chunks_[c], tapes_[c]);
    });
  };
  for_chunks([&](const BatchChunk& chunk, Tape& tape) {
    backward_chunk(d_output, d_state, d_memory, chunk, tape, gradients, together);
  });
  std::vector<const float*> rows;
  for (std::size_t c = 0; c < chunks_.size(); ++c) rows.push_back(tapes_[c].gradient.data());
  sum_.resize(static_cast<std::size_t>(packed_.size()));
  for (const Piece& piece : all) {
    if (!together) for_chunks([&](const BatchChunk& chunk, Tape& tape) { add_weight_gradients(chunk, tape, piece); });
    begin_buckets(exchange, rows, piece.begin, piece.end, sum_);
  }
  exchange.wait();
  packed_.unpack({sum_.data()}, nowhere_, gradient_);
}

}  // namespace tessera::ncp
