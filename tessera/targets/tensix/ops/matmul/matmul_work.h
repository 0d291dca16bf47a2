#pragma once

// What a matrix product does, from its plan.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/program_work.h"
#include "tessera/targets/tensix/ops/matmul/matmul_plan.h"

namespace tessera::tensix {

TSR_API ProgramWork matmul_work(const MatmulProblem& problem, const MatmulPlan& plan);

}  // namespace tessera::tensix
