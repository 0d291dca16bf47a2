#include "any_tensor.h"
#include "bind.h"
#include "compute_config.h"
#include "core_grid_argument.h"
#include "given_output.h"
#include "sub_devices.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/matmul/matmul.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <string>
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
  OptionalCores allowed;  // cores to work on instead of the grid's
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

// What all configs with blocks tell about themselves.
template <class Config>
nb::class_<Config> bind_blocks(nb::module_& module, const char* name) {
  nb::class_<Config> type(module, name);
  const auto number = [&](const char* key, std::int64_t tensix::MatmulProgramConfig::* member) {
    type.def_prop_rw(
        key, [member](const Config& c) { return c.config.*member; },
        [member](Config& c, std::int64_t value) { c.config.*member = value; });
  };
  number("in0_block_w", &tensix::MatmulProgramConfig::block_k);
  number("out_subblock_h", &tensix::MatmulProgramConfig::subblock_h);
  number("out_subblock_w", &tensix::MatmulProgramConfig::subblock_w);
  number("per_core_M", &tensix::MatmulProgramConfig::per_core_m);
  number("per_core_N", &tensix::MatmulProgramConfig::per_core_n);
  type.def_prop_rw(
      "compute_with_storage_grid_size",
      [](const Config& c) { return tensix::CoreCoord{c.config.grid.x, c.config.grid.y}; },
      [](Config& c, const nb::object& grid) { c.config.grid = grid_of(grid); });
  type.def_rw("allowed_worker_cores", &Config::allowed);
  type.def("__repr__", [name = std::string(name)](const Config& c) {
    return fmt::format(
        "{}(compute_with_storage_grid_size={}-{},in0_block_w={},out_subblock_h={},out_subblock_w={},per_core_M={},"
        "per_core_N={})",
        name, c.config.grid.x, c.config.grid.y, c.config.block_k, c.config.subblock_h, c.config.subblock_w,
        c.config.per_core_m, c.config.per_core_n);
  });
  return type;
}

// Those that send blocks to each other.
template <class Config>
void bind_multicast(nb::class_<Config>& type) {
  type.def_prop_ro("out_block_h", [](const Config& c) { return c.config.out_block_h; });
  type.def_prop_ro("out_block_w", [](const Config& c) { return c.config.out_block_w; });
  type.def_prop_rw(
      "fuse_batch", [](const Config& c) { return c.config.fuse_batch; },
      [](Config& c, bool value) { c.config.fuse_batch = value; });
}

