#include "tessera/targets/cuda/kernels/conv2d/conv2d.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/targets/cuda/device/driver.h"
#include "tessera/targets/cuda/kernels/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace tessera::cuda {

namespace {

// Tiles of 16-bit types have kernels of their own for it.
bool has_gelu(const Conv2dRow& row, const Conv2dProblem& problem) {
  return row.tiling.has_value() && !row.rounds() && problem.activation.curve == Curve::gelu;
}

Binary binary_of(const Conv2dRow& row, bool gelu) {
  if (row.exact_oc > 0) return Binary::conv2d_exact;
  if (!row.tiling) return Binary::conv2d_direct;
  if (row.type == ElementType::float32) return Binary::conv2d_tf32;
  if (gelu) return row.type == ElementType::float16 ? Binary::conv2d_gelu_f16 : Binary::conv2d_gelu_bf16;
  return row.type == ElementType::float16 ? Binary::conv2d_f16 : Binary::conv2d_bf16;
}

// float32 is rounded to the nearest tf32 on the way.
CUtensorMapDataType data_type(ElementType type) {
  if (type == ElementType::float32) return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
  return type == ElementType::float16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
}

// Dimensions from the innermost on, and the bytes from one element to the next of all but the first.
template <std::size_t rank>
CUtensorMap tensor_map(ElementType type, const void* data, const std::array<std::int64_t, rank>& dimensions,
                       const std::array<std::int64_t, rank - 1>& strides_bytes, const std::array<int, rank>& box,
                       const std::array<int, rank>& steps) {
  std::array<cuuint64_t, rank> sizes{};
  std::array<cuuint64_t, rank - 1> strides{};
  std::array<cuuint32_t, rank> boxes{}, element_strides{};
  for (std::size_t i = 0; i < rank; ++i) {
    sizes[i] = static_cast<cuuint64_t>(dimensions[i]);
    if (i + 1 < rank) strides[i] = static_cast<cuuint64_t>(strides_bytes[i]);
    boxes[i] = static_cast<cuuint32_t>(box[i] * steps[i]);
    element_strides[i] = static_cast<cuuint32_t>(steps[i]);
  }
  CUtensorMap map{};
  check_call(driver().cuTensorMapEncodeTiled(&map, data_type(type), rank, const_cast<void*>(data), sizes.data(),
                                             strides.data(), boxes.data(), element_strides.data(),
                                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
             "describe a tensor to the copy engine");
  return map;
}

}  // namespace

Conv2dPacking packing_of(const Conv2dRow& row, const Conv2dOffer& offer) {
  if (!row.tiling) return Conv2dPacking::direct;
  return offer.folded ? Conv2dPacking::folded : Conv2dPacking::tiles;
}

// oc ic kh kw as oc kh kw ic for the tensor cores, as kh kw ic oc for the direct kernel. Folded: 8 columns of 8
// channels, or of 4 of float32.
std::vector<std::byte> conv2d_weights(const Conv2dProblem& p, Conv2dPacking packing, std::span<const float> weights) {
  check(static_cast<std::int64_t>(weights.size()) == p.w_elements(), Code::invalid_argument,
        "conv2d: {} weights, the problem has {}", weights.size(), p.w_elements());
  const std::int64_t ic = p.c / p.groups, taps = std::int64_t{p.kh} * p.kw;
  if (packing == Conv2dPacking::tiles && taps == 1) return rounded_to(p.type, weights);
  std::vector<float> out(packing == Conv2dPacking::folded ? static_cast<std::size_t>(p.oc) * p.kh * p.block_channels()
                                                          : weights.size());
  const auto place = [&](std::int64_t o, std::int64_t c, std::int64_t tap) {
    if (packing == Conv2dPacking::folded)
      return (o * p.kh + tap / p.kw) * p.block_channels() + tap % p.kw * p.fold_channels() + c;
    return packing == Conv2dPacking::tiles ? (o * taps + tap) * ic + c : (tap * ic + c) * p.oc + o;
  };
  parallel_for(p.oc, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t o = begin; o < end; ++o)
      for (std::int64_t tap = 0; tap < taps; ++tap)
        for (std::int64_t c = 0; c < ic; ++c)
          out[static_cast<std::size_t>(place(o, c, tap))] =
              weights[static_cast<std::size_t>((o * ic + c) * taps + tap)];
  });
  return rounded_to(p.type, out);
}

Conv2d::Conv2d(KernelLibrary& library, const Conv2dProblem& problem, const Conv2dRow& row, const Conv2dOffer& offer,
               std::span<const float> weights, std::span<const float> bias)
    : Conv2d(
          library, problem, row, offer,
          std::make_shared<const Memory>(library.context(), conv2d_weights(problem, packing_of(row, offer), weights)),
          bias) {}

