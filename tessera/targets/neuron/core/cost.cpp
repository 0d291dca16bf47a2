#include "tessera/targets/neuron/core/cost.h"

#include <algorithm>

namespace tessera::neuron {
namespace {

constexpr double kNs = 1e9;

// Payloads of a partition below this are severely bound, as the vendor's guide has it.
constexpr std::int64_t kRowBytes = 256;
// What issuing a copy of rows takes, fitted to a public kernel that loads image rows one by one: 3,556 copies in the
// 824 us that the PE array needs.
constexpr double kRowIssueNs = 200;
// Copies that change partitions and free dimensions. Two bytes on NeuronCore-v3: what the vendor's architecture guide
// says that the DMA engines reach at most, as a part of their rate.
constexpr double kTurnFromHbmRate = 0.9;
constexpr double kTurnWithinSbufRate = 0.5;
// All others move every element as a buffer of its own: 836 us for 1024 x 1024 in float32 on a trn2.3xlarge, 65,536
// elements for each engine.
constexpr double kTurnedElementNs = 12.5;

bool is_four_bytes(const View& view) { return element_bytes(view.type()) == 4; }

// The last dimension that has more than one element, or -1.
int minor_dim(const View& view) {
  for (int d = view.rank() - 1; d >= 1; --d)
    if (view.size(d) > 1) return d;
  return -1;
}

std::int64_t free_run(const View& view) {
  std::int64_t run = 1;
  for (int d = view.rank() - 1; d >= 1; --d) {
    if (view.size(d) == 1) continue;
    if (view.stride(d) != run) break;
    run *= view.size(d);
  }
  return run;
}

bool has_wide_stride(const View& view) {
  const int d = minor_dim(view);
  return d >= 0 && view.memory() != Memory::hbm && view.stride(d) * element_bytes(view.type()) > 16;
}

// Rows that an engine reads one after the other: a new one begins where the pattern jumps.
std::int64_t rows_of(const View& view) {
  const int d = minor_dim(view);
  if (d < 0) return 1;
  return view.free_count() / std::max(free_run(view), view.size(d));
}

// Whether elements of one partition are further apart in the other memory than those of neighbouring partitions.
bool turns(const View& chip, const View& other) {
  if (chip.memory() == Memory::hbm || chip.partitions() == 1) return false;
  const int d = minor_dim(chip);
  return d >= 0 && other.stride(d) > other.stride(0);
}

bool has_transposing_dma(const NeuronSpec& spec) { return spec.arch != "NeuronCore-v2"; }

double clock_hz(const NeuronSpec& spec, Engine engine) {
  if (engine == Engine::tensor) return spec.pe_clock_hz;
  if (engine == Engine::scalar) return spec.scalar_clock_hz;
  if (engine == Engine::gpsimd) return spec.gpsimd_clock_hz;
  return spec.vector_clock_hz;
}

// How many elements of 16 bits VectorE takes in a cycle.
double vector_speedup(const NeuronSpec& spec, const View& dst, std::span<const View> inputs) {
  bool sixteen = element_bytes(dst.type()) == 2, sbuf = dst.memory() == Memory::sbuf;
  bool contiguous = free_run(dst) == dst.free_count();
  for (const View& each : inputs) {
    sixteen = sixteen && element_bytes(each.type()) == 2;
    sbuf = sbuf && each.memory() == Memory::sbuf;
    contiguous = contiguous && free_run(each) == each.free_count();
  }
  if (!sixteen) return 1;
  if (inputs.size() > 1) return sbuf ? spec.vector_16bit_two_input_speedup : 1;
  return sbuf && contiguous ? spec.vector_16bit_speedup : spec.vector_16bit_strided_speedup;
}

}  // namespace

DmaCost dma_cost(const NeuronSpec& spec, const View& dst, const View& src) {
  DmaCost out;
  const View& chip = dst.memory() != Memory::hbm ? dst : src;
  const View& other = dst.memory() != Memory::hbm ? src : dst;
  // Runs that are contiguous in both memories.
  std::int64_t run = 1;
  int d = dst.rank() - 1;
  for (; d >= 1; --d) {
    if (dst.size(d) == 1) continue;
    if (dst.stride(d) != run || src.stride(d) != run) break;
    run *= dst.size(d);
  }
  out.separate_elements = run == 1 && d >= 1;
  out.segment_elements = out.separate_elements ? dst.size(d) : run;
  const std::int64_t bytes = std::max(element_bytes(dst.type()), element_bytes(src.type()));
  out.segment_bytes = out.segment_elements * bytes;
  out.segments_per_partition = dst.free_count() / out.segment_elements;
  const double moving_ns = static_cast<double>(out.segment_bytes) / spec.dma_engine_bytes_per_s * kNs;
  const double elements_ns =
      out.separate_elements ? static_cast<double>(out.segment_elements) * spec.dma_element_ns : 0;
  out.segment_ns = spec.dma_segment_ns + std::max(moving_ns, elements_ns);

  out.engine_ns.assign(static_cast<std::size_t>(spec.dma_engines), 0);
  const std::int64_t row = chip.memory() == Memory::hbm ? 1 : std::max<std::int64_t>(chip.stride(0), 1);
  const std::int64_t first = chip.memory() == Memory::hbm ? 0 : chip.offset() / row;
  out.rows = out.segments_per_partition == 1 && !out.separate_elements && out.segment_bytes >= kRowBytes;
  out.issue_ns = out.rows ? std::min(kRowIssueNs, spec.dma_issue_ns) : spec.dma_issue_ns;
  // Short segments cost no more than their elements one by one.
  const double free_elements = static_cast<double>(dst.free_count());
  const double by_elements_ns =
      spec.dma_segment_ns + std::max(free_elements * static_cast<double>(bytes) / spec.dma_engine_bytes_per_s * kNs,
                                     free_elements * spec.dma_element_ns);
  const double by_segments_ns = static_cast<double>(out.segments_per_partition) * out.segment_ns;
  out.turned = out.separate_elements && turns(chip, other);
  if (out.turned) {
    const bool by_engines = has_transposing_dma(spec) && bytes == 2 && dst.memory() == Memory::sbuf;
    const double share = src.memory() == Memory::sbuf ? kTurnWithinSbufRate : kTurnFromHbmRate;
    out.segment_ns = by_engines ? moving_ns / share
                                : static_cast<double>(out.segment_elements) *
                                      std::max(kTurnedElementNs, moving_ns / static_cast<double>(out.segment_elements));
  }
  const double partition_ns = out.rows                ? moving_ns
                              : out.turned            ? out.segment_ns * static_cast<double>(out.segments_per_partition)
                              : out.separate_elements ? by_segments_ns
                                                      : std::min(by_segments_ns, by_elements_ns);
  for (std::int64_t p = 0; p < chip.partitions(); ++p) {
    const std::int64_t engine = (first + p) / spec.dma_partitions_per_engine % spec.dma_engines;
    double& busy_ns = out.engine_ns[static_cast<std::size_t>(engine)];
    if (out.rows && busy_ns == 0) busy_ns = spec.dma_segment_ns;
    busy_ns += partition_ns;
  }
  return out;
}

Cost matmul_cost(const NeuronSpec& spec, const View& stationary, const View& moving) {
  const double passes = is_four_bytes(moving) ? spec.fp32_cycle_factor : 1;
  double columns = static_cast<double>(std::max<std::int64_t>(moving.free_count(), spec.matmul_min_columns));
  if (has_wide_stride(moving)) columns *= spec.wide_stride_factor;
  // Each pass reads the moving operand from its start, and waits for SBUF wherever the pattern jumps.
  columns += static_cast<double>(rows_of(moving) - 1) * spec.sbuf_access_cycles;
  // The next stationary operand is loaded behind this multiplication, if that is long enough.
  const double load = static_cast<double>(stationary.free_count()) / spec.weight_load_speedup;
  return {passes * std::max(columns, load) / spec.pe_clock_hz * kNs,
          (spec.sbuf_access_cycles + spec.pe_rows) / spec.pe_clock_hz * kNs};
}

Cost transpose_cost(const NeuronSpec& spec, Engine engine, const View& src) {
  if (engine != Engine::tensor) return pass_cost(spec, engine, src, std::span(&src, 1));
  const double passes = is_four_bytes(src) ? spec.fp32_transpose_cycle_factor : 1;
  double columns = static_cast<double>(std::max<std::int64_t>(src.partitions(), spec.matmul_min_columns));
  if (has_wide_stride(src)) columns *= spec.wide_stride_factor;
  return {passes * columns / spec.pe_clock_hz * kNs, (spec.sbuf_access_cycles + spec.pe_rows) / spec.pe_clock_hz * kNs};
}

Cost pass_cost(const NeuronSpec& spec, Engine engine, const View& dst, std::span<const View> inputs) {
  std::int64_t elements = dst.free_count();
  bool wide = has_wide_stride(dst);
  for (const View& each : inputs) {
    elements = std::max(elements, each.free_count());
    wide = wide || has_wide_stride(each);
  }
  double cycles = static_cast<double>(elements);
  if (inputs.size() > 1) cycles *= spec.vector_two_input_factor;
  if (wide) cycles *= spec.wide_stride_factor;
  if (engine == Engine::vector) cycles /= vector_speedup(spec, dst, inputs);
  const double startup = engine == Engine::scalar ? spec.scalar_startup_cycles : spec.vector_startup_cycles;
  const double hz = clock_hz(spec, engine);
  return {cycles / hz * kNs, startup / hz * kNs};
}

}  // namespace tessera::neuron
