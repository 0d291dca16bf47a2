#pragma once

// Convolutions that the real ttnn was asked about (tests/data/ttnn/conv2d.jsonl), as our problems.

#include "golden.h"
#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d.h"
#include "tessera/targets/tensix/ops/conv_transpose2d/conv_transpose2d.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera::tensix::card_golden {

inline CoreRangeSet core_corners(const Json& ranges) {
  std::vector<CoreRange> out;
  for (const Json& r : ranges) out.emplace_back(CoreCoord{r[0][0], r[0][1]}, CoreCoord{r[1][0], r[1][1]});
  return CoreRangeSet(std::move(out));
}

struct ConvCase {
  Conv2dProblem problem;
  bool transposed = false;
  std::int64_t output_padding_h = 0, output_padding_w = 0;
  Tensor weights{{1}, DType::bfloat16, Layout::row_major};
  std::optional<Tensor> bias;
  Tensor input{{1}, DType::bfloat16, Layout::row_major};
  MemoryConfig place;
  Conv2dOptions options;
  std::shared_ptr<Device> device;
  std::vector<DeviceTensor> before;  // tensors that were there
};

inline std::optional<Conv2dSliceConfig> slice_of(const Json& c) {
  if (!c.contains("slice") || !c["slice"].is_array()) return std::nullopt;
  return Conv2dSliceConfig{c["slice"][0] == "DRAM_WIDTH" ? Conv2dSliceType::dram_width : Conv2dSliceType::dram_height,
                           c["slice"][1]};
}

