#include "tessera/machine/machine.h"

#include "tessera/core/error.h"
#include "tessera/machine/fleet_spec.h"

#include <algorithm>

namespace tessera {

std::string_view name(FigureKind kind) {
  switch (kind) {
    case FigureKind::measured: return "measured";
    case FigureKind::published: return "published";
    case FigureKind::derived: return "derived";
    case FigureKind::assumed: return "assumed";
  }
  return "assumed";
}

std::span<const FigureKind> all_figure_kinds() {
  static constexpr FigureKind kAll[] = {FigureKind::measured, FigureKind::published, FigureKind::derived,
                                        FigureKind::assumed};
  return kAll;
}

std::optional<FigureKind> parse_figure_kind(std::string_view text) {
  for (const FigureKind kind : all_figure_kinds())
    if (text == name(kind)) return kind;
  return std::nullopt;
}

MachineSummary summarize(const Machine& machine) {
  if (machine.tensix) {
    const TensixSpec& s = *machine.tensix;
    const std::optional<FleetSpec> fleet = fleet_of(machine);
    const std::int64_t boards = fleet && fleet->hosts ? *fleet->hosts * fleet->cards_per_host : 1;
    const std::int64_t chips = s.chips * boards;
    return {.cores = static_cast<int>(chips * s.cores()),
            .core_kind = "Tensix",
            .on_chip_bytes = chips * s.cores() * s.l1_bytes,
            .dram_bytes = chips * s.dram_banks * (s.dram_bank_bytes + s.dram_bank_base_bytes),
            .peak_flop_per_s = static_cast<double>(chips) * s.matmul_flop_per_s(),
            .peak_of = "LoFi"};
  }
  if (machine.neuron) {
    const NeuronSpec& s = *machine.neuron;
    return {.cores = s.cores,
            .core_kind = "NeuronCore",
            .on_chip_bytes = s.cores * (s.sbuf_bytes() + s.psum_bytes()),
            .dram_bytes = s.hbm_bytes,
            .peak_flop_per_s = s.chip_fp16_flop_per_s,
            .peak_of = "bf16"};
  }
  if (machine.unified) {
    const UnifiedSpec& s = *machine.unified;
    return {.cores = s.neural_engine_cores,
            .core_kind = "Neural Engine",
            .on_chip_bytes = std::nullopt,
            .dram_bytes = s.memory_bytes,
            .peak_flop_per_s = s.gpu_flop_per_s,
            .peak_of = "GPU f32"};
  }
  if (machine.cpu) {
    const CpuSpec& s = *machine.cpu;
    return {.cores = s.cores,
            .core_kind = "CPU",
            .on_chip_bytes = s.cores * (s.l1d_bytes + s.l2_bytes) + s.l3_bytes.value_or(0),
            .dram_bytes = std::nullopt,
            .peak_flop_per_s = std::max(s.f32_all_flop_per_s, s.bf16_all_flop_per_s.value_or(0)),
            .peak_of = s.bf16_all_flop_per_s.value_or(0) > s.f32_all_flop_per_s ? "bf16" : "f32"};
  }
  if (machine.gpu) {
    const GpuSpec& s = *machine.gpu;
    return {.cores = s.multiprocessors,
            .core_kind = "SM",
            .on_chip_bytes = s.l2_bytes + s.multiprocessors * (s.shared_bytes + s.register_file_bytes),
            .dram_bytes = s.memory_bytes,
            .peak_flop_per_s = s.bf16_flop_per_s,
            .peak_of = "bf16"};
  }
  fail(Code::internal, "machine '{}' has no spec of its family '{}'", machine.name, machine.family);
}

const TensixSpec& tensix_of(const Machine& machine) {
  check(machine.tensix.has_value(), Code::invalid_argument,
        Hint{"machines of the family tensix are listed by `tessera machines`"},
        "'{}' is a machine of the family {}, but a tensix machine is needed here", machine.name, machine.family);
  return *machine.tensix;
}

const NeuronSpec& neuron_of(const Machine& machine) {
  check(machine.neuron.has_value(), Code::invalid_argument,
        Hint{"machines of the family neuron are listed by `tessera machines`"},
        "'{}' is a machine of the family {}, but a neuron machine is needed here", machine.name, machine.family);
  return *machine.neuron;
}

}  // namespace tessera
