#include "tessera/ncp/internal/packed_cfc.h"

#include "tessera/ncp/internal/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tessera::ncp {
namespace {

// Steps whose inputs are multiplied in one go when there are too few samples to share weights among.
constexpr std::int64_t kChunk = 32;

// weight(part, column, segment, input) and bias(part, column). A block has a vector for each of its parts, or four
// times as many columns of a single one.
template <class Weight, class Bias>
PackedProduct pack(int lanes, int parts, std::int64_t columns, std::int64_t first, std::int64_t second,
                   const Weight& weight, const Bias& bias) {
  const int vectors = parts == 1 ? kQuad : parts;
  const std::int64_t in_block = parts == 1 ? kQuad * lanes : lanes;
  PackedProduct out{.vectors = vectors,
                    .blocks = (columns + in_block - 1) / in_block,
                    .first_inputs = first,
                    .second_inputs = second};
  const auto each = [&](std::int64_t block, auto&& use) {
    for (int q = 0; q < vectors; ++q)
      for (std::int64_t l = 0; l < lanes; ++l) {
        const std::int64_t column = block * in_block + (parts == 1 ? q * lanes + l : l);
        use(parts == 1 ? 0 : q, column, column < columns);
      }
  };
  for (std::int64_t block = 0; block < out.blocks; ++block) {
    each(block, [&](int part, std::int64_t c, bool real) { out.bias.push_back(real ? bias(part, c) : 0.0f); });
    for (std::int64_t k = 0; k < first; ++k)
      each(block,
           [&](int part, std::int64_t c, bool real) { out.first.push_back(real ? weight(part, c, 0, k) : 0.0f); });
    for (std::int64_t k = 0; k < second; ++k)
      each(block,
           [&](int part, std::int64_t c, bool real) { out.second.push_back(real ? weight(part, c, 1, k) : 0.0f); });
  }
  return out;
}

float weight_of(const ParameterSet<float>& p, const Linear& l, std::int64_t column, std::int64_t input) {
  const auto at = static_cast<std::size_t>(column * l.inputs + input);
  return p.at(l.weight)[at] * (l.mask < 0 ? 1.0f : p.at(l.mask)[at]);
}

float bias_of(const ParameterSet<float>& p, const Linear& l, std::int64_t column) {
  return p.at(l.bias)[static_cast<std::size_t>(column)];
}

// Linear layers of the same inputs as one product; the first `first` inputs come from one place, the rest from another.
PackedProduct pack_linear(const ParameterSet<float>& p, const std::vector<Linear>& parts, int lanes,
                          std::int64_t first) {
  return pack(
      lanes, static_cast<int>(parts.size()), parts[0].outputs, first, parts[0].inputs - first,
      [&](int part, std::int64_t column, int segment, std::int64_t k) {
        return weight_of(p, parts[static_cast<std::size_t>(part)], column, segment == 0 ? k : first + k);
      },
      [&](int part, std::int64_t column) { return bias_of(p, parts[static_cast<std::size_t>(part)], column); });
}

// (ff1, ff2, time_b + sign * time_a): what the four heads are to a step that takes a time of 1.
PackedProduct pack_timed_heads(const ParameterSet<float>& p, const CfcCell<float>& cell, float sign, int lanes,
                               std::int64_t first) {
  const auto sum_of = [&](int part, auto&& value) {
    return part == 0 ? value(cell.ff1) : part == 1 ? value(cell.ff2) : value(cell.time_b) + sign * value(cell.time_a);
  };
  return pack(
      lanes, kTriple, cell.ff1.outputs, first, cell.ff1.inputs - first,
      [&](int part, std::int64_t column, int segment, std::int64_t k) {
        return sum_of(part, [&](const Linear& l) { return weight_of(p, l, column, segment == 0 ? k : first + k); });
      },
      [&](int part, std::int64_t column) {
        return sum_of(part, [&](const Linear& l) { return bias_of(p, l, column); });
      });
}

DenseStep product_step(const PackedProduct& product, std::int64_t rows, Segment first, Segment second) {
  DenseStep step{.rows = rows, .blocks = product.blocks, .vectors = product.vectors, .start = product.bias.data()};
  const auto add = [&](Segment segment, std::int64_t inputs, const CountedFloats& weights) {
    if (inputs == 0 || segment.rows == nullptr) return;
    segment.inputs = inputs;
    segment.weights = weights.data();
    step.segments[step.segment_count++] = segment;
  };
  add(first, product.first_inputs, product.first);
  add(second, product.second_inputs, product.second);
  return step;
}

}  // namespace

