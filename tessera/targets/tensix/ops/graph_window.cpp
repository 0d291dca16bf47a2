#include "tessera/targets/tensix/ops/graph_window.h"

#include <fmt/format.h>

namespace tessera::tensix {

std::string digest_text(const SlidingWindow& w) {
  return fmt::format("k{}x{} s{}x{} d{}x{} p{},{},{},{}", w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h,
                     w.dilation_w, w.top, w.bottom, w.left, w.right);
}

}  // namespace tessera::tensix
