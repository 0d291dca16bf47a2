#include "tessera/targets/tensix/time/program_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace tessera::tensix {
namespace {

// Parts that run side by side: nearly the longest one, a little more where several are about as long, since none of
// them is perfectly even.
template <std::size_t n>
double side_by_side(const std::array<double, n>& parts) {
  const double most = *std::ranges::max_element(parts);
  if (most <= 0) return 0;
  double sum = 0;
  for (const double part : parts) {
    const double share = part / most, square = share * share;
    sum += square * square;
  }
  return most * std::sqrt(std::sqrt(sum));
}

double tilize_cycles(const ProgramWork& w, const TensixSpec& card) {
  const bool wide = w.tilized_from == DType::float32;
  const TilizeCost& cost = w.tilized_to == DType::float32 ? (wide ? card.tilize_fp32_to_fp32 : card.tilize_bf16_to_fp32)
                           : is_block_float(w.tilized_to)
                               ? (wide ? card.tilize_fp32_to_bfp8 : card.tilize_bf16_to_bfp8)
                               : (wide ? card.tilize_fp32_to_bf16 : card.tilize_bf16_to_bf16);
  return w.wide_dest ? cost.dest32_cycles : cost.dest16_cycles;
}

// All in cycles.
struct Parts {
  double reader = 0, weights = 0, multicast = 0, dram_read = 0, dram_write = 0;
  double tilize = 0, math = 0, pack = 0, writer = 0, sender = 0, lists = 0;
};

Parts parts_of(const ProgramWork& w, const TensixSpec& card, const TensixCosts& c) {
  Parts p;
  const bool product = w.matmul_tiles > 0;
  // Blocks come one after the other: each is there when its last page is, and with all others when it has been sent.
  const double arrival = card.noc_dram_latency_cycles;
  const auto handover = [&](std::int64_t receivers) {
    return card.noc_multicast_latency_cycles + static_cast<double>(receivers) * card.noc_multicast_receiver_cycles;
  };
  p.reader = w.window_reads * c.window_read_cycles + w.large_window_reads * c.large_window_read_cycles +
             w.window_bytes / c.window_bytes_per_cycle + w.waited_reads * c.read_wait_cycles +
             (w.waited_reads > 0 ? w.waited_bytes / c.wait_bytes_per_cycle : 0) + w.page_reads * c.page_wait_cycles +
             w.fetched_pages * c.fetch_page_cycles + w.fetched_bytes / c.fetch_bytes_per_cycle +
             w.fetched_blocks * arrival + (w.fetched_pages > 0 ? w.sliced_rows * c.slice_row_cycles : 0);
  p.multicast = w.multicasts * handover(w.receivers) + w.multicast_bytes / card.noc_link_achieved_bytes_per_cycle;
  p.weights = w.weight_blocks * arrival;
  if (w.weight_receivers == 0)
    p.weights += w.weight_tiles * c.fetch_page_cycles + w.weight_bytes / c.fetch_bytes_per_cycle;
  else
    p.weights += w.weight_blocks * handover(w.weight_receivers) + w.weight_tiles * c.weight_tile_cycles +
                 w.weight_bytes / c.weight_bytes_per_cycle;
  p.tilize = w.tilized_tiles * tilize_cycles(w, card) * c.tilize_factor + w.untilized_rows * c.untilize_row_cycles +
             w.untilized_tiles * (w.wide_rows ? c.untilize_wide_tile_cycles : c.untilize_tile_cycles);
  if (product) {
    const double engine = card.tile_matmul_cycles[static_cast<std::size_t>(std::clamp(w.phases, 1, 4) - 1)];
    const std::array<double, 2> limits{engine + c.matmul_overhead_cycles,
                                       w.unpacked_bytes / w.matmul_tiles / c.unpack_bytes_per_cycle};
    p.math = w.matmul_tiles * side_by_side(limits);
  }
  p.math += w.partial_tiles * c.partial_tile_cycles + w.accumulated_tiles * c.accumulated_tile_cycles +
            w.vector_tiles * c.vector_tile_cycles + w.added_tiles * c.add_tile_cycles +
            w.reduced_tiles * c.reduce_tile_cycles + w.permuted_tiles * c.permute_tile_cycles +
            w.normalized_tiles * c.normalize_tile_cycles + (w.normalized_rows > 0 ? c.normalize_cycles : 0);
  p.pack = w.packed_tiles * c.pack_tile_cycles;
  p.writer = w.waited_writes * c.write_wait_cycles +
             (w.waited_writes > 0 && w.waited_reads == 0 ? w.waited_bytes / c.wait_bytes_per_cycle : 0) +
             w.page_writes * c.page_wait_cycles / 2 + w.sent_pieces * c.send_piece_cycles +
             w.copied_bytes / c.copy_bytes_per_cycle + (w.fetched_pages > 0 ? 0 : w.sliced_rows * c.slice_row_cycles);
  p.sender = w.sent_bytes / c.send_bytes_per_cycle * (1 + static_cast<double>(w.contenders - 1) / c.contenders);
  p.lists = w.lists * c.list_cycles;
  const double dram = card.dram_bytes_per_s / card.clock_hz;
  p.dram_read = w.dram_read_bytes / (dram * (product ? c.operand_read_efficiency : c.dram_read_efficiency));
  p.dram_write = w.dram_written_bytes / (dram * (product ? c.result_write_efficiency : c.dram_write_efficiency));
  return p;
}

// Reader, weights and compute go through blocks together; each waits for a free buffer. Results leave at the end.
double product_cycles(const ProgramWork& w, const Parts& p, const TensixCosts& c) {
  const double n = std::max(w.blocks, 1.0);
  const double compute = p.tilize + p.math + n * c.block_cycles;
  double activations = p.reader + p.multicast;
  if (w.fetched_bytes > 0) activations = side_by_side(std::array{activations, p.dram_read});
  // The first block has to be there before anything can be computed.
  const double first = std::max(activations, p.weights) / n;
  if (!w.activations_double_buffered) activations += p.tilize * c.tilize_share;
  const double weights = p.weights + (w.weights_double_buffered || w.weight_tiles == 0 ? 0 : p.math);
  const double round = side_by_side(std::array{compute, activations, weights}) / n;
  return first + round * (n - 1) + compute / n + p.pack + std::max(p.writer + p.sender, p.dram_write);
}

double stream_cycles(const ProgramWork& w, const Parts& p) {
  // The processors of a halo share copying and filling with zeros.
  const bool shared = w.copied_bytes > 0 && w.window_reads > 0;
  const double reader = shared ? p.reader + p.writer : p.reader, writer = shared ? 0 : p.writer;
  const double compute = p.tilize + p.math;
  const double all = side_by_side(std::array{compute, reader, writer, p.sender, p.dram_read + p.dram_write}) + p.pack;
  if (!w.activations_double_buffered) return all;
  // The first block is computed when it has been read, and the last one written when it has been computed.
  const double sent = std::max(writer, p.sender);
  const double ends = reader + compute + sent - std::max({reader, compute, sent});
  return all + ends / std::max(w.blocks, 1.0);
}

// The machine file says which programs its prices were fitted with.
TimeBasis basis_of(ProgramKind kind, const TensixSpec& card) {
  const auto has = [&](const std::vector<std::string>& kinds) {
    return std::ranges::find(kinds, name(kind)) != kinds.end();
  };
  if (has(card.fitted_programs)) return TimeBasis::fitted;
  return has(card.scaled_programs) ? TimeBasis::scaled : TimeBasis::assumed;
}

}  // namespace

