#include "tessera/targets/tensix/views/published_networks.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/tile.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/tile_side.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_work.h"
#include "tessera/targets/tensix/ops/halo/halo_work.h"
#include "tessera/targets/tensix/ops/matmul/matmul_work.h"
#include "tessera/targets/tensix/ops/pool/pool_work.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/plan/plan_difference.h"
#include "tessera/targets/tensix/plan/plan_network.h"
#include "tessera/targets/tensix/time/program_time.h"
#include "tessera/targets/tensix/views/conv2d_table.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace tessera::tensix {
namespace {

using PublishedJson = nlohmann::json;

struct PublishedLayer {
  std::string name;
  Conv2dProblem problem;
  Conv2dPlan plan;
  bool moves_halo = false;

  std::string module() const { return name.substr(0, name.rfind('.')); }
};

bool flag_of(const PublishedJson& t, const char* key, bool otherwise = false) {
  const auto found = t.find(key);
  return found != t.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

// "63 cores (override_sharding_config)"
std::optional<std::int64_t> cores_asked(const PublishedJson& tuned) {
  const auto found = tuned.find("core_grid");
  if (found == tuned.end() || !found->is_string()) return std::nullopt;
  const std::string text = found->get<std::string>();
  std::int64_t cores = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), cores);
  return error == std::errc() && cores > 0 ? std::optional(cores) : std::nullopt;
}

OperandFacts sharded_facts(std::int64_t rows, std::int64_t columns, DType dtype, Layout layout, const Parallel& on,
                           Extent2d shard) {
  OperandFacts x;
  x.rows = rows;
  x.columns = columns;
  x.dtype = dtype;
  x.layout = layout;
  x.place = on.layout == TensorMemoryLayout::width_sharded   ? OperandPlace::width_sharded
            : on.layout == TensorMemoryLayout::block_sharded ? OperandPlace::block_sharded
                                                             : OperandPlace::height_sharded;
  x.cores = on.cores.num_cores();
  x.shard = shard;
  return x;
}

class PublishedPrograms {
 public:
  PublishedPrograms(const PublishedJson& file, const Machine& machine)
      : file_(file), card_(tensix_of(machine)), costs_(tensix_costs(machine)) {}

  const std::vector<PublishedProgram>& programs() const { return programs_; }

