#include "tessera/graph/ops/resize.h"

#include "tessera/core/error.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/internal/keys.h"
#include "tessera/graph/ops/internal/most_elements.h"
#include "tessera/graph/ops/internal/saturate.h"
#include "tessera/graph/ops/resize_taps.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace tessera {
namespace {

using internal::kMostElements;

// The axes that roi, scales and sizes speak of, counted from the front.
std::vector<int> axes_of(const Resize& op, int rank) {
  std::vector<int> axes;
  for (std::int64_t a : op.axes) {
    axes.push_back(normalized_axis(a, rank, Resize::kName));
    check(std::count(axes.begin(), axes.end(), axes.back()) == 1, Code::invalid_argument,
          "Resize: axis {} is named twice", a);
  }
  for (int a = 0; op.axes.empty() && a < rank; ++a) axes.push_back(a);
  return axes;
}

std::int64_t extent_of(double value) {
  check(value >= 0 && value <= static_cast<double>(kMostElements), Code::invalid_argument,
        "Resize: an output of {} elements along one axis, 0 to {} are possible", value, kMostElements);
  return static_cast<std::int64_t>(value);
}

struct Sizing {
  std::vector<std::int64_t> output;
  std::vector<double> scales;  // 1 where nothing changes
};

// Exactly one of `scales` and `sizes` holds one value per axis. Unknown extents give unknown extents.
Sizing sizing_of(const Resize& op, const std::vector<std::int64_t>& x, const std::vector<double>& scales,
                 const std::vector<std::int64_t>& sizes) {
  const std::vector<int> axes = axes_of(op, static_cast<int>(x.size()));
  const std::size_t given = std::max(scales.size(), sizes.size());
  check(given == axes.size(), Code::invalid_argument, "Resize: {} {} are given for {} axes", given,
        scales.empty() ? "sizes" : "scales", axes.size());
  Sizing out{x, std::vector<double>(x.size(), 1.0)};
  bool known = true;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(axes[i]);
    const bool unknown = x[a] == TensorType::kUnknown;
    known = known && !unknown;
    if (!scales.empty()) {
      check(std::isfinite(scales[i]) && scales[i] > 0, Code::invalid_argument, "Resize: a scale of {} makes no sense",
            scales[i]);
      out.scales[a] = scales[i];
      // In float, as ONNX's own shape inference multiplies: 10 * 0.7f is 7 there, and 6.9999999 in double.
      if (!unknown)
        out.output[a] =
            extent_of(static_cast<double>(std::floor(static_cast<float>(scales[i]) * static_cast<float>(x[a]))));
    } else {
      out.output[a] = extent_of(static_cast<double>(sizes[i]));
      if (!unknown) out.scales[a] = x[a] == 0 ? 1.0 : static_cast<double>(sizes[i]) / static_cast<double>(x[a]);
    }
    check(unknown || x[a] > 0 || out.output[a] == 0, Code::invalid_argument,
          "Resize: axis {} has no elements to make {} of", a, out.output[a]);
  }
  if (op.aspect == Resize::Aspect::stretch || sizes.empty() || axes.empty()) return out;
  if (!known) {
    for (int a : axes) out.output[static_cast<std::size_t>(a)] = TensorType::kUnknown;
    return out;
  }
  double scale = out.scales[static_cast<std::size_t>(axes[0])];
  for (int a : axes) {
    const double s = out.scales[static_cast<std::size_t>(a)];
    scale = op.aspect == Resize::Aspect::not_larger ? std::min(scale, s) : std::max(scale, s);
  }
  for (int axis : axes) {
    const auto a = static_cast<std::size_t>(axis);
    out.scales[a] = scale;
    out.output[a] = extent_of(std::floor(scale * static_cast<double>(x[a]) + 0.5));
  }
  return out;
}

// One axis of the work: extents, scale and the part of the input to look at.
struct Axis {
  std::int64_t in = 0, out = 0;
  double scale = 1;
  double roi_begin = 0, roi_end = 1;
};

