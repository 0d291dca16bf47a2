#include "any_tensor.h"
#include "bind.h"
#include "compute_config.h"
#include "core_grid_argument.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/matmul/matmul.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <variant>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using tensix::MatmulKind;
using tensix::MatmulOptions;

// One class of program config for each kind, as users spell them; the activation goes with it.
template <MatmulKind kKind>
struct Program {
  tensix::MatmulProgramConfig config{};
  std::optional<tensix::VectorFunction> activation;
};
using MultiCore = Program<MatmulKind::multi_core>;
using Reuse = Program<MatmulKind::reuse>;
using Multicast2d = Program<MatmulKind::multicast_2d>;
using Multicast1d = Program<MatmulKind::multicast_1d>;
using AnyProgram = std::optional<std::variant<MultiCore, Reuse, Multicast2d, Multicast1d>>;

std::optional<tensix::VectorFunction> activation_of(const nb::object& value) {
  return value.is_none() ? std::nullopt : std::optional(function_of(value, true));
}

// What the multicast configs of one and of two dimensions have in common.
tensix::MatmulProgramConfig multicast(MatmulKind kind, const nb::object& grid, std::int64_t k, std::int64_t h,
                                      std::int64_t w, std::optional<std::int64_t> block_h,
                                      std::optional<std::int64_t> block_w, std::int64_t m, std::int64_t n,
                                      bool fuse_batch, bool multicast_in0) {
  return {.kind = kind,
          .grid = grid_of(grid),
          .block_k = k,
          .per_core_m = m,
          .per_core_n = n,
          .out_block_h = block_h.value_or(0),
          .out_block_w = block_w.value_or(0),
          .subblock_h = h,
          .subblock_w = w,
          .multicast_in0 = multicast_in0,
          .fuse_batch = fuse_batch};
}

void bind_programs(nb::module_& module) {
  nb::class_<MultiCore>(module, "MatmulMultiCoreProgramConfig").def("__init__", [](MultiCore* self) {
    new (self) MultiCore{{.kind = MatmulKind::multi_core, .grid = {1, 1}}, {}};
  });
  nb::class_<Reuse>(module, "MatmulMultiCoreReuseProgramConfig")
      .def(
          "__init__",
          [](Reuse* self, const nb::object& grid, std::int64_t k, std::int64_t h, std::int64_t w, std::int64_t m,
             std::int64_t n) {
            new (self) Reuse{{.kind = MatmulKind::reuse,
                              .grid = grid_of(grid),
                              .block_k = k,
                              .per_core_m = m,
                              .per_core_n = n,
                              .subblock_h = h,
                              .subblock_w = w},
                             {}};
          },
          nb::kw_only(), "compute_with_storage_grid_size"_a, "in0_block_w"_a, "out_subblock_h"_a, "out_subblock_w"_a,
          "per_core_M"_a, "per_core_N"_a);
  nb::class_<Multicast2d>(module, "MatmulMultiCoreReuseMultiCastProgramConfig")
      .def(
          "__init__",
          [](Multicast2d* self, const nb::object& grid, std::int64_t k, std::int64_t h, std::int64_t w,
             std::optional<std::int64_t> block_h, std::optional<std::int64_t> block_w, std::int64_t m, std::int64_t n,
             bool transpose, const nb::object& activation, bool fuse_batch) {
            check(!transpose, Code::unsupported, "transpose_mcast is not supported");
            new (self) Multicast2d{
                multicast(MatmulKind::multicast_2d, grid, k, h, w, block_h, block_w, m, n, fuse_batch, true),
                activation_of(activation)};
          },
          nb::kw_only(), "compute_with_storage_grid_size"_a, "in0_block_w"_a, "out_subblock_h"_a, "out_subblock_w"_a,
          "out_block_h"_a = nb::none(), "out_block_w"_a = nb::none(), "per_core_M"_a, "per_core_N"_a,
          "transpose_mcast"_a, "fused_activation"_a = nb::none(), "fuse_batch"_a = true);
  nb::class_<Multicast1d>(module, "MatmulMultiCoreReuseMultiCast1DProgramConfig")
      .def(
          "__init__",
          [](Multicast1d* self, const nb::object& grid, std::int64_t k, std::int64_t h, std::int64_t w,
             std::optional<std::int64_t> block_h, std::optional<std::int64_t> block_w, std::int64_t m, std::int64_t n,
             bool fuse_batch, const nb::object& activation, bool multicast_in0) {
            new (self) Multicast1d{
                multicast(MatmulKind::multicast_1d, grid, k, h, w, block_h, block_w, m, n, fuse_batch, multicast_in0),
                activation_of(activation)};
          },
          nb::kw_only(), "compute_with_storage_grid_size"_a, "in0_block_w"_a, "out_subblock_h"_a, "out_subblock_w"_a,
          "out_block_h"_a = nb::none(), "out_block_w"_a = nb::none(), "per_core_M"_a, "per_core_N"_a,
          "fuse_batch"_a = true, "fused_activation"_a = nb::none(), "mcast_in0"_a = true);
}