struct PackedCfc::Workspace {
  std::int64_t rows;
  CountedFloats state{}, next{}, memory{}, wide{}, other_wide{}, projected{}, output{};
};

struct PackedCfc::StepInput {
  const float* x = nullptr;
  std::int64_t x_stride = 0;
  const float* projected = nullptr;  // instead of x, for the first cell
  std::int64_t projected_stride = 0;
  const float* timespans = nullptr;  // null: 1
  std::int64_t timespan_stride = 0;
  bool unit_time() const { return timespans == nullptr; }
};

PackedCfc::PackedCfc(const CfcLayer& layer, const ParameterSet<float>& p, const DenseKernel& kernel)
    : sizes_(sizes(layer)),
      mode_(layer.mode),
      activation_(layer.activation),
      rules_(rules(layer.dialect)),
      kernel_(&kernel) {
  if (layer.wiring)
    for (std::size_t l = 0; l < layer.wiring->layers.size(); ++l)
      add_cell(layer, p, fmt::format("rnn_cell.layer_{}.", l),
               static_cast<std::int64_t>(layer.wiring->layers[l].neurons.size()));
  else
    add_cell(layer, p, "rnn_cell.", layer.units);
  if (layer.mixed_memory) add_memory(p);
  if (layer.projection > 0) projection_ = pack_linear(p, {find_linear(p, "fc")}, kernel.lanes, sizes_.readout);
}

void PackedCfc::add_cell(const CfcLayer& layer, const ParameterSet<float>& p, const std::string& prefix,
                         std::int64_t hidden) {
  PackedCfcCell cell;
  cell.hidden = hidden;
  cell.offset = state_width_;
  const CfcCell<float> found(layer, p, prefix, 0, static_cast<int>(hidden));
  for (const Linear& linear : found.backbone) {
    const bool entry = cell.backbone.empty();
    cell.backbone.push_back(
        pack_linear(p, {linear}, kernel_->lanes, entry ? linear.inputs - hidden : std::int64_t{linear.inputs}));
    widest_ = std::max(widest_, cell.backbone.back().width());
  }
  const std::int64_t from_input = found.backbone.empty() ? found.ff1.inputs - hidden : std::int64_t{found.ff1.inputs};
  if (mode_ == CfcMode::pure) {
    cell.heads = pack_linear(p, {found.ff1}, kernel_->lanes, from_input);
    const auto padded = [&](int index) {
      std::vector<float> out(p.at(index), p.at(index) + hidden);
      out.resize(static_cast<std::size_t>(cell.heads.width()));
      return out;
    };
    cell.w_tau = padded(found.w_tau);
    cell.amplitude = padded(found.a);
    state_width_ += cell.heads.width();
  } else {
    cell.heads = pack_linear(p, {found.ff1, found.ff2, found.time_a, found.time_b}, kernel_->lanes, from_input);
    cell.timed_heads = pack_timed_heads(p, found, static_cast<float>(rules_.time_sign), kernel_->lanes, from_input);
    state_width_ += cell.heads.width() / kQuad;
  }
  cells_.push_back(std::move(cell));
}

// In the coordinates of the padded state: what the padding would give is 0 and stays so.
void PackedCfc::add_memory(const ParameterSet<float>& p) {
  std::vector<std::int64_t> place(static_cast<std::size_t>(state_width_), -1);
  std::int64_t index = 0;
  for (const PackedCfcCell& cell : cells_)
    for (std::int64_t i = 0; i < cell.hidden; ++i) place[static_cast<std::size_t>(cell.offset + i)] = index++;
  const float* input = p.at(p.find("lstm.input_map.weight"));
  const float* bias = p.at(p.find("lstm.input_map.bias"));
  const float* recurrent = p.at(p.find("lstm.recurrent_map.weight"));
  const std::int64_t n = sizes_.state;
  memory_ = pack(
      kernel_->lanes, kQuad, state_width_, sizes_.inputs, state_width_,
      [&](int part, std::int64_t column, int segment, std::int64_t k) {
        const std::int64_t unit = place[static_cast<std::size_t>(column)];
        if (unit < 0) return 0.0f;
        if (segment == 0) return input[(part * n + unit) * sizes_.inputs + k];
        const std::int64_t from = place[static_cast<std::size_t>(k)];
        return from < 0 ? 0.0f : recurrent[(part * n + unit) * n + from];
      },
      [&](int part, std::int64_t column) {
        const std::int64_t unit = place[static_cast<std::size_t>(column)];
        return unit < 0 ? 0.0f : bias[part * n + unit];
      });
}

