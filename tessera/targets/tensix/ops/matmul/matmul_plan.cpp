#include "tessera/targets/tensix/ops/matmul/matmul_plan.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/placement.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>

namespace tessera::tensix {
namespace {

// Products this much longer than wide, or the other way round, send one operand only.
constexpr std::int64_t kNarrow = 8;
constexpr std::int64_t kSimpleBlock = 16;  // tiles a side of the blocks for operands that are not all in DRAM

std::int64_t even_block(std::int64_t k) { return k % 2 == 0 ? 2 : 1; }

std::int64_t divisor_at_most(std::int64_t n, std::int64_t most) {
  for (std::int64_t d = std::clamp<std::int64_t>(most, 1, n); d > 1; --d)
    if (n % d == 0) return d;
  return 1;
}

CoreRange rectangle(std::int64_t columns, std::int64_t rows) {
  return CoreRange({0, 0}, {static_cast<int>(columns) - 1, static_cast<int>(rows) - 1});
}

struct Subblock {
  std::int64_t h = 1, w = 1;
};

// The first that divides the block. A sharded output is written row by row, so that a subblock must be as wide as the
// block or one row high.
Subblock subblock(std::int64_t h, std::int64_t w, bool float32, bool rows_only) {
  constexpr std::array<Subblock, 20> kAll = {{{2, 4}, {4, 2}, {1, 8}, {8, 1}, {1, 7}, {7, 1}, {2, 3},
                                              {3, 2}, {1, 6}, {6, 1}, {1, 5}, {5, 1}, {2, 2}, {1, 4},
                                              {4, 1}, {1, 3}, {3, 1}, {1, 2}, {2, 1}, {1, 1}}};
  for (const Subblock& s : kAll)
    if (s.h * s.w <= (float32 ? 4 : 8) && h % s.h == 0 && w % s.w == 0 && (!rows_only || s.w == w || s.h == 1))
      return s;
  return {};
}

bool is_interleaved_dram(const MemoryConfig& config) { return !config.is_sharded() && config.is_dram(); }

class Planner {
 public:
  explicit Planner(const MatmulProblem& problem) : p_(problem), grid_(problem.core_grid.value_or(problem.grid)) {}

  MatmulPlan run() {
    if (p_.program)
      explicit_program();
    else if (p_.a_memory.is_sharded())
      sharded_input();
    else if (p_.core_grid)
      on_given_grid();
    else
      interleaved_input();
    check(p_.k % plan_.program.block_k == 0, Code::invalid_argument,
          "matmul: in0_block_w {} must divide the {} tiles of the inner dimension", plan_.program.block_k, p_.k);
    if (plan_.program.subblock_h * plan_.program.subblock_w == 1) choose_subblock();
    plan_.output = output_placement();
    list_buffers();
    return std::move(plan_);
  }

 private:
  std::int64_t cores_of(CoreGrid grid) const { return std::int64_t{grid.x} * grid.y; }
  MatmulProgramConfig& program() { return plan_.program; }
  std::int64_t inner_blocks() const { return p_.k / plan_.program.block_k; }
  bool much_longer() const { return std::max(p_.m, p_.n) / std::min(p_.m, p_.n) > kNarrow; }
  bool narrow() const { return much_longer() || std::min(p_.m, p_.n) == 1; }

  void set_1d(std::int64_t block_k, bool multicast_in0, std::int64_t cores) {
    program() = {.kind = MatmulKind::multicast_1d, .grid = grid_, .block_k = block_k};
    program().multicast_in0 = multicast_in0;
    program().per_core_m = multicast_in0 ? p_.m : ceil_div(p_.m, cores);
    program().per_core_n = multicast_in0 ? ceil_div(p_.n, cores) : p_.n;
    const std::int64_t used =
        multicast_in0 ? ceil_div(p_.n, program().per_core_n) : ceil_div(p_.m, program().per_core_m);
    plan_.cores = first_cores(used, grid_);
  }

  void set_2d(std::int64_t block_k, std::int64_t per_core_m, std::int64_t per_core_n) {
    program() = {.kind = MatmulKind::multicast_2d, .grid = grid_, .block_k = block_k};
    program().per_core_m = per_core_m;
    program().per_core_n = per_core_n;
    plan_.cores = rectangle(ceil_div(p_.n, per_core_n), ceil_div(p_.m, per_core_m));
  }

