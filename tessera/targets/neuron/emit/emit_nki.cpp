#include "tessera/targets/neuron/emit/emit_nki.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace tessera::neuron {
namespace {

constexpr std::string_view kHead = R"(import numpy as np

try:
    import neuronxcc.nki as nki
    import neuronxcc.nki.isa as nisa
    import neuronxcc.nki.language as nl
except ImportError:
    import tessera.nki as nki
    import tessera.nki.isa as nisa
    import tessera.nki.language as nl

)";

constexpr std::string_view kKernel = R"(
@nki.jit
def fused_conv2d_maxpool(X, W, bias, pool_size=1):
    N, IC, H, WIDTH = X.shape
    OC, _, K, _ = W.shape
    OH, OW = H - K + 1, WIDTH - K + 1
    IC_TILES, OC_TILES = IC // 128, OC // 128
    out = nl.ndarray((N, OC, OH // pool_size, OW // pool_size), dtype=X.dtype, buffer=nl.shared_hbm)

    bias_tile = nl.ndarray((nl.par_dim(128), OC_TILES), dtype=nl.float32, buffer=nl.sbuf)
    for oc in nl.static_range(OC_TILES):
        nisa.dma_copy(dst=bias_tile[:, oc : oc + 1], src=bias[oc * 128 : oc * 128 + 128].reshape((128, 1)))

    def turned_weights(oc):
        cache = nl.ndarray((nl.par_dim(128), IC_TILES, K * K, 128), dtype=X.dtype, buffer=nl.sbuf)
        for ic in nl.static_range(IC_TILES):
            block = nl.ndarray((nl.par_dim(128), 128, K, K), dtype=X.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=block, src=W[oc * 128 : oc * 128 + 128, ic * 128 : ic * 128 + 128, :, :])
            for tap in nl.static_range(K * K):
)";

constexpr std::string_view kBand = R"(        return cache

    def band(n, row):
        rows = min(ROWS * BLOCKS, OH - row) + K - 1
        tiles = []
        for ic in nl.static_range(IC_TILES):
            tile = nl.ndarray((nl.par_dim(128), rows, WIDTH), dtype=X.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=X[n, ic * 128 : ic * 128 + 128, row : row + rows, :])
            tiles.append(tile)
        return tiles

    def cut(tile, top, rows, tap):
        window = tile[:, top + tap // K : top + tap // K + rows, tap % K : tap % K + OW]
        return nisa.tensor_copy(window, engine=CUTTERS[tap % 3])

    def all_windows(tiles, first, row):
        rows = min(ROWS, OH - row)
        parts = nl.static_range(0, rows, SUMMED)
        taps = [(tile, tap) for tile in tiles for tap in nl.static_range(K * K)]
        return [cut(tile, row - first + part, min(SUMMED, rows - part), tap) for part in parts for tile, tap in taps]

    def accumulate(cache, tiles, oc, first, row, part, tile):
        rows = tile.shape[1]
)";

std::string slicing_lines(Slicing slicing) {
  const std::string pad(16, ' ');
  if (slicing == Slicing::direct)
    return pad + "turned = nisa.nc_transpose(block[:, :, tap // K, tap % K])\n" + pad +
           "engine = nisa.scalar_engine if tap % 2 == 0 else nisa.vector_engine\n" + pad +
           "cache[:, ic, tap, :] = nisa.tensor_copy(turned, engine=engine)\n";
  return fmt::format(
      "{0}part = nisa.tensor_copy(block[:, :, tap // K, tap % K], engine=nisa.{1}_engine)\n"
      "{0}cache[:, ic, tap, :] = nisa.tensor_copy(nisa.nc_transpose(part), engine=nisa.scalar_engine)\n",
      pad, name(slicing));
}

std::string product_lines(WindowAccess window) {
  if (window == WindowAccess::flat)
    return R"(        run = (rows - 1) * WIDTH + OW
        bank = nl.zeros((nl.par_dim(128), rows, WIDTH), dtype=nl.float32, buffer=nl.psum)
        sums = bank.reshape((128, rows * WIDTH))
        for ic in nl.static_range(IC_TILES):
            flat = tiles[ic].reshape((128, tiles[ic].shape[1] * WIDTH))
            for tap in nl.static_range(K * K):
                start = (row - first + part + tap // K) * WIDTH + tap % K
                sums[:, 0:run] += nisa.nc_matmul(cache[:, ic, tap, :], flat[:, start : start + run])
        valid = bank[:, :, 0:OW]
)";
  std::string_view moving = "tiles[ic][:, top : top + rows, left : left + OW]";
  if (window == WindowAccess::copied) moving = "cut(tiles[ic], row - first + part, rows, tap)";
  if (window == WindowAccess::shared) moving = "tiles[(part // SUMMED * IC_TILES + ic) * K * K + tap]";
  const char* corner =
      window == WindowAccess::strided ? "                top, left = row - first + part + tap // K, tap % K\n" : "";
  return fmt::format(R"(        valid = nl.zeros((nl.par_dim(128), rows, OW), dtype=nl.float32, buffer=nl.psum)
        for ic in nl.static_range(IC_TILES):
            for tap in nl.static_range(K * K):
{}                valid[:, :, :] += nisa.nc_matmul(cache[:, ic, tap, :], {})
)",
                     corner, moving);
}

