#include "tessera/targets/cuda/kernels/liquid/cfc_table.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tessera::cuda {

namespace {

constexpr CfcRow kCfcRows[] = {
    {"cfc_tf32_registers_8", LiquidPrecision::tf32, 8, true},
    {"cfc_tf32_registers_16", LiquidPrecision::tf32, 16, true},
    {"cfc_tf32_8", LiquidPrecision::tf32, 8},
    {"cfc_tf32_16", LiquidPrecision::tf32, 16},
    {"cfc_tf32_32", LiquidPrecision::tf32, 32},
    {"cfc_f32_1", LiquidPrecision::f32, 1},
    {"cfc_f32_4", LiquidPrecision::f32, 4},
    {"cfc_f32_8", LiquidPrecision::f32, 8},
    {"cfc_f32_16", LiquidPrecision::f32, 16},
};

// --- the time model --------------------------------------------------------------------------------------------------
// Cycles of one multiprocessor, fitted to the tables in bench/results (docs/cuda.md has the errors).

namespace cfc_time {
constexpr double kLaunchSeconds = 3e-6;        // and what a block does before its first step
constexpr double kFillBytesPerCycle = 32;      // weights from L2 into shared memory, once
constexpr double kStageCycles = 2020;          // two meetings of a block, and a thread's way from sum to result
constexpr double kClusterCycles = 1110;        // more, where the second is of a cluster
constexpr double kItemCycles = 300;            // from the first load of a warp's part to its sums in shared memory
constexpr double kTensorStepCycles = 60;       // of 16 inputs: one load and two multiplications that wait for another
constexpr double kPlainStepCycles = 120;       // likewise, four loads
constexpr double kSharedLinesPerCycle = 0.6;   // of 128 bytes
constexpr double kL2BytesPerCycle = 30;        // to one multiprocessor while all of them ask
constexpr double kTensorTilesPerCycle = 0.25;  // products of 16x8x8
constexpr double kPlainFlopsPerCycle = 80;     // multiply-adds
constexpr double kResultCycles = 930;          // of each further result of a thread
constexpr double kResultSendCycles = 260;      // more, for each block of a cluster that it is sent to
constexpr double kSustainedClock = 1.0;        // of the highest
// Of the kernels with weights in registers, for a step; a column is 8 samples.
constexpr double kRegisterStepCycles = 575;
constexpr double kRegisterColumnCycles = 1355;
constexpr double kRegisterClusterCycles = 580;
constexpr double kRegisterSendCycles = 160;   // for each block that results are sent to and each column
constexpr double kRegisterSliceCycles = 450;  // for each column, where warps share sums of the backbone
constexpr double kRegisterHeadSliceCycles = 770;
}  // namespace cfc_time

struct StageCost {
  double cycles = 0;
  LiquidBound bound = LiquidBound::latency;
};

StageCost stage_cost(const CfcStage& stage, bool tensor_cores, int samples, int present, bool resident, int cluster) {
  const double groups = static_cast<double>(stage.tiles) / stage.group, items = groups * stage.slices;
  const double rounds = std::ceil(items / kCfcWarps), steps = quotient_rounded_up(stage.depth, stage.slices);
  const double columns = tensor_cores ? samples / 8.0 : samples;
  const double weight_lines = static_cast<double>(stage.tiles) * stage.depth * (tensor_cores ? 8 : 16);
  const double row_lines = items * steps * columns * 4;  // a broadcast takes one, four to a step
  const double sum_lines = items * stage.group * columns * (tensor_cores ? 4 : 1) * 2;
  const double shared = ((resident ? weight_lines : 0) + row_lines + sum_lines) / cfc_time::kSharedLinesPerCycle;
  const double l2 = resident ? 0 : weight_lines * 128 / cfc_time::kL2BytesPerCycle;
  const double arithmetic =
      tensor_cores ? static_cast<double>(stage.tiles) * stage.depth * 2 * columns / cfc_time::kTensorTilesPerCycle
                   : static_cast<double>(stage.tiles) * kPlainRows * stage.depth * kCfcDepth * samples /
                         cfc_time::kPlainFlopsPerCycle;
  const double waiting = rounds * (cfc_time::kItemCycles +
                                   steps * (tensor_cores ? cfc_time::kTensorStepCycles : cfc_time::kPlainStepCycles));
  const double most = std::max({shared, l2, arithmetic, waiting});
  const double results = std::ceil(static_cast<double>(present << stage.unit_shift) / kCfcThreads);
  StageCost cost{most + cfc_time::kStageCycles + (cluster > 1 ? cfc_time::kClusterCycles : 0) +
                 (results - 1) * (cfc_time::kResultCycles + (cluster > 1 ? cluster * cfc_time::kResultSendCycles : 0)) +
                 stage.slices * stage.heads * 4};
  cost.bound = most == waiting      ? LiquidBound::latency
               : most == shared     ? LiquidBound::shared_memory
               : most == arithmetic ? LiquidBound::arithmetic
                                    : LiquidBound::l2;
  return cost;
}

// --- layout ----------------------------------------------------------------------------------------------------------

// So that eight lanes that read four floats each, of two rows, touch every bank once.
int pitch_of(int width) {
  const int floats = quotient_rounded_up(width, kCfcDepth) * kCfcDepth;
  return floats % 32 == 0 ? floats + 16 : floats;
}

class CfcLayoutMaker {
 public:
  CfcLayoutMaker(const CfcProblem& problem, LiquidPrecision precision, int samples, int cluster, bool resident)
      : problem_(problem), tensor_cores_(precision == LiquidPrecision::tf32), samples_(samples), cluster_(cluster) {
    a_.cluster = cluster;
    a_.resident = resident;
  }

