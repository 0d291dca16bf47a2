#include "tessera/ncp/internal/cfc_gradient.h"

#include <algorithm>
#include <limits>

namespace tessera::ncp {
namespace {

// Rows that gradients of weights are summed over at a time: as many as stay in a core's cache until they are used.
constexpr std::int64_t kRowsAtATime = 128;

constexpr std::int64_t kLineFloats = 16;

void zero(std::vector<float>& v, std::int64_t count) {
  const auto size = static_cast<std::size_t>(count);
  if (v.size() < size) v.resize(size);
  std::fill_n(v.begin(), count, 0.0f);
}

// From the last step to the first: what gradients of weights are summed over at a time.
template <class Body>
void for_row_blocks(const BatchChunk& chunk, Body&& body) {
  std::int64_t done = chunk.total();
  for (std::int64_t t = chunk.steps(); t-- > 0;)
    if (t == 0 || done - chunk.at(t) >= kRowsAtATime) {
      body(chunk.at(t), done);
      done = chunk.at(t);
    }
}

}  // namespace

DenseStep CfcGradient::back_product(const GatheredWeights& weights, std::int64_t rows, const float* d,
                                    std::int64_t stride, std::uint32_t* scratch) const {
  DenseStep step{.rows = rows, .blocks = weights.blocks, .start = nothing_.data()};
  step.segments[0] = {.rows = d,
                      .stride = stride,
                      .inputs = weights.inputs,
                      .weights = weights.values.data(),
                      .pairs = weights.pairs.data()};
  step.segment_count = 1;
  step.scratch = scratch;
  return step;
}

void CfcGradient::add_outer(const TrainedProduct& product, std::int64_t rows, const float* d, Segment first,
                            Segment second, std::vector<float>& gradient) const {
  const auto add = [&](Segment x, std::int64_t inputs, std::int64_t to) {
    if (inputs == 0) return;
    back_->add_outer({.rows = rows,
                      .inputs = inputs,
                      .blocks = product.blocks,
                      .x = x.rows,
                      .x_stride = x.stride,
                      .d = d,
                      .d_stride = product.width,
                      .out = gradient.data() + to});
  };
  add(first, product.first_inputs, product.first_gradient);
  add(second, product.second_inputs, product.second_gradient);
  back_->add_columns(rows, product.width, d, product.width, gradient.data() + product.bias_gradient);
}

// Rows of the output's gradient in the chunk's order, back through a projection.
void CfcGradient::read_output_gradients(std::span<const float> d_output, const BatchChunk& chunk, Tape& tape) const {
  if (!projection_) return;
  const std::int64_t width = projection_->width, total = chunk.total();
  zero(tape.output, total * width);
  for (std::int64_t t = 0; t < chunk.steps(); ++t)
    for (std::int64_t r = 0; r < chunk.active(t); ++r) {
      const std::int64_t sample = chunk.sample(r);
      if (!sizes_.return_sequences && t + 1 != chunk.length(r)) continue;
      const std::int64_t from = sizes_.return_sequences ? row_of(sample, t) : sample;
      std::copy_n(d_output.data() + from * sizes_.outputs, sizes_.outputs,
                  tape.output.data() + (chunk.at(t) + r) * width);
    }
  if (precision_ != Precision::float32) back_->round(precision_, tape.output.data(), total * width);
  add_outer(*projection_, total, tape.output.data(),
            {.rows = tape.after.data() + cells_.back().offset, .stride = state_width_}, {}, tape.gradient);
  const std::int64_t out_width = projection_->first_back.blocks * kQuad * dense_->lanes;
  tape.d_readout.resize(std::max(tape.d_readout.size(), static_cast<std::size_t>(total * out_width)));
  DenseStep step = back_product(projection_->first_back, total, tape.output.data(), width, tape.pairs.data());
  step.out = tape.d_readout.data();
  step.out_stride = out_width;
  dense_->run(step);
}

void CfcGradient::backward_step(const BatchChunk& chunk, Tape& tape, std::int64_t step) const {
  const std::int64_t rows = chunk.active(step), at = chunk.at(step);
  const float* above = nullptr;
  for (std::size_t c = cells_.size(); c-- > 0;) {
    const TrainedCfcCell& cell = cells_[c];
    CellTape& own = tape.cells[c];
    float* d = own.trace.data() + at * cell.heads.width;
    GateStep gate{.rows = rows, .blocks = cell.heads.blocks, .quads = cell.heads.quads};
    gate.d = tape.d_state.data() + cell.offset;
    gate.d_stride = gradient_width_;
    gate.above = above;
    gate.above_stride = above_width_;
    gate.trace = d;
    gate.trace_stride = cell.heads.width;
    gate.more_trace_stride = mode_ == CfcMode::pure ? 2 * cell.heads.width : 0;
    gate.more_trace = own.more.data() + at * gate.more_trace_stride;
    if (differentiate_timespans_) {
      gate.time_slope_stride = state_width(cell);
      gate.time_slope = own.time_slope.data() + at * gate.time_slope_stride;
      gate.d_elapsed = tape.d_elapsed.data() + at;
    }
    gate.rounding = precision_;
    back_->back_gate(gate);
    std::int64_t width = cell.heads.width;
    const GatheredWeights* weights = &cell.heads.first_back;
    for (std::size_t l = cell.backbone.size(); l-- > 0;) {
      DenseStep layer = back_product(*weights, rows, d, width, tape.pairs.data());
      width = cell.backbone[l].width;
      d = own.slope[l].data() + at * width;
      layer.finish = Finish::scale;
      layer.out = layer.trace = d;
      layer.out_stride = layer.trace_stride = width;
      layer.rounding = precision_;
      dense_->run(layer);
      weights = &cell.backbone[l].first_back;
    }
    if (c == 0) break;
    DenseStep input = back_product(cell.entry().first_back, rows, d, width, tape.pairs.data());
    input.out = tape.above.data();
    input.out_stride = above_width_;
    dense_->run(input);
    above = tape.above.data();
  }
  // Whole blocks are written, so the next cell's part has to come later.
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    const TrainedCfcCell& cell = cells_[c];
    const TrainedProduct& entry = cell.entry();
    const std::vector<float>& from = cell.backbone.empty() ? tape.cells[c].trace : tape.cells[c].slope[0];
    DenseStep state =
        back_product(entry.second_back, rows, from.data() + at * entry.width, entry.width, tape.pairs.data());
    state.out = tape.d_state.data() + cell.offset;
    state.out_stride = gradient_width_;
    dense_->run(state);
  }
  if (!memory_) return;
  MemoryStep memory{.rows = rows, .blocks = memory_->blocks};
  memory.d = tape.d_state.data();
  memory.d_stride = gradient_width_;
  memory.d_memory = tape.d_memory.data();
  memory.d_memory_stride = state_width_;
  memory.trace = tape.memory_trace.data() + at * memory_->width;
  memory.trace_stride = memory_->width;
  memory.more_trace = tape.memory_more.data() + at * 2 * state_width_;
  memory.more_trace_stride = 2 * state_width_;
  memory.rounding = precision_;
  back_->back_memory(memory);
  DenseStep state = back_product(memory_->second_back, rows, memory.trace, memory_->width, tape.pairs.data());
  state.out = tape.d_state.data();
  state.out_stride = gradient_width_;
  dense_->run(state);
}

