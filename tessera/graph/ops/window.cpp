#include "tessera/graph/ops/window.h"

#include "tessera/core/error.h"
#include "tessera/core/shape.h"
#include "tessera/graph/ops/internal/most_elements.h"
#include "tessera/graph/tensor_type.h"

#include <algorithm>

namespace tessera {
namespace {

// No real network comes near these; within them the arithmetic below cannot overflow.
using internal::kMostElements;
constexpr std::int64_t kMostTaps = std::int64_t{1} << 30;

std::vector<std::int64_t> filled(const std::vector<std::int64_t>& given, std::size_t count, std::int64_t otherwise,
                                 std::int64_t least, std::int64_t most, std::string_view what, std::string_view op) {
  if (given.empty()) return std::vector<std::int64_t>(count, otherwise);
  if (given.size() != count)
    fail(Code::invalid_argument, "{}: {} has {} entries, {} are needed", op, what, given.size(), count);
  for (std::int64_t v : given) {
    if (v < least) fail(Code::invalid_argument, "{}: {} holds {}, at least {} is needed", op, what, v, least);
    if (v > most) fail(Code::invalid_argument, "{}: {} holds {}, at most {} is possible", op, what, v, most);
  }
  return given;
}

}  // namespace

ResolvedWindow resolve(const Window& window, const std::vector<std::int64_t>& spatial, bool ceil_mode,
                       std::string_view op) {
  const std::size_t rank = spatial.size();
  ResolvedWindow w;
  w.kernel = filled(window.kernel, rank, 1, 1, kMostTaps, "the kernel", op);
  w.strides = filled(window.strides, rank, 1, 1, kMostElements, "strides", op);
  w.dilations = filled(window.dilations, rank, 1, 1, kMostTaps, "dilations", op);
  const std::vector<std::int64_t> pads = filled(window.pads, 2 * rank, 0, 0, kMostElements, "pads", op);
  w.begins.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
  w.ends.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t reach =
        (w.kernel[i] - 1) * w.dilations[i] + 1;  // elements from the first to the last of a window
    if (window.auto_pad != AutoPad::none) w.begins[i] = w.ends[i] = 0;
    if (spatial[i] == TensorType::kUnknown) {
      w.output.push_back(TensorType::kUnknown);
      continue;
    }
    if (spatial[i] < 0 || spatial[i] > kMostElements)
      fail(Code::invalid_argument, "{}: an input of {} elements along one dimension, 0 to {} are possible", op,
           spatial[i], kMostElements);
    if (window.auto_pad == AutoPad::same_upper || window.auto_pad == AutoPad::same_lower) {
      const std::int64_t wanted = ceil_div(spatial[i], w.strides[i]);
      const std::int64_t total = std::max<std::int64_t>((wanted - 1) * w.strides[i] + reach - spatial[i], 0);
      w.begins[i] = window.auto_pad == AutoPad::same_upper ? total / 2 : total - total / 2;
      w.ends[i] = total - w.begins[i];
      w.output.push_back(wanted);
      continue;
    }
    const std::int64_t room = spatial[i] + w.begins[i] + w.ends[i] - reach;
    if (room < 0)
      fail(Code::invalid_argument, "{}: a window of {} does not fit {} elements with {} and {} of padding", op, reach,
           spatial[i], w.begins[i], w.ends[i]);
    std::int64_t count = (ceil_mode ? ceil_div(room, w.strides[i]) : room / w.strides[i]) + 1;
    // A last window that would start beyond the input and its leading padding sees nothing.
    if (ceil_mode && (count - 1) * w.strides[i] >= spatial[i] + w.begins[i]) --count;
    w.output.push_back(count);
  }
  return w;
}

}  // namespace tessera
