#include "tessera/ncp/internal/cells.h"
#include "tessera/ncp/internal/cfc_gradient.h"

#include <algorithm>

namespace tessera::ncp {
namespace {

// The input's part of sums that start from a bias, for all rows at once, into where the trace will be.
void project(const DenseKernel& kernel, const TrainedProduct& product, std::int64_t rows, const float* x,
             std::int64_t stride, std::vector<float>& out, std::uint32_t* scratch) {
  DenseStep step{.rows = rows, .blocks = product.blocks, .start = product.bias.values.data()};
  step.segments[0] = {.rows = x,
                      .stride = stride,
                      .inputs = product.first_inputs,
                      .weights = product.first.values.data(),
                      .pairs = product.first.pairs.data()};
  step.segment_count = 1;
  step.out = out.data();
  step.out_stride = product.width;
  step.scratch = scratch;
  kernel.run(step);
}

}  // namespace

void CfcGradient::size_tape(const BatchChunk& chunk, Tape& tape) const {
  // Growing memory anew for each call would cost more than the call.
  const auto fit = [](std::vector<float>& v, std::int64_t rows, std::int64_t width) {
    const auto size = static_cast<std::size_t>(rows * width);
    if (v.size() < size) v.resize(size);
  };
  const std::int64_t total = chunk.total();
  tape.pairs.resize(static_cast<std::size_t>(dense_->pairs ? kPairedRows * most_pairs_ : 0));
  fit(tape.x, total, sizes_.inputs);
  fit(tape.elapsed, total, 1);
  fit(tape.before, total, state_width_);
  fit(tape.after, total, state_width_);
  if (memory_) {
    fit(tape.mixed, total, state_width_);
    fit(tape.memory_trace, total, memory_->width);
    fit(tape.memory_more, total, 2 * state_width_);
    fit(tape.memory, chunk.rows(), state_width_);
  }
  if (projection_) fit(tape.output, total, projection_->width);
  tape.cells.resize(cells_.size());
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    const TrainedCfcCell& cell = cells_[c];
    CellTape& to = tape.cells[c];
    to.active.resize(cell.backbone.size());
    to.slope.resize(cell.backbone.size());
    for (std::size_t l = 0; l < cell.backbone.size(); ++l) {
      fit(to.active[l], total, cell.backbone[l].width);
      fit(to.slope[l], total, cell.backbone[l].width);
    }
    fit(to.trace, total, cell.heads.width);
    if (mode_ == CfcMode::pure) fit(to.more, total, 2 * cell.heads.width);
    if (differentiate_timespans_) fit(to.time_slope, total, state_width(cell));
  }
}

void CfcGradient::read_inputs(const Sequence<float>& sequence, const BatchChunk& chunk, Tape& tape) const {
  for (std::int64_t t = 0; t < chunk.steps(); ++t)
    for (std::int64_t r = 0; r < chunk.active(t); ++r) {
      const std::int64_t from = row_of(chunk.sample(r), t), to = chunk.at(t) + r;
      std::copy_n(sequence.input.data() + from * sizes_.inputs, sizes_.inputs, tape.x.data() + to * sizes_.inputs);
      if (!sequence.timespans.empty())
        tape.elapsed[static_cast<std::size_t>(to)] =
            sequence.timespans[sequence.timespans.size() == 1 ? 0 : static_cast<std::size_t>(from)];
      else
        tape.elapsed[static_cast<std::size_t>(to)] = 1;
    }
  if (precision_ != Precision::float32) back_->round(precision_, tape.x.data(), chunk.total() * sizes_.inputs);
  std::fill_n(tape.before.begin(), chunk.rows() * state_width_, 0.0f);
  if (memory_) std::fill_n(tape.memory.begin(), chunk.rows() * state_width_, 0.0f);
  for (std::int64_t r = 0; r < chunk.rows(); ++r) {
    if (!sequence.state.empty())
      scatter(sequence.state.data() + chunk.sample(r) * sizes_.state, tape.before.data() + r * state_width_);
    if (!sequence.memory.empty())
      scatter(sequence.memory.data() + chunk.sample(r) * sizes_.state, tape.memory.data() + r * state_width_);
  }
  if (precision_ != Precision::float32) back_->round(precision_, tape.before.data(), chunk.rows() * state_width_);
}

