#pragma once

// Convolutions as lines of a table: the configuration columns of one that asked the real ttnn, and its result columns.

#include "tessera/core/csv.h"
#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/report/table.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_trial.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::tensix {

// The words of TTNN for types and layouts: "bfloat8_b", "HEIGHT", "ROW_MAJOR". `what` names the option or column.
TSR_API DType dtype_named(const std::string& text, const std::string& what);
TSR_API Layout layout_named(const std::string& text, const std::string& what);
TSR_API TensorMemoryLayout sharding_named(const std::string& text, const std::string& what);
TSR_API MathFidelity fidelity_named(const std::string& text, const std::string& what);

// One row: N, H, W, C, K, k, s, p, groups, dil, shard, abh, act_db, w_db, in_dtype, w_dtype, out_dtype, bias, fidelity,
// l1acc, fp32acc, out_layout, split_reader. Also understood where the table has them: reuse, dealloc, full_inner,
// abw_div, reshard. A table without a reuse column says so in the name: a word "reuse" between underscores.
TSR_API Conv2dProblem problem_of_row(const Csv& csv, std::size_t row);

// The result columns, in order.
TSR_API std::vector<Column> conv2d_result_columns();
TSR_API std::vector<Cell> conv2d_result_cells(const Conv2dTrial& trial);

}  // namespace tessera::tensix
