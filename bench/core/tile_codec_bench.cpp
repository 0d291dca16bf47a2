// How fast matrices become tiles and tiles become matrices, next to a memcpy of the same matrix in the same run.
//
// usage: tessera_core_bench [--format table|json] [--size 4096] [--seconds 0.5] [--isa NAME] [--threads N] [--all]

#include "bench/measure.h"
#include "tessera/core/error.h"
#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"
#include "tessera/core/tile_codec.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace tessera::bench {
namespace {

struct Options {
  bool json = false, all = false;
  std::int64_t size = 4096;
  double seconds = 0.5;
  std::optional<Isa> isa;
  std::optional<int> threads;
};

struct Free {
  void operator()(std::byte* at) const { std::free(at); }
};
using Bytes = std::unique_ptr<std::byte[], Free>;

// Touched, so that no page fault is timed.
Bytes allocate(std::int64_t bytes) {
  auto* at = static_cast<std::byte*>(
      std::aligned_alloc(64, static_cast<std::size_t>(round_up(std::max<std::int64_t>(bytes, 1), 64))));
  check(at != nullptr, Code::out_of_memory, "no memory for {} bytes", bytes);
  std::memset(at, 1, static_cast<std::size_t>(bytes));
  return Bytes(at);
}

// An operation of the kernel manifest as a call of the public function that uses it.
struct Case {
  std::string_view operation;
  bool by_default;
  int element_bytes;  // of the matrix
  DType dtype;        // of the tiles
  void (*run)(const std::byte* src, std::byte* dst, Extent2d extent);
};

template <DType dtype, Rounding rounding>
void pack(const std::byte* src, std::byte* dst, Extent2d extent) {
  pack_tiles(reinterpret_cast<const float*>(src), extent, dtype, Tile{}, rounding, dst);
}
template <DType dtype>
void unpack(const std::byte* src, std::byte* dst, Extent2d extent) {
  unpack_tiles(src, extent, dtype, Tile{}, reinterpret_cast<float*>(dst));
}
template <int bytes>
void to_tiles(const std::byte* src, std::byte* dst, Extent2d extent) {
  tilize(src, extent, bytes, Tile{}, dst);
}
template <int bytes>
void from_tiles(const std::byte* src, std::byte* dst, Extent2d extent) {
  untilize(src, extent, bytes, Tile{}, dst);
}

constexpr Case kCases[] = {
    {"pack_bfp8_host", true, 4, DType::bfloat8_b, pack<DType::bfloat8_b, Rounding::host>},
    {"pack_bfp8_packer", false, 4, DType::bfloat8_b, pack<DType::bfloat8_b, Rounding::packer>},
    {"pack_bfp4_host", true, 4, DType::bfloat4_b, pack<DType::bfloat4_b, Rounding::host>},
    {"pack_bfp4_packer", false, 4, DType::bfloat4_b, pack<DType::bfloat4_b, Rounding::packer>},
    {"pack_bf16_host", true, 4, DType::bfloat16, pack<DType::bfloat16, Rounding::host>},
    {"pack_bf16_packer", false, 4, DType::bfloat16, pack<DType::bfloat16, Rounding::packer>},
    {"pack_f16", false, 4, DType::float16, pack<DType::float16, Rounding::host>},
    {"unpack_bfp8", true, 4, DType::bfloat8_b, unpack<DType::bfloat8_b>},
    {"unpack_bfp4", true, 4, DType::bfloat4_b, unpack<DType::bfloat4_b>},
    {"unpack_bf16", true, 4, DType::bfloat16, unpack<DType::bfloat16>},
    {"unpack_f16", false, 4, DType::float16, unpack<DType::float16>},
    {"tilize_4", true, 4, DType::float32, to_tiles<4>},
    {"tilize_2", false, 2, DType::uint16, to_tiles<2>},
    {"tilize_1", false, 1, DType::uint8, to_tiles<1>},
    {"untilize_4", true, 4, DType::float32, from_tiles<4>},
    {"untilize_2", false, 2, DType::uint16, from_tiles<2>},
    {"untilize_1", false, 1, DType::uint8, from_tiles<1>},
};

bool goes_to_tiles(const Case& c) { return c.operation.starts_with("pack") || c.operation.starts_with("tilize"); }

struct Row {
  std::string kernel;
  int threads;
  double read_bytes, written_bytes;
  Comparison plain;                  // against memcpy on one thread
  std::optional<Comparison> spread;  // against memcpy on as many threads
};

void copy_on_threads(std::byte* dst, const std::byte* src, std::int64_t bytes) {
  parallel_for(bytes, 1 << 20, [&](std::int64_t begin, std::int64_t end) {
    std::memcpy(dst + begin, src + begin, static_cast<std::size_t>(end - begin));
  });
}

// All rows of one case. Every result is compared with that of the portable kernel on one thread.
void measure(const Case& c, const Options& options, const std::byte* floats, std::vector<Row>& rows) {
  const Extent2d extent{options.size, options.size};
  const std::int64_t matrix_bytes = extent.area() * c.element_bytes, tiles_bytes = tiled_bytes(extent, c.dtype, Tile{});
  const Bytes matrix = allocate(matrix_bytes), tiles = allocate(tiles_bytes),
              expected = allocate(std::max(matrix_bytes, tiles_bytes));
  std::memcpy(matrix.get(), floats, static_cast<std::size_t>(matrix_bytes));
  const std::byte* src = matrix.get();
  std::byte* dst = tiles.get();
  std::int64_t read = matrix_bytes, written = tiles_bytes;
  set_max_threads(1);
  set_active_isa(Isa::portable);
  if (!goes_to_tiles(c)) {
    if (is_floating(c.dtype))
      pack_tiles(reinterpret_cast<const float*>(floats), extent, c.dtype, Tile{}, Rounding::host, tiles.get());
    else
      tilize(floats, extent, c.element_bytes, Tile{}, tiles.get());
    src = tiles.get();
    dst = matrix.get();
    std::swap(read, written);
  }
  c.run(src, expected.get(), extent);
  const Bytes copy = allocate(matrix_bytes);
  const auto peer = [&] { std::memcpy(copy.get(), floats, static_cast<std::size_t>(matrix_bytes)); };
  const auto spread_peer = [&] { copy_on_threads(copy.get(), floats, matrix_bytes); };

  set_max_threads(0);
  std::set<int> counts{1, max_threads()};
  if (options.threads) counts = {*options.threads};
  for (Isa isa : usable_isas()) {
    if (options.isa && isa != *options.isa) continue;
    set_active_isa(isa);
    const TileKernelInfo& kernel = chosen_tile_kernel(c.operation);
    if (kernel.needs != isa) continue;
    for (int threads : counts) {
      set_max_threads(threads);
      const auto subject = [&] { c.run(src, dst, extent); };
      std::memset(dst, 0xCD, static_cast<std::size_t>(written));
      subject();
      check(std::memcmp(dst, expected.get(), static_cast<std::size_t>(written)) == 0, Code::internal,
            "{} with {} threads gives other bytes than the portable kernel", kernel.name, threads);
      const Budget budget{options.seconds, 5, 101};
      Row row{std::string(kernel.name), threads, double(read), double(written), compare(subject, peer, budget), {}};
      if (threads > 1) row.spread = compare(subject, spread_peer, budget);
      rows.push_back(row);
    }
  }
  set_max_threads(0);
  set_active_isa(std::nullopt);
}

void print_table(const std::vector<Row>& rows, const Options& options) {
  fmt::print("{0} x {0} matrix, 32x32 tiles; {1}; {2}\n", options.size, name(host_isa()), thread_count_report().source);
  fmt::print(
      "x memcpy: time of a memcpy of the matrix / time of the kernel, in turns, median of the ratios (+- its "
      "deviation)\n\n");
  fmt::print("{:<26} {:>7} {:>9} {:>8} {:>9} {:>16} {:>20} {:>7}\n", "kernel", "threads", "ms", "GB/s", "memcpy ms",
             "x memcpy", "x memcpy on threads", "rounds");
  for (const Row& row : rows)
    fmt::print("{:<26} {:>7} {:>9.3f} {:>8.2f} {:>9.3f} {:>8.2f} +- {:<4.2f} {:>20} {:>7}\n", row.kernel, row.threads,
               row.plain.subject_s * 1e3, (row.read_bytes + row.written_bytes) / row.plain.subject_s * 1e-9,
               row.plain.peer_s * 1e3, row.plain.ratio, row.plain.ratio_deviation,
               row.spread ? fmt::format("{:.2f}", row.spread->ratio) : "", row.plain.rounds);
}

nlohmann::json to_json(const Comparison& c) {
  return {{"rounds", c.rounds},
          {"kernel_s", c.subject_s},
          {"memcpy_s", c.peer_s},
          {"kernel_deviation_s", c.subject_deviation_s},
          {"memcpy_deviation_s", c.peer_deviation_s},
          {"times_memcpy", c.ratio},
          {"times_memcpy_deviation", c.ratio_deviation},
          {"best_kernel_s", c.best_subject_s},
          {"best_memcpy_s", c.best_peer_s}};
}

void print_json(const std::vector<Row>& rows, const Options& options) {
  nlohmann::json out{{"schema", "tessera.bench/1"},     {"kind", "measured"},
                     {"program", "tessera_core_bench"}, {"size", options.size},
                     {"isa", name(host_isa())},         {"threads", thread_count_report().source}};
  for (const Row& row : rows) {
    nlohmann::json line{{"kernel", row.kernel},
                        {"threads", row.threads},
                        {"read_bytes", row.read_bytes},
                        {"written_bytes", row.written_bytes},
                        {"plain", to_json(row.plain)}};
    if (row.spread) line["on_threads"] = to_json(*row.spread);
    out["rows"].push_back(line);
  }
  fmt::print("{}\n", out.dump(1));
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const auto value = [&]() -> std::string {
      check(i + 1 < argc, Code::invalid_argument, "{} needs a value", flag);
      return argv[++i];
    };
    if (flag == "--format") {
      const std::string format = value();
      check(format == "table" || format == "json", Code::invalid_argument, "--format is table or json, not '{}'",
            format);
      options.json = format == "json";
    } else if (flag == "--size") {
      options.size = std::atoll(value().c_str());
      check(options.size > 0, Code::invalid_argument, "--size needs a positive number");
    } else if (flag == "--seconds") {
      options.seconds = std::atof(value().c_str());
    } else if (flag == "--isa") {
      const std::string text = value();
      options.isa = parse_isa(text);
      check(options.isa.has_value(), Code::invalid_argument, "'{}' names no instruction set", text);
    } else if (flag == "--threads") {
      options.threads = std::atoi(value().c_str());
      check(*options.threads > 0, Code::invalid_argument, "--threads needs a positive number");
    } else if (flag == "--all") {
      options.all = true;
    } else {
      fail(Code::invalid_argument,
           Hint{"usage: tessera_core_bench [--format table|json] [--size N] [--seconds S] [--isa NAME] [--threads N] "
                "[--all]"},
           "unknown option '{}'", flag);
    }
  }
  return options;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  for (const TileKernelInfo& kernel : tile_kernels())
    check(std::any_of(std::begin(kCases), std::end(kCases),
                      [&](const Case& c) { return c.operation == kernel.operation; }),
          Code::internal, "{} has no benchmark", kernel.name);
  // Random values over a few binades, as weights and activations have.
  const std::int64_t count = options.size * options.size;
  const Bytes floats = allocate(count * 4);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = i < 1 << 20 ? normal(random) : 0.0f;
    std::memcpy(floats.get() + 4 * i, &x, 4);
  }
  for (std::int64_t i = 1 << 20; i < count; ++i)
    std::memcpy(floats.get() + 4 * i, floats.get() + 4 * (i - (1 << 20)), 4);
  std::vector<Row> rows;
  for (const Case& c : kCases)
    if (options.all || c.by_default) measure(c, options, floats.get(), rows);
  options.json ? print_json(rows, options) : print_table(rows, options);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  try {
    return tessera::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
