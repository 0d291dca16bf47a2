// Masked softmax, heads, attention: ttnn.transformer and what ttnn.experimental has of it.

#include "tessera/targets/tensix/ops/attention/attention.h"

#include "card_operators.h"
#include "compute_config.h"
#include "core_grid_argument.h"
#include "ops/optional_arguments.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/attention/heads.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/shape_ops/shape_ops.h"
#include "tessera/targets/tensix/ops/softmax/masked_softmax.h"
#include "tessera/targets/tensix/ops/softmax/softmax.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using tensix::AttentionBlocks;
using tensix::SoftmaxBlocks;

struct DefaultSoftmax {};
using SoftmaxProgram = std::variant<DefaultSoftmax, SoftmaxBlocks>;

std::optional<SoftmaxBlocks> blocks_of(const SoftmaxProgram& program) {
  const auto* blocks = std::get_if<SoftmaxBlocks>(&program);
  return blocks != nullptr ? std::optional(*blocks) : std::nullopt;
}

void bind_configs(nb::module_& module) {
  nb::class_<DefaultSoftmax>(module, "SoftmaxDefaultProgramConfig").def(nb::init<>());
  nb::class_<SoftmaxBlocks>(module, "SoftmaxShardedMultiCoreProgramConfig")
      .def(
          "__init__",
          [](SoftmaxBlocks* self, const nb::object& grid, std::int64_t subblock_w, std::int64_t block_h,
             std::int64_t block_w) { new (self) SoftmaxBlocks{grid_of(grid), subblock_w, block_h, block_w}; },
          nb::kw_only(), "compute_with_storage_grid_size"_a, "subblock_w"_a, "block_h"_a, "block_w"_a)
      .def_rw("subblock_w", &SoftmaxBlocks::subblock_w)
      .def_rw("block_h", &SoftmaxBlocks::block_h)
      .def_rw("block_w", &SoftmaxBlocks::block_w);
  nb::class_<AttentionBlocks>(module, "SDPAProgramConfig")
      .def(
          "__init__",
          [](AttentionBlocks* self, const nb::object& grid, const OptionalCores& cores, std::int64_t query_rows,
             std::int64_t key_rows, std::optional<bool> approximate, std::int64_t cores_per_head) {
            new (self) AttentionBlocks{grid_of(grid), cores, query_rows, key_rows, approximate, cores_per_head};
          },
          nb::kw_only(), "compute_with_storage_grid_size"_a, "sub_core_grids"_a = nb::none(), "q_chunk_size"_a,
          "k_chunk_size"_a, "exp_approx_mode"_a = nb::none(), "max_cores_per_head_batch"_a = 16)
      .def_rw("q_chunk_size", &AttentionBlocks::query_rows)
      .def_rw("k_chunk_size", &AttentionBlocks::key_rows)
      .def_rw("exp_approx_mode", &AttentionBlocks::approximate_exp)
      .def_rw("max_cores_per_head_batch", &AttentionBlocks::cores_per_head);
}

