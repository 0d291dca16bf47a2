// Elements picked by indices and put in order.

#include "card_operators.h"
#include "ops/optional_arguments.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/gather/gather.h"
#include "tessera/targets/tensix/ops/roll/roll.h"
#include "tessera/targets/tensix/ops/sort/sort.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using OptionalPair = std::optional<std::pair<AnyTensor, AnyTensor>>;

std::optional<tensix::ValuesAndIndices> given(const OptionalPair& outputs, const char* op) {
  if (!outputs) return std::nullopt;
  return tensix::ValuesAndIndices{outputs->first.device(op), outputs->second.device(op)};
}

std::vector<AnyTensor> both(const tensix::ValuesAndIndices& y) { return {AnyTensor(y.first), AnyTensor(y.second)}; }

tensix::ScatterRule rule_of(const std::optional<std::string>& reduce) {
  if (!reduce) return tensix::ScatterRule::replace;
  if (*reduce == "add") return tensix::ScatterRule::add;
  if (*reduce == "multiply") return tensix::ScatterRule::multiply;
  if (*reduce == "amin") return tensix::ScatterRule::least;
  check(*reduce == "amax", Code::invalid_argument, "scatter: reduce is '{}', it can be add, multiply, amin or amax",
        *reduce);
  return tensix::ScatterRule::largest;
}

void bind_gathers(nb::module_& module) {
  module.def(
      "gather",
      [](const AnyTensor& x, int dim, const AnyTensor& index, bool sparse, const OptionalConfig& config,
         const OptionalTensor& out, const OptionalCores& cores) {
        check(!sparse, Code::unsupported, "gather: sparse gradients are not supported");
        check_cores("gather", cores, x);
        return AnyTensor(
            tensix::gather(x.device("gather"), dim, index.device("gather"), config, device_tensor(out, "out")));
      },
      "input"_a, "dim"_a, "index"_a, nb::kw_only(), "sparse_grad"_a = false, "memory_config"_a = nb::none(),
      "out"_a = nb::none(), "sub_core_grids"_a = nb::none());
  module.def(
      "tosa_gather",
      [](const AnyTensor& x, const AnyTensor& index, const OptionalConfig& config) {
        return AnyTensor(tensix::tosa_gather(x.device("tosa_gather"), index.device("tosa_gather"), config));
      },
      "input"_a, "index"_a, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "scatter",
      [](const AnyTensor& x, int dim, const AnyTensor& index, const AnyTensor& source, const OptionalConfig& config,
         const std::optional<std::string>& reduce, const OptionalCores& cores) {
        check_cores("scatter", cores, x);
        return AnyTensor(tensix::scatter(x.device("scatter"), dim, index.device("scatter"), source.device("scatter"),
                                         rule_of(reduce), config));
      },
      "input"_a, "dim"_a, "index"_a, "src"_a, nb::kw_only(), "memory_config"_a = nb::none(), "reduce"_a = nb::none(),
      "sub_core_grids"_a = nb::none());
  module.def(
      "scatter_add",
      [](const AnyTensor& x, int dim, const AnyTensor& index, const AnyTensor& source, const OptionalConfig& config,
         const OptionalCores& cores) {
        check_cores("scatter_add", cores, x);
        return AnyTensor(tensix::scatter(x.device("scatter_add"), dim, index.device("scatter_add"),
                                         source.device("scatter_add"), tensix::ScatterRule::add, config));
      },
      "input"_a, "dim"_a, "index"_a, "src"_a, nb::kw_only(), "memory_config"_a = nb::none(),
      "sub_core_grids"_a = nb::none());
  module.def(
      "tosa_scatter",
      [](const AnyTensor& x, const AnyTensor& index, const AnyTensor& source, const OptionalConfig& config) {
        return AnyTensor(tensix::tosa_scatter(x.device("tosa_scatter"), index.device("tosa_scatter"),
                                              source.device("tosa_scatter"), config));
      },
      "input"_a, "index"_a, "src"_a, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "index_fill",
      [](const AnyTensor& x, int dim, const AnyTensor& index, double value, const OptionalConfig& config) {
        return AnyTensor(tensix::index_fill(x.device("index_fill"), dim, index.device("index_fill"), value, config));
      },
      "input"_a, "dim"_a, "index"_a, "value"_a, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "indexed_fill",
      [](const AnyTensor& ids, const AnyTensor& a, const AnyTensor& b, const OptionalConfig& config, int dim) {
        return AnyTensor(tensix::indexed_fill(ids.device("indexed_fill"), a.device("indexed_fill"),
                                              b.device("indexed_fill"), dim, config));
      },
      "batch_id"_a, "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "memory_config"_a = nb::none(), "dim"_a = 0);
}

void bind_orders(nb::module_& module) {
  module.def(
      "sort",
      [](const AnyTensor& x, int dim, bool descending, bool stable, const OptionalConfig& config,
         const OptionalPair& out) {
        // Equal elements keep their order whether asked to or not.
        static_cast<void>(stable);
        return both(tensix::sort(x.device("sort"), dim, descending, config, given(out, "out")));
      },
      "input_tensor"_a, "dim"_a = -1, "descending"_a = false, "stable"_a = false, nb::kw_only(),
      "memory_config"_a = nb::none(), "out"_a = nb::none());
  module.def(
      "topk",
      [](const AnyTensor& x, std::int64_t k, int dim, bool largest, bool sorted, const OptionalConfig& config,
         const OptionalCores& cores, const OptionalTensor& indices, const OptionalPair& output) {
        check_cores("topk", cores, x);
        return both(tensix::topk(x.device("topk"), k, dim,
                                 {largest, sorted, config, cores, device_tensor(indices, "the indices"),
                                  given(output, "the output tensors")}));
      },
      "input_tensor"_a, "k"_a = 32, "dim"_a = -1, "largest"_a = true, "sorted"_a = true, nb::kw_only(),
      "memory_config"_a = nb::none(), "sub_core_grids"_a = nb::none(), "indices_tensor"_a = nb::none(),
      "output_tensor"_a = nb::none());
  module.def(
      "nonzero",
      [](const AnyTensor& x, const OptionalConfig& config) {
        return both(tensix::nonzero(x.device("nonzero"), config));
      },
      "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none());
}

void bind_roll(nb::module_& module) {
  module.def(
      "roll",
      [](const AnyTensor& x, const std::vector<std::int64_t>& shifts, const std::vector<int>& dims,
         const OptionalConfig& config) { return AnyTensor(tensix::roll(x.device("roll"), shifts, dims, config)); },
      "input_tensor"_a, "shifts"_a, "dim"_a, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "roll",
      [](const AnyTensor& x, std::int64_t shift, std::optional<int> dim, const OptionalConfig& config) {
        const std::vector<int> dims = dim ? std::vector<int>{*dim} : std::vector<int>{};
        return AnyTensor(tensix::roll(x.device("roll"), std::vector<std::int64_t>{shift}, dims, config));
      },
      "input_tensor"_a, "shifts"_a, "dim"_a = nb::none(), nb::kw_only(), "memory_config"_a = nb::none());
}

std::vector<std::string> bind_indexing(nb::module_& module) {
  bind_gathers(module);
  bind_orders(module);
  bind_roll(module);
  return {"gather",       "tosa_gather", "scatter", "scatter_add", "tosa_scatter", "index_fill",
          "indexed_fill", "sort",        "topk",    "nonzero",     "roll"};
}

[[maybe_unused]] const bool kIndexingAdded = add_card_operators(bind_indexing);

}  // namespace
}  // namespace tessera::python
