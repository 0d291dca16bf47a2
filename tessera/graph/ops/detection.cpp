#include "tessera/graph/ops/detection.h"

#include "tessera/core/error.h"
#include "tessera/core/shape.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tessera {
namespace {

// Refuses two extents that must agree, if both are known.
void expect_equal(std::int64_t a, std::int64_t b, std::string_view what, std::string_view op) {
  check(a == b || a == TensorType::kUnknown || b == TensorType::kUnknown, Code::invalid_argument,
        "{}: {}: {} against {}", op, what, a, b);
}

struct Box {
  float left = 0, top = 0, right = 0, bottom = 0;
  float area() const { return (right - left) * (bottom - top); }
};

// Corners may come in any order: [y1, x1, y2, x2]. Centres: [x, y, width, height].
Box box_at(const float* b, bool center) {
  if (center) return {b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2};
  return {std::min(b[1], b[3]), std::min(b[0], b[2]), std::max(b[1], b[3]), std::max(b[0], b[2])};
}

// Intersection over union; boxes without an area overlap nothing.
float overlap(const Box& a, const Box& b) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0) || !(height > 0) || !(a.area() > 0) || !(b.area() > 0)) return 0;
  const float both = width * height;
  return both / (a.area() + b.area() - both);
}

}  // namespace

std::vector<TensorType> infer(const NonMaxSuppression&, const Knowns& inputs) {
  inputs.expect_count(2, 5);
  for (std::size_t i : {0, 1, 3, 4})
    check(!inputs.has(i) || inputs[i].type == ElementType::float32, Code::unsupported,
          "NonMaxSuppression: input {} is not float32", i);
  check(!inputs.has(2) || inputs[2].type == ElementType::int64, Code::invalid_argument,
        "NonMaxSuppression: max_output_boxes_per_class is not int64");
  inputs.expect_rank(0, 3, 3);
  inputs.expect_rank(1, 3, 3);
  if (inputs[0].dims) expect_equal((*inputs[0].dims)[2], 4, "numbers that make a box", inputs.op());
  if (inputs[0].dims && inputs[1].dims) {
    expect_equal((*inputs[0].dims)[0], (*inputs[1].dims)[0], "batches of boxes and of scores", inputs.op());
    expect_equal((*inputs[0].dims)[1], (*inputs[1].dims)[2], "boxes and scores", inputs.op());
  }
  for (std::size_t i : {2, 3, 4})
    check(!inputs.has(i) || !inputs[i].is_static() || inputs[i].shape().volume() <= 1, Code::invalid_argument,
          "NonMaxSuppression: input {} holds more than one value", i);
  return {TensorType(ElementType::int64, std::vector<std::int64_t>{TensorType::kUnknown, 3})};
}

Work work(const NonMaxSuppression&, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs, outputs);
}

// Per batch and class, boxes by falling score (equal scores by index) are kept unless they overlap one kept before by
// more than the threshold. A score that is NaN keeps nothing.
std::vector<Array> reference(const NonMaxSuppression& op, const Arrays& inputs) {
  const Array &boxes = inputs[0], &scores = inputs[1];
  const auto given = [&](std::size_t i) { return inputs.has(i) && inputs[i].count() > 0; };
  const std::int64_t most = given(2) ? inputs[2].as<std::int64_t>()[0] : 0;
  const float iou_threshold = given(3) ? inputs[3].as<float>()[0] : 0.0f;
  const std::int64_t classes = scores.shape()[1], count = boxes.shape()[1];
  std::vector<std::int64_t> selected;
  for (std::int64_t batch = 0; batch < boxes.shape()[0]; ++batch)
    for (std::int64_t c = 0; c < classes; ++c) {
      const float* score = scores.as<float>().data() + (batch * classes + c) * count;
      std::vector<std::int64_t> order;
      for (std::int64_t i = 0; i < count; ++i)
        if (!std::isnan(score[i]) && (!given(4) || score[i] > inputs[4].as<float>()[0])) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return score[a] > score[b]; });
      std::vector<Box> kept;
      for (std::int64_t i : order) {
        if (static_cast<std::int64_t>(kept.size()) >= most) break;
        const Box box = box_at(boxes.as<float>().data() + (batch * count + i) * 4, op.center_point_box);
        if (std::any_of(kept.begin(), kept.end(), [&](const Box& k) { return overlap(box, k) > iou_threshold; }))
          continue;
        kept.push_back(box);
        selected.insert(selected.end(), {batch, c, i});
      }
    }
  const Shape shape{static_cast<std::int64_t>(selected.size()) / 3, 3};
  return {Array::of<std::int64_t>(shape, selected)};
}

