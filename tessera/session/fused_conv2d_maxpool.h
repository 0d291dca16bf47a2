#pragma once

// A convolution with bias and a maximum pool behind it, in one pass over the image:
//
//   y = max_pool(conv2d(x, w) + bias)
//
// x [n, ic, h, w], w [oc, ic, kh, kw], bias [oc]; no padding, stride 1; the pool's window is pool_size x pool_size and
// its stride the same, what is left over at the bottom and right is dropped, and a size of 1 is no pool. y is
// [n, oc, (h - kh + 1) / pool_size, (w - kw + 1) / pool_size], of the type of x. All operands have one type: float32,
// bfloat16 or float16. Sums are float32 in all of them, and rounded to the type once.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/session/session.h"

#include <cstdint>

namespace tessera {

// Weights packed once, for any number of images of any size. What it was given is copied, so later changes of the
// caller's arrays do not reach it. It may be used from several threads at once.
class TSR_API FusedConv2dMaxPool {
 public:
  FusedConv2dMaxPool(const Array& w, const Array& bias, std::int64_t pool_size = 1, const SessionOptions& options = {});

  Array operator()(const Array& x) const;
  // Refuses x as a call would. The shape of the result.
  Shape output_shape(const Array& x) const;

  std::int64_t pool_size() const { return pool_size_; }
  const Session& session() const { return session_; }

 private:
  ElementType type_;
  Shape w_;
  std::int64_t pool_size_;
  Session session_;
};

// One call, with nothing kept: weights may be others every time, at the price of planning and packing them.
TSR_API Array fused_conv2d_maxpool(const Array& x, const Array& w, const Array& bias, std::int64_t pool_size = 1,
                                   const SessionOptions& options = {});

}  // namespace tessera
