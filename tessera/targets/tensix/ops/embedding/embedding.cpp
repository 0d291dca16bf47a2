#include "tessera/targets/tensix/ops/embedding/embedding.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

#include <cstring>
#include <vector>

namespace tessera::tensix {

DeviceTensor embedding(const DeviceTensor& indices, const DeviceTensor& weights, std::optional<Layout> layout,
                       const std::optional<MemoryConfig>& config) {
  indices.check_allocated();
  weights.check_allocated();
  const TensorSpec &i = indices.spec(), &w = weights.spec();
  check(indices.device() == weights.device(), Code::invalid_argument,
        "embedding: the tensors are on different devices");
  check(i.dtype() == DType::uint32 || i.dtype() == DType::bfloat16, Code::unsupported, Hint{"use typecast"},
        "embedding: indices must be UINT32 or BFLOAT16, not {}", name(i.dtype()));
  check(w.dtype() == DType::bfloat16 && w.layout() == Layout::row_major, Code::unsupported,
        Hint{"use typecast and to_layout"}, "embedding: weights must be BFLOAT16 in ROW_MAJOR layout, not {} in {}",
        name(w.dtype()), name(w.layout()));
  const Shape& table = w.logical_shape();
  check(table.rank() >= 2 && table.volume() == table[-1] * table[-2], Code::invalid_argument,
        "embedding: weights of shape {} are no matrix: all dimensions before the last two must be 1",
        table.to_string());

  std::vector<std::int64_t> dims = i.logical_shape().dims();
  // TTNN keeps [batch, 1, 1, sentence] as [batch, 1, sentence, columns].
  if (dims.size() == 4 && dims[1] == 1 && dims[2] == 1) dims.erase(dims.begin() + 2);
  dims.push_back(table[-1]);
  const Shape shape(std::move(dims));
  const MemoryConfig place = config.value_or(i.memory_config().is_sharded() ? kDramMemoryConfig : i.memory_config());
  DeviceTensor y =
      DeviceTensor::allocate(indices.device(), TensorSpec(shape, w.dtype(), layout.value_or(i.layout()), place));
  write_values(y, [&] {
    const std::vector<float> rows = read_pages(indices).to_float32();
    const Bytes from = read_pages(weights).to_elements(w.dtype());
    const std::size_t row_bytes = static_cast<std::size_t>(table[-1]) * 2;
    std::vector<std::byte> out(rows.size() * row_bytes);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto row = static_cast<std::int64_t>(rows[r]);
      check(row >= 0 && row < table[-2], Code::invalid_argument, "embedding: index {} is not a row of weights {}", row,
            table.to_string());
      std::memcpy(out.data() + r * row_bytes, from.data() + static_cast<std::size_t>(row) * row_bytes, row_bytes);
    }
    return Tensor::from_elements(out, w.dtype(), shape, w.dtype(), y.spec().layout());
  });
  finish_program({ProgramKind::embedding, fmt::format("{} of {}", i.logical_shape().to_string(), table.to_string()),
                  stream_transfers(indices, y)},
                 {&indices, &weights}, y);
  return y;
}

namespace {
// Rows are fetched one by one, by number.
void count_embedding(TensorWork& w) {
  const TensorShare mine = w.share_of(w.out());
  w.work.fetched_pages = mine.rows;
  w.work.fetched_bytes = mine.bytes;
  w.work.sent_pieces = mine.rows;
  w.work.sent_bytes = mine.bytes;
  w.work.dram_read_bytes = bytes_of(w.out()) + dram_bytes_of(w.in());
  w.work.dram_written_bytes = dram_bytes_of(w.out());
}
}  // namespace

const CardOp card_op_embedding = {.kind = ProgramKind::embedding, .count = count_embedding, .role = CallRole::converts};

}  // namespace tessera::tensix