std::string way_out_lines(const ConvSchedule& s) {
  const std::string scalar =
      "tile[:, :, :] = nisa.activation(op=nl.copy, data=valid, bias=bias_tile[:, oc : oc + 1], scale=1.0)\n";
  const std::string vector =
      "tile[:, :, :] = nisa.tensor_scalar(valid, op0=nl.add, operand0=bias_tile[:, oc : oc + 1])\n";
  const std::string pad(8, ' '), more(12, ' ');
  std::string text;
  switch (s.eviction) {
    case Eviction::scalar: text += pad + scalar; break;
    case Eviction::vector: text += pad + vector; break;
    case Eviction::both:
      text += pad + "if ((row + part) // SUMMED + oc) % 2 == 0:\n" + more + scalar + pad + "else:\n" + more + vector;
      break;
  }
  text += R"(
    def block_of(cache, tiles, n, oc, first, row):
        rows = min(ROWS, OH - row)
        tile = nl.ndarray((nl.par_dim(128), rows, OW), dtype=X.dtype, buffer=nl.sbuf)
        for part in nl.static_range(0, rows, SUMMED):
            accumulate(cache, tiles, oc, first, row, part, tile[:, part : min(part + SUMMED, rows), :])
        if pool_size == 2:
)";
  text += s.pooling == Engine::gpsimd
              ? R"(            engine = nisa.gpsimd_engine
            tall = nisa.tensor_tensor(tile[:, 0:rows:2, :], tile[:, 1:rows:2, :], op=nl.maximum, engine=engine)
            tile = nisa.tensor_tensor(tall[:, :, 0:OW:2], tall[:, :, 1:OW:2], op=nl.maximum, engine=engine)
)"
              : R"(            p, r, c, i, j = nl.mgrid[0:128, 0 : rows // 2, 0 : OW // 2, 0:2, 0:2]
            tile = nisa.tensor_reduce(nl.max, tile[p, 2 * r + i, 2 * c + j], axis=[3, 4])
)";
  text += R"(        top = row // pool_size
        nisa.dma_copy(dst=out[n, oc * 128 : oc * 128 + 128, top : top + rows // pool_size, :], src=tile)

)";
  return text;
}

constexpr std::string_view kShared = R"(    ahead = band(0, 0)
    caches = [turned_weights(oc) for oc in nl.static_range(OC_TILES)]
    for n in nl.static_range(N):
        for first in nl.static_range(0, OH, ROWS * BLOCKS):
            tiles = ahead if n + first == 0 else band(n, first)
            ahead = None
            for row in nl.static_range(first, min(first + ROWS * BLOCKS, OH), ROWS):
                windows = all_windows(tiles, first, row) if SHARED else tiles
                for oc in nl.static_range(OC_TILES):
                    block_of(caches[oc], windows, n, oc, first, row)
    return out
)";