std::string_view name(TimeBasis basis) {
  switch (basis) {
    case TimeBasis::fitted: return "fitted";
    case TimeBasis::scaled: return "scaled";
    case TimeBasis::assumed: return "assumed";
    case TimeBasis::bound: return "bound";
  }
  return "";
}

std::string_view name(TimePart part) {
  switch (part) {
    case TimePart::reader: return "reader";
    case TimePart::weights: return "weights";
    case TimePart::multicast: return "multicast";
    case TimePart::dram: return "DRAM";
    case TimePart::tilize: return "tilize";
    case TimePart::math: return "math";
    case TimePart::pack: return "pack";
    case TimePart::writer: return "writer";
    case TimePart::fixed: return "fixed";
    case TimePart::bytes: return "bytes";
  }
  return "";
}

double StepTime::* busy_field(TimePart part) {
  switch (part) {
    case TimePart::reader: return &StepTime::reader_ns;
    case TimePart::weights: return &StepTime::weights_ns;
    case TimePart::multicast: return &StepTime::multicast_ns;
    case TimePart::dram: return &StepTime::dram_ns;
    case TimePart::tilize: return &StepTime::tilize_ns;
    case TimePart::math: return &StepTime::math_ns;
    case TimePart::pack: return &StepTime::pack_ns;
    case TimePart::writer: return &StepTime::writer_ns;
    case TimePart::fixed: return &StepTime::fixed_ns;
    case TimePart::bytes: break;
  }
  return &StepTime::ns;
}