  void set_multi_core() {
    program() = {.kind = MatmulKind::multi_core, .grid = grid_};
    const std::int64_t tiles = p_.batch * p_.m * p_.n;
    plan_.cores = first_cores(std::min(tiles, cores_of(grid_)), grid_, false).merged();
  }

  // Results of a block in its own type and in that of partial results, which TTNN counts both when it asks what fits.
  std::int64_t need_bytes(std::int64_t block_k, std::int64_t h, std::int64_t w) const {
    const DType partials = p_.compute.fp32_dest_acc_en ? DType::float32 : DType::bfloat16;
    return 2 * block_k * (h * tile_bytes(p_.a_dtype) + w * tile_bytes(p_.b_dtype)) +
           h * w * (tile_bytes(p_.out_dtype) + tile_bytes(partials));
  }

  // The largest equal parts of the block that fit with an inner block, of two as large those of shorter sides; 0 x 0 if
  // even single tiles do not.
  std::pair<std::int64_t, std::int64_t> largest_parts(std::int64_t block_k) const {
    const std::int64_t m = plan_.program.per_core_m, n = plan_.program.per_core_n;
    std::int64_t h = 0, w = 0;
    for (std::int64_t rows = m; rows > 0; rows = rows > 1 ? divisor_at_most(m, rows - 1) : 0)
      for (std::int64_t columns = n; columns > 0; columns = columns > 1 ? divisor_at_most(n, columns - 1) : 0) {
        const std::int64_t more = rows * columns - h * w;
        if (need_bytes(block_k, rows, columns) >= p_.free_bytes || more < 0 || (more == 0 && rows + columns >= h + w))
          continue;
        h = rows;
        w = columns;
      }
    return {h, w};
  }

  // Operands that are sent along one dimension keep their inner block if anything fits with it; others take the largest
  // that fits with what fits the smallest.
  bool shrink_to_fit() {
    MatmulProgramConfig& c = program();
    if (need_bytes(c.block_k, c.per_core_m, c.per_core_n) < p_.free_bytes) return true;
    auto [h, w] = largest_parts(c.kind == MatmulKind::multicast_1d ? c.block_k : 1);
    if (h == 0) std::tie(h, w) = largest_parts(1);
    if (h == 0) return false;
    std::int64_t block_k = c.block_k;
    while (need_bytes(block_k, h, w) >= p_.free_bytes) block_k = divisor_at_most(p_.k, block_k - 1);
    c.block_k = block_k;
    c.out_block_h = h == c.per_core_m ? 0 : h;
    c.out_block_w = w == c.per_core_n ? 0 : w;
    return true;
  }

  void interleaved_input() {
    const bool in_dram =
        is_interleaved_dram(p_.a_memory) && is_interleaved_dram(p_.b_memory) && is_interleaved_dram(p_.out_memory);
    if (in_dram ? narrow() : much_longer() && even_block(p_.k) == 2) {
      set_1d(even_block(p_.k), p_.m <= p_.n, cores_of(grid_));
      if (shrink_to_fit()) return;
    } else if (in_dram) {
      set_2d(p_.k % grid_.x == 0 ? p_.k / grid_.x : 1, ceil_div(p_.m, grid_.y), ceil_div(p_.n, grid_.x));
      if (shrink_to_fit()) return;
    } else {
      simple();
      return;
    }
    set_multi_core();
  }

  // Blocks of 16 x 16 tiles, or what fits, on as many cores as that takes.
  void simple() {
    const std::int64_t block_k = even_block(p_.k);
    std::int64_t side = kSimpleBlock;
    while (side > 1 && need_bytes(block_k, side, side) >= p_.free_bytes) side /= 2;
    const std::int64_t columns = ceil_div(p_.n, side), rows = ceil_div(p_.m, side);
    const bool shards = p_.out_memory.is_sharded();
    if (columns == 1 && rows == 1 && !shards)
      set_multi_core();
    else if (columns == 1 && rows == 1 && p_.out_memory.layout() == TensorMemoryLayout::block_sharded)
      set_2d(block_k, p_.m, p_.n);
    else if (columns == 1 && rows == 1)
      set_1d(block_k, p_.out_memory.layout() == TensorMemoryLayout::width_sharded, cores_of(grid_));
    else if (rows == 1 || columns == 1)
      set_1d(block_k, rows == 1, cores_of(grid_));
    else if (columns <= grid_.x && rows <= grid_.y)
      set_2d(block_k, side, side);
    else
      set_multi_core();
  }

