// softmax, layer_norm, rms_norm, embedding.

#include "card_operators.h"
#include "compute_config.h"
#include "core_grid_argument.h"
#include "given_output.h"
#include "ops/optional_arguments.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/embedding/embedding.h"
#include "tessera/targets/tensix/ops/layer_norm/layer_norm.h"
#include "tessera/targets/tensix/ops/softmax/softmax.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

// How statistics are found does not show in values here: they are those of double numbers, rounded.
struct DefaultNorm {
  DefaultNorm(bool reduction, bool rsqrt, bool welford)
      : legacy_reduction(reduction), legacy_rsqrt(rsqrt), use_welford(welford) {}
  bool legacy_reduction = false, legacy_rsqrt = false, use_welford = false;
};
struct ShardedNorm {
  tensix::NormBlocks blocks;
  DefaultNorm how;
};
using NormProgram = std::optional<std::variant<DefaultNorm, ShardedNorm>>;

std::optional<tensix::NormBlocks> blocks_of(const char* op, tensix::RowNorm norm, const NormProgram& program,
                                            bool reciprocals) {
  const auto* sharded = program ? std::get_if<ShardedNorm>(&*program) : nullptr;
  const bool welford = program && (sharded != nullptr ? sharded->how : std::get<DefaultNorm>(*program)).use_welford;
  check(!welford || norm == tensix::RowNorm::layer, Code::unsupported, "{}: Welford's algorithm is not for this norm",
        op);
  check(!reciprocals || welford, Code::invalid_argument, Hint{"give a program config with use_welford=True"},
        "{}: reciprocals are of use to Welford's algorithm only", op);
  return sharded != nullptr ? std::optional(sharded->blocks) : std::nullopt;
}

void bind_row_norm(nb::module_& module, const char* op, tensix::RowNorm norm) {
  module.def(
      op,
      [op, norm](const AnyTensor& x, float epsilon, const OptionalTensor& weight, const OptionalTensor& bias,
                 const OptionalTensor& residual, const OptionalConfig& config, const NormProgram& program,
                 const std::optional<KernelConfig>& compute, const OptionalTensor& reciprocals) {
        const std::optional<tensix::NormBlocks> blocks = blocks_of(op, norm, program, reciprocals.has_value());
        return AnyTensor(
            tensix::layer_norm(norm, x.device(op),
                               {epsilon, device_tensor(weight, "the weight"), device_tensor(bias, "the bias"),
                                device_tensor(residual, "the residual"), config, plain(compute), blocks}));
      },
      "input_tensor"_a, nb::kw_only(), "epsilon"_a = 1e-12F, "weight"_a = nb::none(), "bias"_a = nb::none(),
      "residual_input_tensor"_a = nb::none(), "memory_config"_a = nb::none(), "program_config"_a = nb::none(),
      "compute_kernel_config"_a = nb::none(), "recip_tensor"_a = nb::none());
}