std::vector<BusyPart> busy_parts(const StepTime& time) {
  std::vector<BusyPart> parts;
  for (const TimePart part : kTimeParts)
    if (const double ns = time.*busy_field(part); ns > 0) parts.push_back({part, ns});
  std::ranges::stable_sort(parts, std::ranges::greater{}, &BusyPart::ns);
  return parts;
}

StepTime time_of(const ProgramWork& w, const TensixSpec& card, const TensixCosts& c) {
  const Parts p = parts_of(w, card, c);
  const bool product = w.matmul_tiles > 0;
  const double work = product ? product_cycles(w, p, c) : stream_cycles(w, p);
  const double ns = 1e9 / card.clock_hz;
  StepTime t;
  t.reader_ns = p.reader * ns;
  t.weights_ns = p.weights * ns;
  t.multicast_ns = p.multicast * ns;
  t.dram_ns = (p.dram_read + p.dram_write) * ns;
  t.tilize_ns = p.tilize * ns;
  t.math_ns = p.math * ns;
  t.pack_ns = p.pack * ns;
  t.writer_ns = (p.writer + p.sender) * ns;
  t.fixed_ns = (c.launch_cycles + p.lists + (product ? w.blocks * c.block_cycles : 0)) * ns;
  t.ns = (work + c.launch_cycles + p.lists) * ns;
  double most = 0;
  for (const TimePart part : kTimeParts)
    if (const double busy = t.*busy_field(part); busy > most) most = busy, t.bound_by = part;
  const double engine =
      w.matmul_tiles * card.tile_matmul_cycles[static_cast<std::size_t>(std::clamp(w.phases, 1, 4) - 1)] * ns;
  t.roof_ns = std::max(engine, (w.dram_read_bytes + w.dram_written_bytes) / card.dram_bytes_per_s * 1e9);
  t.basis = basis_of(w.kind, card);
  return t;
}

TensixCosts carried_over(const TensixCosts& from, const TensixSpec& from_card, const TensixSpec& to_card,
                         const TensixCosts& own) {
  TensixCosts out = own;
  const double width = to_card.noc_link_bytes_per_cycle / from_card.noc_link_bytes_per_cycle;
  const double clock = to_card.clock_hz / from_card.clock_hz;
  for (const CostField& field : kCostFields) {
    if (field.rule == CostRule::own) continue;
    const double factor = field.rule == CostRule::noc ? width : field.rule == CostRule::latency ? clock : 1;
    out.*field.value = from.*field.value * factor;
  }
  return out;
}

}  // namespace tessera::tensix
