#include "tessera/targets/tensix/ops/matmul/matmul_work.h"
#include "tessera/core/tile.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

double bytes_of(double tiles, DType dtype) { return tiles * static_cast<double>(tile_bytes(Tile{}, dtype)); }

double parts(std::int64_t whole, std::int64_t part) {
  return part > 0 ? static_cast<double>(ceil_div(whole, part)) : 1.0;
}

}  // namespace

ProgramWork matmul_work(const MatmulProblem& p, const MatmulPlan& plan) {
  const MatmulProgramConfig& c = plan.program;
  ProgramWork work;
  work.kind = ProgramKind::matmul;
  work.cores = plan.cores.num_cores();
  work.phases = phases(p.compute.fidelity);
  work.wide_dest = p.compute.fp32_dest_acc_en;
  work.activations_double_buffered = work.weights_double_buffered = true;
  const auto k = static_cast<double>(p.k), cores = static_cast<double>(std::max<std::int64_t>(work.cores, 1));
  const std::int64_t a_bytes = tile_bytes(Tile{}, p.a_dtype), b_bytes = tile_bytes(Tile{}, p.b_dtype);
  const bool a_stays = p.a_memory.is_sharded(), out_stays = plan.output.is_sharded();
  const auto total = static_cast<double>(p.batch * p.m * p.n);
  double results = 0;
  if (c.kind == MatmulKind::multi_core) {
    results = static_cast<double>(ceil_div(p.batch * p.m * p.n, std::max<std::int64_t>(work.cores, 1)));
    work.blocks = results * k;
    work.page_reads = 2 * results * k;
    work.dram_read_bytes = cores * results * k * static_cast<double>(a_bytes + b_bytes);
  } else {
    // How often a core goes through its blocks: once, where the rows of all batches are dealt out as one matrix.
    const std::int64_t row_cores =
        c.kind == MatmulKind::multicast_1d ? (c.multicast_in0 ? 1 : work.cores) : ceil_div(p.m, c.per_core_m);
    const double batch = c.kind == MatmulKind::reuse
                             ? parts(p.batch * p.m, std::max<std::int64_t>(work.cores, 1) * c.per_core_m)
                             : parts(p.batch * p.m, row_cores * c.per_core_m);
    const double m = static_cast<double>(c.per_core_m), n = static_cast<double>(c.per_core_n);
    // A core that cannot hold all of its results goes over the operands again for each part.
    const double down = parts(c.per_core_m, c.out_block_h), across = parts(c.per_core_n, c.out_block_w);
    const double inner = static_cast<double>(ceil_div(p.k, std::max<std::int64_t>(c.block_k, 1)));
    results = batch * m * n;
    work.blocks = batch * inner * down * across;
    (p.compute.packer_l1_acc ? work.accumulated_tiles : work.partial_tiles) = results * (inner - 1);
    const double a_tiles = batch * m * k * across, b_tiles = batch * n * k * down;
    const bool sends_a = c.kind == MatmulKind::multicast_2d || (c.kind == MatmulKind::multicast_1d && c.multicast_in0);
    const bool sends_b = c.kind == MatmulKind::multicast_2d || (c.kind == MatmulKind::multicast_1d && !c.multicast_in0);
    const double rows = parts(p.batch * p.m, c.per_core_m), columns = parts(p.n, c.per_core_n);
    if (sends_a) {
      work.multicasts = work.blocks;
      work.multicast_bytes = bytes_of(a_tiles, p.a_dtype);
      work.receivers = c.kind == MatmulKind::multicast_2d ? static_cast<std::int64_t>(columns) : work.cores;
    }
    if (!a_stays) {
      work.fetched_pages = a_tiles;
      work.fetched_bytes = bytes_of(a_tiles, p.a_dtype);
      work.fetched_blocks = work.blocks;
      if (!p.a_memory.is_l1()) work.dram_read_bytes += work.fetched_bytes * (sends_a ? rows : cores);
    }
    // Another processor of the core than the one that reads the first operand.
    work.weight_tiles = b_tiles;
    work.weight_bytes = bytes_of(b_tiles, p.b_dtype);
    work.weight_blocks = work.blocks;
    if (sends_b)
      work.weight_receivers = c.kind == MatmulKind::multicast_2d ? static_cast<std::int64_t>(rows) : work.cores;
    if (!p.b_memory.is_l1()) work.dram_read_bytes += work.weight_bytes * (sends_b ? columns : cores);
  }
  work.matmul_tiles = results * k;
  work.unpacked_bytes = work.matmul_tiles * static_cast<double>(a_bytes + b_bytes) / 2;
  work.packed_tiles = results;
  if (!out_stays) {
    work.sent_pieces = results;
    work.sent_bytes = bytes_of(results, p.out_dtype);
    if (!plan.output.is_l1()) work.dram_written_bytes = bytes_of(total, p.out_dtype);
  }
  return work;
}

}  // namespace tessera::tensix
