#include "tessera/targets/neuron/core/limits.h"

#include "tessera/core/error.h"
#include "tessera/targets/neuron/core/tile.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::neuron {
namespace {

constexpr int kMaxFreeDims = 4;

// Free dimensions that an access pattern needs: neighbours that are one run count as one.
int free_dims(const View& view) {
  int dims = 0;
  std::int64_t stride = 0;  // of the dimension outside of this one
  for (int d = 1; d < view.rank(); ++d) {
    if (view.size(d) == 1) continue;
    if (dims == 0 || stride != view.size(d) * view.stride(d)) ++dims;
    stride = view.stride(d);
  }
  return dims;
}

std::int64_t start_grain(std::int64_t partitions) { return partitions > 64 ? 128 : partitions > 32 ? 64 : 32; }

bool is_fp32(const View& view) { return view.type() == ElementType::float32; }

}  // namespace

void check_operand(const NeuronSpec& spec, std::string_view op, std::string_view role, const View& view) {
  check(!view.empty(), Code::invalid_argument, "{}: {} is missing", op, role);
  check(view.memory() != Memory::hbm, Code::invalid_argument, Hint{"copy it into SBUF first (dma_copy or load)"},
        "{}: {} {} is in HBM, which engines do not reach", op, role, view.text());
  const std::int64_t row = view.tile().free_elements;
  std::int64_t last = view.offset() % row;
  for (int d = 1; d < view.rank(); ++d) last += (view.size(d) - 1) * view.stride(d);
  check(view.rank() >= 1 && (view.size(0) == 1 || view.stride(0) % row == 0) && last < row, Code::invalid_argument,
        "{}: the first dimension of {} {} is not its partition dimension", op, role, view.text());
  check(free_dims(view) <= kMaxFreeDims, Code::invalid_argument,
        "{}: {} {} has {} free dimensions, an access pattern has at most {}", op, role, view.text(), free_dims(view),
        kMaxFreeDims);
  check(view.size(0) <= spec.partitions, Code::invalid_argument, "{}: {} {} has {} partitions, the limit is {}", op,
        role, view.text(), view.size(0), spec.partitions);
  const std::int64_t start = view.offset() / row, grain = start_grain(view.size(0));
  check(start % grain == 0, Code::invalid_argument,
        Hint{fmt::format("an access to {} partitions starts at a multiple of {}", view.size(0), grain)},
        "{}: {} {} starts at partition {}", op, role, view.text(), start);
  const std::int64_t limit = view.memory() == Memory::psum ? spec.psum_max_free_elements : spec.sbuf_max_free_elements;
  check(view.free_count() <= limit, Code::invalid_argument,
        "{}: {} {} has {} elements in a partition, one instruction reaches {} in {}", op, role, view.text(),
        view.free_count(), limit, name(view.memory()));
}

void check_written(std::string_view op, std::string_view role, const View& view) {
  if (view.tile().placed) return;  // memory that others had before
  check(view.tile().written, Code::invalid_argument, Hint{"fresh memory holds NaN: write it first, or use zeros"},
        "{}: {} {} is read, but nothing has written '{}' yet", op, role, view.text(), view.tile_name());
  const Tile& tile = view.tile();
  if (tile.memory != Memory::hbm || tile.complete) return;
  const Pattern pattern(view);
  std::int64_t all = 0;
  pattern.for_runs([&](std::int64_t, std::int64_t length) { all += length; });
  const std::int64_t written = tile.elements.count(pattern), bytes = element_bytes(tile.type);
  check(written >= all, Code::invalid_argument, Hint{"fresh memory holds NaN: write all of it before it is read"},
        "{}: {} {} is read, but {} of its {} bytes of '{}' in hbm have not been written", op, role, view.text(),
        (all - written) * bytes, all * bytes, tile.name);
}

void check_overlap(std::string_view op, const View& dst, std::span<const View> inputs) {
  for (const View& each : inputs) {
    if (&each.tile() != &dst.tile() || !reach(each).overlaps(reach(dst))) continue;
    const bool same = each.offset() == dst.offset() &&
                      std::equal(each.dims().begin(), each.dims().end(), dst.dims().begin(), dst.dims().end());
    if (same) continue;
    // A result smaller than its operand may begin where that does: it is written behind what was read.
    fail(Code::invalid_argument, Hint{"write into another tile, or into the very elements that are read"},
         "{}: the result {} lies partly upon its operand {} of the same tile, in another order", op, dst.text(),
         each.text());
  }
}

