// Inference BatchNorm becomes a product and a sum with one number for each channel.

#include "tessera/graph/passes/internal/rewriter.h"
#include "tessera/graph/passes/pass.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using internal::Rewriter;

void spell_out(Rewriter& r, Rewriter::NodeAt at) {
  const auto* norm = std::get_if<BatchNorm>(&at->op);
  if (norm == nullptr || norm->training || !at->fused.empty()) return;
  const TensorType& x = r.type(at->inputs[0]);
  if (!x.dims || x.rank() < 2) return;
  std::vector<std::vector<double>> given;  // scale, bias, mean, variance
  for (std::size_t i = 1; i < 5; ++i) {
    const Array* array = r.constant(at->inputs[i]);
    if (array == nullptr) return;
    given.push_back(array->to_double());
  }
  std::vector<double> factors, terms;
  for (std::size_t c = 0; c < given[0].size(); ++c) {
    factors.push_back(given[0][c] / std::sqrt(given[3][c] + static_cast<double>(norm->epsilon)));
    terms.push_back(given[1][c] - given[2][c] * factors.back());
  }
  std::vector<std::int64_t> dims(static_cast<std::size_t>(x.rank()) - 1, 1);
  dims[0] = static_cast<std::int64_t>(factors.size());
  const std::string name = at->name;
  const auto constant = [&](const std::string& what, const std::vector<double>& values) {
    return r.add_constant(name + what, internal::floating_array(x.type, Shape(dims), values));
  };
  const ValueId scaled =
      r.insert(at, name + ".scaled", Binary{Binary::Kind::mul}, {at->inputs[0], constant(".factors", factors)});
  r.become(*at, Binary{Binary::Kind::add}, {scaled, constant(".terms", terms)});
}

}  // namespace

bool spell_out_batch_norm(Graph& graph) { return internal::rewrite_until_settled(graph, spell_out); }

}  // namespace tessera
