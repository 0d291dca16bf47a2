// Whole networks whose layers come with the configuration that somebody tuned for a card: the programs that each layer
// takes, priced one by one.

#include "bench_networks.h"

#include "conv2d_table.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/tile.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_work.h"
#include "tessera/targets/tensix/ops/halo/halo_work.h"
#include "tessera/targets/tensix/ops/matmul/matmul_work.h"
#include "tessera/targets/tensix/ops/pool/pool_work.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/plan/plan_difference.h"
#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/time/program_time.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace tessera::cli {
namespace {

using Json = nlohmann::json;

using tensix::kTile;

struct Program {
  std::string layer, op;
  tensix::StepTime time;
  std::int64_t cores = 0;
};

struct Layer {
  std::string name;
  tensix::Conv2dProblem problem;
  tensix::Conv2dPlan plan;
  bool moves_halo = false;

  std::string module() const { return name.substr(0, name.rfind('.')); }
};

bool flag(const Json& t, const char* key, bool otherwise = false) {
  const auto found = t.find(key);
  return found != t.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

// "63 cores (override_sharding_config)"
std::optional<std::int64_t> cores_asked(const Json& tuned) {
  const auto found = tuned.find("core_grid");
  if (found == tuned.end() || !found->is_string()) return std::nullopt;
  const std::string text = found->get<std::string>();
  std::int64_t cores = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cores);
  return error == std::errc() && cores > 0 ? std::optional(cores) : std::nullopt;
}

tensix::OperandFacts facts(std::int64_t rows, std::int64_t columns, DType dtype, Layout layout,
                           const tensix::Parallel& on, Extent2d shard) {
  tensix::OperandFacts x;
  x.rows = rows;
  x.columns = columns;
  x.dtype = dtype;
  x.layout = layout;
  x.place = on.layout == tensix::TensorMemoryLayout::width_sharded   ? tensix::OperandPlace::width_sharded
            : on.layout == tensix::TensorMemoryLayout::block_sharded ? tensix::OperandPlace::block_sharded
                                                                     : tensix::OperandPlace::height_sharded;
  x.cores = on.cores.num_cores();
  x.shard = shard;
  return x;
}

class Network {
 public:
  Network(const Json& file, const Machine& machine)
      : file_(file), card_(tensix_of(machine)), costs_(tensix_costs(machine)) {}

  const std::vector<Program>& programs() const { return programs_; }

  void price() {
    std::vector<Layer> layers;
    for (const Json& row : file_.at("layers")) layers.push_back(layer_of(row));
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (i == 0 && layers[0].name.find("folded") != std::string::npos) fold(layers[0]);
      if (i > 0) between(layers[i - 1], layers[i]);
      convolve(layers[i]);
      const bool last = i + 1 == layers.size() || layers[i + 1].module() != layers[i].module();
      if (last) add_shortcut(layers, i);
    }
    if (!layers.empty()) finish(layers.back());
  }

 private:
  void run(const std::string& layer, const std::string& op, const tensix::ProgramWork& work) {
    programs_.push_back({layer, op, tensix::time_of(work, card_, costs_), work.cores});
  }

