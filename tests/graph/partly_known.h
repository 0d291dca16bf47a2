#pragma once

// infer() of inputs of which only types are known, and what it says when it refuses them.

#include "tessera/core/error.h"
#include "tessera/graph/operands.h"

#include <string>
#include <vector>

namespace tessera {

constexpr std::int64_t kAny = TensorType::kUnknown;

inline TensorType type_of(std::vector<std::int64_t> dims, ElementType type = ElementType::float32) {
  return {type, std::move(dims)};
}
inline TensorType any_rank(ElementType type = ElementType::float32) { return {type, std::nullopt}; }

// Types of outputs as text, as "float32[1, ?]".
template <class X>
std::string inferred(const X& op, const std::vector<TensorType>& inputs) {
  std::vector<Known> knowns;
  for (const TensorType& type : inputs) knowns.push_back({type, nullptr, true});
  std::string text;
  for (const TensorType& type : infer(op, Knowns(X::kName, knowns)))
    text += (text.empty() ? "" : " ") + type.to_string();
  return text;
}

// The message of the refusal; "accepted" if there was none.
template <class X>
std::string refusal(const X& op, const std::vector<TensorType>& inputs) {
  try {
    inferred(op, inputs);
  } catch (const Error& error) {
    return error.message();
  }
  return "accepted";
}

}  // namespace tessera
