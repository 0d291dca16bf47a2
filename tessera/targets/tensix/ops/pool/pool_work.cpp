#include "tessera/targets/tensix/ops/pool/pool_work.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kSticksAtOnce = 32;  // sticks that are reduced at once; larger windows go in parts

}  // namespace

ProgramKind pool_program(PoolKind kind) {
  return kind == PoolKind::average ? ProgramKind::avg_pool2d : ProgramKind::max_pool2d;
}

ProgramWork pool_work(const PoolLoops& l) {
  ProgramWork work;
  work.kind = pool_program(l.average ? PoolKind::average : PoolKind::max);
  work.cores = l.cores;
  const std::int64_t window = l.kernel_h * l.kernel_w;
  const bool small = window <= kSticksAtOnce;
  const std::int64_t turns = small ? 1 : ceil_div(window, kSticksAtOnce);
  work.blocks = static_cast<double>(l.rows);
  work.reduced_tiles = static_cast<double>(l.rows * turns * l.channel_tiles);
  // Taps side by side are one read, unless the window is taken stick by stick.
  (small ? work.window_reads : work.large_window_reads) = static_cast<double>(l.rows * (small ? l.kernel_h : window));
  work.window_bytes = static_cast<double>(l.rows * window * l.stick_bytes);
  work.activations_double_buffered = true;
  return work;
}

}  // namespace tessera::tensix