  Layer layer_of(const Json& row) const {
    Layer out;
    out.name = row.at("layer").get<std::string>();
    tensix::Conv2dProblem& p = out.problem;
    const Json& t = row.at("tuned");
    p.batch = row.at("batch").get<std::int64_t>();
    p.height = row.at("in_h").get<std::int64_t>();
    p.width = row.at("in_w").get<std::int64_t>();
    p.in_channels = row.at("in_c").get<std::int64_t>();
    p.out_channels = row.at("out_c").get<std::int64_t>();
    p.groups = row.at("groups").get<std::int64_t>();
    const auto pair = [&](const char* key) { return row.at(key).get<std::array<std::int64_t, 2>>(); };
    const auto k = pair("k"), s = pair("stride"), pad = pair("pad"), d = pair("dilation");
    p.window = {k[0], k[1], s[0], s[1], d[0], d[1], pad[0], pad[0], pad[1], pad[1]};
    p.has_bias = true;
    p.input_dtype = dtype_named(t.at("act_dtype").get<std::string>(), "act_dtype");
    p.input_layout = is_block_float(p.input_dtype) ? Layout::tile : Layout::row_major;
    p.weights_dtype = dtype_named(t.at("weights_dtype").get<std::string>(), "weights_dtype");
    p.output_dtype = dtype_named(t.at("out_dtype").get<std::string>(), "out_dtype");
    p.compute.fidelity = fidelity_named(t.at("fidelity").get<std::string>(), "fidelity");
    p.compute.fp32_dest_acc_en = flag(t, "fp32_dest_acc_en");
    p.compute.packer_l1_acc = flag(t, "packer_l1_acc");
    tensix::Conv2dConfig& c = p.config;
    c.weights_dtype = p.weights_dtype;
    c.shard_layout = sharding_named(t.at("shard_layout").get<std::string>(), "shard_layout");
    c.act_block_h_override = t.at("act_block_h").get<int>();
    c.enable_act_double_buffer = flag(t, "act_double_buffer");
    c.enable_weights_double_buffer = flag(t, "weights_double_buffer");
    c.full_inner_dim = flag(t, "full_inner_dim");
    const bool product = k[0] == 1 && k[1] == 1 && s[0] == 1 && s[1] == 1;
    c.enable_activation_reuse = flag(t, "activation_reuse") && !product && s[0] == 1;
    out.moves_halo = flag(t, "reallocate_halo_output", true);
    if (t.contains("effective")) {
      on_cores(p, t.at("effective"));
    } else if (const auto cores = cores_asked(t)) {
      c.core_grid = tensix::num_cores_to_corerangeset({0, 0}, *cores, {card_.grid_y, card_.grid_x}, true);
      c.override_sharding_config = true;
    }
    try {
      out.plan = tensix::plan_conv2d(p, card_);
    } catch (const Error&) {
      // What the layer's own configuration does not allow without its neighbours' shards is planned freely.
      p.input_memory = tensix::kDramMemoryConfig;
      c.enable_activation_reuse = c.override_sharding_config = false;
      c.core_grid.reset();
      out.plan = tensix::plan_conv2d(p, card_);
    }
    return out;
  }

  // The shards that the layer before it leaves.
  void on_cores(tensix::Conv2dProblem& p, const Json& effective) const {
    const auto down = effective.at("nhw_cores").get<std::int64_t>(),
               across = effective.at("c_cores").get<std::int64_t>();
    const std::int64_t rows = p.batch * p.height * p.width;
    const bool block = across > 1;
    const tensix::CoreRangeSet cores =
        block ? tensix::CoreRangeSet({{0, 0}, {static_cast<int>(across) - 1, static_cast<int>(down) - 1}})
              : tensix::num_cores_to_corerangeset({0, 0}, down, {card_.grid_y, card_.grid_x}, true);
    const Extent2d shard{round_up(ceil_div(rows, down), kTile),
                         round_up(ceil_div(p.in_channels, across), block ? kTile : 1)};
    p.input_memory = tensix::MemoryConfig(
        block ? tensix::TensorMemoryLayout::block_sharded : tensix::TensorMemoryLayout::height_sharded,
        tensix::BufferType::l1, tensix::ShardSpec{cores, shard, tensix::ShardOrientation::row_major});
  }

  void convolve(const Layer& layer) {
    const tensix::Conv2dPlan& plan = layer.plan;
    const tensix::Conv2dProblem& p = plan.problem;
    if (plan.has_halo) {
      const tensix::HaloProblem halo{p.batch, p.height, p.width, p.window};
      gather(layer.name, halo, plan.input, plan.input_shard, plan.output_shard.height, p.input_dtype, p.input_layout,
             layer.moves_halo);
    }
    const tensix::ProgramWork work = tensix::conv2d_work(plan);
    run(layer.name, std::string(name(work.kind)), work);
  }

  void gather(const std::string& name, const tensix::HaloProblem& problem, const tensix::Parallel& on, Extent2d shard,
              std::int64_t out_rows, DType dtype, Layout layout, bool moves) {
    const tensix::HaloPlan halo = tensix::plan_halo(problem, on, shard, out_rows, dtype, layout);
    tensix::HaloShard s{on.cores.num_cores(), on.row_parts, 0, 0, false};
    if (layout == Layout::tile) {
      s.tile_rows = ceil_div(shard.height, kTile);
      s.tiles = s.tile_rows * ceil_div(shard.width, kTile);
    }
    run(name, "halo", tensix::halo_work(halo, s));
    if (!moves) return;
    tensix::ProgramWork move;
    move.kind = tensix::ProgramKind::move;
    move.cores = s.cores;
    move.copied_bytes = static_cast<double>(halo.out_bytes_per_core());
    run(name, "move", move);
  }

