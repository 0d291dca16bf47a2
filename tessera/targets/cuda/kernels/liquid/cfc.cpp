#include "tessera/targets/cuda/kernels/liquid/cfc.h"

#include "tessera/core/error.h"

#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace tessera::cuda {

namespace {

static_assert(static_cast<int>(CfcActivation::gelu) == static_cast<int>(Cfc::Activation::gelu) &&
              static_cast<int>(CfcActivation::lecun_tanh) == static_cast<int>(Cfc::Activation::lecun_tanh) &&
              static_cast<int>(CfcActivation::silu) == static_cast<int>(Cfc::Activation::silu) &&
              static_cast<int>(CfcActivation::relu) == static_cast<int>(Cfc::Activation::relu) &&
              static_cast<int>(CfcActivation::tanh) == static_cast<int>(Cfc::Activation::tanh));
static_assert(static_cast<int>(CfcHead::tanh) == static_cast<int>(Cfc::Head::tanh) &&
              static_cast<int>(CfcHead::none) == static_cast<int>(Cfc::Head::none) &&
              static_cast<int>(CfcHead::lecun_tanh) == static_cast<int>(Cfc::Head::lecun_tanh));

// To the nearest number of tf32, halves away from zero, as the kernels round rows.
float rounded_to_tf32(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7F800000u) == 0x7F800000u) return x;  // infinities and NaN
  return std::bit_cast<float>((bits + 0x1000u) & ~0x1FFFu);
}

// weight(head, unit, input) of a stage into the places where the warps of block `rank` look for them.
template <class Weight>
void pack_stage(const CfcStage& stage, bool tensor_cores, int rank, int width, const Weight& weight, float* to) {
  const int rows = tensor_cores ? kTensorRows : kPlainRows;
  const auto value = [&](int row, int k) {
    const int head = row / stage.block_units, unit = rank * stage.block_units + row % stage.block_units;
    if (head >= stage.heads || unit >= stage.units || k >= width) return 0.0f;
    const float exact = weight(head, unit, k);
    return tensor_cores ? rounded_to_tf32(exact) : exact;
  };
  for (int tile = 0; tile < stage.tiles; ++tile)
    for (int k = 0; k < stage.depth * kCfcDepth; k += kCfcDepth)
      for (int part = 0; part < (tensor_cores ? 2 : 4); ++part)
        for (int lane = 0; lane < 32; ++lane)
          for (int i = 0; i < 4; ++i)
            *to++ = tensor_cores ? value(tile * rows + lane / 4 + i % 2 * 8, k + lane % 4 * 4 + part * 2 + i / 2)
                                 : value(tile * rows + lane, k + part * 4 + i);
}

void check_linear(const CfcWeights::Linear& found, std::int64_t rows, std::int64_t width, std::string_view what) {
  check(static_cast<std::int64_t>(found.weights.size()) == rows * width &&
            static_cast<std::int64_t>(found.biases.size()) == rows,
        Code::invalid_argument, "cfc: the {} have {} weights and {} biases, {} x {} are needed", what,
        found.weights.size(), found.biases.size(), rows, width);
}

void check_weights(const CfcProblem& problem, const CfcWeights& weights) {
  check(weights.cells.size() == problem.cells.size(), Code::invalid_argument, "cfc: weights of {} cells, {} are there",
        weights.cells.size(), problem.cells.size());
  const std::int64_t heads = problem.mode == Cfc::Mode::pure ? 1 : 4;
  for (std::size_t c = 0; c < problem.cells.size(); ++c) {
    const CfcProblem::Cell& cell = problem.cells[c];
    const CfcWeights::Cell& given = weights.cells[c];
    check(given.backbone.size() == cell.backbone.size(), Code::invalid_argument,
          "cfc: weights of {} layers of a backbone, it has {}", given.backbone.size(), cell.backbone.size());
    std::int64_t width = problem.inputs_of(c) + cell.units;
    for (std::size_t l = 0; l < cell.backbone.size(); ++l) {
      check_linear(given.backbone[l], cell.backbone[l], width, "layers of the backbone");
      width = cell.backbone[l];
    }
    check_linear(given.heads, heads * cell.units, width, "heads");
    check(given.decay.size() == (problem.mode == Cfc::Mode::pure ? 2u * static_cast<unsigned>(cell.units) : 0u),
          Code::invalid_argument, "cfc: {} time constants and amplitudes for {} units", given.decay.size(), cell.units);
  }
  if (problem.projection > 0)
    check_linear(weights.projection, problem.projection, problem.cells.back().units, "outputs");
}

// Both of the gate's heads as one, where every step takes a time of 1.
struct Heads {
  const CfcWeights::Linear& given;
  int units, width, count;

