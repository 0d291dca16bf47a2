#pragma once

// Which kernels run CfC layers, how each would lay a layer out, and how long it would take.

#include "tessera/core/export.h"
#include "tessera/graph/ops/cfc.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_arguments.h"
#include "tessera/targets/cuda/kernels/liquid/liquid_table.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::cuda {

// A cell, or those of a wiring, where each reads what the one before it made in the same step.
struct CfcProblem {
  struct Cell {
    int units = 1;
    std::vector<int> backbone{};  // widths
  };
  int batch = 1, steps = 1, inputs = 1;
  std::vector<Cell> cells{};
  Cfc::Mode mode = Cfc::Mode::gated;
  Cfc::Activation activation = Cfc::Activation::lecun_tanh;
  Cfc::Head head = Cfc::Head::tanh;
  LiquidTimes times = LiquidTimes::none;  // none: every step takes 1
  int projection = 0;                     // width of a linear layer after the last cell; 0: none
  bool projects_last_only = false;
  bool batch_first = true;
  LiquidPrecision precision = LiquidPrecision::tf32;

  // What most networks are: gated, tangents throughout, a time of 1 for every step. Kernels with weights in registers
  // have a version for it.
  bool is_usual() const;
  int units() const;  // of all cells
  // Products of a unit. For a time of 1 the gate's two are one, unless they may be infinite and cancel: then the
  // definition gives NaN, which the sum of the weights would not.
  int heads(const Cell& cell) const;
  int inputs_of(std::size_t cell) const;
  double flops() const;  // of products
};
// An Error of Code::invalid_argument where the numbers make no layer.
TSR_API void check_problem(const CfcProblem& problem);

struct CfcRow {
  std::string_view name;
  LiquidPrecision precision;
  int samples;                // of a block
  bool in_registers = false;  // weights in registers: cells with a backbone of one layer
};
TSR_API std::span<const CfcRow> cfc_rows();

struct CfcRefusal {
  enum class Reason : std::uint8_t {
    precision,
    cluster,        // more blocks than units
    shared_memory,  // the rows of a block do not fit
    stages,         // more products in a step than a kernel takes
    structure,      // registers: not one cell with a backbone of one layer
    registers,      // weights do not fit them
  };
  Reason reason;
  std::int64_t found = 0, limit = 0;
  TSR_API std::string text() const;
};

using CfcOffer = LiquidOffer;
using CfcAnswer = std::variant<CfcOffer, CfcRefusal>;
// The best of the row's ways, by the time model. `cluster`: only with so many blocks, 0: any.
TSR_API CfcAnswer consider(const CfcRow& row, const CfcProblem& problem, const GpuSpec& gpu, int cluster = 0);

using CfcPlan = LiquidPlan<CfcRow, CfcRefusal>;
TSR_API CfcPlan plan_cfc(const CfcProblem& problem, const GpuSpec& gpu);

// Of a row with weights in registers; none where they do not fit.
struct CfcRegisterLayout {
  CfcRegisterArguments arguments{};
  std::int64_t shared_floats = 0;
};
std::optional<CfcRegisterLayout> lay_out_registers(const CfcProblem& problem, int samples, int cluster);

// Places of everything in the shared memory of a block, without addresses on the device. Sets cluster and resident of
// the arguments as the offer has them.
struct CfcLayout {
  CfcArguments arguments{};
  std::int64_t shared_floats = 0;
};
CfcLayout lay_out(const CfcProblem& problem, LiquidPrecision precision, int samples, int cluster, bool resident);
// Stages that the problem needs.
int count_stages(const CfcProblem& problem);

}  // namespace tessera::cuda