  // What the sizes of two layers in a row say must lie between them.
  void between(const Layer& before, const Layer& after) {
    if (before.module() == after.module() && before.name != after.name && after.name.find('.') != std::string::npos)
      return;
    const tensix::Conv2dProblem &a = before.problem, &b = after.problem;
    if (b.height * 2 == a.out_h()) pool(before, after);
    if (b.height == a.out_h() * 2) upsample(before, after);
    const bool other_cores = before.plan.output.layout != after.plan.input.layout ||
                             before.plan.output.row_parts != after.plan.input.row_parts;
    if (other_cores && a.out_channels == b.in_channels && a.out_h() == b.height) reshard(before, after);
  }

  void reshard(const Layer& before, const Layer& after) {
    const tensix::Conv2dProblem& b = after.problem;
    const std::int64_t rows = b.batch * b.height * b.width;
    const std::array operands{
        facts(rows, b.in_channels, b.input_dtype, b.input_layout, before.plan.output, before.plan.output_shard),
        facts(rows, b.in_channels, b.input_dtype, b.input_layout, after.plan.input, after.plan.input_shard)};
    run(after.name, "reshard", tensix::tensor_work(tensix::ProgramKind::reshard, operands));
  }

  void pool(const Layer& before, const Layer& after) {
    tensix::Window window{2, 2, 2, 2, 1, 1, 0, 0, 0, 0};
    if (file_.contains("pools"))
      for (const Json& each : file_.at("pools"))
        if (each.at("op") == "max_pool2d" && each.at("in_h") == before.problem.out_h()) {
          const auto k = each.at("k").get<std::int64_t>(), s = each.at("stride").get<std::int64_t>(),
                     pad = each.at("pad").get<std::int64_t>();
          window = {k, k, s, s, 1, 1, pad, pad, pad, pad};
        }
    const tensix::Conv2dProblem& a = before.problem;
    const tensix::HaloProblem halo{a.batch, a.out_h(), a.out_w(), window};
    const tensix::Parallel& on = before.plan.output;
    const std::int64_t rows = ceil_div(halo.out_rows(), on.row_parts);
    gather("max_pool2d", halo, on, before.plan.output_shard, rows, a.output_dtype, Layout::tile, false);
    tensix::PoolLoops loops{.cores = on.cores.num_cores(), .rows = rows};
    loops.channel_tiles = ceil_div(before.plan.output_shard.width, kTile);
    loops.kernel_h = window.kernel_h;
    loops.kernel_w = window.kernel_w;
    loops.stick_bytes = before.plan.output_shard.width * 2;
    run("max_pool2d", "max_pool2d", tensix::pool_work(loops));
    // Rows of bfloat16 come out; the next layer wants tiles on its own cores.
    const tensix::Conv2dProblem& b = after.problem;
    const std::int64_t all = b.batch * b.height * b.width;
    const tensix::OperandFacts pooled =
        facts(all, b.in_channels, DType::bfloat16, Layout::row_major, on, {rows, b.in_channels});
    tensix::OperandFacts moved =
        facts(all, b.in_channels, DType::bfloat16, Layout::row_major, after.plan.input, after.plan.input_shard);
    if (on.row_parts != after.plan.input.row_parts)
      run("max_pool2d", "reshard", tensix::tensor_work(tensix::ProgramKind::reshard, std::array{pooled, moved}));
    tensix::OperandFacts tiles = moved;
    tiles.layout = Layout::tile;
    tiles.dtype = b.input_dtype;
    if (b.input_layout == Layout::tile)
      run("max_pool2d", "tilize", tensix::tensor_work(tensix::ProgramKind::tilize, std::array{moved, tiles}));
  }

