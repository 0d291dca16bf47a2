#pragma once

// What an operator's row asks of the script that a plan becomes: names of tensors in Python, where they lie, and how
// the node shall run.

#include "tessera/core/dtype.h"
#include "tessera/targets/tensix/card/compute_config.h"
#include "tessera/targets/tensix/card/tensor_placement.h"
#include "tessera/targets/tensix/ops/card_layer.h"
#include "tessera/targets/tensix/ops/elementwise/vector_function.h"
#include "tessera/targets/tensix/ops/layer_config.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::tensix {

class TtnnCall {
 public:
  virtual ~TtnnCall() = default;

  virtual const std::string& node() const = 0;
  virtual const std::string& op() const = 0;  // TTNN's name
  virtual std::size_t inputs() const = 0;
  virtual const Placement& place(std::size_t i = 0) const = 0;
  virtual std::string input(std::size_t i = 0) const = 0;  // the tensor, in Python
  virtual std::string result() const = 0;
  // Nobody reads it later, and its memory is its own.
  virtual bool may_consume(std::size_t i = 0) const = 0;
  // The input is moved to DRAM by a line of its own, which is returned.
  virtual std::string move_to_dram(std::size_t i) = 0;
  // The result lies where the input was.
  virtual void in_place_of(std::size_t i) = 0;
  virtual Extent2d input_matrix() const = 0;
  virtual Extent2d output_matrix() const = 0;
  virtual const LayerConfig& config() const = 0;
  // An array for the file beside the script.
  virtual void keep_weight(const std::string& name, const Constant& array, std::vector<std::int64_t> shape) = 0;

  bool is_tiled(std::size_t i = 0) const { return place(i).layout == Layout::tile; }
  ComputeConfig compute() const;
  DType result_dtype() const { return config().dtype.value_or(DType::bfloat16); }
  DType weights_dtype() const { return config().weights_dtype.value_or(DType::bfloat8_b); }
  // "    result = function(arguments)", over as many lines as it takes.
  std::string assign(const std::string& function, const std::vector<std::string>& arguments) const;
  std::string tiles(std::size_t i = 0) const;
  // In L1 as it comes; what a plan left in DRAM is read from there.
  std::string near_tiles(std::size_t i = 0) const;
};

std::string py_dtype(DType dtype);
std::string py_layout(Layout layout);
std::string py_cores(const CoreRangeSet& cores);
std::string py_memory(const MemoryConfig& memory);
std::string py_compute(const ComputeConfig& compute);
std::string py_function(const VectorFunction& function);
std::string py_in_dram(const std::string& x);
std::string py_in_layout(const std::string& x, Layout layout);

}  // namespace tessera::tensix
