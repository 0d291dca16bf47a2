// tessera.fused_conv2d_maxpool: a convolution and a pool in one pass.

#include "arrays.h"
#include "bind.h"

#include "tessera/core/error.h"
#include "tessera/session/fused_conv2d_maxpool.h"

#include <nanobind/stl/string.h>

#include <cstdint>
#include <utility>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using tessera::Array;

SessionOptions options_of(int threads, bool exact) {
  check(threads >= 0, Code::invalid_argument, "{} threads cannot run anything", threads);
  SessionOptions options;
  options.threads = threads;
  options.exact = exact;
  return options;
}

FusedConv2dMaxPool make_layer(const nb::object& w, const nb::object& bias, std::int64_t pool_size, int threads,
                              bool exact) {
  const SessionOptions options = options_of(threads, exact);
  const Array weights = import_host_array(w, ElementType::float32);
  const Array offsets = import_host_array(bias, weights.type());
  const nb::gil_scoped_release release;
  return FusedConv2dMaxPool(weights, offsets, pool_size, options);
}

nb::object call(const FusedConv2dMaxPool& layer, const nb::object& x) {
  const Array image = import_host_array(x, layer.session().inputs()[0].type.type);
  Array y;
  {
    const nb::gil_scoped_release release;
    y = layer(image);
  }
  return export_host_array(std::move(y));
}

}  // namespace

void bind_fused_conv2d_maxpool(nb::module_& module) {
  nb::class_<FusedConv2dMaxPool>(
      module, "FusedConv2dMaxPool",
      "max_pool(conv2d(X, W) + bias) with the weights packed once: layer = FusedConv2dMaxPool(W, bias, 2); "
      "layer(X).\n\n"
      "It keeps a copy of the weights, and plans for up to eight shapes of X. It may be used from several threads.\n\n"
      "threads: how many; 0 for all that the process may use\n"
      "exact: no kernels that round more than the definition (Winograd's)")
      .def(
          "__init__",
          [](FusedConv2dMaxPool* self, const nb::object& w, const nb::object& bias, std::int64_t pool_size, int threads,
             bool exact) { new (self) FusedConv2dMaxPool(make_layer(w, bias, pool_size, threads, exact)); },
          "W"_a, "bias"_a, "pool_size"_a = 1, nb::kw_only(), "threads"_a = 0, "exact"_a = false,
          nb::sig("def __init__(self, W: typing.Any, bias: typing.Any, pool_size: int = 1, *, threads: int = 0, exact: "
                  "bool = False) -> None"))
      .def_prop_ro("pool_size", &FusedConv2dMaxPool::pool_size)
      .def("__call__", call, "X"_a, nb::sig("def __call__(self, X: typing.Any) -> typing.Any"),
           "X [N, Cin, H, W] to [N, Cout, floor((H - Kh + 1) / pool_size), floor((W - Kw + 1) / pool_size)].");
  module.def(
      "fused_conv2d_maxpool",
      [](const nb::object& x, const nb::object& w, const nb::object& bias, std::int64_t pool_size, int threads,
         bool exact) { return call(make_layer(w, bias, pool_size, threads, exact), x); },
      "X"_a, "W"_a, "bias"_a, "pool_size"_a = 1, nb::kw_only(), "threads"_a = 0, "exact"_a = false,
      nb::sig(
          "def fused_conv2d_maxpool(X: typing.Any, W: typing.Any, bias: typing.Any, pool_size: int = 1, *, threads: "
          "int = 0, exact: bool = False) -> typing.Any"),
      "max_pool(conv2d(X, W) + bias) in one pass over the image.\n\n"
      "X [N, Cin, H, W], W [Cout, Cin, Kh, Kw], bias [Cout]: float32, float16 or bfloat16 (ml_dtypes), all the same.\n"
      "No padding, stride 1; the pool's window is its stride, what it leaves over is dropped, and 1 is no pool.\n"
      "The result has the type of X; sums are float32, rounded once.\n\n"
      "Every call plans and packs the weights anew, since they may have changed; FusedConv2dMaxPool does it once.");
}

}  // namespace tessera::python