  // Rows, enlarged, on cores that hold whole lines; then joined with what was kept from the way down.
  void upsample(const Layer& before, const Layer& after) {
    const tensix::Conv2dProblem &a = before.problem, &b = after.problem;
    const tensix::Parallel &from = before.plan.output, &to = after.plan.input;
    const std::int64_t small = a.batch * a.out_h() * a.out_w(), large = b.batch * b.height * b.width;
    const tensix::OperandFacts tiles =
        facts(small, a.out_channels, a.output_dtype, Layout::tile, from, before.plan.output_shard);
    tensix::OperandFacts rows = tiles;
    rows.layout = Layout::row_major;
    rows.dtype = DType::bfloat16;
    run(after.name, "untilize", tensix::tensor_work(tensix::ProgramKind::untilize, std::array{tiles, rows}));
    run(after.name, "reshard", tensix::tensor_work(tensix::ProgramKind::reshard, std::array{rows, rows}));
    tensix::OperandFacts grown = facts(large, a.out_channels, DType::bfloat16, Layout::row_major, from,
                                       {ceil_div(large, from.row_parts), a.out_channels});
    run(after.name, "upsample", tensix::tensor_work(tensix::ProgramKind::upsample, std::array{rows, grown}));
    if (b.in_channels <= a.out_channels) return;
    tensix::OperandFacts kept = grown, joined = grown;
    kept.columns = b.in_channels - a.out_channels;
    joined.columns = b.in_channels;
    kept.cores = joined.cores = to.cores.num_cores();
    kept.shard = {ceil_div(large, to.row_parts), kept.columns};
    joined.shard = {ceil_div(large, to.row_parts), joined.columns};
    tensix::OperandFacts part = grown;
    part.shard.height = kept.shard.height;
    tensix::OperandFacts kept_tiles = kept;
    kept_tiles.layout = Layout::tile;
    kept_tiles.dtype = a.output_dtype;
    run(after.name, "untilize", tensix::tensor_work(tensix::ProgramKind::untilize, std::array{kept_tiles, kept}));
    run(after.name, "reshard", tensix::tensor_work(tensix::ProgramKind::reshard, std::array{grown, part}));
    run(after.name, "concat", tensix::tensor_work(tensix::ProgramKind::concat, std::array{part, kept, joined}));
    tensix::OperandFacts joined_tiles = joined;
    joined_tiles.layout = Layout::tile;
    joined_tiles.dtype = b.input_dtype;
    if (b.input_layout == Layout::tile)
      run(after.name, "tilize", tensix::tensor_work(tensix::ProgramKind::tilize, std::array{joined, joined_tiles}));
  }

  void add_shortcut(const std::vector<Layer>& layers, std::size_t end) {
    std::size_t begin = end;
    while (begin > 0 && layers[begin - 1].module() == layers[end].module()) --begin;
    const bool projected = layers[end].name.ends_with("downsample");
    const Layer& last = layers[projected ? end - 1 : end];
    const Layer& first = layers[begin];
    if (end - begin < 2) return;
    const bool same =
        first.problem.in_channels == last.problem.out_channels && first.problem.height == last.problem.out_h();
    if (!projected && !same) return;
    const std::int64_t rows = last.problem.batch * last.problem.out_h() * last.problem.out_w();
    const tensix::OperandFacts x = facts(rows, last.problem.out_channels, last.problem.output_dtype, Layout::tile,
                                         last.plan.output, last.plan.output_shard);
    run(last.module(), "add", tensix::tensor_work(tensix::ProgramKind::binary, std::array{x, x, x}));
  }

  // Seven by seven windows of stride two become four by four of stride one over pixels folded together.
  void fold(const Layer& first) {
    const tensix::Conv2dProblem& p = first.problem;
    tensix::ProgramWork work;
    work.kind = tensix::ProgramKind::fold;
    work.cores = first.plan.input.cores.num_cores();
    const auto rows = static_cast<double>(ceil_div(p.batch * p.height * p.width, first.plan.input.row_parts));
    work.window_reads = 2 * rows;  // two lines of two pixels
    work.window_bytes = rows * static_cast<double>(p.in_channels * 2);
    run("fold", "fold", work);
  }

