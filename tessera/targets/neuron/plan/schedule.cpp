#include "tessera/core/error.h"
#include "tessera/targets/neuron/kernels/conv2d_parts.h"
#include "tessera/targets/neuron/plan/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tessera::neuron {
namespace {

View turned_weights(Kernel& k, const ConvProblem& p, const View& w, std::int64_t oc, Slicing slicing) {
  if (slicing != Slicing::direct)
    return cache_weights(k, p, w, oc, p.type, slicing == Slicing::vector ? Engine::vector : Engine::gpsimd);
  const std::int64_t taps = p.k * p.k, ic_tiles = p.ic / kChannels;
  const View cache = k.sbuf("weight_cache", p.type, {kChannels, ic_tiles, taps, kChannels});
  for (std::int64_t ic = 0; ic < ic_tiles; ++ic) {
    const View block = k.sbuf("weight_block", p.type, {kChannels, kChannels, taps});
    k.dma_copy(block, weight_block(w, oc, ic));
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const View turned = k.psum("turned", p.type, {kChannels, kChannels});
      k.nc_transpose(turned, block.at(2, tap));
      // Two engines take turns: either alone would be slower than the array.
      k.tensor_copy(cache.at(1, ic).at(1, tap), turned, tap % 2 == 0 ? Engine::scalar : Engine::vector);
    }
  }
  return cache;
}

View pooled_by(Kernel& k, const View& tile, Engine engine) {
  return engine == Engine::vector ? pool_by_reduction(k, tile) : pool_by_pairs(k, tile);
}

class Scheduled {
 public:
  Scheduled(Kernel& kernel, const ConvProblem& problem, const ConvTensors& tensors, const ConvSchedule& schedule)
      : k_(kernel),
        p_(problem),
        t_(tensors),
        s_(schedule),
        ic_tiles_(p_.ic / kChannels),
        oc_tiles_(p_.oc / kChannels),
        stored_(stored_rows(problem, schedule)) {}

  void run() {
    // The first rows of the image are wanted as soon as the first weights, and are much smaller.
    bias_ = load_bias(k_, p_, t_.bias, ElementType::float32);
    if (s_.share_image) {
      std::vector<View> ahead = band(0, 0);
      std::vector<View> caches;
      for (std::int64_t oc = 0; oc < oc_tiles_; ++oc) caches.push_back(turned_weights(k_, p_, t_.w, oc, s_.slicing));
      for (std::int64_t n = 0; n < p_.n; ++n)
        for (std::int64_t row = 0; row < p_.oh(); row += stored_ * s_.blocks) {
          const std::vector<View> tiles = n + row == 0 ? std::move(ahead) : band(n, row);
          for (std::int64_t at = row; at < std::min(row + stored_ * s_.blocks, p_.oh()); at += stored_) {
            const std::vector<View> windows = s_.window == Window::shared ? all_windows(tiles, row, at) : tiles;
            for (std::int64_t oc = 0; oc < oc_tiles_; ++oc)
              block(caches[static_cast<std::size_t>(oc)], windows, n, oc, row, at);
          }
        }
      return;
    }
    for (std::int64_t oc = 0; oc < oc_tiles_; ++oc) {
      const View cache = turned_weights(k_, p_, t_.w, oc, s_.slicing);
      for (std::int64_t n = 0; n < p_.n; ++n)
        for (std::int64_t row = 0; row < p_.oh(); row += stored_ * s_.blocks) {
          const std::vector<View> tiles = band(n, row);
          for (std::int64_t at = row; at < std::min(row + stored_ * s_.blocks, p_.oh()); at += stored_)
            block(cache, tiles, n, oc, row, at);
        }
    }
  }

 private:
  // Rows of the image from `row` on, for all input channels.
  std::vector<View> band(std::int64_t n, std::int64_t row) {
    const std::int64_t rows = std::min(stored_ * s_.blocks, p_.oh() - row) + p_.k - 1;
    std::vector<View> tiles;
    for (std::int64_t ic = 0; ic < ic_tiles_; ++ic) {
      tiles.push_back(k_.sbuf("x_band", p_.type, {kChannels, rows, p_.w}));
      k_.dma_copy(tiles.back(), image_part(t_.x, n, ic, row, rows, 0, p_.w));
    }
    return tiles;
  }

  // Rows that are stored together, from `row` on.
  void block(const View& cache, const std::vector<View>& tiles, std::int64_t n, std::int64_t oc, std::int64_t band_row,
             std::int64_t row) {
    const std::int64_t rows = std::min(stored_, p_.oh() - row);
    View out = k_.sbuf("out", p_.type, {kChannels, rows, p_.ow()});
    for (std::int64_t part = 0; part < rows; part += s_.rows) {
      const std::int64_t summed = std::min(s_.rows, rows - part);
      accumulate(cache, tiles, oc, row - band_row, row, part, out.slice(1, part, summed));
    }
    if (p_.pool == 2) out = pooled_by(k_, out, s_.pooling);
    k_.dma_copy(output_part(t_.y, n, oc, row / p_.pool, out.size(1)), out);
  }

  // The part of a tile that a tap sees for `rows` rows of output, cut out.
  View cut(const View& tile, std::int64_t top, std::int64_t rows, std::int64_t tap) {
    const View window = k_.sbuf("window", p_.type, {kChannels, rows, p_.ow()});
    k_.tensor_copy(window, tile.slice(1, top + tap / p_.k, rows).slice(2, tap % p_.k, p_.ow()),
                   s_.cutting == Cutting::both && tap % 3 == 2 ? Engine::gpsimd : Engine::vector);
    return window;
  }

