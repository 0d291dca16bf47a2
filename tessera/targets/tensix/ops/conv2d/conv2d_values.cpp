#include "tessera/targets/tensix/ops/conv2d/conv2d_values.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/matmul/product_values.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

// Where the reduction over window and channels finds its numbers.
struct Reduction {
  explicit Reduction(const Conv2dValues& conv)
      : kernel_w(conv.window.kernel_w),
        in_channels(conv.in_channels),
        part_channels((conv.order.channels_padded == 0 ? round_up(conv.in_channels, std::int64_t{8})
                                                       : conv.order.channels_padded) /
                      conv.order.channel_parts),
        part_blocks(conv.order.part_blocks) {
    const std::int64_t part = conv.window.kernel_h * kernel_w * part_channels;
    block = ceil_div(part, part_blocks);
    block_padded = round_up(block, kTile);
    blocks = conv.order.channel_parts * part_blocks;
    taps = conv.window.kernel_h * kernel_w;
  }

  struct Piece {
    std::int64_t tap, channel;  // tap: kernel_h x kernel_w
    std::int64_t length;        // k that follow each other here
    std::int64_t real;          // so many of them are channels, the rest zeros
  };
  Piece at(std::int64_t k) const {
    const std::int64_t number = k / block_padded, offset = k % block_padded;
    const std::int64_t flat = number % part_blocks * block + offset;
    if (offset >= block || flat >= taps * part_channels) return {0, 0, block_padded - offset, 0};
    const std::int64_t channel = flat % part_channels, length = std::min(part_channels - channel, block - offset);
    const std::int64_t first = number / part_blocks * part_channels + channel;
    return {flat / part_channels, first, length, std::clamp<std::int64_t>(in_channels - first, 0, length)};
  }

  std::int64_t kernel_w, in_channels, part_channels, part_blocks;
  std::int64_t block = 0, block_padded = 0, blocks = 0, taps = 0;
};

void check_conv(const Conv2dValues& conv, std::span<const float> input, std::span<const float> weights,
                std::span<const float> bias) {
  const SlidingWindow& w = conv.window;
  check(conv.groups > 0 && conv.in_channels % conv.groups == 0 && conv.out_channels % conv.groups == 0,
        Code::invalid_argument, "{} groups do not divide {} input and {} output channels", conv.groups,
        conv.in_channels, conv.out_channels);
  check(conv.height + w.top + w.bottom >= w.dilation_h * (w.kernel_h - 1) + 1 &&
            conv.width + w.left + w.right >= w.dilation_w * (w.kernel_w - 1) + 1,
        Code::invalid_argument, "a window of {} x {} does not fit into {} x {}", w.kernel_h, w.kernel_w, conv.height,
        conv.width);
  const auto expect = [](std::string_view what, std::size_t found, std::int64_t wanted) {
    check(static_cast<std::int64_t>(found) == wanted, Code::invalid_argument, "{} has {} elements instead of {}", what,
          found, wanted);
  };
  expect("the input", input.size(), conv.batch * conv.height * conv.width * conv.in_channels);
  expect("the weight", weights.size(), conv.out_channels * (conv.in_channels / conv.groups) * w.kernel_h * w.kernel_w);
  if (!bias.empty()) expect("the bias", bias.size(), conv.out_channels);
  check(conv.order.channel_parts > 0 && conv.order.part_blocks > 0 &&
            conv.order.channels_padded % conv.order.channel_parts == 0,
        Code::invalid_argument, "{} channels cannot be cut into {} parts", conv.order.channels_padded,
        conv.order.channel_parts);
  check(conv.order.channels_padded == 0 || conv.order.channels_padded >= conv.in_channels, Code::invalid_argument,
        "{} channels do not fit into {}", conv.in_channels, conv.order.channels_padded);
}

// Reads the window's rows and the weights as matrices.
class Im2col {
 public:
  Im2col(const Conv2dValues& conv, std::span<const float> input, std::span<const float> weights)
      : conv_(conv), reduction_(conv), weights_(weights), input_(input.begin(), input.end()) {
    // Where blocks of 16 along k are blocks of 16 channels, every pixel is rounded once instead of once a tap.
    by_rows_ = is_block_float(conv.tilized_dtype) && reduction_.part_channels % kFace != 0;
    if (!by_rows_)
      input_ = stored_values(input, {conv.batch * conv.height * conv.width, conv.in_channels}, conv.tilized_dtype,
                             Rounding::packer);
  }

  Product product(std::span<const float> bias) const {
    Product product;
    product.m = conv_.batch * conv_.window.out_h(conv_.height) * conv_.window.out_w(conv_.width);
    product.n = conv_.out_channels;
    product.k = reduction_.blocks * reduction_.block_padded;
    product.k_block = reduction_.block_padded;
    product.compute = conv_.compute;
    product.partials_dtype = conv_.partials_dtype;
    product.bias = bias.empty() ? nullptr : bias.data();
    product.activation = conv_.activation;
    return product;
  }