  void finish(const Layer& last) {
    const tensix::Conv2dProblem& p = last.problem;
    if (file_.contains("pools"))
      for (const Json& each : file_.at("pools")) {
        if (each.at("op") != "avg_pool2d") continue;
        const auto k = each.at("k").get<std::int64_t>(), channels = each.at("c").get<std::int64_t>();
        const std::int64_t cores = std::min<std::int64_t>(channels / kTile, card_.cores());
        tensix::OperandFacts x = facts(p.batch * p.out_h() * p.out_w(), channels, p.output_dtype, Layout::tile,
                                       last.plan.output, last.plan.output_shard);
        tensix::OperandFacts y = x;
        y.place = tensix::OperandPlace::width_sharded;
        y.cores = cores;
        y.shard = {x.rows, ceil_div(channels, cores)};
        run("avg_pool2d", "reshard", tensix::tensor_work(tensix::ProgramKind::reshard, std::array{x, y}));
        tensix::OperandFacts rows = y;
        rows.layout = Layout::row_major;
        rows.dtype = DType::bfloat16;
        run("avg_pool2d", "untilize", tensix::tensor_work(tensix::ProgramKind::untilize, std::array{y, rows}));
        tensix::PoolLoops loops{.cores = cores, .rows = p.batch};
        loops.channel_tiles = ceil_div(channels, kTile * cores);
        loops.kernel_h = loops.kernel_w = k;
        loops.stick_bytes = ceil_div(channels, cores) * 2;
        loops.average = true;
        run("avg_pool2d", "avg_pool2d", tensix::pool_work(loops));
      }
    if (!file_.contains("fc")) return;
    const Json& fc = file_.at("fc");
    tensix::MatmulProblem m;
    m.m = ceil_div(fc.at("M").get<std::int64_t>(), kTile);
    m.k = ceil_div(fc.at("K").get<std::int64_t>(), kTile);
    m.n = ceil_div(fc.at("N").get<std::int64_t>(), kTile);
    m.a_dtype = m.b_dtype = m.out_dtype = DType::bfloat8_b;
    m.compute.fidelity = tensix::MathFidelity::lofi;
    m.compute.packer_l1_acc = true;
    tensix::MatmulPlan plan;
    plan.program = {.kind = tensix::MatmulKind::multicast_1d, .block_k = fc.value("in0_block_w", std::int64_t{1})};
    plan.program.per_core_m = m.m;
    plan.program.per_core_n = 1;
    plan.cores = tensix::num_cores_to_corerangeset({0, 0}, m.n, {card_.grid_y, card_.grid_x}, true);
    m.a_memory = plan.output = tensix::MemoryConfig(
        tensix::TensorMemoryLayout::width_sharded, tensix::BufferType::l1,
        tensix::ShardSpec{plan.cores, {m.m * kTile, ceil_div(m.k, m.n) * kTile}, tensix::ShardOrientation::row_major});
    run("fc", "matmul", tensix::matmul_work(m, plan));
  }

  const Json& file_;
  const TensixSpec& card_;
  TensixCosts costs_;
  std::vector<Program> programs_;
};

std::string machine_named(const std::string& device) {
  for (const auto& [word, machine] : {std::pair{"n150", "wormhole_n150"}, std::pair{"n300", "wormhole_n300"},
                                      std::pair{"p100", "blackhole_p100"}, std::pair{"p150", "blackhole_p150"}})
    if (device.find(word) != std::string::npos) return machine;
  fail(Code::not_found, "there is no machine file for '{}'", device);
}

// What the planner makes of the same network: of the zoo, with as many images.
struct Planned {
  std::string model;
  tensix::CardPlan plan;

  std::int64_t reshards() const {
    const tensix::PlanTotals totals = tensix::totals_of(plan);
    return totals.reshards + totals.inner_reshards;
  }
};

std::optional<Planned> planned(const std::string& title, std::int64_t batch, const Machine& machine) {
  for (const auto& [word, model] : {std::pair{"resnet50", "resnet50"}, std::pair{"mobilenetv2", "mobilenet_v2"},
                                    std::pair{"shallow_unet", "shallow_unet"}}) {
    if (title.find(word) == std::string::npos) continue;
    const tensix::LoweredGraph network = tensix::lower(make_zoo_model(model, batch), {.host_fallback = true});
    return Planned{model, tensix::plan_network(network, machine, {})};
  }
  return std::nullopt;
}

// "16", or "1 x 4 groups": images that are computed at once.
double images(const Json& batch) {
  if (batch.is_number()) return batch.get<double>();
  double product = 1, number = 0;
  for (const char c : batch.get<std::string>() + " ") {
    if (c >= '0' && c <= '9')
      number = number * 10 + (c - '0');
    else if (number > 0)
      product *= number, number = 0;
  }
  return product;
}

}  // namespace