Conv2d::Conv2d(KernelLibrary& library, const Conv2dProblem& problem, const Conv2dRow& row, const Conv2dOffer& offer,
               std::shared_ptr<const Memory> weights, std::span<const float> bias)
    : problem_(problem),
      row_(row),
      offer_(offer),
      function_(library.function(binary_of(row, has_gelu(row, problem)),
                                 fmt::format("{}{}", row.name, has_gelu(row, problem) ? "_gelu" : ""))),
      weights_(std::move(weights)) {
  check_problem(problem);
  check(bias.empty() || static_cast<int>(bias.size()) == problem.oc, Code::invalid_argument,
        "conv2d: {} biases for {} channels", bias.size(), problem.oc);
  const bool tiled = row.tiling.has_value();
  const int tile_oc = tiled ? row.tiling->oc : 1;
  std::vector<float> padded(static_cast<std::size_t>((problem.oc + tile_oc - 1) / tile_oc * tile_oc));
  std::ranges::copy(bias, padded.begin());
  bias_ = Memory(library.context(), std::as_bytes(std::span(padded)));
  if (offer.folded) {
    const bool wide = problem.type == ElementType::float32;
    fold_ = library.function(Binary::conv2d_fold, wide ? "conv2d_fold_f32" : "conv2d_fold");
    fold_planes_ =
        library.function(Binary::conv2d_fold, fmt::format("conv2d_fold_planes_{}", short_name(problem.type)));
    folded_ = Memory(library.context(), std::int64_t{16} * problem.n * problem.h * problem.folded_w());
  }
  if (tiled) function_.allow_shared_bytes(row.tiling->shared_bytes());
}

Conv2dArguments Conv2d::arguments() const {
  Conv2dArguments a{};
  a.bias = static_cast<const float*>(bias_.data());
  a.n = problem_.n, a.h = problem_.h, a.w = problem_.w, a.c = problem_.c;
  a.oh = problem_.oh(), a.ow = problem_.ow(), a.oc = problem_.oc;
  if (offer_.flattened) {
    a.w = a.ow = a.n * a.h * a.w;
    a.n = a.h = a.oh = 1;
  }
  a.kh = problem_.kh, a.kw = problem_.kw;
  a.stride_h = problem_.stride[0], a.stride_w = problem_.stride[1];
  a.dilation_h = problem_.dilation[0], a.dilation_w = problem_.dilation[1];
  a.pad_top = problem_.pads[0], a.pad_left = problem_.pads[1];
  a.groups = problem_.groups;
  a.pool = problem_.pool;
  a.activation = problem_.activation;
  const int pitch = problem_.y_pitch();
  const std::int64_t row = std::int64_t{problem_.ow() / problem_.pool} * problem_.phases[1] * pitch;
  a.y_pixel = pitch * problem_.phases[1];
  a.y_row = row * problem_.phases[0];
  a.y_image = a.y_row * (problem_.oh() / problem_.pool);
  a.x_pixel = problem_.x_pixel > 0 ? problem_.x_pixel : problem_.c;
  a.residual_pixel = problem_.residual_pixel > 0 ? problem_.residual_pixel : problem_.oc;
  if (problem_.has_phases()) {
    a.phases_w = problem_.phases[1];
    a.phase_oc = problem_.y_channels();
    a.phase_row = row;
    a.phase_column = pitch;
  }
  a.splits = offer_.splits;
  if (!row_.tiling) return a;
  if (offer_.folded) {
    a.w = a.ow;
    a.c = problem_.block_channels();
    a.kw = a.stride_w = a.dilation_w = 1;
    a.pad_left = 0;
  }
  const auto tiles_of = [](int size, int box) { return (size + box - 1) / box; };
  a.channel_blocks = tiles_of(a.c, problem_.block_channels());
  a.box_n = offer_.box_n, a.box_h = offer_.box_h, a.box_w = offer_.box_w;
  a.tiles_n = tiles_of(a.n, a.box_n), a.tiles_h = tiles_of(a.oh, a.box_h), a.tiles_w = tiles_of(a.ow, a.box_w);
  a.tiles = offer_.tiles;
  a.pixel_tiles = a.tiles / tiles_of(a.oc, row_.tiling->oc);
  a.patch_pitch = a.box_w + 2;
  a.patch_step = a.box_n == 1 ? 8 * a.patch_pitch : (a.box_h + 2) * a.patch_pitch;
  a.weights_resident =
      row_.tiling->patch && a.kh * a.kw * a.channel_blocks <= row_.tiling->stages && a.oc <= row_.tiling->oc;
  return a;
}