  void on_given_grid() {
    check(grid_.x > 0 && grid_.y > 0 && grid_.x <= p_.grid.x && grid_.y <= p_.grid.y, Code::invalid_argument,
          "matmul: core_grid {} x {} (columns x rows) does not lie on a card of {} x {}", grid_.x, grid_.y, p_.grid.x,
          p_.grid.y);
    if (narrow())
      set_1d(divisor_at_most(p_.k, ceil_div(p_.k, cores_of(grid_))), p_.m <= p_.n, cores_of(grid_));
    else
      set_2d(divisor_at_most(p_.k, 4), ceil_div(p_.m, grid_.y), ceil_div(p_.n, grid_.x));
    if (!shrink_to_fit()) set_multi_core();
  }

  // The shards say where rows (or columns of the inner dimension) are: the program follows them.
  void sharded_input() {
    check(p_.a_memory.is_l1() && p_.a_memory.shard_spec(), Code::unsupported, Hint{"use to_memory_config"},
          "matmul: the first operand must be interleaved, or sharded in L1");
    const ShardSpec& shard = *p_.a_memory.shard_spec();
    const std::int64_t shard_h = shard.shape.height / kTile, shard_w = shard.shape.width / kTile;
    switch (p_.a_memory.layout()) {
      case TensorMemoryLayout::height_sharded:
        program() = {.kind = p_.batch_b > 1 ? MatmulKind::reuse : MatmulKind::multicast_1d, .block_k = p_.k};
        program().multicast_in0 = false;
        program().per_core_m = shard_h;
        program().per_core_n = p_.n;
        plan_.cores = shard.grid;
        break;
      case TensorMemoryLayout::width_sharded:
        program() = {.kind = MatmulKind::multicast_1d, .block_k = std::gcd(shard_w, p_.k)};
        program().per_core_m = p_.batch * p_.m;
        program().per_core_n = ceil_div(p_.n, shard.num_cores());
        plan_.cores = cores_with_work(shard, ceil_div(p_.n, program().per_core_n));
        break;
      case TensorMemoryLayout::block_sharded: {
        const CoreRange box = shard.grid.bounding_box();
        const bool row_major = shard.orientation == ShardOrientation::row_major;
        program() = {.kind = MatmulKind::multicast_2d, .block_k = std::gcd(shard_w, p_.k)};
        program().per_core_m = shard_h;
        program().per_core_n = ceil_div(p_.n, row_major ? box.columns() : box.rows());
        plan_.cores = shard.grid;
        break;
      }
      default: fail(Code::unsupported, "matmul: {} operands are not supported", name(p_.a_memory.layout()));
    }
    const CoreRange box = shard.grid.bounding_box();
    program().grid = {box.end.y + 1, box.end.x + 1};
  }

  CoreRangeSet cores_with_work(const ShardSpec& shard, std::int64_t count) const {
    if (count >= shard.num_cores()) return shard.grid;
    const CoreRange box = shard.grid.bounding_box();
    return num_cores_to_corerangeset(box.start, count, CoreGrid{box.end.y + 1, box.end.x + 1}, true);
  }

