#include "tessera/targets/tensix/time/fit/measured_ops.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/tile.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_work.h"
#include "tessera/targets/tensix/ops/halo/halo_work.h"
#include "tessera/targets/tensix/ops/matmul/matmul_work.h"
#include "tessera/targets/tensix/ops/pool/pool_work.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <tuple>

namespace tessera::tensix {
namespace {

using MeasuredJson = nlohmann::json;

// Names in profiles, of today and of older releases, and ours.
const std::map<std::string, std::string, std::less<>>& kinds() {
  static const std::map<std::string, std::string, std::less<>> all{
      {"Binary", "binary"},
      {"BinaryNg", "binary"},
      {"Concat", "concat"},
      {"Conv2d", "conv2d"},
      {"OptimizedConvNew", "conv2d"},
      {"GroupNorm", "group_norm"},
      {"Halo", "halo"},
      {"InterleavedToSharded", "interleaved_to_sharded"},
      {"InterleavedToShardedPartial", "interleaved_to_sharded"},
      {"Matmul", "matmul"},
      {"Move", "move"},
      {"PaddedSlice", "padded_slice"},
      {"Permute", "permute"},
      {"Pool2D", "pool2d"},
      {"Reshard", "reshard"},
      {"ShardedToInterleaved", "sharded_to_interleaved"},
      {"ShardedToInterleavedPartial", "sharded_to_interleaved"},
      {"Slice", "padded_slice"},
      {"SliceWrite", "slice_write"},
      {"Tilize", "tilize"},
      {"TilizeWithValPadding", "tilize_with_val_padding"},
      {"Transpose", "transpose"},
      {"Typecast", "typecast"},
      {"Unary", "unary"},
      {"Untilize", "untilize"},
      {"UntilizeWithUnpadding", "untilize_with_unpadding"},
      {"Upsample", "upsample"}};
  return all;
}

std::string kind_of(std::string_view op) {
  for (const std::string_view end : {"DeviceOperation", "Operation"})
    if (op.ends_with(end)) {
      op.remove_suffix(end.size());
      break;
    }
  const auto found = kinds().find(op);
  return found == kinds().end() ? "" : found->second;
}

DType dtype_of(const std::string& text) {
  std::string lower = text;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::optional<DType> dtype = parse_dtype(lower);
  check(dtype.has_value(), Code::parse, "there is no dtype '{}'", text);
  return *dtype;
}

std::int64_t count_of(const MeasuredJson& value) { return static_cast<std::int64_t>(value.get<double>()); }

// Rows and columns of cores of a block-sharded tensor, where only their number is known: of those that a card has and
// that pad about as little as can be, the ones nearest to a square.
std::pair<std::int64_t, std::int64_t> block_grid(std::int64_t rows, std::int64_t columns, std::int64_t cores) {
  constexpr std::int64_t kMostSide = 13;
  constexpr double kAlike = 1.02;
  struct Choice {
    std::int64_t r, c, area;
  };
  std::vector<Choice> choices;
  for (std::int64_t r = 1; r <= std::min(cores, kMostSide); ++r)
    if (const std::int64_t c = cores / r; cores % r == 0 && c <= kMostSide)
      choices.push_back({r, c, ceil_div(ceil_div(rows, kTile), r) * ceil_div(ceil_div(columns, kTile), c)});
  if (choices.empty()) return {1, cores};
  const double most = kAlike * static_cast<double>(std::ranges::min(choices, {}, &Choice::area).area);
  std::erase_if(choices, [&](const Choice& choice) { return static_cast<double>(choice.area) > most; });
  const Choice best = std::ranges::min(choices, {}, [](const Choice& choice) { return std::abs(choice.r - choice.c); });
  return {best.r, best.c};
}

OperandFacts facts_of(const MeasuredJson& t, std::int64_t cores) {
  OperandFacts x;
  const auto padded = t.at("padded").get<std::vector<std::int64_t>>();
  check(!padded.empty(), Code::parse, "a tensor has no extents");
  x.columns = padded.back();
  x.rows = 1;
  for (std::size_t i = 0; i + 1 < padded.size(); ++i) x.rows *= padded[i];
  x.dtype = dtype_of(t.at("dtype").get<std::string>());
  x.layout = t.at("layout").get<std::string>() == "TILE" ? Layout::tile : Layout::row_major;
  const std::string memory = t.at("mem").get<std::string>();
  x.dram_shards = memory.starts_with("DRAM") && memory.find("SHARDED") != std::string::npos;
  const auto has = [&](const char* word) { return memory.find(word) != std::string::npos; };
  x.place = has("HEIGHT")              ? OperandPlace::height_sharded
            : has("WIDTH")             ? OperandPlace::width_sharded
            : has("BLOCK")             ? OperandPlace::block_sharded
            : memory.starts_with("L1") ? OperandPlace::l1
                                       : OperandPlace::dram;
  if (!x.sharded()) return x;
  x.cores = cores;
  std::int64_t down = 1, across = 1;
  if (x.place == OperandPlace::height_sharded) down = cores;
  if (x.place == OperandPlace::width_sharded) across = cores;
  if (x.place == OperandPlace::block_sharded) std::tie(down, across) = block_grid(x.rows, x.columns, cores);
  const std::int64_t unit = x.layout == Layout::tile ? kTile : 1;
  x.shard = {round_up(ceil_div(x.rows, down), unit), round_up(ceil_div(x.columns, across), unit)};
  return x;
}

std::string text_of(const OperandFacts& x) {
  return fmt::format("{}x{} {}{}", x.rows, x.columns, name(x.dtype), x.layout == Layout::tile ? "" : " rows");
}

SlidingWindow window_of(const MeasuredJson& c) {
  const auto pair = [&](const char* key) { return c.at(key).get<std::array<std::int64_t, 2>>(); };
  const auto [kh, kw] = pair("k");
  const auto [sh, sw] = pair("stride");
  const auto [dh, dw] = pair("dilation");
  const auto pad = c.at("pad").get<std::array<std::int64_t, 4>>();
  return {kh, kw, sh, sw, dh, dw, pad[0], pad[1], pad[2], pad[3]};
}

MathFidelity fidelity_of(const std::string& text) {
  for (const MathFidelity f : {MathFidelity::lofi, MathFidelity::hifi2, MathFidelity::hifi3, MathFidelity::hifi4})
    if (name(f) == text) return f;
  return MathFidelity::hifi4;
}

bool flag(const MeasuredJson& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && found->is_boolean() && found->get<bool>();
}

ProgramWork row_conv_work(const MeasuredJson& row, std::int64_t cores) {
  const MeasuredJson& c = row.at("conv");
  const SlidingWindow w = window_of(c);
  const OperandFacts input = facts_of(row.at("input_0"), cores), weights = facts_of(row.at("input_1"), cores),
                     output = facts_of(row.at("output_0"), cores);
  const MeasuredJson& block = row.at("block");
  const bool blocks = row.at("shard_layout").get<std::string>().starts_with("BLOCK");
  const bool width = row.at("shard_layout").get<std::string>().starts_with("WIDTH");
  const auto shard = row.at("out_shard").get<std::array<std::int64_t, 2>>();
  Conv2dLoops l;
  l.cores = cores;
  l.rows = shard[0];
  l.out_h = ceil_div(shard[0], kTile);
  l.out_w = ceil_div(shard[1], kTile);
  l.block_h = count_of(block.at("act_h_t"));
  l.block_w = std::max<std::int64_t>(count_of(block.at("act_w_t")), 1);
  l.senders = 1;
  if (blocks || width) {
    l.senders = row.contains("par") ? count_of(row.at("par").at("c_in"))
                                    : (width ? cores : block_grid(output.rows, output.columns, cores).second);
  }
  l.inner_blocks = std::max<std::int64_t>(weights.rows / kTile / l.block_w, 1);
  const std::int64_t stick = input.columns / l.senders * (input.dtype == DType::float32 ? 4 : 2);
  const bool dense = w.dilation_w == 1;
  l.row_reads = w.kernel_h * (dense ? 1 : w.kernel_w);
  l.read_bytes = stick * (dense ? w.kernel_w : 1);
  l.tiles = output.dtype;
  l.weights = weights.dtype;
  l.input = input.dtype == DType::float32 ? DType::float32 : DType::bfloat16;
  l.weights_stay = !blocks && !width;
  l.row_major_output = flag(row, "untilize_out") || output.layout == Layout::row_major;
  l.compute.fidelity = fidelity_of(row.at("fidelity").get<std::string>());
  l.compute.fp32_dest_acc_en = flag(row, "fp32_acc");
  l.compute.packer_l1_acc = flag(row, "packer_l1_acc");
  l.activations_double_buffered = flag(row, "enable_act_double_buffer");
  l.weights_double_buffered = flag(row, "enable_weights_double_buffer");
  return conv2d_work(l);
}

ProgramWork row_halo_work(const MeasuredJson& row, std::int64_t cores) {
  const MeasuredJson& c = row.at("conv");
  const OperandFacts input = facts_of(row.at("input_0"), cores), output = facts_of(row.at("output_0"), cores);
  const auto shard = row.at("out_shard").get<std::array<std::int64_t, 2>>();
  const HaloProblem problem{count_of(c.at("batch")), count_of(c.at("in_h")), count_of(c.at("in_w")), window_of(c)};
  Parallel parallel;
  const std::int64_t across = std::max<std::int64_t>(ceil_div(input.columns, shard[1]), 1);
  const std::int64_t down = std::max<std::int64_t>(cores / across, 1);
  parallel.layout = across > 1 && down > 1 ? TensorMemoryLayout::block_sharded
                    : across > 1           ? TensorMemoryLayout::width_sharded
                                           : TensorMemoryLayout::height_sharded;
  parallel.cores = num_cores_to_corerangeset({0, 0}, cores, {128, 16}, true);
  parallel.row_parts = down;
  parallel.channel_parts = across;
  // How many rows each core computes is not recorded, but how many sticks that takes is.
  const std::int64_t sticks = output.rows / down;
  std::optional<HaloPlan> best;
  for (const std::int64_t unit : {kTile, std::int64_t{1}}) {
    const std::int64_t rows = round_up(ceil_div(problem.out_rows(), down), unit);
    HaloPlan plan = plan_halo(problem, parallel, {shard[0], shard[1]}, rows, input.dtype, input.layout);
    const bool fits = plan.out_sticks == sticks;
    if (fits || !best) best = std::move(plan);
    if (fits) break;
  }
  HaloShard s{cores, down, 0, 0, flag(row, "config_tensors_in_dram")};
  if (input.layout == Layout::tile) {
    s.tile_rows = ceil_div(shard[0], kTile);
    s.tiles = s.tile_rows * ceil_div(shard[1], kTile);
  }
  return halo_work(*best, s);
}

ProgramWork row_pool_work(const MeasuredJson& row, std::int64_t cores) {
  const MeasuredJson& c = row.at("conv");
  const SlidingWindow w = window_of(c);
  const OperandFacts input = facts_of(row.at("input_0"), cores);
  const auto shard = row.at("out_shard").get<std::array<std::int64_t, 2>>();
  const bool channels = input.place == OperandPlace::width_sharded;
  PoolLoops l{.cores = cores, .rows = shard[0], .kernel_h = w.kernel_h, .kernel_w = w.kernel_w};
  l.channel_tiles = ceil_div(shard[1], kTile);
  l.stick_bytes = (channels ? input.columns / cores : input.columns) * 2;
  l.average = w.kernel_h * w.kernel_w > kTile;  // no profile says which
  return tensix::pool_work(l);
}

CoreGrid whole_grid(const Machine& machine) { return {tensix_of(machine).grid_y, tensix_of(machine).grid_x}; }

MemoryConfig memory_of(const OperandFacts& x, CoreGrid grid) {
  if (x.place == OperandPlace::dram) return kDramMemoryConfig;
  if (x.place == OperandPlace::l1) return kL1MemoryConfig;
  const TensorMemoryLayout layout = x.place == OperandPlace::height_sharded  ? TensorMemoryLayout::height_sharded
                                    : x.place == OperandPlace::width_sharded ? TensorMemoryLayout::width_sharded
                                                                             : TensorMemoryLayout::block_sharded;
  return MemoryConfig(
      layout, BufferType::l1,
      ShardSpec{num_cores_to_corerangeset({0, 0}, x.cores, grid, true), x.shard, ShardOrientation::row_major});
}

// A grid of so many cores that is as square as can be.
CoreGrid grid_of(std::int64_t cores, CoreGrid whole) {
  if (cores >= std::int64_t{whole.x} * whole.y) return whole;
  for (int y = static_cast<int>(std::min<std::int64_t>(whole.y, cores)); y >= 1; --y)
    if (cores % y == 0 && cores / y <= whole.x) return {y, static_cast<int>(cores / y)};
  return whole;
}

ProgramWork product_work(const MeasuredJson& row, std::int64_t cores, std::int64_t grid_cores, const Machine& machine) {
  const OperandFacts a = facts_of(row.at("input_0"), cores), b = facts_of(row.at("input_1"), cores),
                     y = facts_of(row.at("output_0"), cores);
  const TensixSpec& card = tensix_of(machine);
  const auto extent = [&](const char* key, std::size_t from_end) {
    const auto padded = row.at(key).at("padded").get<std::vector<std::int64_t>>();
    return padded.size() > from_end ? padded[padded.size() - 1 - from_end] : std::int64_t{1};
  };
  MatmulProblem p;
  const std::int64_t m = ceil_div(extent("input_0", 1), kTile);
  p.batch = std::max<std::int64_t>(ceil_div(ceil_div(a.rows, kTile), m), 1);
  p.batch_b = std::max<std::int64_t>(ceil_div(b.rows, extent("input_1", 1)), 1);
  p.m = m;
  p.k = ceil_div(a.columns, kTile);
  p.n = ceil_div(b.columns, kTile);
  p.a_dtype = a.dtype;
  p.b_dtype = b.dtype;
  p.out_dtype = y.dtype;
  p.grid = grid_of(grid_cores, whole_grid(machine));
  p.a_memory = memory_of(a, p.grid);
  p.b_memory = memory_of(b, p.grid);
  p.out_memory = memory_of(y, p.grid);
  p.compute.fidelity = fidelity_of(row.at("fidelity").get<std::string>());
  p.compute.packer_l1_acc = true;  // as products have it unless told otherwise
  p.free_bytes = card.l1_bank_bytes();
  MatmulPlan plan;
  if (row.contains("mm")) {
    const MeasuredJson& mm = row.at("mm");
    MatmulProgramConfig& c = plan.program;
    c.kind = row.value("mm_prog", std::string()).find("1D") != std::string::npos ? MatmulKind::multicast_1d
                                                                                 : MatmulKind::multicast_2d;
    c.block_k = count_of(mm.at("in0_block_w"));
    c.per_core_m = count_of(mm.at("per_core_M"));
    c.per_core_n = count_of(mm.at("per_core_N"));
    c.multicast_in0 = a.place != OperandPlace::height_sharded;
    plan.cores = num_cores_to_corerangeset({0, 0}, cores, p.grid, true);
    plan.output = p.out_memory;
  } else {
    plan = plan_matmul(p);
    // The row says how many cores there were: one for every few rows of tiles, where that is not what would be chosen.
    if (const std::int64_t rows = ceil_div(p.m, cores);
        p.batch == 1 && plan.cores.num_cores() != cores && ceil_div(p.m, rows) == cores) {
      p.program = {.kind = MatmulKind::multicast_1d, .grid = p.grid, .block_k = p.k % 2 == 0 ? 2 : 1};
      p.program->multicast_in0 = false;
      p.program->per_core_m = rows;
      p.program->per_core_n = p.n;
      plan = plan_matmul(p);
    }
    if (p.batch_b > 1) {  // every core has batches of its own
      plan.program.kind = MatmulKind::reuse;
      plan.program.per_core_m = p.m;
      plan.program.per_core_n = p.n;
      plan.cores = num_cores_to_corerangeset({0, 0}, cores, p.grid, true);
    }
  }
  return matmul_work(p, plan);
}

ProgramWork streamed_work(const MeasuredJson& row, const std::string& kind, std::int64_t cores) {
  const std::optional<ProgramKind> program = program_kind(kind);
  check(program.has_value(), Code::unsupported, "measured programs of kind '{}' have no price", kind);
  std::vector<OperandFacts> operands;
  // Those that are written to are listed as inputs as well.
  const bool two = *program == ProgramKind::binary || *program == ProgramKind::concat;
  operands.push_back(facts_of(row.at("input_0"), cores));
  if (two && row.contains("input_1") && !row.at("input_1").is_null())
    operands.push_back(facts_of(row.at("input_1"), cores));
  operands.push_back(facts_of(row.at("output_0"), cores));
  return tensor_work(*program, operands, cores);
}

// Files say the architecture and how many cores there were.
std::string machine_of(const MeasuredJson& row) {
  const std::string arch = row.value("arch", std::string("blackhole"));
  if (arch.starts_with("wormhole")) return "wormhole_n150";
  if (arch.starts_with("grayskull")) return "";
  return row.value("grid_cores", 0.0) > 110 ? "blackhole_p150" : "blackhole_p100";
}

MeasuredOp op_of(const MeasuredJson& row, const std::string& kind, const Machine& machine) {
  MeasuredOp out;
  const std::int64_t cores = std::max<std::int64_t>(count_of(row.at("cores")), 1);
  const std::int64_t grid =
      row.contains("grid_cores") ? count_of(row.at("grid_cores")) : std::max<std::int64_t>(cores, 20);
  out.kind = kind;
  out.machine = machine.name;
  out.measured_ns = row.at("kernel_ns_median").get<double>();
  out.work = kind == "conv2d"   ? row_conv_work(row, cores)
             : kind == "halo"   ? row_halo_work(row, cores)
             : kind == "pool2d" ? row_pool_work(row, cores)
             : kind == "matmul" ? product_work(row, cores, grid, machine)
                                : streamed_work(row, kind, cores);
  out.name = fmt::format("{} {} -> {}, {} cores", kind, text_of(facts_of(row.at("input_0"), cores)),
                         text_of(facts_of(row.at("output_0"), cores)), cores);
  if (row.contains("conv"))
    out.name +=
        fmt::format(", {}x{} window", row.at("conv").at("k").at(0).get<int>(), row.at("conv").at("k").at(1).get<int>());
  return out;
}

// A convolution by its shape alone: planned as the card would.
MeasuredOp target_of(const MeasuredJson& t, const Machine& machine) {
  Conv2dProblem p;
  p.batch = t.at("batch").get<std::int64_t>();
  p.height = t.at("in_h").get<std::int64_t>();
  p.width = t.at("in_w").get<std::int64_t>();
  p.in_channels = t.at("in_c").get<std::int64_t>();
  p.out_channels = t.at("out_c").get<std::int64_t>();
  p.groups = t.at("groups").get<std::int64_t>();
  const auto k = t.at("k").get<std::int64_t>(), s = t.at("stride").get<std::int64_t>(),
             pad = t.at("pad").get<std::int64_t>();
  p.window = {k, k, s, s, 1, 1, pad, pad, pad, pad};
  p.weights_dtype = dtype_of(t.at("weights").get<std::string>());
  p.output_dtype = dtype_of(t.at("out").get<std::string>());
  p.config.weights_dtype = p.weights_dtype;
  const std::string layout = t.at("shard").get<std::string>();
  for (const TensorMemoryLayout each :
       {TensorMemoryLayout::height_sharded, TensorMemoryLayout::width_sharded, TensorMemoryLayout::block_sharded})
    if (name(each) == layout) p.config.shard_layout = each;
  p.config.enable_act_double_buffer = flag(t, "act_db");
  p.config.enable_weights_double_buffer = flag(t, "w_db");
  p.config.enable_activation_reuse = flag(t, "act_reuse");
  p.compute.fidelity = fidelity_of(t.at("fidelity").get<std::string>());
  p.compute.fp32_dest_acc_en = flag(t, "fp32_acc");
  MeasuredOp out;
  out.kind = "conv2d";
  out.machine = machine.name;
  out.name = "conv2d " + t.at("name").get<std::string>();
  out.measured_ns = t.at("wormhole_us").get<double>() * 1e3;
  out.work = conv2d_work(plan_conv2d(p, tensix_of(machine)));
  return out;
}

}  // namespace

MeasuredOps read_measured_ops(const std::filesystem::path& path) {
  MeasuredOps out;
  MeasuredJson file;
  try {
    file = MeasuredJson::parse(read_text_file(path.string()));
  } catch (const MeasuredJson::parse_error& error) {
    fail(Code::parse, "{} is not JSON: {}", path.string(), error.what());
  }
  check(file.is_object() && file.contains("ops") && file.at("ops").is_array(), Code::parse,
        Hint{"a row needs op, cores, input_0, output_0 and kernel_ns_median"},
        "{} has no list 'ops' of measured operations", path.string());
  std::map<std::string, Machine> machines;
  const auto machine = [&](const std::string& name) -> const Machine& {
    const auto found = machines.find(name);
    return found != machines.end() ? found->second : machines.emplace(name, load_machine(name)).first->second;
  };
  std::size_t number = 0;
  const auto read = [&](const MeasuredJson& row, auto&& body) {
    ++number;
    try {
      body();
    } catch (const MeasuredJson::exception& error) {
      fail(Code::parse, "{}: row {} ({}) lacks something: {}", path.string(), number, row.value("op", std::string("?")),
           error.what());
    } catch (const Error& error) {
      out.left_out.push_back(fmt::format("row {}: {}", number, error.message()));
    }
  };
  for (const MeasuredJson& row : file.at("ops"))
    read(row, [&] {
      const std::string op = row.at("op").get<std::string>(), kind = kind_of(op), where = machine_of(row);
      if (kind.empty() || where.empty())
        out.left_out.push_back(
            fmt::format("row {}: {} {}", number, op,
                        kind.empty() ? "is no operator that has a price" : "ran on a card without a file"));
      else
        out.rows.push_back(op_of(row, kind, machine(where)));
    });
  if (file.contains("conv_perf_targets_us"))
    for (const MeasuredJson& row : file.at("conv_perf_targets_us"))
      read(row, [&] { out.rows.push_back(target_of(row, machine("wormhole_n150"))); });
  if (file.contains("resnet50_grayskull_b8"))
    out.left_out.push_back(fmt::format("{} rows of a Grayskull: there is no machine file for it",
                                       file.at("resnet50_grayskull_b8").size()));
  return out;
}

}  // namespace tessera::tensix