  CfcLayout make() {
    a_.rows_at = take(0);
    struct Rows {
      int at, pitch, toggle;
    };
    const auto rows_of = [&](int width, bool twice) {
      const int pitch = pitch_of(width), floats = samples_ * pitch;
      return Rows{take(floats * (twice ? 2 : 1)), pitch, twice ? floats : 0};
    };
    // Where a cell has no backbone, a cluster's blocks write the next state while others still read this one.
    std::vector<Rows> entries;
    for (std::size_t c = 0; c < problem_.cells.size(); ++c)
      entries.push_back(
          rows_of(problem_.inputs_of(c) + problem_.cells[c].units, cluster_ > 1 && problem_.cells[c].backbone.empty()));
    Rows projected{-1, 0, 0};
    if (problem_.projection > 0) projected = rows_of(problem_.cells.back().units, false);
    int state = 0;
    for (std::size_t c = 0; c < problem_.cells.size(); ++c) {
      const CfcProblem::Cell& cell = problem_.cells[c];
      Rows from = entries[c];
      int width = problem_.inputs_of(c) + cell.units;
      for (const int next : cell.backbone) {
        const Rows to = rows_of(next, false);
        CfcStage& stage = add(from.at, from.pitch, from.toggle, width, next, 1, CfcFinish::activate);
        stage.targets[0] = {to.at, to.pitch, 0, 0};
        from = to;
        width = next;
      }
      const CfcFinish finish = problem_.mode == Cfc::Mode::pure      ? CfcFinish::pure
                               : problem_.mode == Cfc::Mode::no_gate ? CfcFinish::no_gate
                                                                     : CfcFinish::gated;
      CfcStage& stage = add(from.at, from.pitch, from.toggle, width, cell.units, problem_.heads(cell), finish);
      stage.state = state;
      stage.targets[0] = {entries[c].at + problem_.inputs_of(c), entries[c].pitch, entries[c].toggle, 1};
      if (c + 1 < problem_.cells.size())
        stage.targets[1] = {entries[c + 1].at, entries[c + 1].pitch, entries[c + 1].toggle, 0};
      else if (problem_.projection > 0)
        stage.targets[1] = {projected.at, projected.pitch, 0, 0};
      state += cell.units;
    }
    if (problem_.projection > 0)
      add(projected.at, projected.pitch, 0, problem_.cells.back().units, problem_.projection, 1, CfcFinish::project);
    a_.rows_end = static_cast<std::int32_t>(shared_);
    a_.units = state;
    a_.inputs = problem_.inputs;
    a_.input_shift = exponent_of_two(problem_.inputs);
    a_.times = problem_.times;
    a_.activation = static_cast<CfcActivation>(problem_.activation);
    a_.head = static_cast<CfcHead>(problem_.head);
    a_.sums_at = take(sums_);
    for (int i = 0; i < a_.stage_count; ++i) {
      CfcStage& stage = a_.stages[i];
      stage.item_count = stage.tiles / stage.group * stage.slices;
      stage.items = take(4 * stage.item_count);
    }
    a_.staging_at = take((samples_ << a_.input_shift) + samples_);
    a_.times_at = take(2 * samples_);
    a_.constants_per_block = quotient_rounded_up(constants_, 4) * 4;
    a_.constants_at = take(a_.constants_per_block);
    a_.weights_per_block = static_cast<std::int32_t>(weights_);
    a_.weights_at = a_.resident ? take(weights_) : 0;
    return {a_, shared_};
  }