constexpr std::string_view kOutside = R"(    for oc in nl.static_range(OC_TILES):
        cache = turned_weights(oc)
        for n in nl.static_range(N):
            for first in nl.static_range(0, OH, ROWS * BLOCKS):
                tiles = band(n, first)
                for row in nl.static_range(first, min(first + ROWS * BLOCKS, OH), ROWS):
                    block_of(cache, tiles, n, oc, first, row)
    return out
)";

// What is said differently in 2026: instructions give no results, they put them where dst says; there is nl.ndarray in
// place of results, Python's range, and engines under one name.
constexpr std::pair<std::string_view, std::string_view> kSaidIn2026[] = {
    {R"(    import neuronxcc.nki as nki
    import neuronxcc.nki.isa as nisa
    import neuronxcc.nki.language as nl
)",
     R"(    import nki
    import nki.isa as nisa
    import nki.language as nl
)"},
    {R"(nl.par_dim(128))", R"(128)"},
    {R"(nl.static_range)", R"(range)"},
    {R"(                turned = nisa.nc_transpose(block[:, :, tap // K, tap % K])
)",
     R"(                turned = nl.ndarray((128, 128), dtype=X.dtype, buffer=nl.psum)
                nisa.nc_transpose(dst=turned, data=block[:, :, tap // K, tap % K])
)"},
    {R"(cache[:, ic, tap, :] = nisa.tensor_copy(turned, engine=engine))",
     R"(nisa.tensor_copy(dst=cache[:, ic, tap, :], src=turned, engine=engine))"},
    {R"(                part = nisa.tensor_copy(block[:, :, tap // K, tap % K], engine=)",
     R"(                part = nl.ndarray((128, 128), dtype=X.dtype, buffer=nl.sbuf)
                nisa.tensor_copy(dst=part, src=block[:, :, tap // K, tap % K], engine=)"},
    {R"(                cache[:, ic, tap, :] = nisa.tensor_copy(nisa.nc_transpose(part), engine=nisa.scalar_engine)
)",
     R"(                turned = nl.ndarray((128, 128), dtype=X.dtype, buffer=nl.psum)
                nisa.nc_transpose(dst=turned, data=part)
                nisa.tensor_copy(dst=cache[:, ic, tap, :], src=turned, engine=nisa.scalar_engine)
)"},
    {R"(        return nisa.tensor_copy(window, engine=CUTTERS[tap % 3])
)",
     R"(        copied = nl.ndarray((128, rows, OW), dtype=X.dtype, buffer=nl.sbuf)
        nisa.tensor_copy(dst=copied, src=window, engine=CUTTERS[tap % 3])
        return copied
)"},
    {R"(bank = nl.zeros(()", R"(bank = nl.ndarray(()"},
    {R"(valid = nl.zeros(()", R"(valid = nl.ndarray(()"},
    {R"(sums[:, 0:run] += nisa.nc_matmul(cache[:, ic, tap, :], flat[:, start : start + run]))",
     R"(moving = flat[:, start : start + run]
                nisa.nc_matmul(dst=sums[:, 0:run], stationary=cache[:, ic, tap, :], moving=moving, accumulate=ic + tap > 0))"},
    {R"(valid[:, :, :] += nisa.nc_matmul(cache[:, ic, tap, :], )",
     R"(nisa.nc_matmul(dst=valid, stationary=cache[:, ic, tap, :], accumulate=ic + tap > 0, moving=)"},
    {R"(tile[:, :, :] = nisa.activation(op=nl.copy, )", R"(nisa.activation(dst=tile, op=nl.copy, )"},
    {R"(tile[:, :, :] = nisa.tensor_scalar(valid, op0=)", R"(nisa.tensor_scalar(dst=tile, data=valid, op0=)"},
    {R"(            tall = nisa.tensor_tensor(tile[:, 0:rows:2, :], tile[:, 1:rows:2, :], op=nl.maximum, engine=engine)
            tile = nisa.tensor_tensor(tall[:, :, 0:OW:2], tall[:, :, 1:OW:2], op=nl.maximum, engine=engine)
)",
     R"(            tall = nl.ndarray((128, rows // 2, OW), dtype=X.dtype, buffer=nl.sbuf)
            pooled = nl.ndarray((128, rows // 2, OW // 2), dtype=X.dtype, buffer=nl.sbuf)
            even, odd = tile[:, 0:rows:2, :], tile[:, 1:rows:2, :]
            nisa.tensor_tensor(dst=tall, data1=even, data2=odd, op=nl.maximum, engine=engine)
            even, odd = tall[:, :, 0:OW:2], tall[:, :, 1:OW:2]
            nisa.tensor_tensor(dst=pooled, data1=even, data2=odd, op=nl.maximum, engine=engine)
            tile = pooled
)"},
    {R"(            p, r, c, i, j = nl.mgrid[0:128, 0 : rows // 2, 0 : OW // 2, 0:2, 0:2]
            tile = nisa.tensor_reduce(nl.max, tile[p, 2 * r + i, 2 * c + j], axis=[3, 4])
)",
     R"(            pooled = nl.ndarray((128, rows // 2, OW // 2), dtype=X.dtype, buffer=nl.sbuf)
            squares = tile.reshape((128, rows // 2, 2, OW // 2, 2))
            nisa.tensor_reduce(dst=pooled, op=nl.maximum, data=squares, axis=[2, 4])
            tile = pooled
)"},
    {R"(nisa.vector_engine)", R"(nisa.engine.vector)"},
    {R"(nisa.scalar_engine)", R"(nisa.engine.scalar)"},
    {R"(nisa.gpsimd_engine)", R"(nisa.engine.gpsimd)"},
    {R"(    bench = nki.benchmark(warmup=5, iters=20)(fused_conv2d_maxpool)
    bench(X, W, bias, )",
     R"(    result = fused_conv2d_maxpool(X, W, bias, )"},
    {R"(    print(bench.benchmark_result.nc_latency.get_latency_percentile(99), "us")
)",
     R"(    print(result.shape)
)"}};

void say_in_2026(std::string& text) {
  for (const auto& [from, to] : kSaidIn2026)
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
}

}  // namespace

std::string nki_script(const ConvProblem& p, const ConvSchedule& s, NkiApi api) {
  std::string text = fmt::format("# Fused conv2d + bias + maxpool: {}.\n# {}.\n\n", p.text(), s.text());
  text += kHead;
  text += fmt::format(
      "SUMMED = {}  # rows of output in one accumulation\nROWS = {}  # that are stored together\n"
      "BLOCKS = {}  # of such rows from one tile of the image\nSHARED = {}  # windows, by all output channels\n"
      "CUTTERS = [nisa.vector_engine, nisa.vector_engine, nisa.{}_engine]\n\n",
      s.rows, stored_rows(p, s), s.blocks, s.window == WindowAccess::shared ? "True" : "False",
      s.cutting == Cutting::both ? "gpsimd" : "vector");
  text += kKernel;
  text += slicing_lines(s.slicing);
  text += kBand;
  text += product_lines(s.window);
  text += way_out_lines(s);
  text += s.share_image ? kShared : kOutside;
  text += fmt::format(R"(

if __name__ == "__main__":
    random = np.random.default_rng(42)
    dtype = {}
    X = random.random(({}, {}, {}, {})).astype(dtype)
    W = random.random(({}, {}, {}, {})).astype(dtype)
    bias = random.random({}).astype(dtype)
    bench = nki.benchmark(warmup=5, iters=20)(fused_conv2d_maxpool)
    bench(X, W, bias, {})
    print(bench.benchmark_result.nc_latency.get_latency_percentile(99), "us")
)",
                      p.type == ElementType::bfloat16  ? "nl.bfloat16"
                      : p.type == ElementType::float16 ? "np.float16"
                                                       : "np.float32",
                      p.n, p.ic, p.h, p.w, p.oc, p.ic, p.k, p.k, p.oc, p.pool);
  if (api == NkiApi::nki2026) say_in_2026(text);
  return text;
}

}  // namespace tessera::neuron