  float both(std::span<const float> values, std::size_t a, std::size_t b) const {
    return static_cast<float>(static_cast<double>(values[a]) + static_cast<double>(values[b]));
  }
  float weight(int head, int unit, int k) const {
    const auto at = [&](int h) {
      return (static_cast<std::size_t>(h) * static_cast<std::size_t>(units) + static_cast<std::size_t>(unit)) *
                 static_cast<std::size_t>(width) +
             static_cast<std::size_t>(k);
    };
    return count == 3 && head == 2 ? both(given.weights, at(2), at(3)) : given.weights[at(head)];
  }
  float bias(int head, int unit) const {
    const auto at = [&](int h) { return static_cast<std::size_t>(h * units + unit); };
    return count == 3 && head == 2 ? both(given.biases, at(2), at(3)) : given.biases[at(head)];
  }
};

}  // namespace

PreparedCfc::PreparedCfc(KernelLibrary& library, const CfcProblem& problem, const CfcRow& row, const CfcOffer& offer,
                         const CfcWeights& weights)
    : context_(library.context()), problem_(problem), offer_(offer) {
  check_problem(problem);
  check_weights(problem, weights);
  const Binary binary = row.in_registers                         ? Binary::cfc_registers
                        : row.precision == LiquidPrecision::tf32 ? Binary::cfc_tf32
                                                                 : Binary::cfc_f32;
  std::string kernel(row.name);
  if (row.in_registers) {
    if (offer.cluster > 1) kernel += "_cluster";
    if (problem.is_usual()) kernel += "_usual";
  }
  function_ = library.function(binary, kernel);
  if (row.in_registers)
    prepare_registers(weights, row);
  else
    prepare(weights, row);
  std::visit(
      [&](auto& a) {
        a.weights = static_cast<const float*>(weights_.data());
        a.constants = static_cast<const float*>(constants_.data());
      },
      arguments_);
  function_.allow_shared_bytes(offer.shared_bytes);
}

void PreparedCfc::prepare(const CfcWeights& weights, const CfcRow& row) {
  const bool tensor_cores = row.precision == LiquidPrecision::tf32;
  const CfcArguments a = lay_out(problem_, row.precision, row.samples, offer_.cluster, offer_.resident).arguments;
  arguments_ = a;
  const auto per_block = static_cast<std::size_t>(a.weights_per_block),
             constants_per_block = static_cast<std::size_t>(a.constants_per_block);
  std::vector<float> packed(per_block * static_cast<std::size_t>(a.cluster)),
      constants(constants_per_block * static_cast<std::size_t>(a.cluster));
  const auto pack = [&](const CfcStage& stage, const CfcWeights::Linear& given, int width,
                        std::span<const float> decay) {
    const Heads heads{given, stage.units, width, stage.heads};
    for (int rank = 0; rank < a.cluster; ++rank) {
      const auto block = static_cast<std::size_t>(rank);
      pack_stage(
          stage, tensor_cores, rank, width, [&](int head, int unit, int k) { return heads.weight(head, unit, k); },
          packed.data() + block * per_block + stage.weights);
      float* to = constants.data() + block * constants_per_block + stage.bias;
      for (int u = 0; u < stage.block_units; ++u) {
        const int unit = rank * stage.block_units + u;
        if (unit >= stage.units) break;
        for (int head = 0; head < stage.heads; ++head) to[head * stage.block_units + u] = heads.bias(head, unit);
        for (int i = 0; i < static_cast<int>(decay.size()) / stage.units; ++i)
          to[(1 + i) * stage.block_units + u] = decay[static_cast<std::size_t>(i * stage.units + unit)];
      }
    }
  };
  int next = 0;
  for (std::size_t c = 0; c < problem_.cells.size(); ++c) {
    int width = problem_.inputs_of(c) + problem_.cells[c].units;
    for (std::size_t l = 0; l < problem_.cells[c].backbone.size(); ++l) {
      pack(a.stages[next++], weights.cells[c].backbone[l], width, {});
      width = problem_.cells[c].backbone[l];
    }
    pack(a.stages[next++], weights.cells[c].heads, width, weights.cells[c].decay);
  }
  if (problem_.projection > 0) pack(a.stages[next], weights.projection, problem_.cells.back().units, {});
  weights_ = Memory(context_, std::as_bytes(std::span(packed)));
  constants_ = Memory(context_, std::as_bytes(std::span(constants)));
}

