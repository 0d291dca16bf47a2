#pragma once

// What the files of recognize_activations and of eliminate_transposes share.

#include "tessera/graph/passes/internal/rewriter.h"

namespace tessera::internal {

// A product as a whole: one number times values. Single numbers that it is multiplied with or divided by are in the
// number, powers of 2 and 3 are repeated values.
struct Product {
  double scale = 1;
  std::vector<ValueId> factors;
};
// Looks through products that nobody else reads; `id` itself may have more readers.
Product product_of(const Rewriter& r, ValueId id);

// Whether a constant of that type means this number: within its rounding.
bool means(double found, double wanted, ElementType type);

// The operand of a unary operator that makes `id` for one reader.
std::optional<ValueId> inside(const Rewriter& r, ValueId id, Unary::Kind kind);
// The other operand of a sum with that number, made for one reader.
std::optional<ValueId> less(const Rewriter& r, ValueId id, double number);

// Each rewrites one node, or what it is the last of, and says whether it did.
bool recognize_bounds(Rewriter& r, Rewriter::NodeAt at);
bool recognize_layer_norm(Rewriter& r, Rewriter::NodeAt at);
bool recognize_mean(Rewriter& r, Rewriter::NodeAt at);
bool simplify_reshape(Rewriter& r, Node& node);

}  // namespace tessera::internal