inline ConvCase conv_case(const Json& c) {
  const auto flag = [&](const char* key) { return c.contains(key) && c[key].is_boolean() && c[key].get<bool>(); };
  const auto text = [&](const char* key, const char* otherwise) {
    return c.contains(key) && c[key].is_string() ? c[key].get<std::string>() : std::string(otherwise);
  };
  ConvCase out;
  Conv2dProblem& p = out.problem;
  p.batch = c["N"], p.height = c["H"], p.width = c["W"], p.in_channels = c["C"], p.out_channels = c["K"];
  p.groups = c.value("groups", 1);
  const auto pair = [&](const char* key, std::vector<std::int64_t> otherwise) {
    return c.value(key, std::move(otherwise));
  };
  const auto k = pair("kk", {3, 3}), s = pair("ss", {1, 1}), d = pair("dd", {1, 1}), pads = pair("pads", {1, 1, 1, 1});
  p.window = {k[0], k[1], s[0], s[1], d[0], d[1], pads[0], pads[1], pads[2], pads[3]};
  p.output_dtype = dtype(text("out_dtype", "bfloat16"));
  Conv2dConfig& config = p.config;
  config.weights_dtype = dtype(text("w_dtype", "bfloat8_b"));
  if (!c.contains("shard"))
    config.shard_layout = TensorMemoryLayout::height_sharded;
  else if (c["shard"].is_string())
    config.shard_layout = memory_layout(c["shard"]);
  config.act_block_h_override = c.value("abh", 0);
  config.act_block_w_div = c.value("abw_div", 1);
  config.enable_act_double_buffer = flag("act_db");
  config.enable_weights_double_buffer = flag("w_db");
  config.output_layout = text("out_layout", "TILE") == "TILE" ? Layout::tile : Layout::row_major;
  config.enable_activation_reuse = flag("reuse");
  config.deallocate_activation = flag("dealloc");
  config.full_inner_dim = flag("full_inner");
  config.reshard_if_not_optimal = flag("reshard");
  config.override_sharding_config = flag("override");
  config.transpose_shards = flag("transpose");
  config.reallocate_halo_output = c.value("realloc", true);
  config.config_tensors_in_dram = flag("cfg_dram");
  if (c.contains("split_reader") && c["split_reader"].is_boolean()) config.force_split_reader = c["split_reader"];
  if (c.contains("fold") && c["fold"].is_boolean()) config.enable_kernel_stride_folding = c["fold"];
  if (c.contains("grid") && c["grid"].is_array()) config.core_grid = core_corners(c["grid"]);
  if (c.contains("act") && c["act"].is_string()) config.activation = "relu";
  if (c.contains("fidelity") && c["fidelity"].is_string()) {
    const std::string fidelity = c["fidelity"];
    p.compute.fidelity = fidelity == "LoFi"    ? MathFidelity::lofi
                         : fidelity == "HiFi2" ? MathFidelity::hifi2
                         : fidelity == "HiFi3" ? MathFidelity::hifi3
                                               : MathFidelity::hifi4;
    p.compute.fp32_dest_acc_en = flag("fp32acc");
    p.compute.packer_l1_acc = flag("l1acc");
  }

  DeviceOptions options;
  options.l1_small_bytes = c.value("l1_small", 16384);
  options.values = false;
  out.device = Device::open(board(text("board", "n150")), options);
  const DType type = dtype(text("in_dtype", "bfloat16"));
  const std::string layout = text("in_layout", is_block_float(type) ? "TILE" : "ROW_MAJOR");
  const std::int64_t rows = p.batch * p.height * p.width;
  out.input =
      Tensor(flag("shape4") ? Shape{p.batch, p.height, p.width, p.in_channels} : Shape{1, 1, rows, p.in_channels}, type,
             layout == "TILE" ? Layout::tile : Layout::row_major);
  if (flag("in_l1")) out.place = kL1MemoryConfig;
  if (c.contains("in_shard") && c["in_shard"].is_array()) {
    const Json& shard = c["in_shard"];
    out.place =
        MemoryConfig(memory_layout(shard[0]), BufferType::l1,
                     ShardSpec{core_corners(shard[1]),
                               {shard[2][0], shard[2][1]},
                               shard[3] == "ROW_MAJOR" ? ShardOrientation::row_major : ShardOrientation::col_major});
  }
  out.weights = Tensor({p.out_channels, p.in_channels / p.groups, p.window.kernel_h, p.window.kernel_w},
                       text("w_dtype", "") == "float32" ? DType::float32 : DType::bfloat16, Layout::row_major);
  if (c.value("bias", true)) out.bias = Tensor({1, 1, 1, p.out_channels}, out.weights.dtype(), Layout::row_major);
  if (flag("transposed")) {
    out.transposed = true;
    out.options.slice = slice_of(c);
    const auto padding = pair("out_pad", {0, 0});
    out.output_padding_h = padding[0], out.output_padding_w = padding[1];
    out.weights = Tensor({p.in_channels, p.out_channels / p.groups, p.window.kernel_h, p.window.kernel_w},
                         DType::bfloat16, Layout::row_major);
  } else if (c.contains("slice")) {
    out.options.slice = slice_of(c);
  }
  if (text("mem", "") == "DRAM") out.options.memory_config = kDramMemoryConfig;
  if (text("mem", "") == "L1") out.options.memory_config = kL1MemoryConfig;
  return out;
}

// Puts what was there before the call onto the device.
inline DeviceTensor place_input(ConvCase& test, const Json& c) {
  DeviceTensor x = DeviceTensor::allocate(
      test.device, TensorSpec(test.input.shape(), test.input.dtype(), test.input.layout(), test.place));
  if (c.contains("pre") && c["pre"].is_array())
    for (const Json& size : c["pre"])
      test.before.push_back(DeviceTensor::allocate(
          test.device, TensorSpec({1, 1, size[0], size[1]}, DType::bfloat16, Layout::row_major, kL1MemoryConfig)));
  return x;
}

inline Conv2dResult run(const ConvCase& test, const DeviceTensor& x, const Conv2dOperand& weights,
                        const std::optional<Conv2dOperand>& bias) {
  if (test.transposed)
    return conv_transpose2d(x, weights, bias, {test.problem, test.output_padding_h, test.output_padding_w},
                            test.options);
  return conv2d(x, weights, bias, test.problem, test.options);
}

}  // namespace tessera::tensix::card_golden
