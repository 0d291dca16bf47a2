#pragma once

// A tensor as the time model sees it (program_work.h).

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/program_work.h"
#include "tessera/targets/tensix/card/tensor_spec.h"

#include <memory>
#include <vector>

namespace tessera::tensix {

// A matrix as it lies in memory, padding included.
TSR_API OperandFacts facts_of(const Extent2d& matrix, DType dtype, Layout layout, const MemoryConfig& memory);
TSR_API OperandFacts facts_of(const TensorSpec& spec);

// A program whose counts follow from its tensors, the result last.
TSR_API std::shared_ptr<const ProgramWork> work_on(ProgramKind kind, std::vector<OperandFacts> operands);

}  // namespace tessera::tensix
