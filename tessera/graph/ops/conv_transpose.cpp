#include "tessera/graph/ops/conv_transpose.h"

#include "tessera/core/error.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/internal/most_elements.h"
#include "tessera/graph/ops/internal/window_walk.h"

#include <algorithm>

namespace tessera {
namespace {

using internal::kMostElements;

// The forward convolution whose transpose this is: it slides over our output (`spatial`) and has our input as its
// output.
struct Forward {
  ResolvedWindow window;
  std::vector<std::int64_t> spatial;  // kUnknown where our input's extent is
};

std::vector<std::int64_t> entries(const std::vector<std::int64_t>& given, std::size_t rank, std::string_view what) {
  if (given.empty()) return std::vector<std::int64_t>(rank, 0);
  check(given.size() == rank, Code::invalid_argument, "ConvTranspose: {} has {} entries, {} are needed", what,
        given.size(), rank);
  for (std::int64_t v : given)
    check(v >= 0 && v <= kMostElements, Code::invalid_argument, "ConvTranspose: {} holds {}, 0 to {} are possible",
          what, v, kMostElements);
  return given;
}

Forward forward_of(const ConvTranspose& op, const std::vector<std::int64_t>& x, const std::vector<std::int64_t>& w) {
  Window window = op.window;
  const std::vector<std::int64_t> kernel(w.begin() + 2, w.end());
  if (window.kernel.empty()) window.kernel = kernel;
  check(window.kernel == kernel, Code::invalid_argument,
        "ConvTranspose: the kernel_shape does not agree with the weights");
  const std::size_t rank = kernel.size();
  // Unknown extents: only the lists are checked and filled in.
  window.auto_pad = AutoPad::none;
  Forward f{resolve(window, std::vector<std::int64_t>(rank, TensorType::kUnknown), false, "ConvTranspose"), {}};
  const std::vector<std::int64_t> extra = entries(op.output_padding, rank, "output_padding");
  const std::vector<std::int64_t> wanted = entries(op.output_shape, rank, "output_shape");
  const bool same = op.window.auto_pad == AutoPad::same_upper || op.window.auto_pad == AutoPad::same_lower;
  for (std::size_t d = 0; d < rank; ++d) {
    const std::int64_t in = x[d + 2];
    f.window.output[d] = in;
    if (op.window.auto_pad != AutoPad::none) f.window.begins[d] = f.window.ends[d] = 0;
    if (in == TensorType::kUnknown) {
      f.spatial.push_back(op.output_shape.empty() ? TensorType::kUnknown : wanted[d]);
      continue;
    }
    check(in >= 1 && in <= kMostElements / f.window.strides[d], Code::invalid_argument,
          "ConvTranspose: an input of {} elements along one dimension cannot be spread with a stride of {}", in,
          f.window.strides[d]);
    const std::int64_t full =
        (in - 1) * f.window.strides[d] + extra[d] + (f.window.kernel[d] - 1) * f.window.dilations[d] + 1;
    if (!op.output_shape.empty() || same) {
      const std::int64_t out = op.output_shape.empty() ? in * f.window.strides[d] : wanted[d];
      const std::int64_t total = std::max<std::int64_t>(full - out, 0);
      f.window.begins[d] = op.window.auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
      f.window.ends[d] = total - f.window.begins[d];
      f.spatial.push_back(out);
    } else {
      const std::int64_t out = full - f.window.begins[d] - f.window.ends[d];
      check(out >= 0, Code::invalid_argument,
            "ConvTranspose: {} and {} of padding take more than the {} elements there are", f.window.begins[d],
            f.window.ends[d], full);
      f.spatial.push_back(out);
    }
  }
  return f;
}

}  // namespace

std::vector<TensorType> infer(const ConvTranspose& op, const Knowns& inputs) {
  inputs.expect_count(2, 3);
  inputs.expect_same_type(0, 1);
  const TensorType &x = inputs[0], &w = inputs[1];
  visit_floating_type(x.type, inputs.op(), [](auto) {});
  check(op.groups >= 1, Code::invalid_argument, "ConvTranspose: {} groups make no sense, at least 1 is needed",
        op.groups);
  inputs.expect_rank(0, 3, Shape::kMaxRank);
  inputs.expect_rank(1, 3, Shape::kMaxRank);
  if (inputs.has(2)) {
    inputs.expect_same_type(0, 2);
    inputs.expect_rank(2, 1, 1);
  }
  if (!x.dims) return {TensorType(x.type, std::nullopt)};
  inputs.expect_rank(1, x.rank(), x.rank());
  std::vector<std::int64_t> dims(x.dims->size(), TensorType::kUnknown);
  dims[0] = (*x.dims)[0];
  if (!w.dims) return {TensorType(x.type, dims)};
  const std::int64_t channels = (*w.dims)[0], per_group = (*w.dims)[1];
  check(channels == TensorType::kUnknown || channels % op.groups == 0, Code::invalid_argument,
        "ConvTranspose: {} input channels do not divide into {} groups", channels, op.groups);
  check(channels == TensorType::kUnknown || (*x.dims)[1] == TensorType::kUnknown || channels == (*x.dims)[1],
        Code::invalid_argument, "ConvTranspose: the input has {} channels but the weights expect {}", (*x.dims)[1],
        channels);
  if (per_group != TensorType::kUnknown) {
    check(per_group <= kMostElements / op.groups, Code::invalid_argument,
          "ConvTranspose: {} output channels in each of {} groups are too many", per_group, op.groups);
    dims[1] = per_group * op.groups;
    check(!inputs.has(2) || !inputs[2].is_static() || (*inputs[2].dims)[0] == dims[1], Code::invalid_argument,
          "ConvTranspose: the bias is {}, {} output channels need that many",
          inputs.has(2) ? inputs[2].to_string() : "", dims[1]);
  }
  if (std::find(w.dims->begin() + 2, w.dims->end(), TensorType::kUnknown) != w.dims->end())
    return {TensorType(x.type, dims)};
  const Forward f = forward_of(op, *x.dims, *w.dims);
  std::copy(f.spatial.begin(), f.spatial.end(), dims.begin() + 2);
  return {TensorType(x.type, dims)};
}

Work work(const ConvTranspose&, const Types& inputs, const Types& outputs) {
  Work total = streaming_work(inputs, outputs);
  if (inputs[0].is_static() && inputs[1].is_static())
    total.flops = 2.0 * static_cast<double>(inputs[0].shape().volume()) *
                  static_cast<double>(inputs[1].shape().volume() / std::max<std::int64_t>(inputs[1].shape()[0], 1));
  return total;
}

std::vector<Array> reference(const ConvTranspose& op, const Arrays& inputs) {
  const Array &x = inputs[0], &w = inputs[1];
  const Forward f = forward_of(op, x.shape().dims(), w.shape().dims());
  const std::int64_t channels = w.shape()[0] / op.groups, per_group = w.shape()[1], outputs = per_group * op.groups;
  std::vector<std::int64_t> dims{x.shape()[0], outputs};
  dims.insert(dims.end(), f.spatial.begin(), f.spatial.end());
  Array y(x.type(), Shape(dims));
  internal::WindowWalk walk(f.window, f.spatial);
  const std::int64_t in_area = walk.outputs(), out_area = walk.inputs(),
                     kernel_area = internal::product(f.window.kernel);
  visit_floating_type(x.type(), "ConvTranspose", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto *xs = x.as<T>().data(), *ws = w.as<T>().data(),
               *bias = inputs.has(2) ? inputs[2].as<T>().data() : nullptr;
    std::vector<double> sums(static_cast<std::size_t>(y.count()));
    for (std::int64_t i = 0; i < in_area; ++i) {
      const auto& taps = walk.move_to(i);
      for (std::int64_t n = 0; n < dims[0]; ++n)
        for (std::int64_t m = 0; m < outputs; ++m) {
          const std::int64_t first = m / per_group * channels;
          double* plane = sums.data() + (n * outputs + m) * out_area;
          for (std::int64_t c = first; c < first + channels; ++c) {
            const double value = static_cast<double>(xs[(n * x.shape()[1] + c) * in_area + i]);
            const T* kernel = ws + (c * per_group + m % per_group) * kernel_area;
            for (const internal::WindowTap& tap : taps) plane[tap.at] += value * static_cast<double>(kernel[tap.tap]);
          }
        }
    }
    T* ys = y.as<T>().data();
    for (std::int64_t i = 0; i < y.count(); ++i) {
      const double start = bias ? static_cast<double>(bias[i / out_area % outputs]) : 0.0;
      ys[i] = static_cast<T>(sums[static_cast<std::size_t>(i)] + start);
    }
  });
  return {std::move(y)};
}

}  // namespace tessera