void CfcGradient::add_weight_gradients(Tape& tape, std::int64_t begin, std::int64_t end, std::int64_t first,
                                       std::int64_t count) const {
  const std::int64_t rows = end - begin;
  const std::vector<float>& states = memory_ ? tape.mixed : tape.before;
  std::int64_t number = 0;  // of a product, as in pieces()
  const auto wanted = [&] {
    const std::int64_t now = number++;
    return first <= now && now < first + count;
  };
  Segment from{.rows = tape.x.data() + begin * sizes_.inputs, .stride = sizes_.inputs};
  for (std::size_t c = 0; c < cells_.size(); ++c) {
    const TrainedCfcCell& cell = cells_[c];
    const CellTape& own_tape = tape.cells[c];
    const Segment own{.rows = states.data() + begin * state_width_ + cell.offset, .stride = state_width_};
    for (std::size_t l = 0; l < cell.backbone.size(); ++l) {
      const std::int64_t width = cell.backbone[l].width;
      if (wanted())
        add_outer(cell.backbone[l], rows, own_tape.slope[l].data() + begin * width, from, own, tape.gradient);
      from = {.rows = own_tape.active[l].data() + begin * width, .stride = width};
    }
    if (wanted()) {
      add_outer(cell.heads, rows, own_tape.trace.data() + begin * cell.heads.width, from, own, tape.gradient);
      if (mode_ == CfcMode::pure) {
        const std::int64_t width = cell.heads.width;
        const float* more = own_tape.more.data() + begin * 2 * width;
        back_->add_columns(rows, width, more, 2 * width, tape.gradient.data() + cell.w_tau_gradient);
        back_->add_columns(rows, width, more + width, 2 * width, tape.gradient.data() + cell.amplitude_gradient);
      }
    }
    from = {.rows = tape.after.data() + begin * state_width_ + cell.offset, .stride = state_width_};
  }
  if (memory_ && wanted())
    add_outer(*memory_, rows, tape.memory_trace.data() + begin * memory_->width,
              {.rows = tape.x.data() + begin * sizes_.inputs, .stride = sizes_.inputs},
              {.rows = tape.before.data() + begin * state_width_, .stride = state_width_}, tape.gradient);
}