void bind_programs(nb::module_& module) {
  nb::class_<MultiCore>(module, "MatmulMultiCoreProgramConfig").def("__init__", [](MultiCore* self) {
    new (self) MultiCore{{.kind = MatmulKind::multi_core, .grid = {1, 1}}, {}, {}};
  });
  nb::class_<Reuse> reuse = bind_blocks<Reuse>(module, "MatmulMultiCoreReuseProgramConfig");
  reuse.def(
      "__init__",
      [](Reuse* self, const nb::object& grid, std::int64_t k, std::int64_t h, std::int64_t w, std::int64_t m,
         std::int64_t n, const OptionalCores& allowed) {
        new (self) Reuse{{.kind = MatmulKind::reuse,
                          .grid = grid_of(grid),
                          .block_k = k,
                          .per_core_m = m,
                          .per_core_n = n,
                          .subblock_h = h,
                          .subblock_w = w},
                         {},
                         allowed};
      },
      nb::kw_only(), "compute_with_storage_grid_size"_a, "in0_block_w"_a, "out_subblock_h"_a, "out_subblock_w"_a,
      "per_core_M"_a, "per_core_N"_a, "allowed_worker_cores"_a = nb::none());
  nb::class_<Multicast2d> plane = bind_blocks<Multicast2d>(module, "MatmulMultiCoreReuseMultiCastProgramConfig");
  bind_multicast(plane);
  plane.def(
      "__init__",
      [](Multicast2d* self, const nb::object& grid, std::int64_t k, std::int64_t h, std::int64_t w,
         std::optional<std::int64_t> block_h, std::optional<std::int64_t> block_w, std::int64_t m, std::int64_t n,
         bool transpose, const nb::object& activation, bool fuse_batch, const OptionalCores& allowed) {
        check(!transpose, Code::unsupported, "transpose_mcast is not supported");
        new (self)
            Multicast2d{multicast(MatmulKind::multicast_2d, grid, k, h, w, block_h, block_w, m, n, fuse_batch, true),
                        activation_of(activation), allowed};
      },
      nb::kw_only(), "compute_with_storage_grid_size"_a, "in0_block_w"_a, "out_subblock_h"_a, "out_subblock_w"_a,
      "out_block_h"_a = nb::none(), "out_block_w"_a = nb::none(), "per_core_M"_a, "per_core_N"_a, "transpose_mcast"_a,
      "fused_activation"_a = nb::none(), "fuse_batch"_a = true, "allowed_worker_cores"_a = nb::none());
  nb::class_<Multicast1d> line = bind_blocks<Multicast1d>(module, "MatmulMultiCoreReuseMultiCast1DProgramConfig");
  bind_multicast(line);
  line.def_prop_ro("mcast_in0", [](const Multicast1d& c) { return c.config.multicast_in0; });
  line.def(
      "__init__",
      [](Multicast1d* self, const nb::object& grid, std::int64_t k, std::int64_t h, std::int64_t w,
         std::optional<std::int64_t> block_h, std::optional<std::int64_t> block_w, std::int64_t m, std::int64_t n,
         bool fuse_batch, const nb::object& activation, bool multicast_in0, bool gather_in0,
         const tensix::CoreRangeSet& hop_cores, std::int64_t receivers, bool untilizes, const OptionalCores& allowed,
         bool streams_in1) {
        check(!gather_in0 && hop_cores.empty() && receivers <= 1 && !untilizes && !streams_in1, Code::unsupported,
              "MatmulMultiCoreReuseMultiCast1DProgramConfig: gather_in0, hop_cores, num_global_cb_receivers, "
              "untilize_out and stream_in1 are not supported");
        new (self) Multicast1d{
            multicast(MatmulKind::multicast_1d, grid, k, h, w, block_h, block_w, m, n, fuse_batch, multicast_in0),
            activation_of(activation), allowed};
      },
      nb::kw_only(), "compute_with_storage_grid_size"_a, "in0_block_w"_a, "out_subblock_h"_a, "out_subblock_w"_a,
      "out_block_h"_a = nb::none(), "out_block_w"_a = nb::none(), "per_core_M"_a, "per_core_N"_a, "fuse_batch"_a = true,
      "fused_activation"_a = nb::none(), "mcast_in0"_a = true, "gather_in0"_a = false,
      "hop_cores"_a = tensix::CoreRangeSet(), "num_global_cb_receivers"_a = 1, "untilize_out"_a = false,
      "allowed_worker_cores"_a = nb::none(), "stream_in1"_a = false);
}

// Other cores than the grid's: as many as its rectangle, or more. What is computed is the same, and nothing of it stays
// in their L1.
void check_allowed(const AnyTensor& a, const OptionalCores& allowed, tensix::CoreGrid grid,
                   const std::optional<tensix::MemoryConfig>& config) {
  if (!allowed) return;
  check_cores("matmul", allowed, a);
  check(allowed->num_cores() >= grid.num_cores(), Code::invalid_argument,
        "matmul: allowed_worker_cores are {}, the grid of {} x {} has {}", allowed->num_cores(), grid.x, grid.y,
        grid.num_cores());
  const bool shards = a.memory_config().is_sharded() || (config && config->is_sharded());
  check(!shards, Code::unsupported, "matmul: allowed_worker_cores are for interleaved tensors only");
}

