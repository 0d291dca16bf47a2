#include "tessera/targets/tensix/ops/grid_sample/grid_sample.h"

#include "tessera/core/error.h"
#include "tessera/core/float_bits.h"
#include "tessera/targets/tensix/card/numerics.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string_view>
#include <vector>

namespace tessera::tensix {
namespace {

constexpr std::int64_t kPairs = 2, kPrepared = 6;
constexpr std::int64_t kMostRotatedTiles = 8;

// The pixel above and left of a place, and the weights of it, of the one to its right, of the one below, and of the
// last of the four.
struct Corners {
  std::int64_t row = 0, column = 0;
  std::array<double, 4> weights = {};
};

Corners corners_at(double row, double column) {
  const double top = std::floor(row), left = std::floor(column), down = row - top, right = column - left;
  return {static_cast<std::int64_t>(top),
          static_cast<std::int64_t>(left),
          {(1 - down) * (1 - right), (1 - down) * right, down * (1 - right), down * right}};
}

struct Image {
  const std::vector<double>& values;
  std::int64_t height, width, channels;

  bool has(std::int64_t row, std::int64_t column) const {
    return row >= 0 && row < height && column >= 0 && column < width;
  }
  double at(std::int64_t image, std::int64_t row, std::int64_t column, std::int64_t channel) const {
    return values[static_cast<std::size_t>(((image * height + row) * width + column) * channels + channel)];
  }
};

double packed(double v, bool wide) { return static_cast<double>(from_vector_unit(static_cast<float>(v), wide)); }

// Weights come to the matrix engine as bfloat16.
double as_weight(double v) {
  return static_cast<double>(float_from_bfloat16(bfloat16_from_float_host(static_cast<float>(v))));
}

void append_mixed(std::vector<double>& y, const Image& image, std::int64_t n, const Corners& c, double outside,
                  bool wide) {
  for (std::int64_t channel = 0; channel < image.channels; ++channel) {
    double sum = 0;
    for (int i = 0; i < 4; ++i) {
      const std::int64_t row = c.row + i / 2, column = c.column + i % 2;
      const double weight = as_weight(c.weights[static_cast<std::size_t>(i)]);
      if (weight != 0) sum += weight * (image.has(row, column) ? image.at(n, row, column, channel) : outside);
    }
    y.push_back(packed(sum, wide));
  }
}

void append_pixel(std::vector<double>& y, const Image& image, std::int64_t n, std::int64_t row, std::int64_t column,
                  double outside) {
  for (std::int64_t channel = 0; channel < image.channels; ++channel)
    y.push_back(image.has(row, column) ? image.at(n, row, column, channel) : outside);
}

// -1 to 1 as a place among `extent` pixels.
double place_of(double v, std::int64_t extent, bool align_corners) {
  return align_corners ? (v + 1) * static_cast<double>(extent - 1) / 2
                       : (v + 1) * static_cast<double>(extent) / 2 - 0.5;
}

std::int64_t nearest(double place, bool align_corners) {
  return static_cast<std::int64_t>(align_corners ? std::round(place) : std::floor(place + 0.5));
}

// An integer in the bits of a bfloat16, and back.
float from_int16(std::int64_t v) { return float_from_bfloat16(static_cast<std::uint16_t>(v)); }
std::int64_t to_int16(double v) { return static_cast<std::int16_t>(float_bits(static_cast<float>(v)) >> 16); }

void check_image(std::string_view op, const DeviceTensor& x) {
  const TensorSpec& spec = x.spec();
  check(spec.logical_shape().rank() == 4, Code::invalid_argument,
        "{}: the input must be [n, h, w, c], it is {} with {} dimensions", op, spec.logical_shape().to_string(),
        spec.logical_shape().rank());
  check(spec.dtype() == DType::bfloat16 || spec.dtype() == DType::float32, Code::unsupported, Hint{"use typecast"},
        "{}: the input must be BFLOAT16 or FLOAT32, it is {}", op, name(spec.dtype()));
  check(spec.layout() == Layout::row_major, Code::unsupported, Hint{"use to_layout"},
        "{}: the input must be in ROW_MAJOR layout, it is in {}", op, name(spec.layout()));
  const TensorMemoryLayout place = spec.memory_config().layout();
  check(place == TensorMemoryLayout::interleaved || place == TensorMemoryLayout::height_sharded, Code::unsupported,
        Hint{"use to_memory_config"}, "{}: the input must be interleaved or height-sharded", op);
}

}  // namespace

DeviceTensor grid_sample(const DeviceTensor& x, const DeviceTensor& grid, const GridSampleOptions& options) {
  constexpr std::string_view op = "grid_sample";
  check_together(op, {&x, &grid});
  check_image(op, x);
  const Shape &image = x.spec().logical_shape(), &points = grid.spec().logical_shape();
  check(points.rank() == 4, Code::invalid_argument,
        "{}: the grid must be [n, h, w, coordinates], it is {} with {} dimensions", op, points.to_string(),
        points.rank());
  check(grid.spec().layout() == Layout::row_major, Code::unsupported, Hint{"use to_layout"},
        "{}: the grid must be in ROW_MAJOR layout, it is in {}", op, name(grid.spec().layout()));
  const bool near = options.mode == Sampling::nearest;
  const std::int64_t each = options.prepared && !near ? kPrepared : kPairs, sets = points[3] / each;
  check(points[3] % each == 0 && sets > 0, Code::invalid_argument,
        "{}: the last dimension of the grid must be a multiple of {}, it is {} in {}", op, each, points[3],
        points.to_string());
  check(image[0] == points[0], Code::invalid_argument, "{}: the input {} has {} images, the grid {} is for {}", op,
        image.to_string(), image[0], points.to_string(), points[0]);
  check(!options.into_channels || sets > 1, Code::invalid_argument,
        "{}: batch_output_channels needs a grid with more than 1 place for each point, it has {}", op, sets);
  check(grid.spec().dtype() == DType::bfloat16 || (!options.prepared && grid.spec().dtype() == DType::float32),
        Code::unsupported, Hint{"use typecast"}, "{}: {} grid is {}, it must be BFLOAT16{}", op,
        options.prepared ? "a prepared" : "the", name(grid.spec().dtype()), options.prepared ? "" : " or FLOAT32");
  check(!near || options.prepared, Code::unsupported, Hint{"use prepare_grid_sample_grid"},
        "{}: the nearest pixel needs a prepared grid", op);
  check(image[3] % kTile == 0, Code::unsupported, Hint{"pad the channels"},
        "{}: channels must be divisible by {}, they are {} in {}", op, kTile, image[3], image.to_string());

  const Shape shape = options.into_channels ? Shape{image[0], points[1], points[2], image[3] * sets}
                                            : Shape{image[0], points[1], points[2] * sets, image[3]};
  const MemoryConfig place = place_of_result(options.memory_config, options.memory_config ? x : grid, shape);
  const bool wide = options.compute && options.compute->fp32_dest_acc_en;
  return whole_program(
      ProgramKind::grid_sample, op, {&x, &grid}, TensorSpec(shape, x.spec().dtype(), Layout::row_major, place), [&] {
        const std::vector<double> values = numbers_of(x), where = numbers_of(grid);
        const Image from{values, image[1], image[2], image[3]};
        const std::int64_t of_image = points[1] * points[2] * sets;
        std::vector<double> y;
        y.reserve(static_cast<std::size_t>(shape.volume()));
        for (std::int64_t i = 0; i < image[0] * of_image; ++i) {
          const double* const p = where.data() + i * each;
          const std::int64_t n = i / of_image;
          if (near) {
            append_pixel(y, from, n, to_int16(p[0]), to_int16(p[1]), 0);
          } else if (options.prepared) {
            append_mixed(y, from, n, {to_int16(p[0]), to_int16(p[1]), {p[2], p[3], p[4], p[5]}}, 0, wide);
          } else {
            append_mixed(y, from, n,
                         corners_at(place_of(p[1], from.height, options.align_corners),
                                    place_of(p[0], from.width, options.align_corners)),
                         0, wide);
          }
        }
        return y;
      });
}

Tensor prepare_grid(const Tensor& grid, const Shape& image, Sampling mode, bool align_corners, DType dtype) {
  constexpr std::string_view op = "prepare_grid_sample_grid";
  const Shape& points = grid.shape();
  check(points.rank() == 4 && points[3] == kPairs, Code::invalid_argument,
        "{}: the grid must be [n, h, w, {}], it is {}", op, kPairs, points.to_string());
  check(image.rank() == 4, Code::invalid_argument, "{}: the input's shape must be [n, h, w, c], it is {}", op,
        image.to_string());
  check(grid.dtype() == DType::float32, Code::unsupported, Hint{"use to_dtype"},
        "{}: the grid must be FLOAT32, it is {}", op, name(grid.dtype()));
  check(dtype == DType::bfloat16, Code::unsupported, "{}: prepared grids are BFLOAT16, not {}", op, name(dtype));
  const std::vector<float> where = grid.to_float32();
  const std::int64_t height = image[1], width = image[2];
  std::vector<float> y;
  for (std::size_t i = 0; i < where.size(); i += 2) {
    const double row = place_of(static_cast<double>(where[i + 1]), height, align_corners),
                 column = place_of(static_cast<double>(where[i]), width, align_corners);
    if (mode == Sampling::nearest) {
      const std::int64_t r = nearest(row, align_corners), c = nearest(column, align_corners);
      const bool inside = r >= 0 && r < height && c >= 0 && c < width;
      y.push_back(from_int16(inside ? r : -1));
      y.push_back(from_int16(inside ? c : -1));
      continue;
    }
    const Corners corners = corners_at(row, column);
    y.push_back(from_int16(corners.row));
    y.push_back(from_int16(corners.column));
    for (int k = 0; k < 4; ++k) {
      const std::int64_t r = corners.row + k / 2, c = corners.column + k % 2;
      const bool inside = r >= 0 && r < height && c >= 0 && c < width;
      y.push_back(inside ? static_cast<float>(corners.weights[static_cast<std::size_t>(k)]) : 0.0f);
    }
  }
  // Integers are bits here, which a conversion of floats would not keep.
  std::vector<std::uint16_t> bits(y.size());
  const std::size_t each = mode == Sampling::nearest ? 2 : 6;
  for (std::size_t i = 0; i < y.size(); ++i)
    bits[i] = i % each < 2 ? static_cast<std::uint16_t>(float_bits(y[i]) >> 16) : bfloat16_from_float_host(y[i]);
  return Tensor::from_elements(std::as_bytes(std::span(bits)), DType::bfloat16,
                               Shape{points[0], points[1], points[2], static_cast<std::int64_t>(each)}, DType::bfloat16,
                               Layout::row_major);
}

DeviceTensor rotate(const DeviceTensor& x, float degrees, const RotateOptions& options) {
  constexpr std::string_view op = "rotate";
  x.check_allocated();
  check_image(op, x);
  const Shape& shape = x.spec().logical_shape();
  const bool near = options.mode == Sampling::nearest;
  check(near || ceil_div(shape[3], kTile) <= kMostRotatedTiles, Code::unsupported,
        "{}: bilinear rotation of {} tiles of channels is not supported, {} tiles ({} channels) are the most", op,
        ceil_div(shape[3], kTile), kMostRotatedTiles, kMostRotatedTiles * kTile);
  const std::int64_t height = shape[1], width = shape[2];
  const auto [cx, cy] =
      options.center.value_or(std::pair{static_cast<float>(width - 1) / 2, static_cast<float>(height - 1) / 2});
  const double angle = static_cast<double>(degrees) * std::numbers::pi / 180, cosine = std::cos(angle),
               sine = std::sin(angle);
  const MemoryConfig place =
      options.memory_config ? place_of_result(options.memory_config, x, shape) : x.spec().memory_config();
  return whole_program(ProgramKind::rotate, op, {&x}, x.spec().with_memory_config(place), [&] {
    const std::vector<double> values = numbers_of(x);
    const Image from{values, height, width, shape[3]};
    std::vector<double> y;
    y.reserve(values.size());
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t r = 0; r < height; ++r)
        for (std::int64_t c = 0; c < width; ++c) {
          const double right = static_cast<double>(c) - static_cast<double>(cx),
                       down = static_cast<double>(r) - static_cast<double>(cy);
          const double column = cosine * right - sine * down + static_cast<double>(cx),
                       row = sine * right + cosine * down + static_cast<double>(cy);
          if (near)
            append_pixel(y, from, n, std::llround(row), std::llround(column), static_cast<double>(options.fill));
          else
            append_mixed(y, from, n, corners_at(row, column), static_cast<double>(options.fill), false);
        }
    return y;
  });
}

namespace {
// Every point fetches its pixels one by one.
void count_sampled(TensorWork& w) {
  const TensorShare mine = w.share_of(w.out());
  w.work.fetched_pages = 4 * mine.rows;
  w.work.fetched_bytes = 4 * mine.bytes;
  w.work.reduced_tiles = mine.tiles;
  w.work.sent_pieces = mine.rows;
  w.work.sent_bytes = mine.bytes;
  w.all_dram();
}
}  // namespace

const CardOp card_op_grid_sample = {.kind = ProgramKind::grid_sample, .count = count_sampled};
const CardOp card_op_rotate = {.kind = ProgramKind::rotate, .count = count_sampled};

}  // namespace tessera::tensix