  void price() {
    std::vector<PublishedLayer> layers;
    for (const PublishedJson& row : file_.at("layers")) layers.push_back(layer_of(row));
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
  void run(const std::string& layer, const std::string& op, const ProgramWork& work) {
    programs_.push_back({layer, op, time_of(work, card_, costs_), work.cores});
  }

  PublishedLayer layer_of(const PublishedJson& row) const {
    PublishedLayer out;
    out.name = row.at("layer").get<std::string>();
    Conv2dProblem& p = out.problem;
    const PublishedJson& t = row.at("tuned");
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
    p.compute.fp32_dest_acc_en = flag_of(t, "fp32_dest_acc_en");
    p.compute.packer_l1_acc = flag_of(t, "packer_l1_acc");
    Conv2dConfig& c = p.config;
    c.weights_dtype = p.weights_dtype;
    c.shard_layout = sharding_named(t.at("shard_layout").get<std::string>(), "shard_layout");
    c.act_block_h_override = t.at("act_block_h").get<int>();
    c.enable_act_double_buffer = flag_of(t, "act_double_buffer");
    c.enable_weights_double_buffer = flag_of(t, "weights_double_buffer");
    c.full_inner_dim = flag_of(t, "full_inner_dim");
    const bool product = k[0] == 1 && k[1] == 1 && s[0] == 1 && s[1] == 1;
    c.enable_activation_reuse = flag_of(t, "activation_reuse") && !product && s[0] == 1;
    out.moves_halo = flag_of(t, "reallocate_halo_output", true);
    if (t.contains("effective")) {
      on_cores(p, t.at("effective"));
    } else if (const auto cores = cores_asked(t)) {
      c.core_grid = num_cores_to_corerangeset({0, 0}, *cores, {card_.grid_y, card_.grid_x}, true);
      c.override_sharding_config = true;
    }
    if (Result<Conv2dPlan> plan = try_plan_conv2d(p, card_)) {
      out.plan = std::move(*plan);
      return out;
    }
    // What the layer's own configuration does not allow without its neighbours' shards is planned freely.
    p.input_memory = kDramMemoryConfig;
    c.enable_activation_reuse = c.override_sharding_config = false;
    c.core_grid.reset();
    out.plan = plan_conv2d(p, card_);
    return out;
  }

  // The shards that the layer before it leaves.
  void on_cores(Conv2dProblem& p, const PublishedJson& effective) const {
    const auto down = effective.at("nhw_cores").get<std::int64_t>(),
               across = effective.at("c_cores").get<std::int64_t>();
    const std::int64_t rows = p.batch * p.height * p.width;
    const bool block = across > 1;
    const CoreRangeSet cores = block
                                   ? CoreRangeSet({{0, 0}, {static_cast<int>(across) - 1, static_cast<int>(down) - 1}})
                                   : num_cores_to_corerangeset({0, 0}, down, {card_.grid_y, card_.grid_x}, true);
    const Extent2d shard{round_up(ceil_div(rows, down), kTile),
                         round_up(ceil_div(p.in_channels, across), block ? kTile : 1)};
    p.input_memory = MemoryConfig(block ? TensorMemoryLayout::block_sharded : TensorMemoryLayout::height_sharded,
                                  BufferType::l1, ShardSpec{cores, shard, ShardOrientation::row_major});
  }

  void convolve(const PublishedLayer& layer) {
    const Conv2dPlan& plan = layer.plan;
    const Conv2dProblem& p = plan.problem;
    if (plan.has_halo) {
      const HaloProblem halo{p.batch, p.height, p.width, p.window};
      gather(layer.name, halo, plan.input, plan.input_shard, plan.output_shard.height, p.input_dtype, p.input_layout,
             layer.moves_halo);
    }
    const ProgramWork work = conv2d_work(plan);
    run(layer.name, std::string(name(work.kind)), work);
  }

  void gather(const std::string& name, const HaloProblem& problem, const Parallel& on, Extent2d shard,
              std::int64_t out_rows, DType dtype, Layout layout, bool moves) {
    const HaloPlan halo = plan_halo(problem, on, shard, out_rows, dtype, layout);
    HaloShard s{on.cores.num_cores(), on.row_parts, 0, 0, false};
    if (layout == Layout::tile) {
      s.tile_rows = ceil_div(shard.height, kTile);
      s.tiles = s.tile_rows * ceil_div(shard.width, kTile);
    }
    run(name, "halo", halo_work(halo, s));
    if (!moves) return;
    ProgramWork move;
    move.kind = ProgramKind::move;
    move.cores = s.cores;
    move.copied_bytes = static_cast<double>(halo.out_bytes_per_core());
    run(name, "move", move);
  }

  // What the sizes of two layers in a row say must lie between them.
  void between(const PublishedLayer& before, const PublishedLayer& after) {
    if (before.module() == after.module() && before.name != after.name && after.name.find('.') != std::string::npos)
      return;
    const Conv2dProblem &a = before.problem, &b = after.problem;
    if (b.height * 2 == a.out_h()) pool(before, after);
    if (b.height == a.out_h() * 2) upsample(before, after);
    const bool other_cores = before.plan.output.layout != after.plan.input.layout ||
                             before.plan.output.row_parts != after.plan.input.row_parts;
    if (other_cores && a.out_channels == b.in_channels && a.out_h() == b.height) reshard(before, after);
  }

  void reshard(const PublishedLayer& before, const PublishedLayer& after) {
    const Conv2dProblem& b = after.problem;
    const std::int64_t rows = b.batch * b.height * b.width;
    const std::array operands{
        sharded_facts(rows, b.in_channels, b.input_dtype, b.input_layout, before.plan.output, before.plan.output_shard),
        sharded_facts(rows, b.in_channels, b.input_dtype, b.input_layout, after.plan.input, after.plan.input_shard)};
    run(after.name, "reshard", tensor_work(ProgramKind::reshard, operands));
  }

  void pool(const PublishedLayer& before, const PublishedLayer& after) {
    SlidingWindow window{2, 2, 2, 2, 1, 1, 0, 0, 0, 0};
    if (file_.contains("pools"))
      for (const PublishedJson& each : file_.at("pools"))
        if (each.at("op") == "max_pool2d" && each.at("in_h") == before.problem.out_h()) {
          const auto k = each.at("k").get<std::int64_t>(), s = each.at("stride").get<std::int64_t>(),
                     pad = each.at("pad").get<std::int64_t>();
          window = {k, k, s, s, 1, 1, pad, pad, pad, pad};
        }
    const Conv2dProblem& a = before.problem;
    const HaloProblem halo{a.batch, a.out_h(), a.out_w(), window};
    const Parallel& on = before.plan.output;
    const std::int64_t rows = ceil_div(halo.out_rows(), on.row_parts);
    gather("max_pool2d", halo, on, before.plan.output_shard, rows, a.output_dtype, Layout::tile, false);
    PoolLoops loops{.cores = on.cores.num_cores(), .rows = rows};
    loops.channel_tiles = ceil_div(before.plan.output_shard.width, kTile);
    loops.kernel_h = window.kernel_h;
    loops.kernel_w = window.kernel_w;
    loops.stick_bytes = before.plan.output_shard.width * 2;
    run("max_pool2d", "max_pool2d", pool_work(loops));
    // Rows of bfloat16 come out; the next layer wants tiles on its own cores.
    const Conv2dProblem& b = after.problem;
    const std::int64_t all = b.batch * b.height * b.width;
    const OperandFacts pooled =
        sharded_facts(all, b.in_channels, DType::bfloat16, Layout::row_major, on, {rows, b.in_channels});
    OperandFacts moved =
        sharded_facts(all, b.in_channels, DType::bfloat16, Layout::row_major, after.plan.input, after.plan.input_shard);
    if (on.row_parts != after.plan.input.row_parts)
      run("max_pool2d", "reshard", tensor_work(ProgramKind::reshard, std::array{pooled, moved}));
    OperandFacts tiles = moved;
    tiles.layout = Layout::tile;
    tiles.dtype = b.input_dtype;
    if (b.input_layout == Layout::tile)
      run("max_pool2d", "tilize", tensor_work(ProgramKind::tilize, std::array{moved, tiles}));
  }

  // Rows, enlarged, on cores that hold whole lines; then joined with what was kept from the way down.
  void upsample(const PublishedLayer& before, const PublishedLayer& after) {
    const Conv2dProblem &a = before.problem, &b = after.problem;
    const Parallel &from = before.plan.output, &to = after.plan.input;
    const std::int64_t small = a.batch * a.out_h() * a.out_w(), large = b.batch * b.height * b.width;
    const OperandFacts tiles =
        sharded_facts(small, a.out_channels, a.output_dtype, Layout::tile, from, before.plan.output_shard);
    OperandFacts rows = tiles;
    rows.layout = Layout::row_major;
    rows.dtype = DType::bfloat16;
    run(after.name, "untilize", tensor_work(ProgramKind::untilize, std::array{tiles, rows}));
    run(after.name, "reshard", tensor_work(ProgramKind::reshard, std::array{rows, rows}));
    OperandFacts grown = sharded_facts(large, a.out_channels, DType::bfloat16, Layout::row_major, from,
                                       {ceil_div(large, from.row_parts), a.out_channels});
    run(after.name, "upsample", tensor_work(ProgramKind::upsample, std::array{rows, grown}));
    if (b.in_channels <= a.out_channels) return;
    OperandFacts kept = grown, joined = grown;
    kept.columns = b.in_channels - a.out_channels;
    joined.columns = b.in_channels;
    kept.cores = joined.cores = to.cores.num_cores();
    kept.shard = {ceil_div(large, to.row_parts), kept.columns};
    joined.shard = {ceil_div(large, to.row_parts), joined.columns};
    OperandFacts part = grown;
    part.shard.height = kept.shard.height;
    OperandFacts kept_tiles = kept;
    kept_tiles.layout = Layout::tile;
    kept_tiles.dtype = a.output_dtype;
    run(after.name, "untilize", tensor_work(ProgramKind::untilize, std::array{kept_tiles, kept}));
    run(after.name, "reshard", tensor_work(ProgramKind::reshard, std::array{grown, part}));
    run(after.name, "concat", tensor_work(ProgramKind::concat, std::array{part, kept, joined}));
    OperandFacts joined_tiles = joined;
    joined_tiles.layout = Layout::tile;
    joined_tiles.dtype = b.input_dtype;
    if (b.input_layout == Layout::tile)
      run(after.name, "tilize", tensor_work(ProgramKind::tilize, std::array{joined, joined_tiles}));
  }

  void add_shortcut(const std::vector<PublishedLayer>& layers, std::size_t end) {
    std::size_t begin = end;
    while (begin > 0 && layers[begin - 1].module() == layers[end].module()) --begin;
    const bool projected = layers[end].name.ends_with("downsample");
    const PublishedLayer& last = layers[projected ? end - 1 : end];
    const PublishedLayer& first = layers[begin];
    if (end - begin < 2) return;
    const bool same =
        first.problem.in_channels == last.problem.out_channels && first.problem.height == last.problem.out_h();
    if (!projected && !same) return;
    const std::int64_t rows = last.problem.batch * last.problem.out_h() * last.problem.out_w();
    const OperandFacts x = sharded_facts(rows, last.problem.out_channels, last.problem.output_dtype, Layout::tile,
                                         last.plan.output, last.plan.output_shard);
    run(last.module(), "add", tensor_work(ProgramKind::binary, std::array{x, x, x}));
  }

  // Seven by seven windows of stride two become four by four of stride one over pixels folded together.
  void fold(const PublishedLayer& first) {
    const Conv2dProblem& p = first.problem;
    ProgramWork work;
    work.kind = ProgramKind::fold;
    work.cores = first.plan.input.cores.num_cores();
    const auto rows = static_cast<double>(ceil_div(p.batch * p.height * p.width, first.plan.input.row_parts));
    work.window_reads = 2 * rows;  // two lines of two pixels
    work.window_bytes = rows * static_cast<double>(p.in_channels * 2);
    run("fold", "fold", work);
  }

  void finish(const PublishedLayer& last) {
    const Conv2dProblem& p = last.problem;
    if (file_.contains("pools"))
      for (const PublishedJson& each : file_.at("pools")) {
        if (each.at("op") != "avg_pool2d") continue;
        const auto k = each.at("k").get<std::int64_t>(), channels = each.at("c").get<std::int64_t>();
        const std::int64_t cores = std::min<std::int64_t>(channels / kTile, card_.cores());
        OperandFacts x = sharded_facts(p.batch * p.out_h() * p.out_w(), channels, p.output_dtype, Layout::tile,
                                       last.plan.output, last.plan.output_shard);
        OperandFacts y = x;
        y.place = OperandPlace::width_sharded;
        y.cores = cores;
        y.shard = {x.rows, ceil_div(channels, cores)};
        run("avg_pool2d", "reshard", tensor_work(ProgramKind::reshard, std::array{x, y}));
        OperandFacts rows = y;
        rows.layout = Layout::row_major;
        rows.dtype = DType::bfloat16;
        run("avg_pool2d", "untilize", tensor_work(ProgramKind::untilize, std::array{y, rows}));
        PoolLoops loops{.cores = cores, .rows = p.batch};
        loops.channel_tiles = ceil_div(channels, kTile * cores);
        loops.kernel_h = loops.kernel_w = k;
        loops.stick_bytes = ceil_div(channels, cores) * 2;
        loops.average = true;
        run("avg_pool2d", "avg_pool2d", pool_work(loops));
      }
    if (!file_.contains("fc")) return;
    const PublishedJson& fc = file_.at("fc");
    MatmulProblem m;
    m.m = ceil_div(fc.at("M").get<std::int64_t>(), kTile);
    m.k = ceil_div(fc.at("K").get<std::int64_t>(), kTile);
    m.n = ceil_div(fc.at("N").get<std::int64_t>(), kTile);
    m.a_dtype = m.b_dtype = m.out_dtype = DType::bfloat8_b;
    m.compute.fidelity = MathFidelity::lofi;
    m.compute.packer_l1_acc = true;
    MatmulPlan plan;
    plan.program = {.kind = MatmulKind::multicast_1d, .block_k = fc.value("in0_block_w", std::int64_t{1})};
    plan.program.per_core_m = m.m;
    plan.program.per_core_n = 1;
    plan.cores = num_cores_to_corerangeset({0, 0}, m.n, {card_.grid_y, card_.grid_x}, true);
    m.a_memory = plan.output =
        MemoryConfig(TensorMemoryLayout::width_sharded, BufferType::l1,
                     ShardSpec{plan.cores, {m.m * kTile, ceil_div(m.k, m.n) * kTile}, ShardOrientation::row_major});
    run("fc", "matmul", matmul_work(m, plan));
  }

  const PublishedJson& file_;
  const TensixSpec& card_;
  TensixCosts costs_;
  std::vector<PublishedProgram> programs_;
};

std::string published_machine(const std::string& device) {
  for (const auto& [word, machine] : {std::pair{"n150", "wormhole_n150"}, std::pair{"n300", "wormhole_n300"},
                                      std::pair{"p100", "blackhole_p100"}, std::pair{"p150", "blackhole_p150"}})
    if (device.find(word) != std::string::npos) return machine;
  fail(Code::not_found, "there is no machine file for '{}'", device);
}

// Of the zoo, with as many images.
std::optional<PublishedNetwork::Planned> planned(const std::string& title, std::int64_t batch, const Machine& machine) {
  for (const auto& [word, model] : {std::pair{"resnet50", "resnet50"}, std::pair{"mobilenetv2", "mobilenet_v2"},
                                    std::pair{"shallow_unet", "shallow_unet"}}) {
    if (title.find(word) == std::string::npos) continue;
    const LoweredGraph network = lower(make_zoo_model(model, batch), {.host_fallback = true});
    const CardPlan plan = plan_network(network, machine, {});
    const CardPlanTotals totals = totals_of(plan);
    return PublishedNetwork::Planned{plan.kernels_ns, plan.device_ns, totals.reshards + totals.inner_reshards};
  }
  return std::nullopt;
}

// "16", or "1 x 4 groups": images that are computed at once.
double images_of(const PublishedJson& batch) {
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

std::vector<PublishedNetwork> price_published_networks(const std::string& path) {
  PublishedJson file;
  try {
    file = PublishedJson::parse(read_text_file(path));
  } catch (const PublishedJson::parse_error& error) {
    fail(Code::parse, "{} is not JSON: {}", path, error.what());
  }
  std::vector<PublishedNetwork> out;
  for (const auto& [title, network] : file.items()) {
    try {
      const Machine machine = load_machine(published_machine(network.at("device").get<std::string>()));
      PublishedPrograms priced(network, machine);
      with_context(fmt::format("while pricing {}", title), [&] { priced.price(); });
      PublishedNetwork& row = out.emplace_back();
      row.title = title;
      row.programs = priced.programs();
      for (const PublishedProgram& p : row.programs)
        row.kernels_ns += p.time.ns, row.basis = std::max(row.basis, p.time.basis);
      row.with_gaps_ns = row.kernels_ns + tensix_of(machine).op_gap_ns * static_cast<double>(row.programs.size());
      row.images = images_of(network.at("batch"));
      row.published_images_per_s = network.at("device_samples_per_s").get<double>();
      row.planned = planned(title, static_cast<std::int64_t>(row.images), machine);
    } catch (const PublishedJson::exception& error) {
      fail(Code::parse, "{}: {} lacks something: {}", path, title, error.what());
    }
  }
  return out;
}

}  // namespace tessera::tensix