// Where output element i lies among the input elements.
double source(const Resize& op, const Axis& axis, std::int64_t index) {
  using Coordinates = Resize::Coordinates;
  const double i = static_cast<double>(index), in = static_cast<double>(axis.in);
  const double length = axis.scale * in;  // of the output, before it was cut to whole elements
  switch (op.coordinates) {
    case Coordinates::half_pixel: return (i + 0.5) / axis.scale - 0.5;
    case Coordinates::half_pixel_symmetric:
      return in / 2 * (1 - static_cast<double>(axis.out) / length) + (i + 0.5) / axis.scale - 0.5;
    case Coordinates::pytorch_half_pixel: return length == 1 ? -0.5 : (i + 0.5) / axis.scale - 0.5;
    case Coordinates::align_corners: return length == 1 ? 0 : i * (in - 1) / (length - 1);
    case Coordinates::asymmetric: return i / axis.scale;
    case Coordinates::tf_half_pixel_for_nn: return (i + 0.5) / axis.scale;
    case Coordinates::tf_crop_and_resize: {
      const double part = axis.roi_end - axis.roi_begin;
      return axis.roi_begin * (in - 1) + (length == 1 ? part * (in - 1) / 2 : i * part * (in - 1) / (length - 1));
    }
  }
  fail(Code::internal, "Resize: no such coordinate mode");
}

bool is_outside(const Resize& op, const Axis& axis, double x) {
  return op.coordinates == Resize::Coordinates::tf_crop_and_resize &&
         !(x >= 0 && x <= static_cast<double>(axis.in - 1));
}

std::int64_t clamped(double x, const Axis& axis) {
  return static_cast<std::int64_t>(std::clamp(x, 0.0, static_cast<double>(axis.in - 1)));
}

std::int64_t nearest(const Resize& op, const Axis& axis, double x) {
  switch (op.nearest) {
    case Resize::Nearest::round_prefer_floor: return clamped(std::ceil(x - 0.5), axis);
    case Resize::Nearest::round_prefer_ceil: return clamped(std::floor(x + 0.5), axis);
    case Resize::Nearest::floor: return clamped(std::floor(x), axis);
    case Resize::Nearest::ceil: return clamped(std::ceil(x), axis);
  }
  fail(Code::internal, "Resize: no such nearest mode");
}

struct Weighted {
  std::int64_t at = 0;
  double weight = 0;
};

// The input elements that make the output element at source x. The kernel is widened when shrinking with antialias.
void weights(const Resize& op, const Axis& axis, double x, std::vector<Weighted>& out) {
  const double widen = op.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double left = std::ceil(x) - 1, ratio = x - left;  // in (0, 1]
  const double support = op.mode == Resize::Mode::cubic ? 2 : 1;
  const auto first = static_cast<std::int64_t>(std::floor(-support / widen)) + 1;
  out.clear();
  double sum = 0;
  for (std::int64_t i = first; i <= 1 - first; ++i) {
    const double distance = (static_cast<double>(i) - ratio) * widen;
    double weight = op.mode == Resize::Mode::cubic ? internal::keys(distance, static_cast<double>(op.cubic_a))
                                                   : std::max(1 - std::abs(distance), 0.0);
    const double at = left + static_cast<double>(i);
    if (op.exclude_outside && (at < 0 || at >= static_cast<double>(axis.in))) weight = 0;
    if (weight == 0) continue;
    sum += weight;
    out.push_back({clamped(at, axis), weight});
  }
  if ((op.antialias || op.exclude_outside) && sum != 0)
    for (Weighted& w : out) w.weight /= sum;
}

