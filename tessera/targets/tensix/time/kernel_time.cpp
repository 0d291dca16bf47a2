#include "tessera/targets/tensix/time/kernel_time.h"

#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/tensor_work.h"

#include <algorithm>

namespace tessera::tensix {

bool is_program(const TraceRecord& record) {
  return std::ranges::none_of(record.transfers,
                              [](const Transfer& t) { return t.from == MemoryKind::host || t.to == MemoryKind::host; });
}

std::optional<TensixCosts> costs_of(const Machine& machine) {
  if (std::ranges::none_of(machine.figures, [](const Figure& figure) { return figure.group == "cost"; }))
    return std::nullopt;
  return tensix_costs(machine);
}

std::optional<ProgramWork> work_of(const TraceRecord& record, const TensixSpec& card) {
  if (!record.work || record.work->counted() || record.work->operands.empty())
    return record.work ? std::optional(*record.work) : std::nullopt;
  // Shards stay on their cores; what is interleaved is dealt to all.
  std::int64_t cores = card.cores();
  for (const OperandFacts& x : record.work->operands)
    if (x.sharded() && !x.dram_shards) cores = x.cores;
  if (card_op(record.work->kind).count == nullptr) return std::nullopt;
  return tensor_work(record.work->kind, record.work->operands, cores);
}

StepTime time_of(const TraceRecord& record, const TensixSpec& card, const std::optional<TensixCosts>& costs) {
  const std::optional<ProgramWork> work = costs ? work_of(record, card) : std::nullopt;
  if (work) return time_of(*work, card, *costs);
  StepTime t;
  t.ns = t.roof_ns = lower_bound_ns(card, record);
  t.bound_by = TimePart::bytes;
  t.basis = TimeBasis::bound;
  return t;
}

StepTime time_of(std::span<const TraceRecord> records, const TensixSpec& card,
                 const std::optional<TensixCosts>& costs) {
  StepTime sum;
  sum.basis = TimeBasis::fitted;
  double longest = 0;
  for (const TraceRecord& record : records) {
    if (!is_program(record)) continue;
    const StepTime t = time_of(record, card, costs);
    for (const TimePart part : kTimeParts) sum.*busy_field(part) += t.*busy_field(part);
    sum.ns += t.ns;
    sum.roof_ns += t.roof_ns;
    sum.basis = std::max(sum.basis, t.basis);
    if (t.ns > longest) longest = t.ns, sum.bound_by = t.bound_by;
  }
  return sum;
}

double lower_bound_ns(const TensixSpec& card, const TraceRecord& record) {
  const double dram = card.dram_achieved_bytes_per_s.value_or(card.dram_model_bytes_per_s);
  const double noc = card.noc_link_achieved_bytes_per_cycle * card.clock_hz;  // of one core
  double seconds = 0;
  for (const Transfer& t : record.transfers) {
    if (t.from == MemoryKind::dram || t.to == MemoryKind::dram) seconds += static_cast<double>(t.bytes) / dram;
    if (t.from == MemoryKind::l1 && t.to == MemoryKind::l1)
      seconds += static_cast<double>(std::max(t.busiest_bank_bytes, t.bytes / card.cores())) / noc;
  }
  return seconds * 1e9;
}

}  // namespace tessera::tensix
