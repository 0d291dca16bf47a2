#include "tessera/targets/tensix/ops/conv2d/conv2d_request.h"

#include "tessera/core/error.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

namespace tessera::tensix {
namespace {

using Sizes = std::vector<std::int64_t>;
using Optional = std::optional<std::int64_t>;

// Far above any card's memory, far below what products of sizes could overflow.
constexpr std::int64_t kMost = std::int64_t{1} << 31;

void check_size(std::int64_t value, std::string_view what, std::int64_t least) {
  check(value >= least && value < kMost, Code::invalid_argument, "conv2d: {} is {}, but it is at least {}", what, value,
        least);
}

void check_pair(const Sizes& values, std::string_view what) {
  check(values.size() == 2, Code::invalid_argument, "conv2d: {} has a height and a width, but {} values were given",
        what, values.size());
  for (std::int64_t value : values) check_size(value, what, 1);
}

// What was said and what a shape says, which must agree where both are there.
std::int64_t agreed(const Optional& said, const Optional& shown, std::string_view what, std::string_view where) {
  check(said || shown, Code::invalid_argument, Hint{fmt::format("pass {}", what)},
        "conv2d: {} is not given, and prepared weights do not show it", what);
  check(!said || !shown || *said == *shown, Code::invalid_argument, "conv2d: {} is {}, but the {} has {}", what,
        said.value_or(0), where, shown.value_or(0));
  const std::int64_t value = said ? *said : *shown;
  check_size(value, what, 1);
  return value;
}

void set_window(const Conv2dRequest& request, const Sizes& kernel, SlidingWindow& w) {
  check_pair(kernel, "kernel_size");
  check_pair(request.stride, "stride");
  check_pair(request.dilation, "dilation");
  const Sizes& p = request.padding;
  check(p.size() == 2 || p.size() == 4, Code::invalid_argument,
        "conv2d: padding is (height, width) or (top, bottom, left, right), but {} values were given", p.size());
  for (std::int64_t value : p) check_size(value, "padding", 0);
  const bool each = p.size() == 4;
  w = {kernel[0],           kernel[1], request.stride[0],  request.stride[1],  request.dilation[0],
       request.dilation[1], p[0],      each ? p[1] : p[0], each ? p[2] : p[1], each ? p[3] : p[1]};
}

// The input is an image per batch, or all their pixels in one column.
void set_image(const Conv2dRequest& request, const Shape& input, Conv2dProblem& p) {
  check(input.rank() == 4, Code::invalid_argument,
        "conv2d: the input is [batch, height, width, channels] or [1, 1, batch * height * width, channels], not {}",
        input.to_string());
  const bool column = input[0] == 1 && input[1] == 1 && (request.batch || request.height || request.width);
  if (!column) {
    p.batch = agreed(request.batch, input[0], "batch_size", "input");
    p.height = agreed(request.height, input[1], "input_height", "input");
    p.width = agreed(request.width, input[2], "input_width", "input");
    return;
  }
  // One of the three may be missing: the column's length shows it.
  p.batch = request.batch.value_or(0), p.height = request.height.value_or(0), p.width = request.width.value_or(0);
  if (!request.batch && request.height && request.width)
    p.batch = input[2] / std::max<std::int64_t>(1, p.height * p.width);
  if (!request.batch && (!request.height || !request.width)) p.batch = 1;
  if (!request.height && request.width) p.height = input[2] / std::max<std::int64_t>(1, p.batch * p.width);
  if (!request.width && request.height) p.width = input[2] / std::max<std::int64_t>(1, p.batch * p.height);
  check(p.height != 0 || p.width != 0 || request.height || request.width, Code::invalid_argument,
        Hint{"pass input_height and input_width"},
        "conv2d: {} pixels in one column are {} images of a height and width that nothing shows", input[2], p.batch);
  for (auto [value, what] : {std::pair{p.batch, "batch_size"}, {p.height, "input_height"}, {p.width, "input_width"}})
    check_size(value, what, 1);
  const std::int64_t pixels = p.batch * p.height <= kMost ? p.batch * p.height * p.width : kMost;
  check(pixels == input[2], Code::invalid_argument,
        "conv2d: {} images of {}x{} pixels do not make the {} pixels of the input {}", p.batch, p.height, p.width,
        input[2], input.to_string());
}

}  // namespace

bool says_everything(const Conv2dRequest& r) {
  return r.batch && r.height && r.width && r.in_channels && r.out_channels && r.kernel;
}

Conv2dProblem conv2d_problem(const Conv2dRequest& request, const Shape& input, const std::optional<Shape>& weights) {
  Conv2dProblem p;
  set_image(request, input, p);
  p.in_channels = agreed(request.in_channels, input[3], "in_channels", "input");
  if (weights)
    check(weights->rank() == 4, Code::invalid_argument,
          "conv2d: the weights are [{}, kernel height, kernel width], not {}",
          request.transposed ? "in_channels, out_channels / groups" : "out_channels, in_channels / groups",
          weights->to_string());
  const auto shown = [&](int dimension) { return weights ? Optional((*weights)[dimension]) : Optional(); };

  p.groups = request.groups.value_or(1);
  if (!request.groups && !request.transposed && !says_everything(request) && weights && (*weights)[1] > 0 &&
      p.in_channels % (*weights)[1] == 0)
    p.groups = p.in_channels / (*weights)[1];
  check_size(p.groups, "groups", 1);
  const Optional outputs = request.transposed && weights ? Optional((*weights)[1] * p.groups) : shown(0);
  p.out_channels = agreed(request.out_channels, outputs, "out_channels", "weight");
  check(p.in_channels % p.groups == 0 && p.out_channels % p.groups == 0, Code::invalid_argument,
        "conv2d: {} groups do not divide {} input and {} output channels", p.groups, p.in_channels, p.out_channels);
  const std::int64_t read = !weights ? p.in_channels : request.transposed ? (*weights)[0] : (*weights)[1] * p.groups;
  check(read == p.in_channels, Code::invalid_argument,
        "conv2d: weights {} read {} channels in {} groups, but the input has {}", weights ? weights->to_string() : "",
        read, p.groups, p.in_channels);

  Sizes kernel = request.kernel.value_or(Sizes{});
  if (!request.kernel) {
    check(weights.has_value(), Code::invalid_argument, Hint{"pass kernel_size"},
          "conv2d: kernel_size is not given, and prepared weights do not show it");
    kernel = {(*weights)[2], (*weights)[3]};
  }
  set_window(request, kernel, p.window);
  check(!weights || (kernel[0] == (*weights)[2] && kernel[1] == (*weights)[3]), Code::invalid_argument,
        "conv2d: kernel_size is {}x{}, but the weights {} have windows of {}x{}", kernel[0], kernel[1],
        weights ? weights->to_string() : "", shown(2).value_or(0), shown(3).value_or(0));
  if (request.transposed) return p;
  const SlidingWindow& w = p.window;
  const std::int64_t reach_h = w.dilation_h * (w.kernel_h - 1) + 1, reach_w = w.dilation_w * (w.kernel_w - 1) + 1;
  check(reach_h <= p.height + w.top + w.bottom && reach_w <= p.width + w.left + w.right, Code::invalid_argument,
        "conv2d: a window that reaches over {}x{} pixels does not fit in {}x{} pixels, padding included", reach_h,
        reach_w, p.height + w.top + w.bottom, p.width + w.left + w.right);
  return p;
}

}  // namespace tessera::tensix