Array resize_nearest(const Resize& op, const Array& x, const std::vector<Axis>& axes, const Shape& shape) {
  Array y(x.type(), shape);
  if (y.count() == 0) return y;
  const std::size_t rank = axes.size();
  std::vector<std::vector<std::int64_t>> from(rank);  // per axis and output position; -1: outside
  for (std::size_t d = 0; d < rank; ++d)
    for (std::int64_t i = 0; i < axes[d].out; ++i) {
      const double at = source(op, axes[d], i);
      from[d].push_back(is_outside(op, axes[d], at) ? -1 : nearest(op, axes[d], at));
    }
  visit_element_type(x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* xs = x.as<T>().data();
    T* ys = y.as<T>().data();
    const T beyond = internal::saturated<T>(static_cast<double>(op.extrapolation_value));
    for (std::int64_t o = 0; o < y.count(); ++o) {
      std::int64_t at = 0, stride = 1, rest = o;
      bool inside = true;
      for (std::size_t d = rank; d-- > 0;) {
        const std::int64_t i = from[d][static_cast<std::size_t>(rest % axes[d].out)];
        rest /= axes[d].out;
        inside = inside && i >= 0;
        at += i * stride;
        stride *= axes[d].in;
      }
      ys[o] = inside ? xs[at] : beyond;
    }
  });
  return y;
}

// Interpolation is separable: one axis after the other, in double.
std::vector<double> resize_axis(const Resize& op, const std::vector<double>& x, const Axis& axis, std::int64_t outer,
                                std::int64_t inner) {
  std::vector<double> y(static_cast<std::size_t>(outer * axis.out * inner));
  std::vector<Weighted> taps;
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const double at = source(op, axis, i);
    const bool outside = is_outside(op, axis, at);
    if (!outside) weights(op, axis, at, taps);
    for (std::int64_t o = 0; o < outer; ++o) {
      double* row = y.data() + (o * axis.out + i) * inner;
      if (outside) {
        std::fill(row, row + inner, static_cast<double>(op.extrapolation_value));
        continue;
      }
      for (const Weighted& tap : taps) {
        const double* values = x.data() + (o * axis.in + tap.at) * inner;
        for (std::int64_t k = 0; k < inner; ++k) row[k] += tap.weight * values[k];
      }
    }
  }
  return y;
}

bool given(const Knowns& inputs, std::size_t i) {
  return inputs.has(i) && !(inputs[i].dims && *inputs[i].dims == std::vector<std::int64_t>{0});
}

}  // namespace

std::vector<ResizeAxis> resize_axes(const Resize& op, const Shape& x, const std::vector<double>& scales,
                                    const std::vector<std::int64_t>& sizes) {
  check(op.coordinates != Resize::Coordinates::tf_crop_and_resize, Code::internal, "Resize: a crop has no tables");
  const Sizing sizing = sizing_of(op, x.dims(), scales, sizes);
  std::vector<ResizeAxis> out;
  std::vector<Weighted> taps;
  for (std::size_t d = 0; d < x.dims().size(); ++d) {
    const Axis axis{x.dims()[d], sizing.output[d], sizing.scales[d], 0, 1};
    ResizeAxis& table = out.emplace_back();
    table.in = axis.in;
    table.out = axis.out;
    table.changes = axis.in != axis.out || axis.scale != 1;
    for (std::int64_t i = 0; i < axis.out; ++i) {
      table.first.push_back(table.taps.size());
      const double at = source(op, axis, i);
      if (op.mode == Resize::Mode::nearest) {
        table.taps.push_back({nearest(op, axis, at), 1});
        continue;
      }
      weights(op, axis, at, taps);
      for (const Weighted& tap : taps) table.taps.push_back({tap.at, tap.weight});
    }
    table.first.push_back(table.taps.size());
  }
  return out;
}