void bind_norm_programs(nb::module_& module) {
  nb::class_<DefaultNorm>(module, "LayerNormDefaultProgramConfig")
      .def(nb::init<bool, bool, bool>(), nb::kw_only(), "legacy_reduction"_a = false, "legacy_rsqrt"_a = false,
           "use_welford"_a = false)
      .def_rw("legacy_reduction", &DefaultNorm::legacy_reduction)
      .def_rw("legacy_rsqrt", &DefaultNorm::legacy_rsqrt)
      .def_rw("use_welford", &DefaultNorm::use_welford);
  nb::class_<ShardedNorm>(module, "LayerNormShardedMultiCoreProgramConfig")
      .def(
          "__init__",
          [](ShardedNorm* self, const nb::object& grid, std::int64_t subblock_w, std::int64_t block_h,
             std::int64_t block_w, bool in_place, bool legacy_reduction, bool legacy_rsqrt, bool use_welford) {
            new (self) ShardedNorm{{grid_of(grid), subblock_w, block_h, block_w, in_place},
                                   {legacy_reduction, legacy_rsqrt, use_welford}};
          },
          nb::kw_only(), "compute_with_storage_grid_size"_a, "subblock_w"_a, "block_h"_a, "block_w"_a, "inplace"_a,
          "legacy_reduction"_a = false, "legacy_rsqrt"_a = false, "use_welford"_a = false)
      .def_prop_rw(
          "subblock_w", [](const ShardedNorm& c) { return c.blocks.subblock_w; },
          [](ShardedNorm& c, std::int64_t v) { c.blocks.subblock_w = v; })
      .def_prop_rw(
          "block_h", [](const ShardedNorm& c) { return c.blocks.block_h; },
          [](ShardedNorm& c, std::int64_t v) { c.blocks.block_h = v; })
      .def_prop_rw(
          "block_w", [](const ShardedNorm& c) { return c.blocks.block_w; },
          [](ShardedNorm& c, std::int64_t v) { c.blocks.block_w = v; })
      .def_prop_rw(
          "inplace", [](const ShardedNorm& c) { return c.blocks.in_place; },
          [](ShardedNorm& c, bool v) { c.blocks.in_place = v; })
      .def_prop_rw(
          "legacy_reduction", [](const ShardedNorm& c) { return c.how.legacy_reduction; },
          [](ShardedNorm& c, bool v) { c.how.legacy_reduction = v; })
      .def_prop_rw(
          "legacy_rsqrt", [](const ShardedNorm& c) { return c.how.legacy_rsqrt; },
          [](ShardedNorm& c, bool v) { c.how.legacy_rsqrt = v; })
      .def_prop_rw(
          "use_welford", [](const ShardedNorm& c) { return c.how.use_welford; },
          [](ShardedNorm& c, bool v) { c.how.use_welford = v; });
}

enum class EmbeddingsType : std::uint8_t { GENERIC, PADDED, BINARY };

std::vector<std::string> bind_normalization(nb::module_& module) {
  nb::enum_<EmbeddingsType>(module, "EmbeddingsType", "What is known of an embedding's indices.")
      .value("GENERIC", EmbeddingsType::GENERIC)
      .value("PADDED", EmbeddingsType::PADDED)
      .value("BINARY", EmbeddingsType::BINARY);
  bind_norm_programs(module);
  module.def(
      "softmax",
      [](const AnyTensor& x, int dim, const OptionalConfig& config, const std::optional<KernelConfig>& compute, bool) {
        return AnyTensor(tensix::softmax(x.device("softmax"), dim, config, plain(compute)));
      },
      "input_tensor"_a, "dim"_a = -1, nb::kw_only(), "memory_config"_a = nb::none(),
      "compute_kernel_config"_a = nb::none(), "numeric_stable"_a = true);
  bind_row_norm(module, "layer_norm", tensix::RowNorm::layer);
  bind_row_norm(module, "rms_norm", tensix::RowNorm::rms);
  module.def(
      "embedding",
      [](const AnyTensor& x, const AnyTensor& weight, std::optional<std::int64_t> padding, std::optional<Layout> layout,
         EmbeddingsType kind, const std::optional<DataType>& dtype, const OptionalConfig& config,
         const OptionalTensor& output) {
        // The kind says which rows a core keeps at hand; which row an index means is the same in all.
        const Shape& w = weight.shape();
        check(kind != EmbeddingsType::BINARY || (w.rank() > 1 && w[w.rank() - 2] == 2), Code::invalid_argument,
              "embedding: BINARY is for weights of 2 rows, not {}", weight.shape().to_string());
        check(kind != EmbeddingsType::PADDED || padding, Code::invalid_argument,
              "embedding: PADDED needs a padding_idx");
        tensix::DeviceTensor y = tensix::embedding(x.device("embedding"), weight.device("embedding"), layout, config);
        if (dtype && *dtype != y.spec().dtype()) {
          check(y.spec().layout() == Layout::tile, Code::unsupported, Hint{"pass layout=TILE_LAYOUT"},
                "embedding: Can only typecast output embeddings when producing TILE_LAYOUT output");
          y = tensix::typecast(y, *dtype, config);
        }
        return into("embedding", y, output);
      },
      "input_tensor"_a, "weight"_a, nb::kw_only(), "padding_idx"_a = nb::none(), "layout"_a = nb::none(),
      "embeddings_type"_a = EmbeddingsType::GENERIC, "dtype"_a = nb::none(), "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none());
  return {"softmax", "layer_norm", "rms_norm", "embedding"};
}

[[maybe_unused]] const bool kNormalizationAdded = add_card_operators(bind_normalization);

}  // namespace
}  // namespace tessera::python