void CfcGradient::drop(const BatchChunk& chunk, Tape& tape, std::size_t cell, std::size_t layer,
                       std::int64_t step) const {
  const TrainedProduct& product = cells_[cell].backbone[layer];
  // As wide as the heads or the next layer take it in.
  const std::int64_t units = layer + 1 < cells_[cell].backbone.size() ? cells_[cell].backbone[layer + 1].first_inputs
                                                                      : cells_[cell].heads.first_inputs;
  for (std::int64_t r = 0; r < chunk.active(step); ++r) {
    const std::int64_t here = chunk.sample(r);
    const DropoutKey key{.active = true,
                         .seed = *dropout_seed_,
                         .sample = share_.empty() ? here : share_[static_cast<std::size_t>(here)],
                         .step = step};
    float* active = tape.cells[cell].active[layer].data() + (chunk.at(step) + r) * product.width;
    float* slope = tape.cells[cell].slope[layer].data() + (chunk.at(step) + r) * product.width;
    for (std::int64_t i = 0; i < units; ++i) {
      const auto factor = static_cast<float>(dropout_factor(key, static_cast<int>(layer), i, dropout_));
      active[i] *= factor;
      slope[i] *= factor;
    }
    if (precision_ != Precision::float32) back_->round(precision_, active, units);
  }
}

void CfcGradient::forward_cell(std::size_t index, const BatchChunk& chunk, Tape& tape, std::int64_t step) const {
  const TrainedCfcCell& cell = cells_[index];
  CellTape& own_tape = tape.cells[index];
  const std::int64_t rows = chunk.active(step), at = chunk.at(step);
  const std::vector<float>& states = memory_ ? tape.mixed : tape.before;
  const Segment own{.rows = states.data() + at * state_width_ + cell.offset, .stride = state_width_};
  Segment from{};  // the first cell's inputs are in its sums already
  if (index > 0)
    from = {.rows = tape.after.data() + at * state_width_ + cells_[index - 1].offset, .stride = state_width_};
  const auto product_step = [&](const TrainedProduct& product, Segment first, Segment second, float* trace) {
    DenseStep out{.rows = rows, .blocks = product.blocks, .start = product.bias.values.data()};
    out.scratch = tape.pairs.data();
    const auto add = [&](Segment segment, const GatheredWeights& weights) {
      if (segment.rows == nullptr || weights.inputs == 0) return;
      segment.inputs = weights.inputs;
      segment.weights = weights.values.data();
      segment.pairs = weights.pairs.data();
      out.segments[out.segment_count++] = segment;
    };
    add(first, product.first);
    add(second, product.second);
    out.trace = trace;
    out.trace_stride = product.width;
    out.rounding = precision_;
    if (index == 0 && &product == &cell.entry()) {
      out.start = trace;
      out.start_stride = product.width;
    }
    return out;
  };
  for (std::size_t l = 0; l < cell.backbone.size(); ++l) {
    const TrainedProduct& product = cell.backbone[l];
    DenseStep layer =
        product_step(product, from, l == 0 ? own : Segment{}, own_tape.slope[l].data() + at * product.width);
    layer.finish = Finish::activate;
    layer.activation = activation_;
    layer.out = own_tape.active[l].data() + at * product.width;
    layer.out_stride = product.width;
    dense_->run(layer);
    if (dropout_seed_ && dropout_ > 0 && (l > 0 || rules_.dropout_after_first)) drop(chunk, tape, index, l, step);
    from = {.rows = layer.out, .stride = product.width};
  }
  DenseStep heads = product_step(cell.heads, from, cell.backbone.empty() ? own : Segment{},
                                 own_tape.trace.data() + at * cell.heads.width);
  heads.finish = mode_ == CfcMode::pure ? Finish::pure : mode_ == CfcMode::no_gate ? Finish::no_gate : Finish::gated;
  heads.head = rules_.head;
  heads.time_sign = static_cast<float>(rules_.time_sign);
  heads.timespans = tape.elapsed.data() + at;
  heads.timespan_stride = 1;
  heads.w_tau = cell.w_tau.values.data();
  heads.amplitude = cell.amplitude.values.data();
  heads.more_trace_stride = mode_ == CfcMode::pure ? 2 * cell.heads.width : 0;
  heads.more_trace = own_tape.more.data() + at * heads.more_trace_stride;
  if (differentiate_timespans_) {
    heads.time_slope_stride = state_width(cell);
    heads.time_slope = own_tape.time_slope.data() + at * heads.time_slope_stride;
  }
  heads.out = tape.after.data() + at * state_width_ + cell.offset;
  heads.out_stride = state_width_;
  dense_->run(heads);
}

