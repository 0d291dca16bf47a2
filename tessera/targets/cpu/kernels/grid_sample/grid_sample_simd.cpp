#include "tessera/targets/cpu/kernels/grid_sample/grid_sample.h"
#include "tessera/targets/cpu/kernels/vectors.h"

namespace tessera::cpu::TSR_ISA {
namespace {

template <class T>
void sample_pixels(const GridSampleJob& job) {
  const T* x = static_cast<const T*>(job.x);
  T* y = static_cast<T*>(job.y);
  for (std::int64_t p = 0; p < job.pixels; ++p, y += job.y_pixel) {
    const int count = job.count[p];
    for (std::int64_t c = 0; c < job.channels; c += Vec::kWidth) {
      const Vec::Mask mask = Vec::first(job.channels - c);
      Vec sum = Vec::zero();
      // The first product by itself: one tap of weight 1 keeps the sign of a zero.
      if (count > 0) sum = Vec::load(x + job.at[p][0] + c, mask) * Vec::all(job.weight[p][0]);
      for (int t = 1; t < count; ++t) sum = fma(Vec::load(x + job.at[p][t] + c, mask), Vec::all(job.weight[p][t]), sum);
      sum.store(y + c, mask);
    }
  }
}

}  // namespace

void grid_sample(const GridSampleJob& job) {
  if (job.bf16)
    sample_pixels<Bf16>(job);
  else
    sample_pixels<float>(job);
}

}  // namespace tessera::cpu::TSR_ISA