  void explicit_program() {
    const MatmulProgramConfig& c = *p_.program;
    check(c.block_k > 0 && c.per_core_m > 0 && c.per_core_n > 0 && c.subblock_h > 0 && c.subblock_w > 0,
          Code::invalid_argument,
          "matmul: the sizes of a program config must be positive: in0_block_w {}, per_core_M {}, per_core_N {}, "
          "out_subblock {} x {}",
          c.block_k, c.per_core_m, c.per_core_n, c.subblock_h, c.subblock_w);
    constexpr std::int64_t kMost = 1 << 16;  // tiles a side, more than L1 holds
    check(std::max({c.block_k, c.per_core_m, c.per_core_n, c.out_block_h, c.out_block_w}) <= kMost &&
              std::min(c.out_block_h, c.out_block_w) >= 0,
          Code::invalid_argument, "matmul: the sizes of a program config must be between 0 and {} tiles", kMost);
    check(c.grid.x > 0 && c.grid.y > 0 && c.grid.x <= p_.grid.x && c.grid.y <= p_.grid.y, Code::invalid_argument,
          "matmul: the program's grid of {} x {} (columns x rows) does not lie on a card of {} x {}", c.grid.x,
          c.grid.y, p_.grid.x, p_.grid.y);
    program() = c;
    grid_ = c.grid;
    if (c.kind == MatmulKind::multi_core) {
      set_multi_core();
      return;
    }
    check(c.per_core_m % c.subblock_h == 0 && c.per_core_n % c.subblock_w == 0, Code::invalid_argument,
          "matmul: out_subblock {} x {} does not divide per_core {} x {}", c.subblock_h, c.subblock_w, c.per_core_m,
          c.per_core_n);
    const std::int64_t most = p_.compute.fp32_dest_acc_en ? 4 : 8;
    check(c.subblock_h * c.subblock_w <= most, Code::invalid_argument,
          "matmul: out_subblock {} x {} is more than the {} tiles that Dst holds", c.subblock_h, c.subblock_w, most);
    const std::int64_t rows = c.fuse_batch ? p_.batch * p_.m : p_.m;
    const std::int64_t down = ceil_div(rows, c.per_core_m), across = ceil_div(p_.n, c.per_core_n);
    if (c.kind == MatmulKind::multicast_2d) {
      check(across <= c.grid.x && down <= c.grid.y, Code::invalid_argument,
            "matmul: {} x {} blocks (columns x rows) do not fit on the program's grid of {} x {}", across, down,
            c.grid.x, c.grid.y);
      plan_.cores = rectangle(across, down);
    } else {
      check(down * across <= cores_of(c.grid), Code::invalid_argument,
            "matmul: {} blocks are more than the {} cores of the program's grid", down * across, cores_of(c.grid));
      check(c.kind != MatmulKind::multicast_1d || (c.multicast_in0 ? down == 1 : across == 1), Code::invalid_argument,
            "matmul: with mcast_in0 {} a core must compute all {} {}, not {}", c.multicast_in0,
            c.multicast_in0 ? rows : p_.n, c.multicast_in0 ? "rows of tiles" : "columns of tiles",
            c.multicast_in0 ? c.per_core_m : c.per_core_n);
      plan_.cores = first_cores(down * across, c.grid);
    }
    if (p_.a_memory.is_sharded() && p_.a_memory.shard_spec()) {
      const std::int64_t shard_w = p_.a_memory.shard_spec()->shape.width / kTile;
      check(shard_w % c.block_k == 0, Code::invalid_argument,
            "matmul: in0_block_w {} must divide the {} tiles of the first operand's shard", c.block_k, shard_w);
    }
  }

  // TTNN does not look at the output for narrow products of interleaved operands, and refuses what comes out.
  void choose_subblock() {
    const bool looks = p_.a_memory.is_sharded() || !narrow();
    const Subblock s = subblock(program().per_core_m, program().per_core_n, p_.compute.fp32_dest_acc_en,
                                looks && p_.out_memory.is_sharded());
    program().subblock_h = s.h;
    program().subblock_w = s.w;
  }

  // A wish for shards is filled with what each core computes.
  MemoryConfig output_placement() const {
    const MemoryConfig& wish = p_.out_memory;
    if (!wish.is_sharded() || wish.shard_spec() || wish.nd_shard_spec()) return wish;
    const MatmulProgramConfig& c = plan_.program;
    check(c.kind != MatmulKind::multi_core, Code::unsupported,
          Hint{"pass a program_config or interleaved memory_config"},
          "matmul: a product of {} x {} tiles on single tiles per core has no {} output", p_.m, p_.n,
          name(wish.layout()));
    // Shards that cannot be are left to the tensor's own refusal, which tells more.
    const bool can_be = wish.layout() == TensorMemoryLayout::height_sharded  ? c.per_core_n >= p_.n
                        : wish.layout() == TensorMemoryLayout::width_sharded ? c.per_core_m >= p_.batch * p_.m
                                                                             : plan_.cores.ranges().size() == 1;
    check(
        !can_be || c.subblock_w == c.per_core_n || c.subblock_h == 1, Code::invalid_argument,
        Hint{"pass a program_config, or shard the first operand"},
        "matmul: with a sharded output, out_subblock_w ({}) must equal per_core_N ({}) or out_subblock_h ({}) must be "
        "1",
        c.subblock_w, c.per_core_n, c.subblock_h);
    const Extent2d shard{c.per_core_m * kTile, c.per_core_n * kTile};
    const ShardOrientation orientation =
        p_.a_memory.shard_spec() ? p_.a_memory.shard_spec()->orientation : ShardOrientation::row_major;
    return MemoryConfig(wish.layout(), wish.buffer_type(), ShardSpec{plan_.cores, shard, orientation});
  }

