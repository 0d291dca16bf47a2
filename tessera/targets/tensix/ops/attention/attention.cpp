#include "tessera/targets/tensix/ops/attention/attention.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/card/operand_facts.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/matmul/product_values.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera::tensix {
namespace {

constexpr std::string_view kOp = "scaled_dot_product_attention";
constexpr float kHidden = -std::numeric_limits<float>::infinity();

void check_operand(const DeviceTensor& x) {
  const TensorSpec& spec = x.spec();
  check(spec.layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
        "{}: operands must be in TILE layout, this one is in {}", kOp, name(spec.layout()));
  check(spec.dtype() == DType::bfloat16 || is_block_float(spec.dtype()), Code::unsupported, Hint{"use typecast"},
        "{}: operands must be BFLOAT16, BFLOAT8_B or BFLOAT4_B, this one is {}", kOp, name(spec.dtype()));
  check(!spec.memory_config().is_sharded(), Code::unsupported, Hint{"use to_memory_config"},
        "{}: operands must be interleaved, this one is in shards", kOp);
  check(spec.logical_shape().rank() == 4, Code::invalid_argument,
        "{}: operands must be [batch, heads, rows, size], this one is {}", kOp, spec.logical_shape().to_string());
  check(spec.logical_shape()[3] == spec.padded_shape()[3], Code::unsupported, Hint{"pad to whole tiles"},
        "{}: heads of {} columns are no whole tiles", kOp, spec.logical_shape()[3]);
}

void check_shapes(const Shape& q, const Shape& k, const Shape& v, const AttentionOptions& options) {
  check(!options.causal || q[2] == k[2], Code::invalid_argument,
        "{}: causal attention needs as many keys as queries, there are {} queries and {} keys", kOp, q[2], k[2]);
  check(k[0] == q[0] && v[0] == q[0], Code::invalid_argument,
        "{}: the batch of keys ({}) and values ({}) must be that of the queries ({})", kOp, k[0], v[0], q[0]);
  check(v[1] == k[1], Code::invalid_argument, "{}: keys have {} heads, values {}", kOp, k[1], v[1]);
  check(v[2] == k[2], Code::invalid_argument, "{}: there are {} keys and {} values", kOp, k[2], v[2]);
  check(k[3] == q[3] && v[3] == q[3], Code::invalid_argument,
        "{}: heads of keys have {} columns, of values {}, of queries {}", kOp, k[3], v[3], q[3]);
  check(k[1] > 0 && q[1] >= k[1] && q[1] % k[1] == 0, Code::invalid_argument,
        "{}: {} heads of queries must be a multiple of the {} heads of keys, and those more than 0", kOp, q[1], k[1]);
}

void check_mask(const Shape& q, const Shape& k, const AttentionOptions& options) {
  if (!options.mask) return;
  check(!options.causal, Code::invalid_argument, Hint{"give is_causal=False with a mask"},
        "{}: a mask and causal attention do not go together", kOp);
  check(options.window.value_or(0) == 0, Code::invalid_argument, Hint{"put the window into the mask"},
        "{}: a mask and a sliding window of {} do not go together", kOp, options.window.value_or(0));
  const TensorSpec& m = options.mask->spec();
  const Shape& shape = m.logical_shape();
  check(m.layout() == Layout::tile && (m.dtype() == DType::bfloat16 || is_block_float(m.dtype())), Code::unsupported,
        "{}: a mask must be BFLOAT16, BFLOAT8_B or BFLOAT4_B in TILE layout, this one is {} in {}", kOp,
        name(m.dtype()), name(m.layout()));
  check(m.memory_config().buffer_type() == BufferType::dram, Code::unsupported, Hint{"use to_memory_config"},
        "{}: a mask must be in DRAM", kOp);
  check(shape.rank() == 4 && (shape[0] == 1 || shape[0] == q[0]) && (shape[1] == 1 || shape[1] == q[1]) &&
            shape[2] == q[2] && shape[3] == k[2],
        Code::invalid_argument, "{}: a mask for {} queries and {} keys must be [1 or {}, 1 or {}, {}, {}], it is {}",
        kOp, q[2], k[2], q[0], q[1], q[2], k[2], shape.to_string());
}

void check_blocks(const std::optional<AttentionBlocks>& blocks, CoreGrid device) {
  if (!blocks) return;
  check(blocks->query_rows > 0 && blocks->query_rows % kTile == 0, Code::invalid_argument,
        "{}: q_chunk_size must be divisible by {}, it is {}", kOp, kTile, blocks->query_rows);
  check(blocks->key_rows > 0 && blocks->key_rows % kTile == 0, Code::invalid_argument,
        "{}: k_chunk_size must be divisible by {}, it is {}", kOp, kTile, blocks->key_rows);
  check(blocks->grid.x <= device.x && blocks->grid.y <= device.y, Code::invalid_argument,
        "{}: the program config has a grid of {} x {} cores, the device of {} x {}", kOp, blocks->grid.x,
        blocks->grid.y, device.x, device.y);
}

// One matrix of scores becomes one of results.
class Head {
 public:
  Head(const Shape& q, const Shape& k, const AttentionOptions& options, const ComputeConfig& compute)
      : rows_(q[2]),
        keys_(k[2]),
        size_(q[3]),
        options_(options),
        compute_(compute),
        scale_(options.scale.value_or(1 / std::sqrt(static_cast<float>(q[3])))) {
    if (options.sequences)
      for (const double v : numbers_of(*options.sequences)) bounds_.push_back(static_cast<std::int64_t>(v));
  }

