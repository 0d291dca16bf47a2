#include "tessera/quantize/quantized_accuracy.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

bool has_classes(const Array& output) {
  return output.type() == ElementType::float32 && output.shape().rank() == 2 && output.shape()[1] >= 2;
}

std::int64_t rows_that_differ(const Array& found, const Array& expected) {
  const auto columns = static_cast<std::size_t>(expected.shape()[1]);
  const auto first_class = [&](const Array& array, std::size_t row) {
    const auto scores = array.as<float>().subspan(row * columns, columns);
    return std::ranges::max_element(scores) - scores.begin();
  };
  std::int64_t differ = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(expected.shape()[0]); ++row)
    differ += first_class(found, row) != first_class(expected, row) ? 1 : 0;
  return differ;
}

}  // namespace

void AccuracySum::Output::add(const Array& values, const Array& wanted) {
  const std::vector<double> x = values.to_double(), y = wanted.to_double();
  for (std::size_t i = 0; i < x.size(); ++i) {
    count += 1;
    const double dx = x[i] - mean_found, dy = y[i] - mean_expected;
    mean_found += dx / count;
    mean_expected += dy / count;
    found += dx * (x[i] - mean_found);
    expected += dy * (y[i] - mean_expected);
    both += dx * (y[i] - mean_expected);
    const double error = std::abs(x[i] - y[i]);
    largest_error = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(largest_error, error);
    largest = std::max(largest, std::abs(y[i]));
  }
}

void AccuracySum::add(const std::vector<Array>& found, const std::vector<Array>& expected) {
  outputs_.resize(expected.size());
  check(found.size() == expected.size(), Code::internal, "{} outputs instead of {}", found.size(), expected.size());
  bool counted = false;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    check(found[i].shape() == expected[i].shape(), Code::internal, "output {} is {} instead of {}", i,
          found[i].to_string(), expected[i].to_string());
    outputs_[i].add(found[i], expected[i]);
    if (counted || !has_classes(expected[i]) || !has_classes(found[i])) continue;
    ranked_ += expected[i].shape()[0];
    changed_ += rows_that_differ(found[i], expected[i]);
    counted = true;
  }
}

QuantizedAccuracy AccuracySum::accuracy() const {
  QuantizedAccuracy out;
  for (const Output& output : outputs_) {
    if (output.found > 0 && output.expected > 0) {
      const double pcc = output.both / std::sqrt(output.found * output.expected);
      out.pcc = std::min(out.pcc.value_or(1), pcc);
    } else if (output.expected > 0) {
      out.pcc = std::min(out.pcc.value_or(0), 0.0);  // what should vary does not
    }
    const double relative = output.largest_error == 0 ? 0 : output.largest_error / output.largest;
    out.max_relative = std::max(out.max_relative, relative);
  }
  if (ranked_ > 0) out.drop = static_cast<double>(changed_) / static_cast<double>(ranked_);
  return out;
}

}  // namespace tessera
