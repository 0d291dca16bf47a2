#pragma once

// Values inside others: with channels last, what a Concat joins can be made where it belongs in the result, and what a
// Split gives can be read where it lies in its input. Then neither copies anything.

#include "tessera/core/export.h"
#include "tessera/kernel_plan/plan.h"

namespace tessera {

// The buffer whose bytes a buffer has, or in whose pixels it lies, in the end.
TSR_API int root_of(const Plan& plan, int buffer);

// Makes buffers parts of others (PlanBuffer::part_of), wherever whoever makes or reads them can do with pixels further
// apart (Offer::wide_inputs, wide_outputs). Not the caller's own inputs and outputs, constants, and what is a view or
// has one. Concats and Splits are left with the bytes that they still copy. For plans whose buffers have no place yet.
TSR_API void place_parts(Plan& plan);

}  // namespace tessera
