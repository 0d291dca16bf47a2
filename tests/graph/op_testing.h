#pragma once

// Running one operator in a test: infer() with every input known, then reference(), which must agree.

#include "tessera/core/array.h"
#include "tessera/graph/operands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

// An input that a test leaves out.
inline constexpr std::nullopt_t absent = std::nullopt;

using TestInputs = std::vector<std::optional<Array>>;

template <class T>
Array array_of(Shape shape, std::initializer_list<T> values) {
  if constexpr (std::is_same_v<T, bool>) {
    Array out(ElementType::boolean, std::move(shape));
    std::copy(values.begin(), values.end(), out.as<bool>().begin());
    return out;
  } else {
    return Array::of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
}

inline Array floats(Shape shape, std::initializer_list<float> values) {
  return array_of<float>(std::move(shape), values);
}
inline Array int64s(std::initializer_list<std::int64_t> values) {
  return array_of<std::int64_t>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

// 0, 1, 2, ... of float32.
inline Array counting(Shape shape) {
  Array out(ElementType::float32, std::move(shape));
  float next = 0;
  for (float& v : out.as<float>()) v = next++;
  return out;
}

// What infer() says of inputs of which only the types are known.
template <class X>
std::vector<TensorType> infer_types_only(const X& op, const std::vector<TensorType>& types) {
  std::vector<Known> knowns;
  for (const TensorType& type : types) knowns.push_back({type, nullptr, true});
  return infer(op, Knowns(X::kName, knowns));
}

// The same with the values known too.
template <class X>
std::vector<TensorType> infer_all(const X& op, const TestInputs& inputs) {
  std::vector<Known> knowns;
  for (const std::optional<Array>& input : inputs) {
    if (input)
      knowns.push_back({TensorType(input->type(), input->shape()), &*input, true});
    else
      knowns.push_back({.type = {}, .constant = nullptr, .present = false});
  }
  return infer(op, Knowns(X::kName, knowns));
}

inline void expect_fits(const TensorType& inferred, const Array& computed) {
  EXPECT_EQ(inferred.type, computed.type());
  if (!inferred.dims) return;
  ASSERT_EQ(inferred.rank(), computed.shape().rank()) << inferred.to_string() << " against " << computed.to_string();
  for (std::size_t d = 0; d < inferred.dims->size(); ++d)
    if ((*inferred.dims)[d] != TensorType::kUnknown) {
      EXPECT_EQ((*inferred.dims)[d], computed.shape().dims()[d])
          << inferred.to_string() << " against " << computed.to_string();
    }
}

// The outputs of the reference. Types inferred with and without the values of the inputs must fit them.
template <class X>
std::vector<Array> run(const X& op, const TestInputs& inputs) {
  std::vector<const Array*> pointers;
  std::vector<Known> types;
  for (const std::optional<Array>& input : inputs) {
    pointers.push_back(input ? &*input : nullptr);
    if (input)
      types.push_back({TensorType(input->type(), input->shape()), nullptr, true});
    else
      types.push_back({.type = {}, .constant = nullptr, .present = false});
  }
  const std::vector<TensorType> inferred = infer_all(op, inputs), guessed = infer(op, Knowns(X::kName, types));
  std::vector<Array> outputs = reference(op, Arrays(X::kName, pointers));
  EXPECT_EQ(inferred.size(), outputs.size());
  EXPECT_EQ(guessed.size(), outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    expect_fits(inferred[i], outputs[i]);
    expect_fits(guessed[i], outputs[i]);
  }
  return outputs;
}

template <class X>
Array run_one(const X& op, const TestInputs& inputs) {
  std::vector<Array> outputs = run(op, inputs);
  EXPECT_EQ(outputs.size(), 1U);
  return outputs.front();
}

// The message of the Error that an action throws; empty if it throws none.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace tessera