  void rows(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count, float* out) const {
    const SlidingWindow& w = conv_.window;
    const std::int64_t out_w = w.out_w(conv_.width), out_h = w.out_h(conv_.height);
    for (std::int64_t r = row; r < row + rows; ++r, out += count) {
      const std::int64_t image = r / (out_h * out_w);
      const std::int64_t top = r / out_w % out_h * w.stride_h - w.top, left = r % out_w * w.stride_w - w.left;
      for (std::int64_t done = 0; done < count;) {
        const Reduction::Piece piece = reduction_.at(k + done);
        const std::int64_t length = std::min(piece.length, count - done), real = std::min(piece.real, length);
        const float* from =
            pixel(image, top + piece.tap / w.kernel_w * w.dilation_h, left + piece.tap % w.kernel_w * w.dilation_w);
        if (from != nullptr)
          std::copy_n(from + piece.channel, real, out + done);
        else
          std::fill_n(out + done, real, 0.0f);
        std::fill_n(out + done + real, length - real, 0.0f);
        done += length;
      }
      if (by_rows_)
        for (std::int64_t i = 0; i < count; i += kFace)
          store_block({out + i, static_cast<std::size_t>(std::min(kFace, count - i))}, conv_.tilized_dtype,
                      Rounding::packer);
    }
  }

  void columns(std::int64_t k, std::int64_t count, std::int64_t column, std::int64_t columns, float* out) const {
    const std::int64_t group_in = conv_.in_channels / conv_.groups, group_out = conv_.out_channels / conv_.groups;
    for (std::int64_t i = 0; i < count; ++i, out += columns) {
      const Reduction::Piece piece = reduction_.at(k + i);
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::int64_t c = piece.channel - (column + j) / group_out * group_in;
        out[j] = piece.real > 0 && c >= 0 && c < group_in
                     ? weights_[static_cast<std::size_t>(((column + j) * group_in + c) * reduction_.taps + piece.tap)]
                     : 0.0f;
      }
    }
  }

 private:
  // Null where zeros lie around the image.
  const float* pixel(std::int64_t image, std::int64_t y, std::int64_t x) const {
    if (conv_.padding_mode == PaddingMode::replicate) {
      y = std::clamp<std::int64_t>(y, 0, conv_.height - 1);
      x = std::clamp<std::int64_t>(x, 0, conv_.width - 1);
    }
    if (y < 0 || y >= conv_.height || x < 0 || x >= conv_.width) return nullptr;
    return input_.data() + ((image * conv_.height + y) * conv_.width + x) * conv_.in_channels;
  }

  const Conv2dValues& conv_;
  Reduction reduction_;
  std::span<const float> weights_;
  std::vector<float> input_;
  bool by_rows_ = false;
};

}  // namespace

Conv2dOrder conv2d_order(const Conv2dProblem& problem, const Conv2dPlan& plan) {
  Conv2dOrder order;
  order.channels_padded = plan.in_channels_padded;
  const std::int64_t wide = plan.act_block_w * kTile;
  check(wide > 0, Code::invalid_argument, "a plan whose blocks have no width cannot run");
  if (plan.as_matmul) {
    order.part_blocks = ceil_div(plan.in_channels_padded, wide);
    return order;
  }
  order.channel_parts = plan.input.channel_parts;
  const std::int64_t row = problem.window.kernel_w * plan.in_channels_padded / order.channel_parts;
  const std::int64_t part = problem.window.kernel_h * row;
  order.part_blocks = part <= wide ? 1 : row <= wide ? problem.window.kernel_h : ceil_div(part, wide);
  return order;
}

Conv2dValues conv2d_values_of(const Conv2dProblem& problem, const Conv2dPlan& plan) {
  Conv2dValues conv;
  conv.batch = problem.batch;
  conv.height = problem.height;
  conv.width = problem.width;
  conv.in_channels = problem.in_channels;
  conv.out_channels = problem.out_channels;
  conv.groups = problem.groups;
  conv.window = problem.window;
  conv.padding_mode = problem.config.padding_mode;
  conv.order = conv2d_order(problem, plan);
  conv.compute = problem.compute;
  conv.compute.packer_l1_acc = plan.packer_l1_acc;
  conv.tilized_dtype = plan.as_matmul ? DType::float32 : problem.output_dtype;
  conv.partials_dtype = plan.partials_dtype;
  if (problem.config.activation && !problem.config.activation->empty())
    conv.activation = activation_from_name(*problem.config.activation);
  return conv;
}