  void run(const float* q, const float* k, const float* v, const float* mask, std::optional<float> sink,
           float* y) const {
    std::vector<float> turned(static_cast<std::size_t>(keys_ * size_));
    for (std::int64_t i = 0; i < keys_; ++i)
      for (std::int64_t j = 0; j < size_; ++j) turned[static_cast<std::size_t>(j * keys_ + i)] = k[i * size_ + j];
    Product scores{.m = rows_, .n = keys_, .k = size_, .compute = compute_};
    std::vector<float> p = product_values(scores, q, turned.data());
    std::vector<float> sums(static_cast<std::size_t>(rows_));
    for (std::int64_t r = 0; r < rows_; ++r)
      sums[static_cast<std::size_t>(r)] =
          into_powers(std::span(p).subspan(static_cast<std::size_t>(r * keys_), static_cast<std::size_t>(keys_)), r,
                      mask == nullptr ? nullptr : mask + r * keys_, sink);
    const Product mixed{.m = rows_, .n = size_, .k = keys_, .compute = compute_};
    const std::vector<float> out = product_values(mixed, p.data(), v);
    for (std::int64_t i = 0; i < rows_ * size_; ++i)
      y[i] = from_vector_unit(out[static_cast<std::size_t>(i)] / sums[static_cast<std::size_t>(i / size_)],
                              compute_.fp32_dest_acc_en);
  }

 private:
  float packed(float v) const { return into_dst(v, compute_.fp32_dest_acc_en); }

  bool sees(std::int64_t query, std::int64_t key) const {
    if (options_.causal && key > query) return false;
    if (const std::int64_t window = options_.window.value_or(0); window > 0) {
      if (options_.causal && query - key >= window) return false;
      if (!options_.causal && std::abs(query - key) > window / 2) return false;
    }
    const auto sequence_of = [&](std::int64_t place) { return std::ranges::upper_bound(bounds_, place); };
    return bounds_.empty() || sequence_of(query) == sequence_of(key);
  }

  // Scores become exp(score - largest), hidden ones 0; their sum.
  float into_powers(std::span<float> row, std::int64_t query, const float* mask, std::optional<float> sink) const {
    float most = kHidden;
    for (std::size_t c = 0; c < row.size(); ++c) {
      float score = packed(row[c] * scale_);
      if (mask != nullptr) score = packed(score + mask[c]);
      row[c] = sees(query, static_cast<std::int64_t>(c)) ? score : kHidden;
      most = std::max(most, row[c]);
    }
    if (sink) most = std::max(most, *sink);
    double sum = sink ? std::exp(static_cast<double>(*sink) - static_cast<double>(most)) : 0;
    for (float& v : row) {
      v = most == kHidden ? 0 : packed(static_cast<float>(std::exp(static_cast<double>(v - most))));
      sum += static_cast<double>(v);
    }
    return static_cast<float>(sum);
  }

  std::int64_t rows_, keys_, size_;
  const AttentionOptions& options_;
  ComputeConfig compute_;
  float scale_;
  std::vector<std::int64_t> bounds_;
};

std::vector<float> attention_values(const DeviceTensor& q, const DeviceTensor& k, const DeviceTensor& v,
                                    const AttentionOptions& options, const ComputeConfig& compute) {
  const Shape &qs = q.spec().logical_shape(), &ks = k.spec().logical_shape();
  const std::vector<float> queries = read_pages(q).to_float32(), keys = read_pages(k).to_float32(),
                           values = read_pages(v).to_float32();
  const std::vector<float> mask = options.mask ? read_pages(*options.mask).to_float32() : std::vector<float>{},
                           sinks = options.sink ? read_pages(*options.sink).to_float32() : std::vector<float>{};
  const Head head(qs, ks, options, compute);
  std::vector<float> y(queries.size());
  const std::int64_t heads = qs[1], shared = heads / ks[1], area = qs[2] * qs[3], key_area = ks[2] * ks[3];
  for (std::int64_t b = 0; b < qs[0]; ++b)
    for (std::int64_t h = 0; h < heads; ++h) {
      const std::int64_t key = (b * ks[1] + h / shared) * key_area;
      const float* row = nullptr;
      if (options.mask) {
        const Shape& m = options.mask->spec().logical_shape();
        row = mask.data() + ((m[0] == 1 ? 0 : b) * m[1] + (m[1] == 1 ? 0 : h)) * m[2] * m[3];
      }
      std::optional<float> sink;
      if (options.sink) sink = sinks[static_cast<std::size_t>(h)];
      head.run(queries.data() + (b * heads + h) * area, keys.data() + key, values.data() + key, row, sink,
               y.data() + (b * heads + h) * area);
    }
  return y;
}

}  // namespace