AnyTensor product(const char* op, const AnyTensor& a, const AnyTensor& b, const std::optional<AnyTensor>& bias,
                  bool transpose_a, bool transpose_b, const std::optional<tensix::MemoryConfig>& config,
                  const std::optional<DataType>& dtype, const AnyProgram& program, const nb::object& activation,
                  const std::optional<KernelConfig>& compute, const std::optional<tensix::CoreGrid>& core_grid,
                  const std::optional<Tile>& tile, const OptionalTensor& output, const OptionalSubDevice& part) {
  check(!tile || *tile == Tile{}, Code::unsupported, "{}: only tiles of 32 x 32 are made", op);
  if (part) cores_of(op, a, {}, part);  // it must be there; all of its cores would do the same
  MatmulOptions options;
  if (bias) options.bias = bias->device(op);
  options.transpose_a = transpose_a;
  options.transpose_b = transpose_b;
  options.memory_config = output && !config ? output->memory_config() : config;
  options.dtype = plain(dtype);
  if (program)
    std::visit(
        [&](const auto& chosen) {
          check_allowed(a, chosen.allowed, chosen.config.grid, config);
          options.program = chosen.config;
          options.fused_activation = chosen.activation;
        },
        *program);
  options.activation = activation_of(activation);
  options.compute = plain(compute);
  options.core_grid = core_grid;
  return into(op, tensix::matmul(a.device(op), b.device(op), options), output);
}

}  // namespace

void bind_matmul(nb::module_& module) {
  bind_programs(module);
  nb::object type = module.attr("Tensor");
  type.attr("__matmul__") = nb::cpp_function(
      [](const AnyTensor& a, const AnyTensor& b) {
        return AnyTensor(tensix::matmul(a.device("matmul"), b.device("matmul"), MatmulOptions()));
      },
      nb::scope(type), nb::name("__matmul__"), nb::is_method(), nb::is_operator());
  module.def(
      "matmul",
      [](const AnyTensor& a, const AnyTensor& b, bool transpose_a, bool transpose_b,
         const std::optional<tensix::MemoryConfig>& config, const std::optional<DataType>& dtype,
         const AnyProgram& program, const nb::object& activation, const std::optional<KernelConfig>& compute,
         const std::optional<tensix::CoreGrid>& grid, const std::optional<Tile>& tile, const OptionalTensor& output,
         const OptionalSubDevice& part) {
        return product("matmul", a, b, std::nullopt, transpose_a, transpose_b, config, dtype, program, activation,
                       compute, grid, tile, output, part);
      },
      "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "transpose_a"_a = false, "transpose_b"_a = false,
      "memory_config"_a = nb::none(), "dtype"_a = nb::none(), "program_config"_a = nb::none(),
      "activation"_a = nb::none(), "compute_kernel_config"_a = nb::none(), "core_grid"_a = nb::none(),
      "output_tile"_a = nb::none(), "optional_output_tensor"_a = nb::none(), "sub_device_id"_a = nb::none());
  module.def(
      "linear",
      [](const AnyTensor& a, const AnyTensor& b, const std::optional<AnyTensor>& bias, bool transpose_a,
         bool transpose_b, const std::optional<tensix::MemoryConfig>& config, const std::optional<DataType>& dtype,
         const AnyProgram& program, const nb::object& activation, const std::optional<KernelConfig>& compute,
         const std::optional<tensix::CoreGrid>& grid, const std::optional<Tile>& tile, const OptionalTensor& output,
         const OptionalSubDevice& part) {
        return product("linear", a, b, bias, transpose_a, transpose_b, config, dtype, program, activation, compute,
                       grid, tile, output, part);
      },
      "input_tensor_a"_a, "input_tensor_b"_a, nb::kw_only(), "bias"_a = nb::none(), "transpose_a"_a = false,
      "transpose_b"_a = false, "memory_config"_a = nb::none(), "dtype"_a = nb::none(), "program_config"_a = nb::none(),
      "activation"_a = nb::none(), "compute_kernel_config"_a = nb::none(), "core_grid"_a = nb::none(),
      "output_tile"_a = nb::none(), "optional_output_tensor"_a = nb::none(), "sub_device_id"_a = nb::none());
}

}  // namespace tessera::python
