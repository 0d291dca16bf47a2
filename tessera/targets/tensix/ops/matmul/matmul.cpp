#include "tessera/targets/tensix/ops/matmul/matmul.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/compute_defaults.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/card/placement.h"
#include "tessera/targets/tensix/card/program.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/matmul/matmul_work.h"
#include "tessera/targets/tensix/ops/matmul/product_values.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

struct Operand {
  Shape shape;  // rank 2 at least, after transposing
  std::int64_t batch = 1;
};

Operand operand(const DeviceTensor& x, bool transpose, bool is_row) {
  std::vector<std::int64_t> dims = x.spec().logical_shape().dims();
  if (dims.size() == 1) dims.insert(is_row ? dims.begin() : dims.end(), 1);
  check(dims.size() >= 2, Code::invalid_argument, "matmul: operands must have at least one dimension");
  if (transpose) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  Operand out{Shape(dims)};
  for (int d = 0; d + 2 < out.shape.rank(); ++d) out.batch *= out.shape[d];
  return out;
}

void check_operand(const DeviceTensor& x, std::string_view which) {
  x.check_allocated();
  check(x.spec().layout() == Layout::tile, Code::invalid_argument, Hint{"use to_layout"},
        "matmul: inputs must be tilized, the {} operand is in ROW_MAJOR layout", which);
  check(is_floating(x.spec().dtype()), Code::unsupported, Hint{"use typecast"},
        "matmul: {} is not supported as the {} operand", name(x.spec().dtype()), which);
}

// [.., m, k] x [.., k, n] with equal batches, or b without one.
Shape product_shape(const Operand& a, const Operand& b) {
  check(a.shape[-1] == b.shape[-2], Code::invalid_argument,
        "matmul: the width of the first tensor must be equal to the height of the second: width {}, height {}",
        a.shape[-1], b.shape[-2]);
  const Shape& wide = a.batch == 1 && b.batch > 1 ? b.shape : a.shape;
  std::vector<std::int64_t> dims = wide.dims();
  const auto rank = static_cast<int>(dims.size());
  if (a.batch > 1 && b.batch > 1) {
    const int common = std::min(a.shape.rank(), b.shape.rank());
    check(a.shape.rank() == b.shape.rank(), Code::invalid_argument, "matmul: batches of different rank: {} and {}",
          a.shape.to_string(), b.shape.to_string());
    for (int d = 0; d + 2 < common; ++d)
      check(a.shape[d] == b.shape[d], Code::invalid_argument,
            "matmul: batch dimension {} does not match: a has {}, b {}, they may differ only where all batch "
            "dimensions of one are of size 1",
            d, a.shape[d], b.shape[d]);
  }
  dims[static_cast<std::size_t>(rank - 2)] = a.shape[-2];
  dims[static_cast<std::size_t>(rank - 1)] = b.shape[-1];
  return Shape(std::move(dims));
}

Shape without_added(const Shape& shape, bool a_is_row, bool b_is_column) {
  std::vector<std::int64_t> dims = shape.dims();
  if (b_is_column) dims.pop_back();
  if (a_is_row) dims.erase(dims.end() - (b_is_column ? 1 : 2));
  return Shape(std::move(dims));
}

std::vector<float> matrices(const DeviceTensor& x, bool transpose) {
  std::vector<float> values = read_pages(x).to_float32();
  const Shape& shape = x.spec().logical_shape();
  if (!transpose || shape.rank() < 2) return values;
  const std::int64_t rows = shape[-2], columns = shape[-1];
  std::vector<float> out(values.size());
  for (std::int64_t at = 0; at < shape.volume(); at += rows * columns)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        out[static_cast<std::size_t>(at + c * rows + r)] = values[static_cast<std::size_t>(at + r * columns + c)];
  return out;
}

bool is_row_of(const Shape& bias, std::int64_t n) { return bias.rank() > 0 && bias.volume() == n && bias[-1] == n; }

}  // namespace