void bench_networks(const std::string& path, const Context& context) {
  Json file;
  try {
    file = Json::parse(read_text_file(path));
  } catch (const Json::parse_error& error) {
    fail(Code::parse, "{} is not JSON: {}", path, error.what());
  }
  Table table({{.name = "network"},
               {.name = "layer"},
               {.name = "program"},
               {.name = "cores", .align = Align::right},
               {.name = "time", .key = "kernel_ns", .align = Align::right},
               {.name = "share", .align = Align::right},
               {.name = "bound by", .key = "bound_by"},
               {.name = "of roof", .key = "roof_fraction", .align = Align::right},
               {.name = "basis"}});
  Table sums({{.name = "network"},
              {.name = "images", .align = Align::right},
              {.name = "programs", .align = Align::right},
              {.name = "device time", .key = "kernel_ns", .align = Align::right},
              {.name = "published", .key = "published_ns", .align = Align::right},
              {.name = "error", .align = Align::right},
              {.name = "images/s", .key = "images_per_s", .align = Align::right},
              {.name = "published", .key = "published_images_per_s", .align = Align::right},
              {.name = "with gaps", .key = "with_gaps_ns", .align = Align::right},
              {.name = "planned", .key = "planned_kernel_ns", .align = Align::right},
              {.name = "with gaps", .key = "planned_with_gaps_ns", .align = Align::right},
              {.name = "reshards", .align = Align::right},
              {.name = "planned", .key = "planned_reshards", .align = Align::right},
              {.name = "basis"}});
  nlohmann::ordered_json out;
  out["schema"] = 1;
  const auto percent = [](double share) { return Cell(share, fmt::format("{:.1f}%", 100 * share)); };
  for (const auto& [title, network] : file.items()) {
    try {
      const Machine machine = load_machine(machine_named(network.at("device").get<std::string>()));
      Network priced(network, machine);
      with_context(fmt::format("while pricing {}", title), [&] { priced.price(); });
      double total = 0;
      tensix::TimeBasis basis = tensix::TimeBasis::fitted;  // the weakest of its programs
      for (const Program& p : priced.programs()) total += p.time.ns, basis = std::max(basis, p.time.basis);
      const std::string_view mark = basis == tensix::TimeBasis::fitted ? "" : " ~";
      for (const Program& p : priced.programs())
        table.add_row(
            {title, p.layer, p.op, p.cores, Cell(p.time.ns, format_time(p.time.ns) + (p.time.fitted() ? "" : " ~")),
             percent(p.time.ns / total), p.time.bound_by, percent(p.time.roof_fraction()), name(p.time.basis)});
      const double count = images(network.at("batch")), rate = network.at("device_samples_per_s").get<double>();
      const double published = count / rate * 1e9;
      const std::optional<Planned> by_planner = planned(title, static_cast<std::int64_t>(count), machine);
      const double gaps = total + tensix_of(machine).op_gap_ns * static_cast<double>(priced.programs().size());
      sums.add_row({title, count, priced.programs().size(), Cell(total, fmt::format("{}{}", format_time(total), mark)),
                    Cell(published, format_time(published)),
                    Cell(total / published - 1, fmt::format("{:+.1f}%", 100 * (total / published - 1))),
                    Cell(count / total * 1e9, fmt::format("{:.0f}", count / total * 1e9)),
                    Cell(rate, fmt::format("{:.0f}", rate)), Cell(gaps, format_time(gaps)),
                    by_planner ? Cell(by_planner->plan.kernels_ns, format_time(by_planner->plan.kernels_ns)) : Cell(),
                    by_planner ? Cell(by_planner->plan.device_ns, format_time(by_planner->plan.device_ns)) : Cell(),
                    std::ranges::count_if(priced.programs(), [](const Program& p) { return p.op == "reshard"; }),
                    by_planner ? Cell(by_planner->reshards()) : Cell(), name(basis)});
    } catch (const Json::exception& error) {
      fail(Code::parse, "{}: {} lacks something: {}", path, title, error.what());
    }
  }
  if (context.format == Format::json) {
    out["networks"] = nlohmann::ordered_json::parse(render_json(sums)).at("rows");
    out["rows"] = nlohmann::ordered_json::parse(render_json(table)).at("rows");
    return context.print(out.dump(1) + "\n");
  }
  context.print(table);
  if (context.format == Format::csv) return;
  context.print("\n");
  context.print(sums);
  if (!context.quiet)
    context.print(
        "\nDevice time is the sum of kernel times, as published; with gaps, the pauses between programs of a replayed "
        "trace are added. Planned are the same networks of the zoo by `tessera plan`. Networks are a check: no price "
        "is fitted to one. ~ marks times with a part that was not measured on this generation of cards.\n");
}

}  // namespace tessera::cli
