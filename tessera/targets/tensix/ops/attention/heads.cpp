#include "tessera/targets/tensix/ops/attention/heads.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <vector>

namespace tessera::tensix {
namespace {

void check_operand(std::string_view op, const DeviceTensor& x) {
  const TensorSpec& spec = x.spec();
  check(spec.layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
        "{}: the input must be in TILE layout, it is in {}", op, name(spec.layout()));
  check(spec.dtype() == DType::float32 || spec.dtype() == DType::bfloat16 || spec.dtype() == DType::bfloat8_b,
        Code::unsupported, Hint{"use typecast"}, "{}: {} is not supported, only FLOAT32, BFLOAT16 and BFLOAT8_B", op,
        name(spec.dtype()));
  const Shape& shape = spec.logical_shape();
  check(shape.rank() == 4 && shape[1] == 1, Code::invalid_argument,
        "{}: the input must be [batch, 1, rows, columns], it is {}", op, shape.to_string());
}

// Which column of a row a head begins at.
struct HeadColumns {
  std::int64_t first = 0, step = 0;  // of head 0; to the next group of heads
  std::int64_t group = 1;            // heads of a group lie side by side
};

DeviceTensor heads_of(std::string_view op, const DeviceTensor& x, std::int64_t heads, std::int64_t size,
                      const HeadColumns& columns, bool transpose, const std::optional<MemoryConfig>& config) {
  const Shape& from = x.spec().logical_shape();
  const std::int64_t rows = from[2], width = from[3];
  const Shape shape = transpose ? Shape{from[0], heads, size, rows} : Shape{from[0], heads, rows, size};
  const TensorSpec result(shape, x.spec().dtype(), Layout::tile, place_of_result(config, x, shape), x.spec().tile());
  return whole_program(ProgramKind::create_heads, op, {&x}, result, [&] {
    const std::vector<double> values = numbers_of(x);
    std::vector<double> y;
    y.reserve(static_cast<std::size_t>(shape.volume()));
    for (std::int64_t b = 0; b < from[0]; ++b)
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t column = columns.first + h / columns.group * columns.step + h % columns.group * size;
        const auto at = [&](std::int64_t row, std::int64_t c) {
          return values[static_cast<std::size_t>((b * rows + row) * width + column + c)];
        };
        for (std::int64_t i = 0; i < shape[2]; ++i)
          for (std::int64_t j = 0; j < shape[3]; ++j) y.push_back(transpose ? at(j, i) : at(i, j));
      }
    return y;
  });
}

// Heads of queries, and of keys and values, and their common size.
struct HeadCounts {
  std::int64_t heads, kv_heads, size;
};

HeadCounts counted_heads(std::string_view op, const Shape& x, const Shape* kv, const HeadOptions& options) {
  const std::int64_t heads = options.heads, kv_heads = options.kv_heads.value_or(heads);
  check(heads > 0 && kv_heads > 0 && heads % kv_heads == 0, Code::invalid_argument,
        "{}: {} heads of queries do not fit evenly onto {} heads of keys and values", op, heads, kv_heads);
  if (kv == nullptr) {
    const std::int64_t all = heads + 2 * kv_heads;
    check(x[-1] % all == 0, Code::invalid_argument,
          "{}: {} columns do not make up {} heads of queries and twice {} of keys and values", op, x[-1], heads,
          kv_heads);
    return {heads, kv_heads, x[-1] / all};
  }
  check((*kv)[0] == x[0], Code::invalid_argument,
        "{}: the batch of the keys and values ({}) must be that of the queries ({})", op, (*kv)[0], x[0]);
  check((*kv)[-2] == x[-2], Code::invalid_argument,
        "{}: the sequence of the keys and values ({}) must be as long as that of the queries ({})", op, (*kv)[-2],
        x[-2]);
  check(x[-1] % heads == 0, Code::invalid_argument, "{}: {} columns of queries must be divisible by {} heads", op,
        x[-1], heads);
  check((*kv)[-1] % (2 * kv_heads) == 0, Code::invalid_argument,
        "{}: {} columns of keys and values must be divisible by 2 * heads ({})", op, (*kv)[-1], 2 * kv_heads);
  check((*kv)[-1] / (2 * kv_heads) == x[-1] / heads, Code::invalid_argument,
        "{}: heads of keys and values ({} columns) must be as large as those of queries ({})", op,
        (*kv)[-1] / (2 * kv_heads), x[-1] / heads);
  return {heads, kv_heads, x[-1] / heads};
}

}  // namespace

