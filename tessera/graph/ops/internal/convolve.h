#pragma once

// What Conv, ConvInteger and QLinearConv share: their checks, and the sum over a window with the operands read and the
// sums written by the caller.

#include "tessera/core/error.h"
#include "tessera/core/shape.h"
#include "tessera/graph/operands.h"
#include "tessera/graph/ops/internal/window_walk.h"
#include "tessera/graph/ops/window.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tessera::internal {

// The window with its kernel taken from weights of these dims.
inline ResolvedWindow window_over(Window window, const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& w,
                                  std::string_view op) {
  const std::vector<std::int64_t> kernel(w.begin() + 2, w.end());
  if (window.kernel.empty()) window.kernel = kernel;
  check(window.kernel == kernel, Code::invalid_argument, "{}: the kernel_shape does not agree with the weights", op);
  return resolve(window, {x.begin() + 2, x.end()}, false, op);
}

// The dims of a convolution of inputs ix and iw (N C D1 ... and M C/groups k1 ...), as far as they are known.
inline std::optional<std::vector<std::int64_t>> conv_dims(const Window& window, std::int64_t groups,
                                                          const Knowns& inputs, std::size_t ix, std::size_t iw) {
  const TensorType &x = inputs[ix], &w = inputs[iw];
  check(groups >= 1, Code::invalid_argument, "{}: {} groups make no sense, at least 1 is needed", inputs.op(), groups);
  inputs.expect_rank(ix, 3, Shape::kMaxRank);
  inputs.expect_rank(iw, 3, Shape::kMaxRank);
  if (!x.dims) return std::nullopt;
  inputs.expect_rank(iw, x.rank(), x.rank());
  std::vector<std::int64_t> dims(x.dims->size(), TensorType::kUnknown);
  dims[0] = (*x.dims)[0];
  if (!w.dims) return dims;
  const std::int64_t channels = (*x.dims)[1], outputs = (*w.dims)[0], per_group = (*w.dims)[1];
  dims[1] = outputs;
  check(outputs == TensorType::kUnknown || outputs % groups == 0, Code::invalid_argument,
        "{}: {} output channels do not divide into {} groups", inputs.op(), outputs, groups);
  check(channels == TensorType::kUnknown || per_group == TensorType::kUnknown ||
            (channels % groups == 0 && channels / groups == per_group),
        Code::invalid_argument, "{}: the input has {} channels but the weights expect {} in each of {} groups",
        inputs.op(), channels, per_group, groups);
  if (std::find(w.dims->begin() + 2, w.dims->end(), TensorType::kUnknown) != w.dims->end()) return dims;
  const ResolvedWindow resolved = window_over(window, *x.dims, *w.dims, inputs.op());
  std::copy(resolved.output.begin(), resolved.output.end(), dims.begin() + 2);
  return dims;
}

// Refuses a vector that has not one value per output channel.
inline void expect_per_output(const Knowns& inputs, std::size_t i, const TensorType& w, std::string_view what) {
  const TensorType& t = inputs[i];
  inputs.expect_rank(i, 1, 1);
  // Weights of no dimensions are refused for themselves.
  if (!t.is_static() || !w.dims || w.dims->empty() || (*w.dims)[0] == TensorType::kUnknown) return;
  check((*t.dims)[0] == (*w.dims)[0], Code::invalid_argument, "{}: the {} is {}, {} output channels need that many",
        inputs.op(), what, t.to_string(), (*w.dims)[0]);
}

// write(m, position in the output, sum) for every output, where the sum runs over read_x(position in x) * read_w(m,
// position in w) in Sum, in the order channel, then kernel.
template <class Sum, class ReadX, class ReadW, class Write>
void convolve(const Shape& x, const Shape& w, const ResolvedWindow& window, std::int64_t groups, ReadX read_x,
              ReadW read_w, Write write) {
  WindowWalk walk(window, {x.begin() + 2, x.end()});
  const std::int64_t per_group_in = w[1], outputs = w[0], per_group_out = outputs / groups;
  const std::int64_t in_area = walk.inputs(), out_area = walk.outputs(), kernel_area = product(window.kernel);
  // Weights with the output channels of a group side by side: the innermost loop runs over them.
  std::vector<Sum> weights(static_cast<std::size_t>(w.volume()));
  for (std::int64_t m = 0; m < outputs; ++m)
    for (std::int64_t tap = 0; tap < per_group_in * kernel_area; ++tap)
      weights[static_cast<std::size_t>((m / per_group_out * per_group_in * kernel_area + tap) * per_group_out +
                                       m % per_group_out)] = read_w(m, m * per_group_in * kernel_area + tap);
  std::vector<Sum> sums(static_cast<std::size_t>(per_group_out));
  for (std::int64_t o = 0; o < out_area; ++o) {
    const std::vector<WindowTap>& taps = walk.move_to(o);
    for (std::int64_t n = 0; n < x[0]; ++n)
      for (std::int64_t g = 0; g < groups; ++g) {
        std::fill(sums.begin(), sums.end(), Sum{});
        for (std::int64_t c = 0; c < per_group_in; ++c)
          for (const WindowTap& tap : taps) {
            const Sum value = read_x((n * x[1] + g * per_group_in + c) * in_area + tap.at);
            const Sum* row = weights.data() + ((g * per_group_in + c) * kernel_area + tap.tap) * per_group_out;
            for (std::int64_t m = 0; m < per_group_out; ++m) sums[static_cast<std::size_t>(m)] += value * row[m];
          }
        for (std::int64_t m = 0; m < per_group_out; ++m)
          write(g * per_group_out + m, (n * outputs + g * per_group_out + m) * out_area + o,
                sums[static_cast<std::size_t>(m)]);
      }
  }
}

}  // namespace tessera::internal
