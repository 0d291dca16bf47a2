#pragma once

// Outputs of two networks side by side, run after run.

#include "tessera/core/array.h"
#include "tessera/quantize/quantize.h"

#include <cstdint>
#include <vector>

namespace tessera {

class AccuracySum {
 public:
  // An Error where an output has another shape than before or than expected.
  void add(const std::vector<Array>& found, const std::vector<Array>& expected);
  QuantizedAccuracy accuracy() const;

 private:
  // Means and moments, added up without losing digits to large means.
  struct Output {
    double count = 0, mean_found = 0, mean_expected = 0, found = 0, expected = 0, both = 0;
    double largest_error = 0, largest = 0;

    void add(const Array& values, const Array& wanted);
  };

  std::vector<Output> outputs_;
  std::int64_t ranked_ = 0, changed_ = 0;  // rows of classes
};

}  // namespace tessera