AnyTensor product(const char* op, const AnyTensor& a, const AnyTensor& b, const std::optional<AnyTensor>& bias,
                  bool transpose_a, bool transpose_b, const std::optional<tensix::MemoryConfig>& config,
                  const std::optional<DataType>& dtype, const AnyProgram& program, const nb::object& activation,
                  const std::optional<KernelConfig>& compute, const std::optional<tensix::CoreGrid>& core_grid) {
  MatmulOptions options;
  if (bias) options.bias = bias->device(op);
  options.transpose_a = transpose_a;
  options.transpose_b = transpose_b;
  options.memory_config = config;
  options.dtype = plain(dtype);
  if (program)
    std::visit(
        [&](const auto& chosen) {
          options.program = chosen.config;
          options.fused_activation = chosen.activation;
        },
        *program);
  options.activation = activation_of(activation);
  options.compute = plain(compute);
  options.core_grid = core_grid;
  return AnyTensor(tensix::matmul(a.device(op), b.device(op), options));
}

}  // namespace

void bind_matmul(nb::module_& module) {
  bind_programs(module);
  module.def(
      "matmul",
      [](const AnyTensor& a, const AnyTensor& b, bool transpose_a, bool transpose_b,
         const std::optional<tensix::MemoryConfig>& config, const std::optional<DataType>& dtype,
         const AnyProgram& program, const nb::object& activation, const std::optional<KernelConfig>& compute,
         const std::optional<tensix::CoreGrid>& grid) {
        return product("matmul", a, b, std::nullopt, transpose_a, transpose_b, config, dtype, program, activation,
                       compute, grid);
      },
      "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "transpose_a"_a = false, "transpose_b"_a = false,
      "memory_config"_a = nb::none(), "dtype"_a = nb::none(), "program_config"_a = nb::none(),
      "activation"_a = nb::none(), "compute_kernel_config"_a = nb::none(), "core_grid"_a = nb::none());
  module.def(
      "linear",
      [](const AnyTensor& a, const AnyTensor& b, const std::optional<AnyTensor>& bias, bool transpose_a,
         bool transpose_b, const std::optional<tensix::MemoryConfig>& config, const std::optional<DataType>& dtype,
         const AnyProgram& program, const nb::object& activation, const std::optional<KernelConfig>& compute,
         const std::optional<tensix::CoreGrid>& grid) {
        return product("linear", a, b, bias, transpose_a, transpose_b, config, dtype, program, activation, compute,
                       grid);
      },
      "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "bias"_a = nb::none(), "transpose_a"_a = false,
      "transpose_b"_a = false, "memory_config"_a = nb::none(), "dtype"_a = nb::none(), "program_config"_a = nb::none(),
      "activation"_a = nb::none(), "compute_kernel_config"_a = nb::none(), "core_grid"_a = nb::none());
}

}  // namespace tessera::python
