#pragma once

// A plan for a card as people look at it: what takes the time and why, what lies where and when, what was refused. One
// model, and its renderings: text, Markdown, CSV, JSON (here) and a page (plan_page.h). Times are predictions; bytes
// are those of one core unless they are said to be the card's.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/card/l1_timeline.h"
#include "tessera/targets/tensix/network/lower.h"
#include "tessera/targets/tensix/plan/card_plan.h"
#include "tessera/targets/tensix/time/pipeline.h"
#include "tessera/targets/tensix/time/program_time.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::tensix {

// Where a value lies, as far as a colour can say it.
enum class ValuePlace : std::uint8_t { dram, l1, height, width, block };
TSR_API std::string_view name(ValuePlace place);  // "DRAM", "L1 interleaved", "height sharded"
TSR_API char letter(ValuePlace place);            // D I H W B
TSR_API ValuePlace place_of(const MemoryConfig& memory);

// Shares of a value in each core's L1, row by row over the grid: runs of (cores, percent).
using CoreShares = std::vector<std::pair<int, int>>;

struct PlanReport {
  static constexpr int kSchema = 1;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  struct Move {
    std::string kind, value, to, why;
    ValuePlace from_place = ValuePlace::dram, to_place = ValuePlace::dram;
    double ns = 0;
  };
  struct Step {
    std::string node, op, config, result, value, why, note;
    std::string dtype, weights_dtype;  // empty: has none
    std::optional<MathFidelity> fidelity;
    std::vector<std::string> reads, frees;
    ValuePlace place = ValuePlace::dram;  // of its result
    std::vector<Move> moves;              // before it
    std::int64_t cores = 0, programs = 0;
    double ns = 0, share = 0;          // of all kernels, moves included
    std::optional<TimePart> bound_by;  // none: it takes no time that is known
    TimeBasis basis = TimeBasis::assumed;
    std::vector<BusyPart> busy;  // longest first
    double roof_fraction = 0;
    double flop = 0, dram_bytes = 0;  // of the card; 0: none, or not known
    std::int64_t circular_buffer_bytes = 0, halo_bytes = 0, output_bytes = 0, l1_peak_bytes = 0;
    std::optional<double> pcc;
    std::vector<WeighedConfig> alternatives;  // that can run first, fastest first
    std::size_t working = kNone;              // cores, in `shares`
    bool working_known = false;               // else their number alone is
    std::size_t fullest = kNone;              // of its programs, in `l1.programs`
  };

  struct L1Program {
    std::size_t step = 0;
    std::string op;
    std::int64_t circular_buffer_bytes = 0, tensor_bytes = 0, small_bytes = 0;
    std::int64_t free_bytes = 0, largest_free_bytes = 0;  // in one piece
  };
  struct L1Buffer {
    enum class Kind : std::uint8_t { tensor, working, small };  // working: a halo or a copy within one step
    Kind kind = Kind::tensor;
    std::string value, label;
    std::int64_t address = 0, bytes = 0;
    std::size_t first = 0, end = 0;  // programs
    std::size_t step = 0;            // made in
    ValuePlace place = ValuePlace::l1;
    std::size_t shares = kNone;  // in `shares`; kNone: not known
  };
  struct L1 {
    std::int64_t base_address = 0, limit_address = 0, end_address = 0;
    std::vector<L1Program> programs;
    std::vector<L1Buffer> buffers;
    std::size_t peak = kNone;  // program with most bytes in use
  };
  // Where a batch's time goes, end to end: the parts add up.
  enum class PartKind : std::uint8_t { device, host };
  struct Part {
    std::string name;
    double ns = 0;
    std::string what;
    PartKind kind = PartKind::device;
  };
  struct Advice {
    std::string what, detail;
    double at_most_ns = 0;  // that it could save; 0: nothing is claimed
    std::vector<std::size_t> steps;
  };

  std::string model, machine, machine_title, network_digest, machine_digest;
  Objective objective = Objective::device;
  std::vector<std::string> inputs, pins, folded_inputs;
  std::int64_t batch = 1, passes = 1, pass_images = 1, grouped_images = 1, cards = 1;
  bool metal_trace = false;
  int command_queues = 1;
  double min_pcc = 0;
  std::optional<double> pcc;
  // Times and programs are those of one pass.
  double kernels_ns = 0, device_ns = 0, end_to_end_ns = 0;
  std::int64_t programs = 0, l1_peak_bytes = 0, l1_limit_bytes = 0;
  int grid_x = 0, grid_y = 0;
  std::vector<Step> steps;
  std::vector<CoreShares> shares;
  L1 l1;
  std::vector<Part> parts;
  std::array<double, 4> flop_per_s{};  // of the card, LoFi to HiFi4
  double dram_bytes_per_s = 0;
  std::vector<Advice> advice;

  double frames_per_s(double ns) const {
    return ns > 0 ? static_cast<double>(batch * cards) / static_cast<double>(passes) / ns * 1e9 : 0;
  }
  double moves_ns() const;
  std::size_t fullest_step() const;  // kNone if there are none
};

// Empty where there is none.
template <class T>
std::string_view name_or_none(const std::optional<T>& value) {
  return value ? name(*value) : std::string_view();
}

// What a report is made from. A plan says the most; each of the others adds what it knows.
struct PlanReportSources {
  const tensix::CardPlan& plan;
  const Machine& machine;
  const tensix::LoweredGraph* network = nullptr;  // operations of a step
  const L1Timeline* timeline = nullptr;           // L1 by address
  const tensix::EndToEnd* time = nullptr;         // what the host adds, part by part
};
TSR_API PlanReport plan_report(const PlanReportSources& sources);

// The same for a plan alone: it is followed once more on a card without values for what it does not say itself, which
// is addresses and the host's part of the time. A plan that its network or machine refuses is an Error.
TSR_API PlanReport rehearsed_plan_report(const tensix::CardPlan& plan, const Machine& machine,
                                         const tensix::LoweredGraph& network);

// "What would help next", from what the report has so far; the largest possible gain first.
TSR_API std::vector<PlanReport::Advice> plan_advice(const PlanReport& report);

TSR_API std::string plan_report_text(const PlanReport& report);
TSR_API std::string plan_report_markdown(const PlanReport& report);
TSR_API std::string plan_report_csv(const PlanReport& report);   // a row for each step and move
TSR_API std::string plan_report_json(const PlanReport& report);  // everything

// By the file's extension: .html, .md, .csv, .json or .txt. Others are an Error, which the check throws beforehand.
TSR_API void check_plan_report_name(const std::filesystem::path& path);
TSR_API void write_plan_report(const std::filesystem::path& path, const PlanReport& report);

}  // namespace tessera::tensix