 private:
  int take(std::int64_t floats) {
    const std::int64_t at = shared_;
    shared_ += (floats + 3) / 4 * 4;
    return static_cast<int>(std::min<std::int64_t>(at, std::numeric_limits<std::int32_t>::max()));
  }

  CfcStage& add(int in, int pitch, int toggle, int width, int units, int heads, CfcFinish finish) {
    const int tile_rows = tensor_cores_ ? kTensorRows : kPlainRows;
    CfcStage stage{};
    stage.in = in, stage.in_pitch = pitch, stage.in_toggle = toggle;
    stage.depth = quotient_rounded_up(width, kCfcDepth);
    stage.units = units;
    stage.block_units = quotient_rounded_up(units, cluster_);
    stage.unit_shift = exponent_of_two(stage.block_units);
    stage.heads = heads;
    stage.finish = finish;
    stage.targets[0].at = stage.targets[1].at = -1;
    // The cheapest way to share the product among warps.
    double least = std::numeric_limits<double>::infinity();
    const int tiles = quotient_rounded_up(std::int64_t{heads} * stage.block_units, tile_rows);
    for (int group = 1; group <= most_grouped(tensor_cores_, samples_); ++group)
      for (int slices = 1; slices <= std::min(stage.depth, kCfcWarps); ++slices) {
        CfcStage trial = stage;
        trial.group = group;
        trial.tiles = quotient_rounded_up(tiles, group) * group;
        trial.slices = slices;
        if (slices > 1 && trial.tiles / group * slices > kCfcWarps) break;
        const double cycles = stage_cost(trial, tensor_cores_, samples_, samples_, a_.resident != 0, cluster_).cycles;
        if (cycles >= least) continue;
        least = cycles;
        stage.group = group, stage.tiles = trial.tiles, stage.slices = slices;
      }
    // Lanes of a tile write eight rows of two columns each: 4 keeps them in different banks.
    stage.sum_pitch = stage.tiles * tile_rows + 4;
    stage.weights = static_cast<std::int32_t>(weights_);
    weights_ += std::int64_t{stage.tiles} * tile_rows * stage.depth * kCfcDepth;
    stage.bias = static_cast<std::int32_t>(constants_);
    constants_ += std::int64_t{stage.block_units} * (finish == CfcFinish::pure ? 3 : heads);
    sums_ = std::max(sums_, std::int64_t{stage.slices} * samples_ * stage.sum_pitch);
    check(a_.stage_count < kCfcStages, Code::internal, "cfc: more than {} stages", kCfcStages);
    return a_.stages[a_.stage_count++] = stage;
  }

