#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"
#include "tessera/graph/ops/internal/walk.h"
#include "tessera/graph/ops/matmul.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

namespace tessera {
namespace {

// A letter, or a dimension under the dots counted from the last: kDots - 0, kDots - 1, ... Sorting labels puts the dots
// first, in the order of their dimensions, and then the letters as the implicit output wants them.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kDots = -1;
constexpr Label kDotsHere = 0;  // stands for all dimensions under the dots until the rank is known

struct Equation {
  std::vector<Labels> terms;
  std::optional<Labels> output;
};

Equation parse(const std::string& text, std::string_view op) {
  Equation equation;
  equation.terms.emplace_back();
  Labels* term = &equation.terms.back();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (std::isalpha(static_cast<unsigned char>(c))) {
      term->push_back(c);
    } else if (text.compare(i, 3, "...") == 0) {
      if (std::ranges::count(*term, kDotsHere) != 0)
        fail(Code::invalid_argument, "{}: a term of '{}' has two ellipses", op, text);
      term->push_back(kDotsHere);
      i += 2;
    } else if (text.compare(i, 2, "->") == 0 && !equation.output) {
      term = &equation.output.emplace();
      i += 1;
    } else if (c == ',' && !equation.output) {
      term = &equation.terms.emplace_back();
    } else {
      fail(Code::invalid_argument, "{}: character {} of '{}' makes no sense there", op, i + 1, text);
    }
  }
  return equation;
}

// The dots of a term replaced by `count` labels of their own.
Labels spelled_out(const Labels& term, std::size_t count) {
  Labels out;
  for (const Label label : term) {
    if (label != kDotsHere)
      out.push_back(label);
    else
      for (std::size_t i = count; i-- > 0;) out.push_back(kDots - static_cast<Label>(i));
  }
  return out;
}

struct Resolved {
  std::vector<Labels> terms;
  Labels output;
  std::map<Label, std::int64_t> extents;
};

Resolved resolve(const Einsum& op, const std::vector<std::vector<std::int64_t>>& shapes, std::string_view name) {
  const Equation equation = parse(op.equation, name);
  if (equation.terms.size() != shapes.size())
    fail(Code::invalid_argument, "{}: '{}' has {} terms for {} inputs", name, op.equation, equation.terms.size(),
         shapes.size());
  Resolved r;
  std::size_t most_dots = 0;
  std::map<Label, int> uses;
  for (std::size_t t = 0; t < shapes.size(); ++t) {
    const bool dots = std::ranges::count(equation.terms[t], kDotsHere) != 0;
    const std::size_t letters = equation.terms[t].size() - (dots ? 1 : 0), rank = shapes[t].size();
    if (dots ? rank < letters : rank != letters)
      fail(Code::invalid_argument, "{}: term {} of '{}' names {} dimensions, its input has {}", name, t, op.equation,
           letters, rank);
    most_dots = std::max(most_dots, rank - letters);
    r.terms.push_back(spelled_out(equation.terms[t], rank - letters));
    std::map<Label, std::int64_t> own;
    for (std::size_t d = 0; d < rank; ++d) {
      const Label label = r.terms[t][d];
      ++uses[label];
      const std::int64_t extent = shapes[t][d];
      const auto clash = [&](std::int64_t other) {
        fail(Code::invalid_argument, "{}: '{}' gives one label to extents {} and {}", name, op.equation, other, extent);
      };
      const auto [mine, first] = own.emplace(label, extent);
      if (!first && mine->second != extent && mine->second != TensorType::kUnknown && extent != TensorType::kUnknown)
        clash(mine->second);
      const auto [all, fresh] = r.extents.emplace(label, extent);
      if (fresh || all->second == extent || extent == 1) continue;
      if (all->second == 1 || all->second == TensorType::kUnknown)
        all->second = extent;
      else if (extent != TensorType::kUnknown)
        clash(all->second);
    }
  }
  if (equation.output) {
    r.output = spelled_out(*equation.output, most_dots);
    for (const Label label : r.output) {
      if (!r.extents.contains(label))
        fail(Code::invalid_argument, "{}: the output of '{}' has a label that no input has", name, op.equation);
      if (std::ranges::count(r.output, label) != 1)
        fail(Code::invalid_argument, "{}: the output of '{}' has a label twice", name, op.equation);
    }
  } else {
    for (std::size_t i = most_dots; i-- > 0;) r.output.push_back(kDots - static_cast<Label>(i));
    for (const auto& [label, count] : uses)
      if (label > 0 && count == 1) r.output.push_back(label);
  }
  return r;
}

std::vector<std::int64_t> extents_of(const Labels& labels, const std::map<Label, std::int64_t>& extents) {
  std::vector<std::int64_t> out;
  for (const Label label : labels) out.push_back(extents.at(label));
  return out;
}

double index_space(const std::map<Label, std::int64_t>& extents) {
  double product = 1;
  for (const auto& [label, extent] : extents) product *= static_cast<double>(extent);
  return product;
}

// One factor: dims as they lie in memory, which may be 1 where the label's extent is more.
template <class A>
struct Factor {
  Labels labels;
  std::vector<std::int64_t> dims;
  std::vector<A> values;
};

// The factor's strides along `order`: summed where a label repeats (a diagonal), 0 where it is missing or has extent 1.
template <class A>
std::vector<std::int64_t> strides_along(const Factor<A>& factor, const Labels& order) {
  const std::vector<std::int64_t> own = internal::strides_of(factor.dims);
  std::vector<std::int64_t> strides(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t d = 0; d < factor.labels.size(); ++d)
      if (factor.labels[d] == order[i] && factor.dims[d] != 1) strides[i] += own[d];
  return strides;
}

// Multiplies two factors and sums over every label that is not kept.
template <class A>
Factor<A> contract(const Factor<A>& a, const Factor<A>& b, const Labels& kept,
                   const std::map<Label, std::int64_t>& extents) {
  Labels order = kept;
  for (const Labels* labels : {&a.labels, &b.labels})
    for (const Label label : *labels)
      if (std::ranges::count(order, label) == 0) order.push_back(label);
  Factor<A> out{kept, extents_of(kept, extents), {}};
  out.values.assign(static_cast<std::size_t>(Shape(out.dims).volume()), A{0});
  internal::walk<3>(extents_of(order, extents),
                    {strides_along(a, order), strides_along(b, order), strides_along(out, order)}, [&](const auto& at) {
                      out.values[static_cast<std::size_t>(at[2])] +=
                          a.values[static_cast<std::size_t>(at[0])] * b.values[static_cast<std::size_t>(at[1])];
                    });
  return out;
}

// What must survive when factors i and j are multiplied: labels of theirs that the output or another factor has.
template <class A>
Labels survivors(const std::vector<Factor<A>>& factors, std::size_t i, std::size_t j, const Labels& output) {
  Labels kept;
  for (const std::size_t one : {i, j})
    for (const Label label : factors[one].labels) {
      bool needed = std::ranges::count(output, label) != 0;
      for (std::size_t k = 0; k < factors.size() && !needed; ++k)
        needed = k != i && k != j && std::ranges::count(factors[k].labels, label) != 0;
      if (needed && std::ranges::count(kept, label) == 0) kept.push_back(label);
    }
  return kept;
}

template <class A>
Factor<A> contract_all(std::vector<Factor<A>> factors, const Labels& output,
                       const std::map<Label, std::int64_t>& extents) {
  // Two at a time, the pair with the smallest result first: a product of all at once would walk the whole index space.
  while (factors.size() > 2) {
    std::array<std::size_t, 2> best{0, 1};
    double least = -1;
    for (std::size_t i = 0; i < factors.size(); ++i)
      for (std::size_t j = i + 1; j < factors.size(); ++j) {
        double volume = 1;
        for (const Label label : survivors(factors, i, j, output)) volume *= static_cast<double>(extents.at(label));
        if (least < 0 || volume < least) {
          least = volume;
          best = {i, j};
        }
      }
    Factor<A> product =
        contract(factors[best[0]], factors[best[1]], survivors(factors, best[0], best[1], output), extents);
    factors[best[0]] = std::move(product);
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(best[1]));
  }
  if (factors.size() == 1) factors.push_back({{}, {}, {A{1}}});
  return contract(factors[0], factors[1], output, extents);
}

}  // namespace

