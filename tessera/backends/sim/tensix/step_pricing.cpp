#include "tessera/backends/sim/tensix/internal/step_pricing.h"

#include "tessera/backends/sim/tensix/kernel_time.h"
#include "tessera/backends/sim/tensix/program_works.h"
#include "tessera/backends/sim/tensix/tile_side.h"
#include "tessera/core/error.h"
#include "tessera/core/tile.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

namespace tessera::tensix {
namespace {

// Programs that other operators run on their way; they are priced by what they moved.
bool on_the_way(const std::string& op) {
  static const std::set<std::string, std::less<>> all{"tilize",
                                                      "untilize",
                                                      "reshard",
                                                      "move",
                                                      "copy",
                                                      "clone",
                                                      "slice",
                                                      "interleaved_to_sharded",
                                                      "sharded_to_interleaved",
                                                      "typecast",
                                                      "pad",
                                                      "reshape",
                                                      "padded_slice",
                                                      "slice_write",
                                                      "fold"};
  return all.contains(op);
}

bool adds(const std::string& op) {
  static const std::set<std::string, std::less<>> all{"add", "subtract", "multiply", "divide", "minimum", "maximum"};
  return all.contains(op);
}

ProgramWork moved_work(const TraceRecord& record, const TensixSpec& card) {
  ProgramWork work;
  work.kind = record.op;
  work.cores = card.cores();
  const auto cores = static_cast<double>(card.cores());
  double most = 0;
  for (const Transfer& t : record.transfers) {
    const auto bytes = static_cast<double>(t.bytes), pieces = static_cast<double>(t.pieces);
    const double mine =
        t.to == MemoryKind::l1 ? std::max(static_cast<double>(t.busiest_bank_bytes), bytes / cores) : bytes / cores;
    most = std::max(most, mine);
    if (t.from == MemoryKind::dram) {
      work.dram_read_bytes += bytes;
      work.fetched_bytes += mine;
      work.fetched_pages += pieces / cores;
    } else if (t.to == MemoryKind::dram) {
      work.dram_written_bytes += bytes;
      work.sent_bytes += mine;
      work.sent_pieces += pieces / cores;
    } else if (t.local_bytes == t.bytes) {
      work.copied_bytes += mine;
    } else {
      work.sent_bytes += mine;
      work.sent_pieces += pieces / cores;
    }
  }
  const double tiles = most / static_cast<double>(tile_bytes(Tile{}, DType::bfloat16));
  if (record.op == "tilize") work.tilized_tiles = tiles;
  if (record.op == "untilize") work.untilized_tiles = tiles, work.untilized_rows = tiles / 4;
  if (record.op == "typecast") work.vector_tiles = tiles;
  work.blocks = std::max(tiles, 1.0);
  work.activations_double_buffered = true;
  return work;
}

ProgramWork linear_work(const StepPrograms& step, const TensixSpec& card) {
  const OperandFacts &x = step.inputs.front(), &y = *step.result;
  MatmulProblem p;
  p.m = ceil_div(y.rows, kTile);
  p.k = ceil_div(x.columns, kTile);
  p.n = ceil_div(y.columns, kTile);
  p.a_dtype = x.dtype;
  p.b_dtype = DType::bfloat8_b;
  p.out_dtype = y.dtype;
  p.compute.packer_l1_acc = true;
  p.grid = {card.grid_y, card.grid_x};
  p.free_bytes = card.l1_bank_bytes();
  p.b_memory = kDramMemoryConfig;
  p.a_memory = p.out_memory = y.in_dram() ? kDramMemoryConfig : kL1MemoryConfig;
  return matmul_work(p, plan_matmul(p));
}

ProgramWork pooled_work(const StepPrograms& step, const PoolLayer& layer, const TensixSpec& card) {
  const OperandFacts& y = *step.result;
  PoolLoops loops;
  loops.cores = y.sharded() ? y.cores : card.cores();
  loops.rows = y.sharded() ? y.shard.height : ceil_div(y.rows, loops.cores);
  const std::int64_t width = y.sharded() ? y.shard.width : y.columns;
  loops.channel_tiles = ceil_div(width, kTile);
  loops.kernel_h = layer.pool.window.kernel_h;
  loops.kernel_w = layer.pool.window.kernel_w;
  loops.stick_bytes = width * 2;
  loops.average = !layer.maximum;
  return pool_work(loops);
}

// The program that a step is there for.
ProgramWork main_work(const StepPrograms& step, const TraceRecord& record, const TensixSpec& card) {
  if (step.node == nullptr || !step.result || step.inputs.empty()) return moved_work(record, card);
  if (const auto* pool = std::get_if<PoolLayer>(&step.node->layer); pool && record.op != "halo")
    return pooled_work(step, *pool, card);
  if (std::holds_alternative<LinearLayer>(step.node->layer) && record.op == "matmul") return linear_work(step, card);
  std::vector<OperandFacts> operands = step.inputs;
  operands.push_back(*step.result);
  const std::string kind = adds(record.op) ? "binary" : record.op;
  const std::int64_t cores = operands.back().sharded() ? operands.back().cores : card.cores();
  return tensor_work(kind, operands, cores);
}

ProgramWork work_of(const StepPrograms& step, const TraceRecord& record, const TensixSpec& card) {
  if (step.plan && (record.op == "conv2d" || record.op == "matmul")) return conv2d_work(*step.plan);
  if (record.op == "halo") {
    if (step.plan)
      for (ProgramWork& work : conv2d_programs(*step.plan))
        if (work.kind == "halo") return std::move(work);
    ProgramWork work = moved_work(record, card);
    work.contenders = card.grid_y;
    return work;
  }
  return on_the_way(record.op) || step.plan ? moved_work(record, card) : main_work(step, record, card);
}

}  // namespace

OperandFacts facts_of(const TensorSpec& spec) {
  const MemoryConfig& memory = spec.memory_config();
  OperandFacts facts;
  facts.rows = spec.physical().height;
  facts.columns = spec.physical().width;
  facts.dtype = spec.dtype();
  facts.layout = spec.layout();
  facts.place = memory.is_l1() ? OperandPlace::l1 : OperandPlace::dram;
  if (!memory.is_sharded() || !memory.shard_spec()) return facts;
  facts.dram_shards = !memory.is_l1();
  facts.place = memory.layout() == TensorMemoryLayout::height_sharded  ? OperandPlace::height_sharded
                : memory.layout() == TensorMemoryLayout::width_sharded ? OperandPlace::width_sharded
                                                                       : OperandPlace::block_sharded;
  facts.cores = memory.shard_spec()->num_cores();
  facts.shard = memory.shard_spec()->shape;
  return facts;
}

StepTime time_of_step(const StepPrograms& step, const TensixSpec& card, const TensixCosts& costs) {
  StepTime sum;
  sum.basis = TimeBasis::fitted;
  double longest = 0;
  for (const TraceRecord& record : step.records) {
    if (!is_program(record)) continue;
    const StepTime t = time_of(work_of(step, record, card), card, costs);
    sum.reader_ns += t.reader_ns;
    sum.weights_ns += t.weights_ns;
    sum.multicast_ns += t.multicast_ns;
    sum.dram_ns += t.dram_ns;
    sum.tilize_ns += t.tilize_ns;
    sum.math_ns += t.math_ns;
    sum.pack_ns += t.pack_ns;
    sum.writer_ns += t.writer_ns;
    sum.fixed_ns += t.fixed_ns;
    sum.ns += t.ns;
    sum.roof_ns += t.roof_ns;
    sum.basis = std::max(sum.basis, t.basis);
    if (t.ns > longest) longest = t.ns, sum.bound_by = t.bound_by;
  }
  return sum;
}

}  // namespace tessera::tensix