void CfcGradient::add_weight_gradients(const BatchChunk& chunk, Tape& tape, const Piece& piece) const {
  for_row_blocks(chunk, [&](std::int64_t begin, std::int64_t end) {
    add_weight_gradients(tape, begin, end, piece.first, piece.count);
  });
}

std::vector<CfcGradient::Piece> CfcGradient::pieces() const {
  std::vector<Piece> out;
  std::int64_t number = 0, begin = 0;
  const auto add = [&](const TrainedProduct& product) {
    const std::int64_t end = product.bias_gradient + product.width;
    if (out.empty() || out.back().end - out.back().begin >= kBucket) out.push_back({.first = number, .begin = begin});
    ++out.back().count;
    out.back().end = begin = end;
    ++number;
  };
  for (const TrainedCfcCell& cell : cells_) {
    for (const TrainedProduct& product : cell.backbone) add(product);
    add(cell.heads);
  }
  if (memory_) add(*memory_);
  out.back().end = packed_.size();  // a projection's are final before all others, but few
  return out;
}

void CfcGradient::backward_inputs(const BatchChunk& chunk, Tape& tape, SequenceGradients<float>& gradients) const {
  const TrainedCfcCell& first = cells_.front();
  const TrainedProduct& entry = first.entry();
  const std::int64_t total = chunk.total(), width = entry.first_back.blocks * kQuad * dense_->lanes;
  tape.d_input.resize(std::max(tape.d_input.size(), static_cast<std::size_t>(total * width)));
  const std::vector<float>& from = first.backbone.empty() ? tape.cells[0].trace : tape.cells[0].slope[0];
  DenseStep step = back_product(entry.first_back, total, from.data(), entry.width, tape.pairs.data());
  step.out = tape.d_input.data();
  step.out_stride = width;
  dense_->run(step);
  if (memory_) {
    DenseStep more =
        back_product(memory_->first_back, total, tape.memory_trace.data(), memory_->width, tape.pairs.data());
    more.start = tape.d_input.data();
    more.start_stride = width;
    more.out = tape.d_input.data();
    more.out_stride = width;
    dense_->run(more);
  }
  for (std::int64_t t = 0; t < chunk.steps(); ++t)
    for (std::int64_t r = 0; r < chunk.active(t); ++r)
      std::copy_n(tape.d_input.data() + (chunk.at(t) + r) * width, sizes_.inputs,
                  gradients.input.data() + row_of(chunk.sample(r), t) * sizes_.inputs);
}