namespace {

constexpr std::int64_t kMostRoiExtent = std::int64_t{1} << 20, kMostSamples = std::int64_t{1} << 24;

// A point between four pixels and the weight of each.
struct Sample {
  std::int64_t at[4] = {0, 0, 0, 0};
  double weight[4] = {0, 0, 0, 0};
};

Sample sample_at(double y, double x, std::int64_t height, std::int64_t width) {
  Sample s;
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return s;
  const auto split = [](double v, std::int64_t extent, std::int64_t& low, std::int64_t& high) {
    low = std::min(static_cast<std::int64_t>(std::max(v, 0.0)), extent - 1);
    high = std::min(low + 1, extent - 1);
    return low == high ? 0.0 : std::max(v, 0.0) - static_cast<double>(low);
  };
  std::int64_t top = 0, bottom = 0, left = 0, right = 0;
  const double down = split(y, height, top, bottom), across = split(x, width, left, right);
  return {{top * width + left, top * width + right, bottom * width + left, bottom * width + right},
          {(1 - down) * (1 - across), (1 - down) * across, down * (1 - across), down * across}};
}

std::int64_t samples_per_bin(double bin, std::int64_t ratio) {
  if (ratio > 0) return ratio;
  const double wanted = std::ceil(bin);
  check(wanted <= static_cast<double>(kMostSamples), Code::invalid_argument,
        "RoiAlign: a bin of {} pixels takes too many samples", bin);
  return wanted > 0 ? static_cast<std::int64_t>(wanted) : 0;
}

}  // namespace

std::vector<TensorType> infer(const RoiAlign& op, const Knowns& inputs) {
  inputs.expect_count(3, 3);
  visit_floating_type(inputs[0].type, inputs.op(), [](auto) {});
  inputs.expect_same_type(0, 1);
  check(inputs[2].type == ElementType::int64, Code::invalid_argument, "RoiAlign: batch_indices are {}, int64 is needed",
        name(inputs[2].type));
  inputs.expect_rank(0, 4, 4);
  inputs.expect_rank(1, 2, 2);
  inputs.expect_rank(2, 1, 1);
  for (std::int64_t extent : {op.output_height, op.output_width})
    check(extent >= 1 && extent <= kMostRoiExtent, Code::invalid_argument,
          "RoiAlign: an output extent of {} is not in [1, {}]", extent, kMostRoiExtent);
  check(op.sampling_ratio >= 0 && op.sampling_ratio <= 4096, Code::invalid_argument,
        "RoiAlign: a sampling ratio of {} is not in [0, 4096]", op.sampling_ratio);
  std::int64_t rois = TensorType::kUnknown;
  if (inputs[1].dims) {
    rois = (*inputs[1].dims)[0];
    expect_equal((*inputs[1].dims)[1], 4, "numbers that make a region", inputs.op());
    if (inputs[2].dims) expect_equal(rois, (*inputs[2].dims)[0], "regions and batch indices", inputs.op());
  }
  if (rois == TensorType::kUnknown && inputs[2].dims) rois = (*inputs[2].dims)[0];
  const std::int64_t channels = inputs[0].dims ? (*inputs[0].dims)[1] : TensorType::kUnknown;
  return {TensorType(inputs[0].type, std::vector<std::int64_t>{rois, channels, op.output_height, op.output_width})};
}

