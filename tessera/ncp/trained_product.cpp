#include "tessera/ncp/internal/trained_product.h"

#include "tessera/core/parallel_for.h"
#include "tessera/ncp/internal/dense_kernels.h"

#include <bit>

namespace tessera::ncp {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

struct Column {
  int part;
  std::int64_t unit;
};

Column column_of(int lanes, bool quads, std::int64_t wide) {
  if (!quads) return {0, wide};
  const std::int64_t in_block = kQuad * lanes;
  return {static_cast<int>(wide % in_block / lanes), wide / in_block * lanes + wide % lanes};
}

}  // namespace

void GatheredWeights::take(const float* row) {
  for (std::size_t i = 0; i < from.size(); ++i) values[i] = row[from[i]];
}

void GatheredWeights::pair(std::int64_t width) {
  const std::int64_t each = pairs_of(inputs);
  pairs.assign(static_cast<std::size_t>(blocks * each * width), 0);
  for (std::int64_t block = 0; block < blocks; ++block)
    for (std::int64_t k = 0; k < inputs; ++k)
      for (std::int64_t j = 0; j < width; ++j) {
        const auto bits =
            std::bit_cast<std::uint32_t>(values[static_cast<std::size_t>((block * inputs + k) * width + j)]);
        pairs[static_cast<std::size_t>((block * each + k / 2) * width + j)] |= k % 2 == 0 ? bits >> 16 : bits;
      }
}

void TrainedProduct::take(const float* row) {
  for (GatheredWeights* part : {&first, &second, &bias, &first_back, &second_back}) part->take(row);
}

TrainedProduct make_trained_product(int lanes, bool quads, std::int64_t units, std::int64_t first, std::int64_t second,
                                    std::int32_t nowhere,
                                    FunctionRef<std::int32_t(int, std::int64_t, std::int64_t)> place) {
  const std::int64_t in_block = kQuad * lanes;
  TrainedProduct out{.quads = quads, .first_inputs = first, .second_inputs = second};
  const std::int64_t units_in_block = quads ? lanes : in_block;
  out.blocks = (units + units_in_block - 1) / units_in_block;
  out.width = out.blocks * in_block;
  const auto at = [&](std::int64_t wide, std::int64_t input) {
    const Column column = column_of(lanes, quads, wide);
    return column.unit < units ? place(column.part, column.unit, input) : nowhere;
  };
  const auto finished = [](GatheredWeights weights) {
    weights.values.resize(weights.from.size());
    return weights;
  };
  const auto forward = [&](std::int64_t begin, std::int64_t inputs) {
    GatheredWeights weights{.inputs = inputs, .blocks = out.blocks};
    for (std::int64_t block = 0; block < out.blocks; ++block)
      for (std::int64_t k = 0; k < inputs; ++k)
        for (std::int64_t j = 0; j < in_block; ++j) weights.from.push_back(at(block * in_block + j, begin + k));
    return finished(std::move(weights));
  };
  const auto backward = [&](std::int64_t begin, std::int64_t inputs) {
    GatheredWeights weights{.inputs = out.width, .blocks = (inputs + in_block - 1) / in_block};
    for (std::int64_t block = 0; block < weights.blocks; ++block)
      for (std::int64_t wide = 0; wide < out.width; ++wide)
        for (std::int64_t j = 0; j < in_block; ++j) {
          const std::int64_t k = block * in_block + j;
          weights.from.push_back(k < inputs ? at(wide, begin + k) : nowhere);
        }
    return finished(std::move(weights));
  };
  out.first = forward(0, first);
  out.second = forward(first, second);
  out.bias = forward(-1, 1);
  out.first_back = backward(0, first);
  out.second_back = backward(first, second);
  return out;
}

std::int64_t PackedGradients::add(const GatheredWeights& weights) {
  const std::int64_t begin = size();
  from_.insert(from_.end(), weights.from.begin(), weights.from.end());
  return begin;
}

void PackedGradients::add(TrainedProduct& product) {
  product.first_gradient = add(product.first);
  product.second_gradient = add(product.second);
  product.bias_gradient = add(product.bias);
}

void PackedGradients::unpack(const std::vector<const float*>& packed, std::int32_t nowhere,
                             std::vector<float>& row) const {
  // Each parameter has one place in the packed row, so ranges of it do not meet.
  parallel_for(size(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t i = begin;
    const auto put = [&](std::int64_t at, float sum) {
      if (const std::int32_t to = from_[static_cast<std::size_t>(at)]; to != nowhere)
        row[static_cast<std::size_t>(to)] = sum;
    };
    // Some side by side, which vectors add.
    for (constexpr int kSome = 64; i + kSome <= end; i += kSome) {
      float sums[kSome]{};
      for (const float* part : packed)
        for (int k = 0; k < kSome; ++k) sums[k] += part[i + k];
      for (int k = 0; k < kSome; ++k) put(i + k, sums[k]);
    }
    for (; i < end; ++i) {
      float sum = 0;
      for (const float* part : packed) sum += part[i];
      put(i, sum);
    }
  });
}

}  // namespace tessera::ncp