void CfcGradient::backward_chunk(std::span<const float> d_output, std::span<const float> d_state,
                                 std::span<const float> d_memory, const BatchChunk& chunk, Tape& tape,
                                 SequenceGradients<float>& gradients, bool with_weights) const {
  zero(tape.gradient, packed_.size());
  zero(tape.d_state, chunk.rows() * gradient_width_ + kQuad * dense_->lanes);
  if (memory_) zero(tape.d_memory, chunk.rows() * state_width_);
  if (cells_.size() > 1) zero(tape.above, chunk.rows() * above_width_);
  if (differentiate_timespans_) zero(tape.d_elapsed, chunk.total());
  for (std::int64_t r = 0; r < chunk.rows(); ++r) {
    const std::int64_t sample = chunk.sample(r);
    if (!d_state.empty()) scatter(d_state.data() + sample * sizes_.state, tape.d_state.data() + r * gradient_width_);
    if (!d_memory.empty()) scatter(d_memory.data() + sample * sizes_.state, tape.d_memory.data() + r * state_width_);
  }
  read_output_gradients(d_output, chunk, tape);
  const std::int64_t readout_width = projection_ ? projection_->first_back.blocks * kQuad * dense_->lanes : 0;
  std::int64_t done = chunk.total();
  for (std::int64_t t = chunk.steps(); t-- > 0;) {
    for (std::int64_t r = 0; r < chunk.active(t); ++r) {
      float* to = tape.d_state.data() + r * gradient_width_ + cells_.back().offset;
      const float* from = nullptr;
      if (projection_)
        from = tape.d_readout.data() + (chunk.at(t) + r) * readout_width;
      else if (sizes_.return_sequences)
        from = d_output.data() + row_of(chunk.sample(r), t) * sizes_.outputs;
      else if (t + 1 == chunk.length(r))
        from = d_output.data() + chunk.sample(r) * sizes_.outputs;
      if (from == nullptr) continue;
      // Steps of a sample lie next to each other, so the next rows are elsewhere: those of the step before are on
      // their way while this step is computed.
      if (t > 0 && !projection_ && sizes_.return_sequences && t - 1 < chunk.length(r)) {
        const float* next = d_output.data() + row_of(chunk.sample(r), t - 1) * sizes_.outputs;
        for (std::int64_t i = 0; i < sizes_.readout; i += kLineFloats) __builtin_prefetch(next + i);
      }
      const std::int64_t whole = sizes_.readout / dense_->lanes * dense_->lanes;
      back_->add_columns(1, whole, from, 0, to);
      for (std::int64_t i = whole; i < sizes_.readout; ++i) to[i] += from[i];
    }
    backward_step(chunk, tape, t);
    if (with_weights && (t == 0 || done - chunk.at(t) >= kRowsAtATime)) {
      add_weight_gradients(tape, chunk.at(t), done, 0, std::numeric_limits<std::int64_t>::max());
      done = chunk.at(t);
    }
  }
  backward_inputs(chunk, tape, gradients);
  for (std::int64_t t = 0; differentiate_timespans_ && t < chunk.steps(); ++t)
    for (std::int64_t r = 0; r < chunk.active(t); ++r)
      gradients.timespans[static_cast<std::size_t>(row_of(chunk.sample(r), t))] =
          tape.d_elapsed[static_cast<std::size_t>(chunk.at(t) + r)];
  for (std::int64_t r = 0; r < chunk.rows(); ++r) {
    const std::int64_t sample = chunk.sample(r);
    gather(tape.d_state.data() + r * gradient_width_, gradients.state.data() + sample * sizes_.state);
    if (memory_) gather(tape.d_memory.data() + r * state_width_, gradients.memory.data() + sample * sizes_.state);
  }
}

}  // namespace tessera::ncp