QueryKeyValue create_qkv_heads(std::string_view op, const DeviceTensor& x, const std::optional<DeviceTensor>& kv,
                               const HeadOptions& options) {
  x.check_allocated();
  check_operand(op, x);
  if (kv) {
    check_together(op, {&x, &*kv});
    check_operand(op, *kv);
  }
  const HeadCounts n = counted_heads(op, x.spec().logical_shape(), kv ? &kv->spec().logical_shape() : nullptr, options);
  const DeviceTensor& from = kv ? *kv : x;
  const std::int64_t keys = kv ? 0 : n.heads * n.size, values = keys + n.kv_heads * n.size;
  const auto config = options.memory_config;
  return {heads_of(op, x, n.heads, n.size, {0, n.size}, false, config),
          heads_of(op, from, n.kv_heads, n.size, {keys, n.size}, options.transpose_key, config),
          heads_of(op, from, n.kv_heads, n.size, {values, n.size}, false, config)};
}

QueryKeyValue create_grouped_qkv_heads(std::string_view op, const DeviceTensor& x,
                                       const std::optional<DeviceTensor>& kv, const HeadOptions& options) {
  x.check_allocated();
  check_operand(op, x);
  if (kv) {
    check_together(op, {&x, &*kv});
    check_operand(op, *kv);
  }
  for (const DeviceTensor* t : {&x, kv ? &*kv : &x})
    check(t->spec().memory_config().layout() == TensorMemoryLayout::block_sharded, Code::unsupported,
          Hint{"use nlp_create_qkv_heads"}, "{}: operands must be BLOCK_SHARDED, this one is {}", op,
          name(t->spec().memory_config().layout()));
  const HeadCounts n = counted_heads(op, x.spec().logical_shape(), kv ? &kv->spec().logical_shape() : nullptr, options);
  check(options.memory_config && options.memory_config->layout() == TensorMemoryLayout::height_sharded,
        Code::unsupported, "{}: the result must be HEIGHT_SHARDED, but it would be {}", op,
        name((options.memory_config ? *options.memory_config : x.spec().memory_config()).layout()));
  const DeviceTensor& from = kv ? *kv : x;
  const std::int64_t group = n.heads / n.kv_heads, queries = kv ? 0 : group * n.size;
  const std::int64_t step = kv ? 2 * n.size : queries + 2 * n.size, query_step = kv ? group * n.size : step;
  const auto config = options.memory_config;
  return {heads_of(op, x, n.heads, n.size, {0, query_step, group}, false, config),
          heads_of(op, from, n.kv_heads, n.size, {queries, step}, options.transpose_key, config),
          heads_of(op, from, n.kv_heads, n.size, {queries + n.size, step}, false, config)};
}