void PreparedCfc::prepare_registers(const CfcWeights& weights, const CfcRow& row) {
  const std::optional<CfcRegisterLayout> layout = lay_out_registers(problem_, row.samples, offer_.cluster);
  check(layout.has_value(), Code::invalid_argument, "cfc: {} cannot hold the weights of the layer", row.name);
  const CfcRegisterArguments& a = layout->arguments;
  arguments_ = a;
  const CfcWeights::Cell& cell = weights.cells.front();
  const int inputs = a.inputs + a.units, heads = problem_.mode == Cfc::Mode::pure ? 1 : 4;
  // State before input, which is where the kernel has them.
  const auto backbone = [&](int unit, int k) {
    if (unit >= a.width || k >= inputs) return 0.0f;
    const int column = k < a.units ? a.inputs + k : k - a.units;
    return cell.backbone.front()
        .weights[static_cast<std::size_t>(unit) * static_cast<std::size_t>(inputs) + static_cast<std::size_t>(column)];
  };
  const auto head = [&](int which, int unit, int k) {
    if (which >= heads || unit >= a.units || k >= a.width) return 0.0f;
    return cell.heads.weights[static_cast<std::size_t>(which * a.units + unit) * static_cast<std::size_t>(a.width) +
                              static_cast<std::size_t>(k)];
  };
  std::vector<float> packed, constants;
  // The four numbers of each lane, of two multiplications for each step of 16 inputs; see TensorProduct.
  const auto pack_tile = [&](int steps, const auto& value) {
    for (int step = 0; step < 2 * steps; ++step)
      for (int lane = 0; lane < 32; ++lane)
        for (int i = 0; i < 4; ++i)
          packed.push_back(
              rounded_to_tf32(value(lane / 4 + i % 2 * 8, step / 2 * 16 + lane % 4 * 4 + step % 2 * 2 + i / 2)));
  };
  for (int rank = 0; rank < a.cluster; ++rank) {
    const int first_row = rank * a.block_width, first_unit = rank * a.block_units;
    for (int warp = 0; warp < kRegisterWarps; ++warp) {
      const int tile = warp % a.tiles, slice = warp / a.tiles, group = warp % a.groups, head_slice = warp / a.groups;
      pack_tile(kRegisterBackboneSteps, [&](int row_of_tile, int k) {
        const int r = tile * kTensorRows + row_of_tile;
        if (slice >= a.slices || r >= a.block_width) return 0.0f;
        return backbone(first_row + r, slice * kRegisterBackboneSteps * kCfcDepth + k);
      });
      for (int pair = 0; pair < 2; ++pair)
        pack_tile(kRegisterHeadSteps, [&](int row_of_tile, int k) {
          const int u = group * kRegisterUnits + row_of_tile % 8;
          if (head_slice >= a.head_slices || u >= a.block_units) return 0.0f;
          return head(pair * 2 + row_of_tile / 8, first_unit + u, head_slice * kRegisterHeadSteps * kCfcDepth + k);
        });
    }
    const auto constant = [&](std::span<const float> from, int count, int first, int all, int offset) {
      for (int i = 0; i < count; ++i)
        constants.push_back(first + i < all && !from.empty() ? from[static_cast<std::size_t>(offset + first + i)]
                                                             : 0.0f);
    };
    constant(cell.backbone.front().biases, a.block_width, first_row, a.width, 0);
    for (int which = 0; which < 4; ++which)
      constant(which < heads ? cell.heads.biases : std::span<const float>{}, a.block_units, first_unit, a.units,
               which * a.units);
    for (int row_of_decay = 0; row_of_decay < 2; ++row_of_decay)
      constant(cell.decay, a.block_units, first_unit, a.units, row_of_decay * a.units);
  }
  weights_ = Memory(context_, std::as_bytes(std::span(packed)));
  constants_ = Memory(context_, std::as_bytes(std::span(constants)));
}

PreparedCfc::Bound PreparedCfc::bind(const LiquidTensors& tensors) const {
  check((tensors.times != nullptr) == (problem_.times != LiquidTimes::none) || problem_.batch == 0,
        Code::invalid_argument, "cfc: times were {}, the layer was made ready {} them",
        tensors.times != nullptr ? "given" : "left out", problem_.times == LiquidTimes::none ? "without" : "with");
  const LiquidSequence sequence = sequence_of(tensors, {.batch = problem_.batch,
                                                        .steps = problem_.steps,
                                                        .inputs = problem_.inputs,
                                                        .units = problem_.units(),
                                                        .outputs = problem_.projection,
                                                        .last_output_only = problem_.projects_last_only,
                                                        .unit_times = problem_.times == LiquidTimes::each_unit,
                                                        .batch_first = problem_.batch_first});
  Bound out;
  out.function_ = function_;
  out.shape_ = {.blocks = offer_.blocks,
                .threads = std::holds_alternative<CfcArguments>(arguments_) ? kCfcThreads : kRegisterThreads,
                .cluster = offer_.cluster,
                .shared_bytes = offer_.shared_bytes,
                .early_start = true};
  out.arguments_ = arguments_;
  std::visit([&](auto& a) { a.sequence = sequence; }, out.arguments_);
  return out;
}

void PreparedCfc::Bound::launch(const Stream& stream) const {
  if (shape_.blocks == 0) return;
  std::visit(
      [&](auto arguments) {
        std::array<void*, 1> values{&arguments};
        function_.launch(stream, shape_, values.data());
      },
      arguments_);
}

}  // namespace tessera::cuda