  const CfcProblem& problem_;
  bool tensor_cores_;
  int samples_, cluster_;
  CfcArguments a_{};
  std::int64_t shared_ = 0, weights_ = 0, constants_ = 0, sums_ = 0;
};

}  // namespace

bool CfcProblem::is_usual() const {
  return mode == Cfc::Mode::gated && times == LiquidTimes::none && head != Cfc::Head::none &&
         (activation == Cfc::Activation::tanh || activation == Cfc::Activation::lecun_tanh);
}

int CfcProblem::units() const {
  int sum = 0;
  for (const Cell& cell : cells) sum += cell.units;
  return sum;
}

int CfcProblem::heads(const Cell& cell) const {
  if (mode == Cfc::Mode::pure) return 1;
  const bool bounded =
      !cell.backbone.empty() && (activation == Cfc::Activation::tanh || activation == Cfc::Activation::lecun_tanh);
  return times == LiquidTimes::none && bounded ? 3 : 4;
}

int CfcProblem::inputs_of(std::size_t cell) const { return cell == 0 ? inputs : cells[cell - 1].units; }

double CfcProblem::flops() const {
  double sum = 0;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    double width = inputs_of(c) + cells[c].units;
    for (const int next : cells[c].backbone) sum += width * next, width = next;
    sum += width * cells[c].units * (mode == Cfc::Mode::pure ? 1 : 4);
  }
  return 2 * (sum + static_cast<double>(projection) * (cells.empty() ? 0 : cells.back().units)) * batch * steps;
}

int count_stages(const CfcProblem& problem) {
  int count = problem.projection > 0 ? 1 : 0;
  for (const CfcProblem::Cell& cell : problem.cells) count += 1 + static_cast<int>(cell.backbone.size());
  return count;
}

void check_problem(const CfcProblem& problem) {
  check(problem.batch >= 0 && problem.steps >= 1 && problem.inputs >= 1 && !problem.cells.empty() &&
            problem.projection >= 0,
        Code::invalid_argument,
        "cfc: {} samples, {} steps, {} inputs, {} cells: every size but the batch is at least 1", problem.batch,
        problem.steps, problem.inputs, problem.cells.size());
  for (const CfcProblem::Cell& cell : problem.cells)
    check(cell.units >= 1 && std::ranges::all_of(cell.backbone, [](int width) { return width >= 1; }),
          Code::invalid_argument, "cfc: a cell of {} units, or a layer of its backbone, is empty", cell.units);
}

std::span<const CfcRow> cfc_rows() { return kCfcRows; }

std::string CfcRefusal::text() const {
  switch (reason) {
    case Reason::precision: return "is for another precision";
    case Reason::cluster: return fmt::format("{} blocks are more than the {} units of a layer", found, limit);
    case Reason::shared_memory: return fmt::format("needs {} bytes of shared memory, a block has {}", found, limit);
    case Reason::structure: return "takes one cell with a backbone of one layer and no projection";
    case Reason::registers: return fmt::format("{} blocks of {} threads cannot hold the weights", found, limit);
    case Reason::stages: return fmt::format("{} products in a step, takes {}", found, limit);
  }
  return "";
}

CfcLayout lay_out(const CfcProblem& problem, LiquidPrecision precision, int samples, int cluster, bool resident) {
  return CfcLayoutMaker(problem, precision, samples, cluster, resident).make();
}