QueryKeyValue split_heads(const DeviceTensor& x, const std::optional<DeviceTensor>& kv, const HeadOptions& options) {
  constexpr std::string_view op = "split_query_key_value_and_split_heads";
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& shape = from.logical_shape();
  check(shape.rank() == 3, Code::invalid_argument, "{}: the input must have 3 dimensions, it has {}", op, shape.rank());
  check(from.layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
        "{}: the input must be in TILE layout, it is in {}", op, name(from.layout()));
  const HeadCounts n = counted_heads(op, shape, kv ? &kv->spec().logical_shape() : nullptr, options);
  check(n.size % kTile == 0, Code::invalid_argument,
        "{}: heads of {} columns are not supported, they must be a multiple of the tile width ({})", op, n.size, kTile);
  const bool sharded = from.memory_config().is_sharded();
  check(!sharded || !kv, Code::unsupported, Hint{"use to_memory_config"},
        "{}: keys and values of their own and an input in shards do not go together", op);
  const auto in_batches = [](const DeviceTensor& t) {
    const Shape& s = t.spec().logical_shape();
    return reshape(t, Shape{s[0], 1, s[1], s[2]});
  };
  HeadOptions inner = options;
  if (!inner.memory_config) inner.memory_config = from.memory_config();
  const DeviceTensor wide = in_batches(x);
  if (sharded) return create_grouped_qkv_heads(op, wide, std::nullopt, inner);
  return create_qkv_heads(op, wide, kv ? std::optional(in_batches(*kv)) : std::nullopt, inner);
}

DeviceTensor create_heads(std::string_view op, const DeviceTensor& x, std::int64_t size,
                          const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  check_operand(op, x);
  const std::int64_t columns = x.spec().logical_shape()[3];
  check(columns % size == 0, Code::invalid_argument, "{}: {} columns are no heads of {}", op, columns, size);
  return heads_of(op, x, columns / size, size, {0, size}, false, config);
}

DeviceTensor concat_heads(std::string_view op, const DeviceTensor& x, const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const TensorSpec& from = x.spec();
  const Shape& shape = from.logical_shape();
  check(shape.rank() == 4, Code::invalid_argument, "{}: the input must have rank 4, it is {}", op, shape.to_string());
  check(from.layout() == Layout::tile, Code::unsupported, Hint{"use to_layout"},
        "{}: the input must be in TILE layout, it is in {}", op, name(from.layout()));
  check(is_floating(from.dtype()), Code::unsupported, Hint{"use typecast"}, "{}: {} is not supported", op,
        name(from.dtype()));
  const std::int64_t heads = shape[1], rows = shape[2], size = shape[3];
  const Shape joined{shape[0], 1, rows, heads * size};
  const TensorSpec result(joined, from.dtype(), Layout::tile, place_of_result(config, x, joined), from.tile());
  return whole_program(ProgramKind::concat_heads, op, {&x}, result, [&] {
    const std::vector<double> values = numbers_of(x);
    std::vector<double> y;
    y.reserve(values.size());
    for (std::int64_t b = 0; b < shape[0]; ++b)
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t h = 0; h < heads; ++h) {
          const auto first = values.begin() + ((b * heads + h) * rows + r) * size;
          y.insert(y.end(), first, first + size);
        }
    return y;
  });
}

DeviceTensor join_heads(const DeviceTensor& x, const std::optional<MemoryConfig>& config) {
  constexpr std::string_view op = "concatenate_heads";
  x.check_allocated();
  const Shape& shape = x.spec().logical_shape();
  check(shape.rank() == 4, Code::invalid_argument, "{}: the input must have rank 4, it is {}", op, shape.to_string());
  check(shape[3] % kTile == 0, Code::invalid_argument,
        "{}: heads of {} columns are not supported, they must be a multiple of {}", op, shape[3], kTile);
  const MemoryConfig place = config.value_or(x.spec().memory_config());
  const bool leaves_shards = x.spec().memory_config().is_sharded() && !place.is_sharded();
  const DeviceTensor from =
      leaves_shards ? to_memory_config(x, MemoryConfig(TensorMemoryLayout::interleaved, place.buffer_type())) : x;
  const DeviceTensor y = concat_heads(op, from, config);
  return reshape(y, Shape{shape[0], shape[2], shape[1] * shape[3]});
}

const CardOp card_op_create_heads = {
    .kind = ProgramKind::create_heads, .count = count_copied_pages, .role = CallRole::converts};
const CardOp card_op_concat_heads = {
    .kind = ProgramKind::concat_heads, .count = count_copied_pages, .role = CallRole::converts};

}  // namespace tessera::tensix