Conv2d::Bound Conv2d::bind(const void* x, const void* residual, void* y, const float* x_planes) const {
  const auto aligned = [](const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; };
  check(aligned(x), Code::invalid_argument, "conv2d: an address on the device is no multiple of 16");
  check((residual != nullptr) == problem_.residual, Code::invalid_argument,
        "conv2d: a residual was {}, the problem says otherwise", residual ? "given" : "left out");
  Bound out;
  out.function_ = function_;
  out.arguments_ = arguments();
  out.arguments_.residual = residual;
  out.arguments_.y = y;
  out.arguments_.y_vectors = aligned(y) && problem_.y_pitch() % problem_.fold_channels() == 0;
  out.arguments_.residual_vectors = aligned(residual) &&
                                    out.arguments_.residual_pixel % problem_.fold_channels() == 0 &&
                                    problem_.oc % problem_.fold_channels() == 0;
  constexpr std::int64_t kLargeBytes = 32 << 20;
  out.arguments_.y_leaves = problem_.y_elements() * problem_.bytes() > kLargeBytes;
  check(!problem_.has_phases() || out.arguments_.y_vectors, Code::invalid_argument,
        "conv2d: phases are written to whole 16 bytes");
  out.shape_ = {.blocks = offer_.blocks, .threads = 256, .early_start = true};
  if (problem_.y_elements() == 0) {
    out.shape_.blocks = 0;
    return out;
  }
  if (!row_.tiling) {
    out.x_ = x;
    out.w_ = weights_->data();
    return out;
  }
  const Conv2dTiling& tiling = *row_.tiling;
  const Conv2dArguments& a = out.arguments_;
  out.tiled_ = true;
  out.shape_.threads = tiling.threads();
  out.shape_.cluster = std::max(tiling.multicast, offer_.splits);
  out.shape_.shared_bytes = tiling.shared_bytes();
  const int border = tiling.patch ? 2 : 0;
  // Folded pixels overlap: the next one starts a stride later. Columns beyond the window arrive as zeros, whatever they
  // are.
  const int x_channels = offer_.folded ? problem_.fold_channels() * problem_.kw : a.c;
  const std::int64_t pixel_bytes =
      offer_.folded ? std::int64_t{16} * problem_.stride[1] : std::int64_t{problem_.bytes()} * a.x_pixel;
  const std::int64_t row_bytes = offer_.folded ? std::int64_t{16} * problem_.folded_w() : pixel_bytes * a.w;
  out.x_map_ = tensor_map<4>(problem_.type, offer_.folded ? folded_.data() : x, {x_channels, a.w, a.h, a.n},
                             {pixel_bytes, row_bytes, row_bytes * a.h},
                             {problem_.block_channels(), a.box_w + border, a.box_h + border, a.box_n},
                             {1, a.stride_w, a.stride_h, 1});
  const std::int64_t tap_bytes = std::int64_t{problem_.bytes()} * a.c;
  out.w_map_ =
      tensor_map<3>(problem_.type, weights_->data(), {a.c, a.kh * a.kw, a.oc}, {tap_bytes, tap_bytes * a.kh * a.kw},
                    {problem_.block_channels(), 1, tiling.oc / tiling.multicast}, {1, 1, 1});
  if (offer_.folded) {
    out.x_ = x_planes ? x_planes : x;
    out.folded_ = folded_.data();
    out.fold_ = x_planes ? fold_planes_ : fold_;
    out.fold_arguments_ = {.rows = std::int64_t{a.n} * a.h,
                           .h = a.h,
                           .w = problem_.w,
                           .c = problem_.c,
                           .x_pixel = a.x_pixel,
                           .pad_left = problem_.pads[1],
                           .folded_w = problem_.folded_w()};
    out.fold_shape_ = {.blocks = static_cast<int>((out.fold_arguments_.rows * problem_.folded_w() + 255) / 256),
                       .threads = 256,
                       .early_start = true};
  }
  return out;
}

void Conv2d::Bound::launch(const Stream& stream) const {
  if (shape_.blocks == 0) return;
  auto arguments = arguments_;
  if (folded_) {
    const void* x = x_;
    void* folded = folded_;
    auto fold_arguments = fold_arguments_;
    std::array<void*, 3> values{&x, &folded, &fold_arguments};
    fold_.launch(stream, fold_shape_, values.data());
  }
  if (tiled_) {
    std::array<void*, 3> values{const_cast<CUtensorMap*>(&x_map_), const_cast<CUtensorMap*>(&w_map_), &arguments};
    function_.launch(stream, shape_, values.data());
  } else {
    const void *x = x_, *w = w_;
    std::array<void*, 3> values{&x, &w, &arguments};
    function_.launch(stream, shape_, values.data());
  }
}

}  // namespace tessera::cuda