std::optional<CfcRegisterLayout> lay_out_registers(const CfcProblem& problem, int samples, int cluster) {
  CfcRegisterLayout out;
  CfcRegisterArguments& a = out.arguments;
  const CfcProblem::Cell& cell = problem.cells.front();
  a.cluster = cluster;
  a.inputs = problem.inputs, a.input_shift = exponent_of_two(a.inputs);
  a.width = cell.backbone.front(), a.block_width = quotient_rounded_up(a.width, cluster);
  a.width_shift = exponent_of_two(a.block_width);
  a.units = cell.units, a.block_units = quotient_rounded_up(a.units, cluster);
  a.unit_shift = exponent_of_two(a.block_units);
  a.tiles = quotient_rounded_up(a.block_width, kTensorRows);
  a.groups = quotient_rounded_up(a.block_units, kRegisterUnits);
  if (a.tiles > kRegisterWarps || a.groups > kRegisterWarps) return std::nullopt;
  // The fewest slices that a warp's registers allow: each has to be added up.
  a.slices = quotient_rounded_up(quotient_rounded_up(a.inputs + a.units, kCfcDepth), kRegisterBackboneSteps);
  a.head_slices = quotient_rounded_up(quotient_rounded_up(a.width, kCfcDepth), kRegisterHeadSteps);
  if (a.slices * a.tiles > kRegisterWarps || a.head_slices * a.groups > kRegisterWarps) return std::nullopt;
  a.sum_pitch = a.tiles * kTensorRows + 4;
  a.head_sum_pitch = a.groups * 2 * kTensorRows + 4;
  const auto take = [&](std::int64_t floats) {
    const std::int64_t at = out.shared_floats;
    out.shared_floats += (floats + 3) / 4 * 4;
    return static_cast<std::int32_t>(at);
  };
  a.barriers_at = take(4);
  a.rows_pitch = pitch_of(a.slices * kRegisterBackboneSteps * kCfcDepth);
  a.rows_at = take(std::int64_t{samples} * a.rows_pitch);
  a.backbone_pitch = pitch_of(a.head_slices * kRegisterHeadSteps * kCfcDepth);
  a.backbone_at = take(std::int64_t{samples} * a.backbone_pitch);
  a.rows_end = static_cast<std::int32_t>(out.shared_floats);
  a.sums_at = take(std::int64_t{samples} * std::max(a.slices * a.sum_pitch, a.head_slices * a.head_sum_pitch));
  a.staging_at = take((std::int64_t{samples} << a.input_shift) + samples);
  a.times_at = take(std::int64_t{2} * samples);
  a.constants_per_block = a.block_width + 6 * a.block_units;
  a.times = problem.times;
  a.activation = static_cast<CfcActivation>(problem.activation);
  a.head = static_cast<CfcHead>(problem.head);
  a.finish = problem.mode == Cfc::Mode::pure      ? CfcFinish::pure
             : problem.mode == Cfc::Mode::no_gate ? CfcFinish::no_gate
                                                  : CfcFinish::gated;
  return out;
}

namespace {

CfcAnswer consider_registers(const CfcRow& row, const CfcProblem& problem, const GpuSpec& gpu, int cluster) {
  using Reason = CfcRefusal::Reason;
  if (problem.cells.size() != 1 || problem.cells[0].backbone.size() != 1 || problem.projection > 0)
    return CfcRefusal{Reason::structure};
  std::optional<CfcOffer> best;
  CfcRefusal refusal{Reason::cluster, cluster, problem.cells[0].units};
  for (const int blocks : kLiquidClusters) {
    if ((cluster != 0 && blocks != cluster) || blocks > problem.cells[0].units) continue;
    const std::optional<CfcRegisterLayout> layout = lay_out_registers(problem, row.samples, blocks);
    if (!layout) {
      refusal = {Reason::registers, blocks, kRegisterThreads};
      continue;
    }
    const std::int64_t bytes = layout->shared_floats * 4, most_bytes = gpu.shared_bytes - 1024;
    if (bytes > most_bytes) {
      refusal = {Reason::shared_memory, bytes, most_bytes};
      continue;
    }
    const CfcRegisterArguments& a = layout->arguments;
    CfcOffer offer{.cluster = blocks, .shared_bytes = static_cast<int>(bytes)};
    const int clusters = quotient_rounded_up(problem.batch, row.samples);
    offer.blocks = clusters * blocks;
    const double columns = row.samples / 8.0;
    double cycles = cfc_time::kRegisterStepCycles + columns * cfc_time::kRegisterColumnCycles;
    if (blocks > 1) cycles += cfc_time::kRegisterClusterCycles + columns * blocks * cfc_time::kRegisterSendCycles;
    if (a.slices > 1) cycles += columns * cfc_time::kRegisterSliceCycles;
    if (a.head_slices > 1) cycles += columns * cfc_time::kRegisterHeadSliceCycles;
    const double waves = quotient_rounded_up(std::max(clusters, 1), resident_clusters(blocks, gpu));
    offer.seconds =
        cfc_time::kLaunchSeconds + waves * cycles * problem.steps / (gpu.clock_hz * cfc_time::kSustainedClock);
    if (!best || offer.seconds < best->seconds) best = offer;
  }
  if (best) return *best;
  return refusal;
}

}  // namespace