DeviceTensor matmul(const DeviceTensor& a, const DeviceTensor& b, const MatmulOptions& options) {
  check_operand(a, "first");
  check_operand(b, "second");
  check(a.device() == b.device(), Code::invalid_argument, "matmul: the tensors are on different devices");
  check(!options.activation || !a.spec().memory_config().is_sharded(), Code::invalid_argument,
        Hint{"put it into the program config's fused_activation"},
        "matmul: the activation '{}' of a sharded product belongs into a program config",
        options.activation ? options.activation->name : "");
  const Operand left = operand(a, options.transpose_a, true), right = operand(b, options.transpose_b, false);
  const Shape full = product_shape(left, right);
  const bool a_is_row = a.spec().logical_shape().rank() == 1, b_is_column = b.spec().logical_shape().rank() == 1;
  const Shape shape = without_added(full, a_is_row, b_is_column);
  const MemoryConfig wish = options.memory_config.value_or(kDramMemoryConfig);
  bool fuse_bias = false;
  if (options.bias) {
    check_operand(*options.bias, "third");
    broadcast_shape("matmul: bias", full, options.bias->spec().logical_shape());
    const MemoryConfig &from = a.spec().memory_config(), &other = b.spec().memory_config();
    // A program that is made for operands in L1 leaves it to an addition.
    const bool program_adds =
        options.program || options.core_grid || from.is_sharded() || (from.is_dram() && other.is_dram());
    fuse_bias =
        wish.is_dram() && program_adds && right.batch == 1 && is_row_of(options.bias->spec().logical_shape(), full[-1]);
  }
  const DType dtype = options.dtype.value_or(a.spec().dtype());
  check(is_floating(dtype), Code::unsupported, "matmul: the result cannot be {}", name(dtype));
  const bool user_program = options.program || options.core_grid;
  const Device& device = *a.device();
  MatmulProblem problem{.batch = std::max(left.batch, right.batch),
                        .batch_b = right.batch,
                        .m = ceil_div(left.shape[-2], kTile),
                        .k = ceil_div(left.shape[-1], kTile),
                        .n = ceil_div(right.shape[-1], kTile),
                        .a_dtype = a.spec().dtype(),
                        .b_dtype = b.spec().dtype(),
                        .bias_dtype = options.bias ? options.bias->spec().dtype() : DType::bfloat16,
                        .out_dtype = dtype,
                        .a_memory = a.spec().memory_config(),
                        .b_memory = b.spec().memory_config(),
                        .out_memory = wish,
                        .bias = fuse_bias,
                        .transpose_a = options.transpose_a,
                        .compute = options.compute.value_or(default_matmul_compute(a.spec().dtype(), b.spec().dtype(),
                                                                                   dtype, user_program, device.card())),
                        .core_grid = options.core_grid,
                        .program = options.program,
                        .grid = device.grid(),
                        .free_bytes = free_l1_bytes(device)};
  const MatmulPlan plan = plan_matmul(problem);

  DeviceTensor y = DeviceTensor::allocate(a.device(), TensorSpec(shape, dtype, Layout::tile, plan.output));
  check_program_fits(device, plan.own_buffers());
  Product product{.m = left.shape[-2],
                  .n = right.shape[-1],
                  .k = left.shape[-1],
                  .k_block = plan.program.block_k * kTile,
                  .compute = problem.compute,
                  .partials_dtype = plan.partials_dtype};
  if (plan.program.kind == MatmulKind::multi_core) product.k_block = 0;
  const auto values = [&] {
    const std::vector<float> va = matrices(a, options.transpose_a), vb = matrices(b, options.transpose_b);
    const std::vector<float> row = fuse_bias ? read_pages(*options.bias).to_float32() : std::vector<float>();
    if (fuse_bias) product.bias = row.data();
    std::vector<float> all;
    all.reserve(static_cast<std::size_t>(full.volume()));
    for (std::int64_t i = 0; i < problem.batch; ++i) {
      const std::vector<float> part =
          product_values(product, va.data() + (left.batch > 1 ? i * product.m * product.k : 0),
                         vb.data() + (right.batch > 1 ? i * product.k * product.n : 0));
      all.insert(all.end(), part.begin(), part.end());
    }
    if (options.fused_activation) apply(*options.fused_activation, all, problem.compute.fp32_dest_acc_en);
    return Tensor::from_float32(all, shape, dtype, Layout::tile, {}, Rounding::packer);
  };

  TraceRecord record{ProgramKind::matmul,
                     fmt::format("{} x {}, {} on {}", left.shape.to_string(), right.shape.to_string(),
                                 name(plan.program.kind), plan.cores.to_string()),
                     {stream_transfers(a, y).front(), stream_transfers(b, y).front()},
                     std::make_shared<const ProgramWork>(matmul_work(problem, plan))};
  std::vector<const DeviceTensor*> inputs{&a, &b};
  if (fuse_bias) {
    record.transfers.push_back(stream_transfers(*options.bias, y).front());
    inputs.push_back(&*options.bias);
  }
  record.transfers.push_back(stream_transfers(y, y).back());
  write_values(y, values);
  finish_program(std::move(record), inputs, y);
  if (options.bias && !fuse_bias) y = binary(Binary::Kind::add, y, *options.bias);
  if (options.activation) y = unary(options.activation->name, std::span(&*options.activation, 1), y);
  return y;
}

}  // namespace tessera::tensix