void CfcGradient::forward_chunk(const Sequence<float>& sequence, const BatchChunk& chunk, Tape& tape,
                                SequenceResult<float>& result) const {
  size_tape(chunk, tape);
  read_inputs(sequence, chunk, tape);
  const TrainedCfcCell& first = cells_.front();
  project(*dense_, first.entry(), chunk.total(), tape.x.data(), sizes_.inputs,
          first.backbone.empty() ? tape.cells[0].trace : tape.cells[0].slope[0], tape.pairs.data());
  if (memory_)
    project(*dense_, *memory_, chunk.total(), tape.x.data(), sizes_.inputs, tape.memory_trace, tape.pairs.data());
  for (std::int64_t t = 0; t < chunk.steps(); ++t) {
    const std::int64_t at = chunk.at(t);
    if (memory_) {
      DenseStep step{.rows = chunk.active(t), .blocks = memory_->blocks};
      step.trace = tape.memory_trace.data() + at * memory_->width;
      step.start = step.trace;
      step.trace_stride = step.start_stride = memory_->width;
      step.segments[0] = {.rows = tape.before.data() + at * state_width_,
                          .stride = state_width_,
                          .inputs = state_width_,
                          .weights = memory_->second.values.data(),
                          .pairs = memory_->second.pairs.data()};
      step.scratch = tape.pairs.data();
      step.segment_count = 1;
      step.finish = Finish::memory;
      step.out = tape.mixed.data() + at * state_width_;
      step.memory = tape.memory.data();
      step.more_trace = tape.memory_more.data() + at * 2 * state_width_;
      step.more_trace_stride = 2 * state_width_;
      step.out_stride = step.memory_stride = state_width_;
      step.rounding = precision_;
      dense_->run(step);
    }
    for (std::size_t c = 0; c < cells_.size(); ++c) forward_cell(c, chunk, tape, t);
    std::copy_n(tape.after.begin() + at * state_width_, chunk.active(t + 1) * state_width_,
                tape.before.begin() + chunk.at(std::min(t + 1, chunk.steps())) * state_width_);
  }
  if (projection_)
    project(*dense_, *projection_, chunk.total(), tape.after.data() + cells_.back().offset, state_width_, tape.output,
            tape.pairs.data());
  write_results(chunk, tape, result);
}

void CfcGradient::write_results(const BatchChunk& chunk, const Tape& tape, SequenceResult<float>& result) const {
  for (std::int64_t t = 0; t < chunk.steps(); ++t)
    for (std::int64_t r = 0; r < chunk.active(t); ++r) {
      const std::int64_t row = chunk.at(t) + r, sample = chunk.sample(r);
      const bool last = t + 1 == chunk.length(r);
      if (sizes_.return_sequences || last) {
        const float* from = projection_ ? tape.output.data() + row * projection_->width
                                        : tape.after.data() + row * state_width_ + cells_.back().offset;
        const std::int64_t to = sizes_.return_sequences ? row_of(sample, t) : sample;
        std::copy_n(from, sizes_.outputs, result.output.data() + to * sizes_.outputs);
      }
      if (!last) continue;
      gather(tape.after.data() + row * state_width_, result.state.data() + sample * sizes_.state);
      if (memory_) gather(tape.memory.data() + r * state_width_, result.memory.data() + sample * sizes_.state);
    }
}

}  // namespace tessera::ncp