  void add(const char* buffer_name, std::int64_t bytes, bool in_tensor = false) {
    add_on(buffer_name, plan_.cores, bytes, in_tensor);
  }
  void add_on(const char* buffer_name, const CoreRangeSet& cores, std::int64_t bytes, bool in_tensor = false) {
    plan_.buffers.push_back({{buffer_name, cores, bytes}, in_tensor});
  }

  void list_buffers() {
    const MatmulProgramConfig& c = plan_.program;
    const std::int64_t a = tile_bytes(p_.a_dtype), b = tile_bytes(p_.b_dtype), y = tile_bytes(p_.out_dtype);
    if (c.kind == MatmulKind::multi_core) {
      plan_.partials_dtype = p_.out_dtype;
      for (const auto& [buffer_name, bytes] : {std::pair{"in0", a}, std::pair{"in1", b}, std::pair{"out", y}})
        add(buffer_name, 2 * bytes);
      return;
    }
    const std::int64_t blocks = inner_blocks(), rounds = p_.batch * blocks;
    plan_.packer_l1_acc = p_.compute.packer_l1_acc && blocks > 1;
    plan_.partials_dtype = p_.compute.fp32_dest_acc_en ? DType::float32
                           : plan_.packer_l1_acc       ? DType::bfloat16
                                                       : p_.out_dtype;
    const std::int64_t h = c.out_block_h > 0 ? c.out_block_h : c.per_core_m,
                       w = c.out_block_w > 0 ? c.out_block_w : c.per_core_n;
    const MemoryConfig& from = p_.a_memory;
    const bool rows_stay = from.is_sharded() && from.layout() == TensorMemoryLayout::height_sharded;
    const std::int64_t shard = from.shard_spec() ? from.shard_spec()->shape.area() / (kTile * kTile) : 0;
    const std::int64_t in0 = h * c.block_k * a * (rounds > 1 ? 2 : 1);
    if (rows_stay) {
      add("in0", shard * a, true);
    } else if (from.is_sharded() && c.kind == MatmulKind::multicast_1d) {
      add("in0", in0);
      const CoreRangeSet idle = from.shard_spec()->grid.without(plan_.cores);
      if (!idle.empty()) add_on("in0", idle, in0);
    } else {
      add("in0", in0);
    }
    // Where the second operand is sent to all cores it stays for a whole batch.
    const bool b_stays = c.kind == MatmulKind::multicast_1d && !c.multicast_in0 && p_.batch_b == 1;
    const bool b_again = c.kind == MatmulKind::reuse || (b_stays ? blocks : rounds) > 1;
    add("in1", w * c.block_k * b * (b_again ? 2 : 1));
    if (from.is_sharded() && !rows_stay) add_on("shard", from.shard_spec()->grid, shard * a, true);
    const bool out_stays = plan_.output.is_sharded();
    add("out", out_stays ? c.per_core_m * c.per_core_n * y : h * w * y, out_stays);
    const bool split = c.out_block_h > 0 || c.out_block_w > 0;
    if (plan_.partials_dtype != p_.out_dtype || (out_stays && split))
      add("partials", h * w * tile_bytes(plan_.partials_dtype));
    if (p_.bias) add("bias", w * tile_bytes(p_.bias_dtype));
    if (p_.transpose_a) add("in0 transposed", in0);
  }

  const MatmulProblem& p_;
  CoreGrid grid_;
  MatmulPlan plan_;
};

}  // namespace

std::string_view name(MatmulKind kind) {
  switch (kind) {
    case MatmulKind::multi_core: return "multi_core";
    case MatmulKind::multicast_1d: return "multicast_1d";
    case MatmulKind::multicast_2d: return "multicast_2d";
    case MatmulKind::reuse: return "reuse";
  }
  return "";
}

std::vector<CircularBuffer> MatmulPlan::own_buffers() const {
  std::vector<CircularBuffer> out;
  for (const MatmulBuffer& each : buffers)
    if (!each.in_tensor) out.push_back(each.buffer);
  return out;
}

MatmulPlan plan_matmul(const MatmulProblem& problem) {
  check(problem.m > 0 && problem.n > 0 && problem.k > 0 && problem.batch > 0, Code::invalid_argument,
        "matmul: an operand is empty");
  return Planner(problem).run();
}

}  // namespace tessera::tensix
