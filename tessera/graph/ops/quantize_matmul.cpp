// QLinearMatMul and MatMulInteger.

#include "tessera/core/error.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/internal/as_matrix.h"
#include "tessera/graph/ops/internal/expect_bytes.h"
#include "tessera/graph/ops/internal/saturate.h"
#include "tessera/graph/ops/quantize.h"

#include <cmath>

namespace tessera {
namespace {

using internal::as_matrix;
using internal::expect_bytes;
using Dims = std::vector<std::int64_t>;

std::optional<Dims> product_dims(const TensorType& a, const TensorType& b, std::string_view op) {
  if (!a.dims || !b.dims) return std::nullopt;
  const Dims da = as_matrix(*a.dims, true), db = as_matrix(*b.dims, false);
  const std::int64_t ka = da.back(), kb = db[db.size() - 2];
  check(ka == kb || ka == TensorType::kUnknown || kb == TensorType::kUnknown, Code::invalid_argument,
        "{}: {} and {} cannot be multiplied: {} columns against {} rows", op, a.to_string(), b.to_string(), ka, kb);
  Dims out = *broadcast_dims(TensorType(a.type, Dims(da.begin(), da.end() - 2)),
                             TensorType(b.type, Dims(db.begin(), db.end() - 2)), op);
  if (a.dims->size() > 1) out.push_back(da[da.size() - 2]);
  if (b.dims->size() > 1) out.push_back(db.back());
  return out;
}

// One value for all, one per line (a row of a or y, a column of b), or one per line of each matrix in the batch.
std::size_t parameter(std::int64_t count, std::int64_t lines, std::int64_t batch, std::int64_t line) {
  if (count == 1) return 0;
  return static_cast<std::size_t>(count == lines ? line : batch * lines + line);
}

void expect_parameter(const Knowns& inputs, std::size_t i, const TensorType& of, bool rows) {
  if (!inputs.has(i) || !inputs[i].is_static() || !of.is_static()) return;
  const std::int64_t count = inputs[i].shape().volume(), volume = of.shape().volume();
  const Dims dims = as_matrix(*of.dims, rows);
  const std::int64_t lines = rows ? dims[dims.size() - 2] : dims.back(),
                     across = rows ? dims.back() : dims[dims.size() - 2];
  check(count == 1 || count == lines || (across > 0 && count == volume / across), Code::invalid_argument,
        "{}: input {} is {}, which does not fit the {} {} of {}", inputs.op(), i, inputs[i].to_string(), lines,
        rows ? "rows" : "columns", of.to_string());
}

// Where an element of the product came from.
struct Place {
  std::int64_t a_batch = 0, b_batch = 0, y_batch = 0, row = 0, column = 0;
  std::int64_t a_count = 0, b_count = 0;  // rows and columns of the product
};

// write(place, position, sum of (a - a zero) * (b - b zero)) for every element of the product.
template <class Write>
void multiply(const Arrays& inputs, const Array& a, const Array& b, std::size_t a_zero_input, std::size_t b_zero_input,
              const Shape& y, Write write) {
  const Dims da = as_matrix(a.shape().dims(), true), db = as_matrix(b.shape().dims(), false);
  const std::int64_t rows = da[da.size() - 2], inner = da.back(), columns = db.back();
  const std::vector<std::int64_t> as = a.to_int64(), bs = b.to_int64();
  const auto zeros = [&](std::size_t i) { return inputs.has(i) ? inputs[i].to_int64() : std::vector<std::int64_t>{0}; };
  const std::vector<std::int64_t> a_zeros = zeros(a_zero_input), b_zeros = zeros(b_zero_input);
  const Shape batches =
      broadcast_shape(Shape(Dims(da.begin(), da.end() - 2)), Shape(Dims(db.begin(), db.end() - 2)), inputs.op());
  // The matrix of an operand that a batch of the product uses.
  const auto batch_of = [&](const Dims& dims, std::int64_t batch) {
    std::int64_t at = 0, stride = 1;
    for (int d = batches.rank() - 1, own = static_cast<int>(dims.size()) - 3; own >= 0; --d, --own) {
      const std::int64_t extent = dims[static_cast<std::size_t>(own)];
      if (extent != 1) at += batch % batches[d] * stride;
      batch /= batches[d];
      stride *= extent;
    }
    return at;
  };
  if (y.volume() == 0) return;
  std::int64_t at = 0;
  for (std::int64_t batch = 0; batch < batches.volume(); ++batch) {
    Place place{batch_of(da, batch), batch_of(db, batch), batch, 0, 0, rows, columns};
    for (place.row = 0; place.row < rows; ++place.row)
      for (place.column = 0; place.column < columns; ++place.column, ++at) {
        const auto az = a_zeros[parameter(static_cast<std::int64_t>(a_zeros.size()), rows, place.a_batch, place.row)];
        const auto bz =
            b_zeros[parameter(static_cast<std::int64_t>(b_zeros.size()), columns, place.b_batch, place.column)];
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < inner; ++k)
          sum += (as[static_cast<std::size_t>((place.a_batch * rows + place.row) * inner + k)] - az) *
                 (bs[static_cast<std::size_t>((place.b_batch * inner + k) * columns + place.column)] - bz);
        write(place, static_cast<std::size_t>(at), sum);
      }
  }
}

Work matmul_work(const TensorType& a, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs, outputs,
                        a.is_static() && a.rank() > 0 ? 2.0 * static_cast<double>(a.shape()[-1]) : 0.0);
}

}  // namespace