// TTNN without numeric_stable leaves the largest score in; the values here are those of the stable form in both.
void bind_softmax_forms(nb::module_& module) {
  module.def(
      "softmax_in_place",
      [](AnyTensor& x, int dim, const SoftmaxProgram& program, const std::optional<KernelConfig>& compute, bool) {
        const int rank = x.shape().rank();
        check(dim >= -rank && dim < rank, Code::invalid_argument,
              "softmax_in_place: dimension out of range (expected to be in range of [-{}, {}], but got {})", rank,
              rank - 1, dim);
        check(dim == -1 || dim == rank - 1, Code::unsupported, Hint{"use softmax"},
              "softmax_in_place: only dim -1 is supported, not {}", dim);
        return AnyTensor(
            tensix::masked_softmax("softmax_in_place", x.device("softmax_in_place"),
                                   {.in_place = true, .blocks = blocks_of(program), .compute = plain(compute)}));
      },
      "input_tensor"_a, "dim"_a = -1, nb::kw_only(), "program_config"_a = DefaultSoftmax{},
      "compute_kernel_config"_a = nb::none(), "numeric_stable"_a = true);
  module.def(
      "scale_mask_softmax",
      [](const AnyTensor& x, std::optional<float> scale, const OptionalTensor& mask, const OptionalConfig& config,
         bool causal, const std::optional<KernelConfig>& compute, bool) {
        return AnyTensor(tensix::masked_softmax("scale_mask_softmax", x.device("scale_mask_softmax"),
                                                {.scale = scale,
                                                 .mask = device_tensor(mask, "the mask"),
                                                 .causal = causal,
                                                 .memory_config = config,
                                                 .compute = plain(compute)}));
      },
      "input_tensor"_a, "scale"_a = nb::none(), "mask"_a = nb::none(), nb::kw_only(), "memory_config"_a = nb::none(),
      "is_causal_mask"_a = false, "compute_kernel_config"_a = nb::none(), "numeric_stable"_a = true);
  for (const char* op : {"scale_mask_softmax_in_place", "scale_causal_mask_hw_dims_softmax_in_place"}) {
    const bool of_matrices = op[6] == 'c';
    const auto call = [op, of_matrices](AnyTensor& x, std::optional<float> scale, const OptionalTensor& mask,
                                        const SoftmaxProgram& program, bool causal,
                                        const std::optional<KernelConfig>& compute) {
      check(!of_matrices || (mask && scale && blocks_of(program)), Code::unsupported,
            Hint{"use scale_mask_softmax_in_place"}, "{}: a scale, a mask and a sharded program config are needed", op);
      return AnyTensor(tensix::masked_softmax(op, x.device(op),
                                              {.scale = scale,
                                               .mask = device_tensor(mask, "the mask"),
                                               .causal = causal || of_matrices,
                                               .in_place = true,
                                               .blocks = blocks_of(program),
                                               .compute = plain(compute)}));
    };
    if (of_matrices)
      module.def(
          op,
          [call](AnyTensor& x, std::optional<float> scale, const OptionalTensor& mask, const SoftmaxProgram& program,
                 const std::optional<KernelConfig>& compute,
                 bool) { return call(x, scale, mask, program, true, compute); },
          "input_tensor"_a, "scale"_a = nb::none(), "mask"_a = nb::none(), nb::kw_only(),
          "program_config"_a = DefaultSoftmax{}, "compute_kernel_config"_a = nb::none(), "numeric_stable"_a = false);
    else
      module.def(
          op,
          [call](AnyTensor& x, std::optional<float> scale, const OptionalTensor& mask, const SoftmaxProgram& program,
                 bool causal, const std::optional<KernelConfig>& compute,
                 bool) { return call(x, scale, mask, program, causal, compute); },
          "input_tensor"_a, "scale"_a = nb::none(), "mask"_a = nb::none(), nb::kw_only(),
          "program_config"_a = DefaultSoftmax{}, "is_causal_mask"_a = false, "compute_kernel_config"_a = nb::none(),
          "numeric_stable"_a = false);
  }
}

float head_scale(std::optional<int> size) { return size ? 1 / std::sqrt(static_cast<float>(*size)) : 1.0f; }

void bind_attention_softmax(nb::module_& module) {
  module.def(
      "_transformer_attention_softmax",
      [](const AnyTensor& x, std::optional<int> size, const OptionalTensor& mask, const SoftmaxProgram& program,
         bool causal, const OptionalConfig& config) {
        constexpr const char* op = "attention_softmax";
        const tensix::DeviceTensor& scores = x.device(op);
        check(std::holds_alternative<DefaultSoftmax>(program), Code::unsupported, Hint{"use attention_softmax_"},
              "{}: a sharded program config works in place only", op);
        if (mask)
          return AnyTensor(tensix::masked_softmax(op, scores,
                                                  {.scale = head_scale(size),
                                                   .mask = mask->device("the mask"),
                                                   .causal = causal,
                                                   .memory_config = config}));
        const tensix::DeviceTensor scaled =
            tensix::binary(Binary::Kind::mul, scores, static_cast<double>(head_scale(size)));
        return AnyTensor(tensix::softmax(tensix::unsqueeze_to(scaled, std::max(4, x.shape().rank())), -1, config));
      },
      "tensor"_a, nb::kw_only(), "head_size"_a = nb::none(), "attention_mask"_a = nb::none(),
      "program_config"_a = DefaultSoftmax{}, "causal_mask"_a = false, "memory_config"_a = nb::none());
  module.def(
      "_transformer_attention_softmax_",
      [](AnyTensor& x, std::optional<int> size, const OptionalTensor& mask, const SoftmaxProgram& program, bool causal,
         const OptionalConfig& config) {
        constexpr const char* op = "attention_softmax_";
        check(mask.has_value(), Code::unsupported, Hint{"use attention_softmax"},
              "{}: scores cannot be divided by sqrt(head_size) in place without a mask", op);
        check(!config || *config == x.memory_config(), Code::invalid_argument,
              "{}: the result stays where the scores are", op);
        return AnyTensor(tensix::masked_softmax(op, x.device(op),
                                                {.scale = head_scale(size),
                                                 .mask = mask->device("the mask"),
                                                 .causal = causal,
                                                 .in_place = true,
                                                 .blocks = blocks_of(program)}));
      },
      "tensor"_a, nb::kw_only(), "head_size"_a = nb::none(), "attention_mask"_a = nb::none(),
      "program_config"_a = DefaultSoftmax{}, "causal_mask"_a = false, "memory_config"_a = nb::none());
}

