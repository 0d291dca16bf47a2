#pragma once

// The time of one program on the cores, from the record it left: the one place where queues and networks ask for it.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/tensix/card/trace.h"
#include "tessera/targets/tensix/time/program_time.h"

#include <optional>
#include <span>

namespace tessera::tensix {

// Whether the card ran it: what goes to or comes from the host is a transfer, no program.
TSR_API bool is_program(const TraceRecord& record);

// Of a machine whose file has them.
TSR_API std::optional<TensixCosts> costs_of(const Machine& machine);

// What a program does, with counts that follow from its tensors filled in. None where its record does not say.
TSR_API std::optional<ProgramWork> work_of(const TraceRecord& record, const TensixSpec& card);

// By its work at the card's prices. Where either is unknown, the time is a lower bound and says so (TimeBasis::bound).
TSR_API StepTime time_of(const TraceRecord& record, const TensixSpec& card, const std::optional<TensixCosts>& costs);

// Of programs that follow each other, transfers to and from the host left out: times add up, and what bounds them is
// what bounds the longest one.
TSR_API StepTime time_of(std::span<const TraceRecord> records, const TensixSpec& card,
                         const std::optional<TensixCosts>& costs);

// Every byte that the record moves, at the rate of the memory it comes from or goes to, all cores at work. Arithmetic
// is not in it.
TSR_API double lower_bound_ns(const TensixSpec& card, const TraceRecord& record);

}  // namespace tessera::tensix
