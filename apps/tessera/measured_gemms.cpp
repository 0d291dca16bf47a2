#include "measured_ops.h"

#include "tessera/core/csv.h"
#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/tile.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/matmul/matmul_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace tessera::cli {
namespace {

using tensix::kTile;

class GemmRow {
 public:
  GemmRow(const Csv& csv, std::size_t index) : csv_(csv), index_(index) {}

  const std::string& text(const char* column) const {
    const int at = csv_.find(column);
    check(at >= 0, Code::parse, "the table has no column '{}'", column);
    return csv_.rows[index_][static_cast<std::size_t>(at)];
  }
  double number(const char* column) const {
    const std::string& word = text(column);
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    check(error == std::errc() && end == word.data() + word.size(), Code::parse, "row {}: {} is '{}', not a number",
          index_ + 1, column, word);
    return value;
  }
  std::int64_t tiles(const char* column) const { return ceil_div(static_cast<std::int64_t>(number(column)), kTile); }

 private:
  const Csv& csv_;
  std::size_t index_;
};

const std::map<std::string, std::string, std::less<>>& boards() {
  static const std::map<std::string, std::string, std::less<>> all{
      {"n150", "wormhole_n150"}, {"n300", "wormhole_n300"}, {"p100", "blackhole_p100"}, {"p150", "blackhole_p150"}};
  return all;
}

tensix::CoreGrid grid_named(const std::string& text) {
  tensix::CoreGrid grid;
  const std::size_t x = text.find('x');
  const auto read = [&](std::size_t from, std::size_t to, int& out) {
    return std::from_chars(text.data() + from, text.data() + to, out).ec == std::errc();
  };
  check(x != std::string::npos && read(0, x, grid.x) && read(x + 1, text.size(), grid.y), Code::parse,
        "the grid is '{}', not columns x rows", text);
  return grid;
}

tensix::MathFidelity gemm_fidelity(const std::string& text) {
  for (const tensix::MathFidelity f : {tensix::MathFidelity::lofi, tensix::MathFidelity::hifi2,
                                       tensix::MathFidelity::hifi3, tensix::MathFidelity::hifi4})
    if (name(f) == text) return f;
  fail(Code::parse, "there is no fidelity '{}'", text);
}

tensix::MemoryConfig block_shards(std::int64_t rows, std::int64_t columns, tensix::CoreGrid grid) {
  return tensix::MemoryConfig(
      tensix::TensorMemoryLayout::block_sharded, tensix::BufferType::l1,
      tensix::ShardSpec{tensix::CoreRangeSet({{0, 0}, {grid.x - 1, grid.y - 1}}),
                        {ceil_div(rows, std::int64_t{grid.y}) * kTile, ceil_div(columns, std::int64_t{grid.x}) * kTile},
                        tensix::ShardOrientation::row_major});
}

MeasuredOp gemm_of(const GemmRow& row) {
  MeasuredOp out;
  const auto board = boards().find(row.text("device"));
  check(board != boards().end(), Code::not_found, "there is no machine file for '{}'", row.text("device"));
  const Machine machine = load_machine(board->second);
  const TensixSpec& card = tensix_of(machine);
  const bool in_l1 = row.text("in0_storage") == "L1", out_l1 = row.text("out_storage") == "L1";
  std::string lower = row.text("dtype");
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::optional<DType> dtype = parse_dtype(lower);
  check(dtype.has_value(), Code::parse, "there is no dtype '{}'", row.text("dtype"));
  tensix::MatmulProblem p;
  p.m = row.tiles("M");
  p.k = row.tiles("K");
  p.n = row.tiles("N");
  p.a_dtype = p.b_dtype = p.out_dtype = *dtype;
  p.compute.packer_l1_acc = true;
  p.compute.fidelity = gemm_fidelity(row.text("fidelity"));
  p.grid = grid_named(row.text("grid"));
  p.core_grid = row.text("mode") == "tuned" ? std::optional(p.grid) : std::nullopt;
  p.free_bytes = card.l1_bank_bytes();
  p.a_memory = p.out_memory = p.b_memory = tensix::kDramMemoryConfig;
  // Tuned rows use the whole grid, with blocks of the inner dimension as long as a shard of the first operand.
  tensix::MatmulPlan plan = tensix::plan_matmul(p);
  if (in_l1) p.a_memory = block_shards(p.m, p.k, p.grid);
  if (out_l1) p.out_memory = plan.output = block_shards(p.m, p.n, p.grid);
  if (in_l1) {
    tensix::MatmulProgramConfig& c = plan.program;
    c.kind = tensix::MatmulKind::multicast_2d;
    c.grid = p.grid;
    c.block_k = std::max<std::int64_t>(p.k / p.grid.x, 1);
    c.per_core_m = ceil_div(p.m, std::int64_t{p.grid.y});
    c.per_core_n = ceil_div(p.n, std::int64_t{p.grid.x});
    c.out_block_h = c.out_block_w = 0;
    plan.cores = tensix::CoreRangeSet({{0, 0}, {p.grid.x - 1, p.grid.y - 1}});
  }
  out.work = tensix::matmul_work(p, plan);
  out.kind = "gemm";
  out.machine = machine.name;
  out.measured_ns = row.number("time_ns");
  out.from_host = true;
  out.traced = row.text("trace") == "True";
  out.name = fmt::format("{}x{}x{} {} {} {} {}{}", row.text("M"), row.text("K"), row.text("N"), name(*dtype),
                         row.text("fidelity"), row.text("grid"), in_l1 ? "L1" : "DRAM", out.traced ? " traced" : "");
  return out;
}

}  // namespace

MeasuredOps read_measured_gemms(const std::filesystem::path& path) {
  MeasuredOps out;
  const Csv csv = with_context(fmt::format("while reading {}", path.string()),
                               [&] { return parse_csv(read_text_file(path.string())); });
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    try {
      out.rows.push_back(gemm_of(GemmRow(csv, i)));
    } catch (const Error& error) {
      if (error.code() == Code::parse) throw;
      out.left_out.push_back(fmt::format("row {}: {}", i + 1, error.message()));
    }
  }
  return out;
}

}  // namespace tessera::cli
