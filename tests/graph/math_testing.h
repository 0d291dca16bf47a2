#pragma once

// Comparisons for the tests of operators that compute.

#include "op_testing.h"

#include <cmath>
#include <string>
#include <vector>

namespace tessera {

// The elements are exactly these; NaN equals NaN.
template <class T>
void expect_values(const Array& array, const Shape& shape, const std::vector<T>& wanted) {
  EXPECT_EQ(array.shape(), shape);
  const auto found = array.as<T>();
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if constexpr (is_floating_v<T>) {
      if (std::isnan(static_cast<float>(wanted[i]))) {
        EXPECT_TRUE(std::isnan(static_cast<float>(found[i])))
            << "element " << i << " is " << static_cast<float>(found[i]);
        continue;
      }
    }
    EXPECT_EQ(found[i], static_cast<T>(wanted[i])) << "element " << i;
  }
}

inline void expect_close(const Array& array, const Shape& shape, const std::vector<double>& wanted,
                         double tolerance = 1e-6) {
  EXPECT_EQ(array.shape(), shape);
  const std::vector<double> found = array.to_double();
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], tolerance) << "element " << i;
}

// The first output of an operator with these inputs.
template <class X>
Array first_of(const X& op, const std::vector<std::optional<Array>>& inputs) {
  return run(op, inputs).at(0);
}

template <class X>
std::vector<TensorType> inferred_from(const X& op, const std::vector<TensorType>& types) {
  std::vector<Known> knowns;
  for (const TensorType& type : types) knowns.push_back({type, nullptr, true});
  return infer(op, Knowns(X::kName, knowns));
}

// What infer() has against these types; empty if nothing.
template <class X>
std::string refusal_of(const X& op, const std::vector<TensorType>& types) {
  try {
    inferred_from(op, types);
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

}  // namespace tessera