CfcAnswer consider(const CfcRow& row, const CfcProblem& problem, const GpuSpec& gpu, int cluster) {
  using Reason = CfcRefusal::Reason;
  if (row.precision != problem.precision) return CfcRefusal{Reason::precision};
  if (row.in_registers) return consider_registers(row, problem, gpu, cluster);
  if (const int stages = count_stages(problem); stages > kCfcStages)
    return CfcRefusal{Reason::stages, stages, kCfcStages};
  int narrowest = problem.cells.front().units;
  for (const CfcProblem::Cell& cell : problem.cells) narrowest = std::min(narrowest, cell.units);
  const std::int64_t most_bytes = gpu.shared_bytes - 1024;  // what the device keeps of each block
  std::optional<CfcOffer> best;
  CfcRefusal refusal{Reason::cluster, cluster, narrowest};
  for (const int blocks : kLiquidClusters) {
    if ((cluster != 0 && blocks != cluster) || blocks > narrowest) continue;
    for (const bool resident : {true, false}) {
      const CfcLayout layout = lay_out(problem, row.precision, row.samples, blocks, resident);
      const std::int64_t bytes = layout.shared_floats * 4;
      if (bytes > most_bytes) {
        refusal = {Reason::shared_memory, bytes, most_bytes};
        continue;
      }
      CfcOffer offer{.cluster = blocks, .resident = resident, .shared_bytes = static_cast<int>(bytes)};
      const int clusters = quotient_rounded_up(problem.batch, row.samples);
      offer.blocks = clusters * blocks;
      double cycles = 0, heaviest = 0;
      for (int i = 0; i < layout.arguments.stage_count; ++i) {
        const StageCost cost = stage_cost(layout.arguments.stages[i], row.precision == LiquidPrecision::tf32,
                                          row.samples, std::min(row.samples, problem.batch), resident, blocks);
        cycles += cost.cycles;
        if (cost.cycles > heaviest) heaviest = cost.cycles, offer.bound = cost.bound;
      }
      const double waves = quotient_rounded_up(std::max(clusters, 1), resident_clusters(blocks, gpu));
      const double fill = resident ? 4.0 * layout.arguments.weights_per_block / cfc_time::kFillBytesPerCycle : 0;
      offer.seconds = cfc_time::kLaunchSeconds +
                      waves * (cycles * problem.steps + fill) / (gpu.clock_hz * cfc_time::kSustainedClock);
      if (!best || offer.seconds < best->seconds) best = offer;
      break;  // what is resident need not be read again
    }
  }
  if (best) return *best;
  return refusal;
}

CfcPlan plan_cfc(const CfcProblem& problem, const GpuSpec& gpu) {
  check_problem(problem);
  CfcPlan plan;
  for (const CfcRow& row : kCfcRows) plan.weigh(row, consider(row, problem, gpu));
  return plan;
}

}  // namespace tessera::cuda