std::vector<TensorType> infer(const QLinearMatMul&, const Knowns& inputs) {
  inputs.expect_count(8, 8);
  for (std::size_t i : {0, 3, 7}) expect_bytes(inputs, i);
  for (std::size_t i : {0, 3}) inputs.expect_rank(i, 1, Shape::kMaxRank);
  for (std::size_t i : {1, 4, 6}) visit_floating_type(inputs[i].type, inputs.op(), [](auto) {});
  inputs.expect_same_type(0, 2);
  inputs.expect_same_type(3, 5);
  const TensorType y(inputs[7].type, product_dims(inputs[0], inputs[3], inputs.op()));
  for (std::size_t i : {1, 2}) expect_parameter(inputs, i, inputs[0], true);
  for (std::size_t i : {4, 5}) expect_parameter(inputs, i, inputs[3], false);
  for (std::size_t i : {6, 7})
    if (y.dims && !y.dims->empty() && inputs[3].rank() > 1)
      expect_parameter(inputs, i, y, true);
    else if (y.dims && inputs[i].is_static())
      check(inputs[i].shape().volume() == 1, Code::invalid_argument,
            "QLinearMatMul: input {} is {}, one value is needed", i, inputs[i].to_string());
  return {y};
}

Work work(const QLinearMatMul&, const Types& inputs, const Types& outputs) {
  return matmul_work(inputs[0], inputs, outputs);
}

std::vector<Array> reference(const QLinearMatMul&, const Arrays& inputs) {
  const Array &a = inputs[0], &b = inputs[3];
  const Shape shape(*product_dims(TensorType(a.type(), a.shape()), TensorType(b.type(), b.shape()), inputs.op()));
  Array y(inputs[7].type(), shape);
  const std::vector<double> a_scales = inputs[1].to_double(), b_scales = inputs[4].to_double(),
                            y_scales = inputs[6].to_double();
  const std::vector<double> y_zeros = inputs[7].to_double();
  const auto pick = [](const std::vector<double>& values, std::int64_t lines, std::int64_t batch, std::int64_t line) {
    return values[parameter(static_cast<std::int64_t>(values.size()), lines, batch, line)];
  };
  visit_element_type(y.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto ys = y.as<T>();
    multiply(inputs, a, b, 2, 5, shape, [&](const Place& p, std::size_t i, std::int64_t sum) {
      const auto a_scale = static_cast<float>(pick(a_scales, p.a_count, p.a_batch, p.row));
      const auto b_scale = static_cast<float>(pick(b_scales, p.b_count, p.b_batch, p.column));
      const auto y_scale = static_cast<float>(pick(y_scales, p.a_count, p.y_batch, p.row));
      const float value = static_cast<float>(static_cast<std::int32_t>(sum)) * (a_scale * b_scale / y_scale);
      ys[i] = internal::saturated<T>(std::nearbyint(static_cast<double>(value)) +
                                     pick(y_zeros, p.a_count, p.y_batch, p.row));
    });
  });
  return {std::move(y)};
}

std::vector<TensorType> infer(const MatMulInteger&, const Knowns& inputs) {
  inputs.expect_count(2, 4);
  for (std::size_t i : {0, 1}) {
    expect_bytes(inputs, i);
    inputs.expect_rank(i, 1, Shape::kMaxRank);
    if (!inputs.has(i + 2)) continue;
    inputs.expect_same_type(i, i + 2);
    expect_parameter(inputs, i + 2, inputs[i], i == 0);
  }
  return {TensorType(ElementType::int32, product_dims(inputs[0], inputs[1], inputs.op()))};
}

Work work(const MatMulInteger&, const Types& inputs, const Types& outputs) {
  return matmul_work(inputs[0], inputs, outputs);
}

std::vector<Array> reference(const MatMulInteger&, const Arrays& inputs) {
  const Array &a = inputs[0], &b = inputs[1];
  const Shape shape(*product_dims(TensorType(a.type(), a.shape()), TensorType(b.type(), b.shape()), inputs.op()));
  Array y(ElementType::int32, shape);
  const auto ys = y.as<std::int32_t>();
  multiply(inputs, a, b, 2, 3, shape,
           [&](const Place&, std::size_t i, std::int64_t sum) { ys[i] = static_cast<std::int32_t>(sum); });
  return {std::move(y)};
}

}  // namespace tessera