DeviceTensor attention(const DeviceTensor& q, const DeviceTensor& k, const DeviceTensor& v,
                       const AttentionOptions& options) {
  DeviceTensors inputs{&q, &k, &v};
  for (const auto* t : {&options.mask, &options.sink, &options.sequences})
    if (*t) inputs.push_back(&**t);
  check_together(kOp, inputs);
  for (const DeviceTensor* t : {&q, &k, &v}) check_operand(*t);
  const Shape &qs = q.spec().logical_shape(), &ks = k.spec().logical_shape();
  check_mask(qs, ks, options);
  check_shapes(qs, ks, v.spec().logical_shape(), options);
  check_blocks(options.blocks, q.device()->grid());
  if (options.sink)
    check(options.sink->spec().logical_shape().volume() == qs[1], Code::invalid_argument,
          "{}: the attention sink {} must hold a number for each of {} heads", kOp,
          options.sink->spec().logical_shape().to_string(), qs[1]);
  check(!options.sequences || !options.causal, Code::invalid_argument,
        "{}: windows and causal attention do not go together", kOp);

  const MemoryConfig place = options.memory_config.value_or(kDramMemoryConfig);
  DeviceTensor y = DeviceTensor::allocate(q.device(), q.spec().with_memory_config(place));
  // Blocks of queries, keys (two of them), values, scores, statistics and results.
  const std::int64_t rows = options.blocks ? options.blocks->query_rows / kTile : 1,
                     keys = options.blocks ? options.blocks->key_rows / kTile : 1, columns = qs[3] / kTile;
  const CoreRangeSet cores =
      options.blocks && options.blocks->cores ? *options.blocks->cores
      : options.blocks ? CoreRangeSet(CoreRange({0, 0}, {options.blocks->grid.x - 1, options.blocks->grid.y - 1}))
                       : all_cores(*q.device());
  const std::int64_t in = tile_bytes(q.spec().dtype()), between = tile_bytes(DType::bfloat16);
  check_program_fits(*q.device(), {{"queries", cores, rows * columns * in},
                                   {"keys", cores, 2 * keys * columns * tile_bytes(k.spec().dtype())},
                                   {"values", cores, 2 * keys * columns * tile_bytes(v.spec().dtype())},
                                   {"scores", cores, rows * keys * between},
                                   {"statistics", cores, 5 * rows * between},
                                   {"results", cores, 3 * rows * columns * between}});
  const ComputeConfig compute = options.compute.value_or(ComputeConfig{.fidelity = MathFidelity::hifi2});
  write_values(y, [&] {
    return Tensor::from_float32(attention_values(q, k, v, options, compute), qs, q.spec().dtype(), Layout::tile,
                                q.spec().tile(), Rounding::packer);
  });
  std::vector<OperandFacts> facts;
  for (const DeviceTensor* x : inputs) facts.push_back(facts_of(x->spec()));
  facts.push_back(facts_of(y.spec()));
  ProgramWork work = tensor_work(ProgramKind::attention, facts, cores.num_cores());
  // Heads times blocks of queries are dealt to the cores; a causal query sees half of the keys.
  const double tasks = static_cast<double>(qs[0] * qs[1] * ceil_div(qs[2], rows * kTile));
  const double mine = std::ceil(tasks / static_cast<double>(cores.num_cores()));
  const double key_tiles = static_cast<double>(ceil_div(ks[2], kTile)) * (options.causal ? 0.5 : 1.0);
  work.phases = phases(compute.fidelity);
  work.matmul_tiles = 2 * mine * static_cast<double>(rows * columns) * key_tiles;
  work.vector_tiles = mine * static_cast<double>(rows) * key_tiles;
  TraceRecord record{ProgramKind::attention, qs.to_string(), stream_transfers(q, y),
                     std::make_shared<const ProgramWork>(std::move(work)), std::string(kOp)};
  finish_program(std::move(record), inputs, y);
  return y;
}

}  // namespace tessera::tensix