void check_same_shape(std::string_view op, const View& dst, const View& src) {
  check(same_shape(dst, src), Code::invalid_argument, "{}: {} and {} have different shapes", op, dst.text(),
        src.text());
}

void check_engine(std::string_view op, Engine engine, std::span<const Engine> able) {
  if (std::find(able.begin(), able.end(), engine) != able.end()) return;
  std::vector<std::string> names;
  for (const Engine each : able) names.emplace_back(name(each));
  fail(Code::invalid_argument, "{} runs on {}, not on {}", op, fmt::join(names, " or "), name(engine));
}

void check_matmul(const NeuronSpec& spec, const View& dst, const View& stationary, const View& moving) {
  constexpr std::string_view kOp = "nc_matmul";
  check_operand(spec, kOp, "the stationary operand", stationary);
  check_operand(spec, kOp, "the moving operand", moving);
  check_operand(spec, kOp, "the result", dst);
  check(stationary.memory() == Memory::sbuf && moving.memory() == Memory::sbuf, Code::invalid_argument,
        Hint{"copy it there first (tensor_copy)"}, "nc_matmul reads SBUF: {} is in {}, {} in {}", stationary.text(),
        name(stationary.memory()), moving.text(), name(moving.memory()));
  check(dst.memory() == Memory::psum, Code::invalid_argument, "nc_matmul writes PSUM, but {} is in {}", dst.text(),
        name(dst.memory()));
  check(is_fp32(stationary) == is_fp32(moving), Code::invalid_argument,
        Hint{"convert one of them (tensor_copy converts): the PE array takes float32 from both sides or from none"},
        "nc_matmul: {} is {} and {} is {}", stationary.text(), name(stationary.type()), moving.text(),
        name(moving.type()));
  check(stationary.partitions() == moving.partitions(), Code::invalid_argument,
        "nc_matmul: {} and {} differ in their partitions, over which it sums", stationary.text(), moving.text());
  const std::int64_t m = stationary.free_count(), n = moving.free_count();
  check(m <= spec.stationary_max_columns, Code::invalid_argument,
        "nc_matmul: the stationary operand {} has {} columns, the limit is {}", stationary.text(), m,
        spec.stationary_max_columns);
  check(n <= spec.moving_max_columns, Code::invalid_argument,
        "nc_matmul: the moving operand {} has {} columns, the limit is {}", moving.text(), n, spec.moving_max_columns);
  check(dst.partitions() == m && dst.free_count() == n, Code::invalid_argument,
        "nc_matmul: {} and {} give [{}, {}], but the result is {}", stationary.text(), moving.text(), m, n, dst.text());
  const Access where = reach(dst);
  const std::int64_t bytes = element_bytes(dst.type()), bank = spec.psum_bank_bytes();
  check(where.free_begin * bytes / bank == (where.free_end * bytes - 1) / bank, Code::invalid_argument,
        Hint{fmt::format("a bank has {} bytes of a partition, {} float32", bank, bank / 4)},
        "nc_matmul: the result {} lies in more than one bank of PSUM: bytes {} to {}", dst.text(),
        where.free_begin * bytes, where.free_end * bytes);
}

void check_transpose(const NeuronSpec& spec, Engine engine, const View& dst, const View& src) {
  constexpr std::string_view kOp = "nc_transpose";
  constexpr Engine kAble[] = {Engine::tensor, Engine::vector};
  check_engine(kOp, engine, kAble);
  check_operand(spec, kOp, "the operand", src);
  check_operand(spec, kOp, "the result", dst);
  const std::int64_t limit = engine == Engine::tensor ? spec.stationary_max_columns : 32;
  check(src.partitions() <= limit && src.free_count() <= limit, Code::invalid_argument,
        "nc_transpose: {} is larger than the {}x{} of the {} engine", src.text(), limit, limit, name(engine));
  check(dst.partitions() == src.free_count() && dst.free_count() == src.partitions(), Code::invalid_argument,
        "nc_transpose: {} is not the shape of {} transposed", dst.text(), src.text());
  if (engine != Engine::tensor) return;
  check(src.memory() == Memory::sbuf && dst.memory() == Memory::psum, Code::invalid_argument,
        "nc_transpose on the tensor engine reads SBUF and writes PSUM: {} is in {}, {} in {}", src.text(),
        name(src.memory()), dst.text(), name(dst.memory()));
}

}  // namespace tessera::neuron