Work work(const RoiAlign& op, const Types& inputs, const Types& outputs) {
  const double samples = static_cast<double>(std::max<std::int64_t>(op.sampling_ratio, 1));
  return streaming_work(inputs, outputs, 8.0 * samples * samples);
}

// With `max`, a sample counts as the greatest of its four weighted pixels, as ONNX defines it.
std::vector<Array> reference(const RoiAlign& op, const Arrays& inputs) {
  const Array& x = inputs[0];
  const std::int64_t channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3], rois = inputs[1].shape()[0];
  Array y(x.type(), Shape{rois, channels, op.output_height, op.output_width});
  const std::vector<double> regions = inputs[1].to_double();
  const std::vector<std::int64_t> batches = inputs[2].to_int64();
  check(height > 0 && width > 0, Code::invalid_argument, "RoiAlign: {} has no pixels", x.to_string());
  const double offset = op.half_pixel ? 0.5 : 0.0, scale = static_cast<double>(op.spatial_scale);
  visit_floating_type(x.type(), inputs.op(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* xs = x.as<T>().data();
    T* ys = y.as<T>().data();
    std::vector<Sample> samples;
    for (std::int64_t r = 0; r < rois; ++r) {
      const std::int64_t batch = batches[static_cast<std::size_t>(r)];
      check(batch >= 0 && batch < x.shape()[0], Code::invalid_argument,
            "RoiAlign: region {} is of batch {}, there are {}", r, batch, x.shape()[0]);
      const double* region = regions.data() + r * 4;
      const double left = region[0] * scale - offset, top = region[1] * scale - offset;
      double roi_width = region[2] * scale - offset - left, roi_height = region[3] * scale - offset - top;
      if (!op.half_pixel) {
        roi_width = std::max(roi_width, 1.0);
        roi_height = std::max(roi_height, 1.0);
      }
      const double bin_height = roi_height / static_cast<double>(op.output_height),
                   bin_width = roi_width / static_cast<double>(op.output_width);
      const std::int64_t down = samples_per_bin(bin_height, op.sampling_ratio),
                         across = samples_per_bin(bin_width, op.sampling_ratio);
      check(down == 0 || across <= kMostSamples / down, Code::invalid_argument,
            "RoiAlign: {} x {} samples for one output are too many", down, across);
      for (std::int64_t bin = 0; bin < op.output_height * op.output_width; ++bin) {
        samples.clear();
        for (std::int64_t i = 0; i < down; ++i)
          for (std::int64_t j = 0; j < across; ++j)
            samples.push_back(sample_at(top + (static_cast<double>(bin / op.output_width) +
                                               (static_cast<double>(i) + 0.5) / static_cast<double>(down)) *
                                                  bin_height,
                                        left + (static_cast<double>(bin % op.output_width) +
                                                (static_cast<double>(j) + 0.5) / static_cast<double>(across)) *
                                                   bin_width,
                                        height, width));
        for (std::int64_t c = 0; c < channels; ++c) {
          const T* plane = xs + (batch * channels + c) * height * width;
          double sum = 0, best = 0;
          for (std::size_t s = 0; s < samples.size(); ++s)
            for (int corner = 0; corner < 4; ++corner) {
              const double value = samples[s].weight[corner] * static_cast<double>(plane[samples[s].at[corner]]);
              sum += value;
              best = s == 0 && corner == 0 ? value : std::max(best, value);
            }
          const double mean = samples.empty() ? 0.0 : sum / static_cast<double>(samples.size());
          ys[(r * channels + c) * op.output_height * op.output_width + bin] = static_cast<T>(op.max ? best : mean);
        }
      }
    }
  });
  return {std::move(y)};
}

}  // namespace tessera
