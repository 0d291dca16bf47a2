#pragma once

// Convolutions as lines of a table: the configuration columns of one that asked the real ttnn, and its result columns.

#include "tessera/core/csv.h"
#include "tessera/report/table.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_trial.h"

#include <string>

namespace tessera::cli {

// The words of TTNN for types and layouts: "bfloat8_b", "HEIGHT", "ROW_MAJOR". `what` names the option or column.
DType dtype_named(const std::string& text, const std::string& what);
Layout layout_named(const std::string& text, const std::string& what);
tensix::TensorMemoryLayout sharding_named(const std::string& text, const std::string& what);
tensix::MathFidelity fidelity_named(const std::string& text, const std::string& what);

// One row: N, H, W, C, K, k, s, p, groups, dil, shard, abh, act_db, w_db, in_dtype, w_dtype, out_dtype, bias, fidelity,
// l1acc, fp32acc, out_layout, split_reader. Also understood where the table has them: reuse, dealloc, full_inner,
// abw_div, reshard. A table without a reuse column says so in the name: a word "reuse" between underscores.
tensix::Conv2dProblem problem_of_row(const Csv& csv, std::size_t row);

// The result columns, in order.
std::vector<Column> result_columns();
std::vector<Cell> result_cells(const tensix::Conv2dTrial& trial);

}  // namespace tessera::cli