void PackedCfc::gather(const float* padded, float* to) const {
  for (const PackedCfcCell& cell : cells_) to = std::copy_n(padded + cell.offset, cell.hidden, to);
}

void PackedCfc::scatter(const float* from, float* padded) const {
  for (const PackedCfcCell& cell : cells_) {
    std::copy_n(from, cell.hidden, padded + cell.offset);
    from += cell.hidden;
  }
}

void PackedCfc::run_cell(const PackedCfcCell& cell, Workspace& work, const StepInput& input, Segment from,
                         DenseStep heads) const {
  const Segment own{.rows = work.state.data() + cell.offset, .stride = state_width_};
  const bool projected = &cell == &cells_.front() && input.projected != nullptr;
  if (projected) from.rows = nullptr;
  float* wide = work.wide.data();
  float* other = work.other_wide.data();
  for (const PackedProduct& product : cell.backbone) {
    const bool entry = &product == &cell.backbone.front();
    DenseStep layer = product_step(product, work.rows, from, entry ? own : Segment{});
    if (entry && projected) {
      layer.start = input.projected;
      layer.start_stride = input.projected_stride;
    }
    layer.finish = Finish::activate;
    layer.activation = activation_;
    layer.out = wide;
    layer.out_stride = widest_;
    kernel_->run(layer);
    from = {.rows = wide, .stride = widest_};
    std::swap(wide, other);
  }
  const DenseStep product =
      product_step(cell.heads_for(input.unit_time()), work.rows, from, cell.backbone.empty() ? own : Segment{});
  std::copy(std::begin(product.segments), std::end(product.segments), std::begin(heads.segments));
  heads.segment_count = product.segment_count;
  heads.blocks = product.blocks;
  heads.vectors = product.vectors;
  heads.start = product.start;
  if (cell.backbone.empty() && projected) {
    heads.start = input.projected;
    heads.start_stride = input.projected_stride;
  }
  heads.w_tau = cell.w_tau.data();
  heads.amplitude = cell.amplitude.data();
  heads.out = work.next.data() + cell.offset;
  kernel_->run(heads);
}

void PackedCfc::step(Workspace& work, const StepInput& input) const {
  const Segment x{.rows = input.x, .stride = input.x_stride};
  if (sizes_.mixed_memory) {
    DenseStep memory = product_step(memory_, work.rows, x, {.rows = work.state.data(), .stride = state_width_});
    memory.finish = Finish::memory;
    memory.out = work.next.data();
    memory.out_stride = memory.memory_stride = state_width_;
    memory.memory = work.memory.data();
    kernel_->run(memory);
    std::swap(work.state, work.next);
  }
  const DenseStep heads{.rows = work.rows,
                        .out_stride = state_width_,
                        .finish = mode_ == CfcMode::pure      ? Finish::pure
                                  : mode_ == CfcMode::no_gate ? Finish::no_gate
                                                              : Finish::gated,
                        .head = rules_.head,
                        .time_sign = static_cast<float>(rules_.time_sign),
                        .timespans = input.timespans,
                        .timespan_stride = input.timespan_stride};
  Segment from = x;
  for (const PackedCfcCell& cell : cells_) {
    run_cell(cell, work, input, from, heads);
    from = {.rows = work.next.data() + cell.offset, .stride = state_width_};
  }
  std::swap(work.state, work.next);
}

void PackedCfc::project(Workspace& work, const float* x, std::int64_t steps, bool unit_time) const {
  const PackedProduct& entry = cells_.front().entry(unit_time);
  DenseStep all = product_step(entry, steps, {.rows = x, .stride = sizes_.inputs}, {});
  all.out = work.projected.data();
  all.out_stride = entry.width();
  kernel_->run(all);
}