using Three = std::tuple<AnyTensor, AnyTensor, AnyTensor>;
using Outputs = std::optional<Three>;

Three three(const tensix::QueryKeyValue& y) { return {AnyTensor(y[0]), AnyTensor(y[1]), AnyTensor(y[2])}; }

void check_no_outputs(const char* op, const Outputs& outputs) {
  check(!outputs, Code::unsupported, "{}: given output tensors are not supported", op);
}

void bind_heads(nb::module_& module) {
  module.def(
      "_transformer_split_query_key_value_and_split_heads",
      [](const AnyTensor& x, const OptionalTensor& kv, std::int64_t heads, std::optional<std::int64_t> kv_heads,
         bool transpose, const OptionalConfig& config, bool falcon) {
        constexpr const char* op = "split_query_key_value_and_split_heads";
        check(!falcon || (kv_heads && !kv && !transpose), Code::unsupported,
              "{}: use_falcon7b_backend needs num_kv_heads, no tensor of keys and values and transpose_key=False", op);
        return three(tensix::split_heads(x.device(op), device_tensor(kv, op), {heads, kv_heads, transpose, config}));
      },
      "input_tensor"_a, "kv_input_tensor"_a = nb::none(), nb::kw_only(), "num_heads"_a, "num_kv_heads"_a = nb::none(),
      "transpose_key"_a = true, "memory_config"_a = nb::none(), "use_falcon7b_backend"_a = false);
  module.def(
      "_transformer_concatenate_heads",
      [](const AnyTensor& x, const OptionalConfig& config) {
        return AnyTensor(tensix::join_heads(x.device("concatenate_heads"), config));
      },
      "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "_experimental_nlp_concat_heads",
      [](const AnyTensor& x, const OptionalConfig& config) {
        return AnyTensor(tensix::concat_heads("nlp_concat_heads", x.device("nlp_concat_heads"), config));
      },
      "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none());
  module.def(
      "_experimental_nlp_create_qkv_heads",
      [](const AnyTensor& x, const OptionalTensor& kv, std::int64_t heads, std::optional<std::int64_t> kv_heads,
         bool transpose, const OptionalConfig& config, const Outputs& outputs) {
        constexpr const char* op = "nlp_create_qkv_heads";
        check_no_outputs(op, outputs);
        return three(
            tensix::create_qkv_heads(op, x.device(op), device_tensor(kv, op), {heads, kv_heads, transpose, config}));
      },
      "input"_a, "input_kv"_a = nb::none(), nb::kw_only(), "num_heads"_a, "num_kv_heads"_a = nb::none(),
      "transpose_k_heads"_a = true, "memory_config"_a = nb::none(), "output_tensors"_a = nb::none());
  module.def(
      "_experimental_create_qkv_heads",
      [](const AnyTensor& x, std::int64_t heads, std::optional<std::int64_t> kv_heads, bool transpose,
         const OptionalConfig& config, const Outputs& outputs) {
        constexpr const char* op = "create_qkv_heads";
        check_no_outputs(op, outputs);
        return three(
            tensix::create_grouped_qkv_heads(op, x.device(op), std::nullopt, {heads, kv_heads, transpose, config}));
      },
      "input"_a, nb::kw_only(), "num_heads"_a, "num_kv_heads"_a = nb::none(), "transpose_k_heads"_a = true,
      "memory_config"_a = nb::none(), "output_tensors"_a = nb::none());
  module.def(
      "_experimental_create_qkv_heads_from_separate_tensors",
      [](const AnyTensor& x, const AnyTensor& kv, std::int64_t heads, std::optional<std::int64_t> kv_heads,
         bool transpose, const OptionalConfig& config, const Outputs& outputs) {
        constexpr const char* op = "create_qkv_heads_from_separate_tensors";
        check_no_outputs(op, outputs);
        return three(
            tensix::create_grouped_qkv_heads(op, x.device(op), kv.device(op), {heads, kv_heads, transpose, config}));
      },
      "input"_a, "input_kv"_a, nb::kw_only(), "num_heads"_a, "num_kv_heads"_a = nb::none(),
      "transpose_k_heads"_a = true, "memory_config"_a = nb::none(), "output_tensors"_a = nb::none());
  module.def(
      "_experimental_nlp_create_qkv_heads_segformer",
      [](const AnyTensor& x, const OptionalConfig& config, const Outputs& outputs) {
        constexpr const char* op = "nlp_create_qkv_heads_segformer";
        constexpr std::int64_t kHeadColumns = 32;
        check_no_outputs(op, outputs);
        const auto heads = [&] { return AnyTensor(tensix::create_heads(op, x.device(op), kHeadColumns, config)); };
        return Three{heads(), heads(), heads()};
      },
      "input"_a, nb::kw_only(), "memory_config"_a = nb::none(), "output_tensors"_a = nb::none());
}

void bind_attention_product(nb::module_& module) {
  module.def(
      "_transformer_scaled_dot_product_attention",
      [](const AnyTensor& q, const AnyTensor& k, const AnyTensor& v, const OptionalTensor& mask, bool causal,
         std::optional<float> scale, std::optional<std::int64_t> window, const OptionalConfig& config,
         const std::optional<AttentionBlocks>& program, const std::optional<KernelConfig>& compute,
         const OptionalTensor& sink, const OptionalTensor& sequences) {
        constexpr const char* op = "scaled_dot_product_attention";
        return AnyTensor(tensix::attention(q.device(op), k.device(op), v.device(op),
                                           {.mask = device_tensor(mask, "the mask"),
                                            .causal = causal,
                                            .scale = scale,
                                            .window = window,
                                            .memory_config = config,
                                            .blocks = program,
                                            .compute = plain(compute),
                                            .sink = device_tensor(sink, "the attention sink"),
                                            .sequences = device_tensor(sequences, "the windows")}));
      },
      "input_tensor_q"_a, "input_tensor_k"_a, "input_tensor_v"_a, nb::kw_only(), "attn_mask"_a = nb::none(),
      "is_causal"_a = true, "scale"_a = nb::none(), "sliding_window_size"_a = nb::none(),
      "memory_config"_a = nb::none(), "program_config"_a = nb::none(), "compute_kernel_config"_a = nb::none(),
      "attention_sink"_a = nb::none(), "cu_window_seqlens"_a = nb::none());
}

std::vector<std::string> bind_attention(nb::module_& module) {
  bind_configs(module);
  bind_softmax_forms(module);
  bind_attention_softmax(module);
  bind_heads(module);
  bind_attention_product(module);
  return {"softmax_in_place",
          "scale_mask_softmax",
          "scale_mask_softmax_in_place",
          "scale_causal_mask_hw_dims_softmax_in_place",
          "transformer.attention_softmax",
          "transformer.attention_softmax_",
          "transformer.split_query_key_value_and_split_heads",
          "transformer.concatenate_heads",
          "transformer.scaled_dot_product_attention",
          "experimental.nlp_concat_heads",
          "experimental.nlp_create_qkv_heads",
          "experimental.create_qkv_heads",
          "experimental.create_qkv_heads_from_separate_tensors",
          "experimental.nlp_create_qkv_heads_segformer"};
}

[[maybe_unused]] const bool kAttentionAdded = add_card_operators(bind_attention);

}  // namespace
}  // namespace tessera::python
