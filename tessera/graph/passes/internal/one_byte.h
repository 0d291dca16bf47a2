#pragma once

#include "tessera/graph/passes/internal/rewriter.h"

#include <unordered_map>

namespace tessera::internal {

// A value as a function of the elements of one tensor of bytes, copied into a graph of its own.
class OneByte {
 public:
  explicit OneByte(const Rewriter& r) : r_(r) {}

  // The value in that graph; none if it depends on anything else, or through other operators.
  ValueId follow(ValueId id);

  Graph& graph() { return graph_; }
  ValueId bytes() const { return source_; }  // the tensor
  Array all_bytes() const;                   // the 256 cases: the input of the graph

 private:
  static constexpr int kMostNodes = 16;

  ValueId follow_bytes(ValueId id);

  const Rewriter& r_;
  Graph graph_;
  std::unordered_map<ValueId, ValueId> done_;
  ValueId source_ = kNoValue, input_ = kNoValue;
  int nodes_ = 0;
};

}  // namespace tessera::internal
