#pragma once

// How long a program takes on a card: its counts (card/program_work.h) times the card's prices
// (machine/tensix_costs.h), overlapped as its buffers allow.

#include "tessera/core/export.h"
#include "tessera/machine/tensix_costs.h"
#include "tessera/targets/tensix/card/program_work.h"

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tessera::tensix {

// What stands behind a time.
enum class TimeBasis : std::uint8_t {
  fitted,   // times of this kind of program were measured on this generation of cards
  scaled,   // measured on the other generation and carried over by clock and width of the NoC
  assumed,  // nobody has measured such a program: prices of its parts only
  bound,    // nobody has said what it does: bytes that it moves, a lower bound
};
TSR_API std::string_view name(TimeBasis basis);

// What cores and memories do in a program. Parts overlap; the longest one bounds it.
enum class TimePart : std::uint8_t {
  reader,
  weights,
  multicast,
  dram,
  tilize,
  math,
  pack,
  writer,
  fixed,
  bytes,  // all that is moved, where no more than a lower bound is known (TimeBasis::bound)
};
// Those that have a busy time of their own.
inline constexpr std::array kTimeParts{TimePart::reader, TimePart::weights, TimePart::multicast,
                                       TimePart::dram,   TimePart::tilize,  TimePart::math,
                                       TimePart::pack,   TimePart::writer,  TimePart::fixed};
TSR_API std::string_view name(TimePart part);

struct StepTime {
  // Busy times, ns. They overlap, so they do not add up to `ns`.
  double reader_ns = 0, weights_ns = 0, multicast_ns = 0, dram_ns = 0;
  double tilize_ns = 0, math_ns = 0, pack_ns = 0, writer_ns = 0;
  double fixed_ns = 0;  // starting, and what each block costs besides its work
  double ns = 0;        // from start to end of its kernels
  TimePart bound_by = TimePart::fixed;
  double roof_ns = 0;  // what the matrix engine or DRAM alone would take at their published rates
  TimeBasis basis = TimeBasis::assumed;

  bool fitted() const { return basis == TimeBasis::fitted; }
  double roof_fraction() const { return ns > 0 ? roof_ns / ns : 0; }
};

// The field of a part's busy time; of `bytes` the whole time.
TSR_API double StepTime::* busy_field(TimePart part);

struct BusyPart {
  TimePart part = TimePart::fixed;
  double ns = 0;
};
// Parts that take time at all, the longest first.
TSR_API std::vector<BusyPart> busy_parts(const StepTime& time);

TSR_API StepTime time_of(const ProgramWork& work, const TensixSpec& card, const TensixCosts& costs);

// Prices of one generation from those of another: what cannot be carried over stays as `own` has it.
TSR_API TensixCosts carried_over(const TensixCosts& from, const TensixSpec& from_card, const TensixSpec& to_card,
                                 const TensixCosts& own);

}  // namespace tessera::tensix