void PackedCfc::write_output(Workspace& work, std::int64_t row, float* to) const {
  const float* state = work.state.data() + row * state_width_ + cells_.back().offset;
  if (projection_.blocks == 0) {
    std::copy_n(state, sizes_.readout, to);
    return;
  }
  DenseStep step = product_step(projection_, 1, {.rows = state, .stride = state_width_}, {});
  step.out = work.output.data();
  step.out_stride = projection_.width();
  kernel_->run(step);
  std::copy_n(work.output.data(), sizes_.outputs, to);
}

std::shared_ptr<PackedCfc::Workspace> PackedCfc::make_workspace(std::int64_t rows) const {
  const auto size = [&](std::int64_t width) { return static_cast<std::size_t>(rows * width); };
  auto work = std::make_shared<Workspace>(Workspace{.rows = rows});
  work->state.resize(size(state_width_));
  work->next.resize(size(state_width_));
  if (sizes_.mixed_memory) work->memory.resize(size(state_width_));
  work->wide.resize(size(widest_));
  work->other_wide.resize(size(widest_));
  work->output.resize(static_cast<std::size_t>(projection_.width()));
  return work;
}

void PackedCfc::step_once(Workspace& work, const float* x, const float* elapsed, float* output) const {
  step(work, {.x = x, .timespans = elapsed});
  write_output(work, 0, output);
}

void PackedCfc::set_state(Workspace& work, const float* state, const float* memory) const {
  scatter(state, work.state.data());
  if (sizes_.mixed_memory) scatter(memory, work.memory.data());
}

void PackedCfc::get_state(const Workspace& work, float* state, float* memory) const {
  gather(work.state.data(), state);
  if (sizes_.mixed_memory) gather(work.memory.data(), memory);
}

void PackedCfc::run(const Sequence<float>& sequence, std::int64_t begin, std::int64_t end,
                    SequenceResult<float>& result) const {
  const std::int64_t rows = end - begin, steps = sequence.steps;
  const bool batch_first = sizes_.batch_first;
  // From sample to sample, and from step to step, in rows of a sequence.
  const std::int64_t by_sample = batch_first ? steps : 1, by_step = batch_first ? 1 : sequence.batch;
  const auto size = [](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); };
  const std::shared_ptr<Workspace> own = make_workspace(rows);
  Workspace& work = *own;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (!sequence.state.empty())
      scatter(sequence.state.data() + (begin + r) * sizes_.state, work.state.data() + r * state_width_);
    if (!sequence.memory.empty())
      scatter(sequence.memory.data() + (begin + r) * sizes_.state, work.memory.data() + r * state_width_);
  }
  const bool unit_time = sequence.timespans.empty();
  // A single sample cannot share weights with others, but its steps can where they see the inputs.
  const bool projects = rows == 1 && by_step == 1;
  const std::int64_t projected_width = cells_.front().entry(unit_time).width();
  if (projects) work.projected.resize(size(kChunk, projected_width));
  for (std::int64_t t = 0; t < steps; ++t) {
    const std::int64_t place = begin * by_sample + t * by_step;
    StepInput input{.x = sequence.input.data() + place * sizes_.inputs, .x_stride = by_sample * sizes_.inputs};
    if (!unit_time) {
      const bool one = sequence.timespans.size() == 1;
      input.timespans = sequence.timespans.data() + (one ? 0 : place);
      input.timespan_stride = one ? 0 : by_sample;
    }
    if (projects) {
      if (t % kChunk == 0) project(work, input.x, std::min(kChunk, steps - t), unit_time);
      input.projected = work.projected.data() + (t % kChunk) * projected_width;
    }
    step(work, input);
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t at = place + r * by_sample;
      if (!result.states.empty())
        gather(work.state.data() + r * state_width_, result.states.data() + at * sizes_.state);
      if (sizes_.return_sequences)
        write_output(work, r, result.output.data() + at * sizes_.outputs);
      else if (t + 1 == steps)
        write_output(work, r, result.output.data() + (begin + r) * sizes_.outputs);
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    gather(work.state.data() + r * state_width_, result.state.data() + (begin + r) * sizes_.state);
    if (sizes_.mixed_memory)
      gather(work.memory.data() + r * state_width_, result.memory.data() + (begin + r) * sizes_.state);
  }
}

}  // namespace tessera::ncp