std::vector<TensorType> infer(const Resize& op, const Knowns& inputs) {
  inputs.expect_count(1, 4);
  inputs.expect_rank(0, 1, Shape::kMaxRank);
  const TensorType& x = inputs[0];
  visit_element_type(x.type, [](auto) {});
  const bool scales = given(inputs, 2), sizes = given(inputs, 3);
  check(scales || sizes, Code::invalid_argument, "Resize: neither scales nor sizes are given");
  check(!(scales && sizes && inputs[2].is_static() && inputs[3].is_static()), Code::invalid_argument,
        "Resize: scales and sizes are both given, only one can hold");
  check(!op.antialias || op.mode != Resize::Mode::nearest, Code::invalid_argument, "Resize: nearest has no antialias");
  if (inputs.has(1) && given(inputs, 1)) inputs.expect_rank(1, 1, 1);
  if (scales) inputs.expect_rank(2, 1, 1);
  if (sizes) inputs.expect_rank(3, 1, 1);
  if (!x.dims) return {TensorType(x.type, std::nullopt)};
  const std::vector<int> axes = axes_of(op, x.rank());
  if (op.coordinates == Resize::Coordinates::tf_crop_and_resize) {
    check(inputs.has(1), Code::invalid_argument, "Resize: tf_crop_and_resize needs a roi");
    check(!inputs[1].is_static() || inputs[1].shape().volume() == 2 * static_cast<std::int64_t>(axes.size()),
          Code::invalid_argument, "Resize: the roi is {}, {} axes need twice that many values", inputs[1].to_string(),
          axes.size());
  }
  const Array *scale_values = scales ? inputs.constant(2) : nullptr,
              *size_values = sizes ? inputs.constant(3) : nullptr;
  if ((scale_values && scale_values->count() > 0) || (size_values && size_values->count() > 0)) {
    const Sizing sizing = sizing_of(op, *x.dims, scale_values ? scale_values->to_double() : std::vector<double>{},
                                    size_values ? size_values->to_int64() : std::vector<std::int64_t>{});
    return {TensorType(x.type, sizing.output)};
  }
  std::vector<std::int64_t> dims = *x.dims;
  for (int a : axes) dims[static_cast<std::size_t>(a)] = TensorType::kUnknown;
  return {TensorType(x.type, dims)};
}

Work work(const Resize& op, const Types& inputs, const Types& outputs) {
  if (op.mode == Resize::Mode::nearest) return streaming_work(inputs, outputs);
  // A multiply-add for each element under the kernel, along every axis that changes.
  int changed = 0;
  if (inputs[0].is_static() && outputs[0].is_static())
    for (int a = 0; a < inputs[0].rank(); ++a) changed += inputs[0].shape()[a] != outputs[0].shape()[a];
  return streaming_work(inputs, outputs, 2.0 * changed * (op.mode == Resize::Mode::cubic ? 4 : 2));
}

std::vector<Array> reference(const Resize& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const bool by_scales = inputs.has(2) && inputs[2].count() > 0;
  const Sizing sizing = sizing_of(op, x.shape().dims(), by_scales ? inputs[2].to_double() : std::vector<double>{},
                                  by_scales ? std::vector<std::int64_t>{} : inputs[3].to_int64());
  const bool crop = op.coordinates == Resize::Coordinates::tf_crop_and_resize;
  std::vector<Axis> axes;
  for (std::size_t d = 0; d < sizing.output.size(); ++d)
    axes.push_back({x.shape().dims()[d], sizing.output[d], sizing.scales[d], 0, 1});
  if (crop) {
    const std::vector<int> named = axes_of(op, x.shape().rank());
    const std::vector<double> roi = inputs[1].to_double();
    check(roi.size() == 2 * named.size(), Code::invalid_argument, "Resize: a roi of {} values for {} axes", roi.size(),
          named.size());
    for (std::size_t i = 0; i < named.size(); ++i) {
      axes[static_cast<std::size_t>(named[i])].roi_begin = roi[i];
      axes[static_cast<std::size_t>(named[i])].roi_end = roi[named.size() + i];
    }
  }
  const Shape shape(sizing.output);
  if (op.mode == Resize::Mode::nearest || shape.volume() == 0) return {resize_nearest(op, x, axes, shape)};
  std::vector<double> values = x.to_double();
  std::int64_t outer = 1, inner = x.count();
  for (const Axis& axis : axes) {
    inner /= axis.in;
    if (axis.in != axis.out || axis.scale != 1 || crop) values = resize_axis(op, values, axis, outer, inner);
    outer *= axis.out;
  }
  Array y(x.type(), shape);
  visit_element_type(x.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::transform(values.begin(), values.end(), y.as<T>().begin(), [](double v) { return internal::saturated<T>(v); });
  });
  return {std::move(y)};
}

}  // namespace tessera