std::vector<TensorType> infer(const Einsum& op, const Knowns& inputs) {
  inputs.expect_count(1, inputs.size());
  internal::expect_number(inputs, 0, inputs.op());
  std::vector<std::vector<std::int64_t>> shapes;
  bool known = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs.expect_same_type(0, i);
    inputs.expect_rank(i, 0, Shape::kMaxRank);
    if (inputs[i].dims)
      shapes.push_back(*inputs[i].dims);
    else
      known = false;
  }
  if (known) {
    const Resolved r = resolve(op, shapes, inputs.op());
    return {internal::possible(TensorType(inputs[0].type, extents_of(r.output, r.extents)))};
  }
  const Equation equation = parse(op.equation, inputs.op());
  const bool rank_known = equation.output && std::ranges::count(*equation.output, kDotsHere) == 0;
  if (!rank_known) return {TensorType(inputs[0].type, std::nullopt)};
  return {internal::possible(
      TensorType(inputs[0].type, std::vector<std::int64_t>(equation.output->size(), TensorType::kUnknown)))};
}

Work work(const Einsum& op, const Types& inputs, const Types& outputs) {
  Work work = streaming_work(inputs, outputs);
  std::vector<std::vector<std::int64_t>> shapes;
  for (const TensorType& t : inputs) {
    if (!t.is_static()) return work;
    shapes.push_back(*t.dims);
  }
  const Resolved r = resolve(op, shapes, Einsum::kName);
  double outputs_count = 1;
  for (const std::int64_t extent : extents_of(r.output, r.extents)) outputs_count *= static_cast<double>(extent);
  // Nothing is computed where labels are only moved about.
  const double space = index_space(r.extents);
  if (inputs.size() > 1 || space > outputs_count) work.flops = (inputs.size() > 1 ? 2.0 : 1.0) * space;
  return work;
}

std::vector<Array> reference(const Einsum& op, const Arrays& inputs) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) shapes.push_back(inputs[i].shape().dims());
  const Resolved r = resolve(op, shapes, inputs.op());
  Array y(inputs[0].type(), Shape(extents_of(r.output, r.extents)));
  visit_element_type(y.type(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = internal::Accumulator<T>;
    std::vector<Factor<A>> factors;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      Factor<A>& factor = factors.emplace_back(Factor<A>{r.terms[i], shapes[i], {}});
      for (const T v : inputs[i].as<T>()) factor.values.push_back(internal::accumulated(v));
    }
    const Factor<A> result = contract_all(std::move(factors), r.output, r.extents);
    const auto ys = y.as<T>();
    for (std::size_t i = 0; i < ys.size(); ++i) ys[i] = internal::finished<T>(result.values[i]);
  });
  return {std::move(y)};
}

}  // namespace tessera