  // Those of all taps and input channels, accumulation by accumulation.
  std::vector<View> all_windows(const std::vector<View>& tiles, std::int64_t band_row, std::int64_t row) {
    const std::int64_t rows = std::min(stored_, p_.oh() - row);
    std::vector<View> out;
    for (std::int64_t part = 0; part < rows; part += s_.rows)
      for (const View& tile : tiles)
        for (std::int64_t tap = 0; tap < p_.k * p_.k; ++tap)
          out.push_back(cut(tile, row - band_row + part, std::min(s_.rows, rows - part), tap));
    return out;
  }

  // One accumulation and its way out of PSUM: `part` rows after `row`, which is `top` rows down in the tiles.
  void accumulate(const View& cache, const std::vector<View>& tiles, std::int64_t oc, std::int64_t top,
                  std::int64_t row, std::int64_t part, const View& out) {
    const std::int64_t rows = out.size(1), taps = p_.k * p_.k;
    const bool flat = s_.window == Window::flat;
    const std::int64_t run = (rows - 1) * p_.w + p_.ow();
    const View bank = k_.psum("sums", ElementType::float32, {kChannels, rows, flat ? p_.w : p_.ow()});
    const View sums = flat ? bank.merged(1).slice(1, 0, run) : bank;
    for (std::int64_t ic = 0; ic < ic_tiles_; ++ic)
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        const std::int64_t first = top + part + tap / p_.k, column = tap % p_.k;
        View moving;
        if (s_.window == Window::shared) {
          moving = tiles[static_cast<std::size_t>((part / s_.rows * ic_tiles_ + ic) * taps + tap)];
        } else if (s_.window == Window::copied) {
          moving = cut(tiles[static_cast<std::size_t>(ic)], top + part, rows, tap);
        } else if (flat) {
          moving = tiles[static_cast<std::size_t>(ic)].merged(1).slice(1, first * p_.w + column, run);
        } else {
          moving = tiles[static_cast<std::size_t>(ic)].slice(1, first, rows).slice(2, column, p_.ow());
        }
        k_.nc_matmul(sums, cache.at(1, ic).at(1, tap), moving, ic + tap == 0 ? Accumulate::overwrite : Accumulate::add);
      }
    const View valid = bank.slice(2, 0, p_.ow()), offset = bias_.slice(1, oc, 1);
    const bool even = ((row + part) / s_.rows + oc) % 2 == 0;
    if (s_.eviction == Eviction::scalar || (s_.eviction == Eviction::both && even)) {
      k_.activation(out, Function::identity, valid, offset);
    } else {
      k_.tensor_scalar(out, valid, MathOp::add, offset);
    }
  }

  Kernel& k_;
  const ConvProblem& p_;
  const ConvTensors& t_;
  const ConvSchedule& s_;
  std::int64_t ic_tiles_, oc_tiles_, stored_;
  View bias_;
};

}  // namespace

std::string_view name(Window window) {
  constexpr std::array<std::string_view, 4> kNames = {"copied", "strided", "flat", "shared"};
  return kNames[static_cast<std::size_t>(window)];
}

std::string_view name(Slicing slicing) {
  constexpr std::array<std::string_view, 3> kNames = {"vector", "gpsimd", "direct"};
  return kNames[static_cast<std::size_t>(slicing)];
}

std::string_view name(Cutting cutting) { return cutting == Cutting::both ? "both" : "vector"; }

std::string_view name(Eviction eviction) {
  constexpr std::array<std::string_view, 3> kNames = {"scalar", "vector", "both"};
  return kNames[static_cast<std::size_t>(eviction)];
}

std::int64_t stored_rows(const ConvProblem& p, const ConvSchedule& s) { return std::max(s.rows * s.joined, p.pool); }

std::string ConvSchedule::text() const {
  const bool cut = window == Window::copied || window == Window::shared;
  return fmt::format("{} windows{}, {} rows x {} x {}, {}, weights by {}, out by {}, pool by {}", name(window),
                     cut && cutting == Cutting::both ? " by vector and gpsimd" : "", rows, joined, blocks,
                     share_image ? "image shared" : "oc outside", name(slicing), name(eviction), name(pooling));
}

std::optional<Refusal> refusal(const NeuronSpec& spec, const ConvProblem& p, const ConvSchedule& s) {
  if (s.rows < 1 || s.blocks < 1 || s.joined < 1) return Refusal{"rows, accumulations and stores are at least 1"};
  if (s.window == Window::shared && !s.share_image) return Refusal{"windows are shared where the image is"};
  if (stored_rows(p, s) % p.pool != 0) return Refusal{fmt::format("{} rows are no multiple of the pool", s.rows)};
  const std::int64_t columns = s.window == Window::flat ? (s.rows - 1) * p.w + p.ow() : s.rows * p.ow();
  const std::int64_t bank = s.rows * (s.window == Window::flat ? p.w : p.ow());
  if (columns > spec.moving_max_columns || bank > spec.psum_bank_bytes() / 4)
    return Refusal{fmt::format("{} rows are {} columns, a bank has {}", s.rows, std::max(columns, bank),
                               spec.psum_bank_bytes() / 4)};
  if (s.pooling != Engine::gpsimd && s.pooling != Engine::vector) return Refusal{"pools are taken by gpsimd or vector"};
  return std::nullopt;
}

void run_schedule(Kernel& kernel, const ConvProblem& p, const ConvTensors& tensors, const ConvSchedule& s) {
  if (const std::optional<Refusal> why = refusal(kernel.spec(), p, s))
    fail(Code::invalid_argument, "schedule '{}' is not for {}: {}", s.text(), p.text(), why->message);
  Scheduled(kernel, p, tensors, s).run();
}

}  // namespace tessera::neuron