std::vector<float> conv2d_values(const Conv2dValues& conv, std::span<const float> input, std::span<const float> weights,
                                 std::span<const float> bias) {
  check_conv(conv, input, weights, bias);
  const Im2col matrices(conv, input, weights);
  return product_values(
      matrices.product(bias),
      [&](std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count, float* out) {
        matrices.rows(row, rows, k, count, out);
      },
      [&](std::int64_t k, std::int64_t count, std::int64_t column, std::int64_t columns, float* out) {
        matrices.columns(k, count, column, columns, out);
      });
}

std::vector<float> conv2d_values_reference(const Conv2dValues& conv, std::span<const float> input,
                                           std::span<const float> weights, std::span<const float> bias) {
  check_conv(conv, input, weights, bias);
  const SlidingWindow& w = conv.window;
  const Reduction reduction(conv);
  const std::int64_t out_h = w.out_h(conv.height), out_w = w.out_w(conv.width);
  const std::int64_t rows = conv.batch * out_h * out_w, depth = reduction.blocks * reduction.block_padded;
  const std::int64_t group_in = conv.in_channels / conv.groups, group_out = conv.out_channels / conv.groups;
  std::vector<float> a(static_cast<std::size_t>(rows * depth)), b(static_cast<std::size_t>(depth * conv.out_channels));
  for (std::int64_t part = 0; part < conv.order.channel_parts; ++part)
    for (std::int64_t y = 0; y < w.kernel_h; ++y)
      for (std::int64_t x = 0; x < w.kernel_w; ++x)
        for (std::int64_t c = 0; c < reduction.part_channels; ++c) {
          const std::int64_t channel = part * reduction.part_channels + c;
          if (channel >= conv.in_channels) continue;
          const std::int64_t flat = (y * w.kernel_w + x) * reduction.part_channels + c;
          const std::int64_t k = (part * conv.order.part_blocks + flat / reduction.block) * reduction.block_padded +
                                 flat % reduction.block;
          for (std::int64_t r = 0; r < rows; ++r) {
            std::int64_t iy = r / out_w % out_h * w.stride_h - w.top + y * w.dilation_h;
            std::int64_t ix = r % out_w * w.stride_w - w.left + x * w.dilation_w;
            if (conv.padding_mode == PaddingMode::replicate) {
              iy = std::clamp<std::int64_t>(iy, 0, conv.height - 1);
              ix = std::clamp<std::int64_t>(ix, 0, conv.width - 1);
            }
            if (iy < 0 || iy >= conv.height || ix < 0 || ix >= conv.width) continue;
            const std::int64_t at = ((r / (out_h * out_w) * conv.height + iy) * conv.width + ix) * conv.in_channels;
            a[static_cast<std::size_t>(r * depth + k)] = input[static_cast<std::size_t>(at + channel)];
          }
          for (std::int64_t n = 0; n < conv.out_channels; ++n) {
            if (n / group_out != channel / group_in) continue;
            const std::int64_t at = ((n * group_in + channel % group_in) * w.kernel_h + y) * w.kernel_w + x;
            b[static_cast<std::size_t>(k * conv.out_channels + n)] = weights[static_cast<std::size_t>(at)];
          }
        }
  a = stored_values(a, {rows, depth}, conv.tilized_dtype, Rounding::packer);
  Product product;
  product.m = rows;
  product.n = conv.out_channels;
  product.k = depth;
  product.k_block = reduction.block_padded;
  product.compute = conv.compute;
  product.partials_dtype = conv.partials_dtype;
  product.bias = bias.empty() ? nullptr : bias.data();
  product.activation = conv.activation;
  return product_values_reference(product, a.data(), b.data());
}

std::vector<float> stored_weights(std::span<const float> weights, std::int64_t out_channels, DType dtype) {
  check(out_channels > 0 && static_cast<std::int64_t>(weights.size()) % out_channels == 0, Code::invalid_argument,
        "{} weights do not belong to {} output channels", weights.size(), out_channels);
  if (!is_block_float(dtype))
    return stored_values(weights, {1, static_cast<std::int64_t>(weights.size())}, dtype, Rounding::host);
  const std::int64_t depth = static_cast<std::int64_t>(weights.size()) / out_channels;
  std::vector<float> turned(weights.size());
  for (std::int64_t n = 0; n < out_channels; ++n)
    for (std::int64_t k = 0; k < depth; ++k)
      turned[static_cast<std::size_t>(k * out_channels + n)] = weights[static_cast<std::size_t>(n * depth + k)];
  turned = stored_values(turned, {depth, out_channels}, dtype, Rounding::host);
  std::vector<float> out(weights.size());
  for (std::int64_t n = 0; n < out_channels; ++n)
    for (std::int64_t k = 0; k < depth; ++k)
      out[static_cast<std::size_t>(n * depth + k)] = turned[static_cast<std::size_t>(k * out_channels + n)];
  return out;
}

}  // namespace tessera::tensix
