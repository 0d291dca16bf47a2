#pragma once

// Normalisation within one sample.

#include "tessera/core/export.h"
#include "tessera/graph/operands.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Inputs x scale bias, scale and bias per channel.
struct InstanceNorm {
  static constexpr std::string_view kName = "InstanceNorm";

  float epsilon = 1e-5f;

  bool operator==(const InstanceNorm&) const = default;
};

TSR_API std::vector<TensorType> infer(const InstanceNorm& op, const Knowns& inputs);
TSR_API Work work(const InstanceNorm& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const InstanceNorm& op, const Arrays& inputs);

// Inputs x scale bias.
struct GroupNorm {
  static constexpr std::string_view kName = "GroupNorm";

  std::int64_t groups = 1;
  float epsilon = 1e-5f;
  bool per_group_scale = false;  // opset 18: scale and bias have one entry per group

  bool operator==(const GroupNorm&) const = default;
};

TSR_API std::vector<TensorType> infer(const GroupNorm& op, const Knowns& inputs);
TSR_API Work work(const GroupNorm& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const GroupNorm& op, const Arrays& inputs);

// Inputs x scale and optional bias.
struct LayerNorm {
  static constexpr std::string_view kName = "LayerNorm";

  std::int64_t axis = -1;
  float epsilon = 1e-5f;
  int outputs = 1;  // y, then mean and inverse standard deviation if asked for

  bool operator==(const LayerNorm&) const = default;
};

TSR_API std::vector<TensorType> infer(const LayerNorm& op, const Knowns& inputs);
TSR_API Work work(const LayerNorm& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const LayerNorm& op, const Arrays& inputs);

// Inputs x scale.
struct RmsNorm {
  static constexpr std::string_view kName = "RmsNorm";

  std::int64_t axis = -1;
  float epsilon = 1e-5f;

  bool operator==(const RmsNorm&) const = default;
};

TSR_API std::vector<TensorType> infer(const RmsNorm& op, const Knowns& inputs);
TSR_API Work work(const RmsNorm& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const RmsNorm& op, const Arrays& inputs);

struct LpNorm {
  static constexpr std::string_view kName = "LpNorm";

  std::int64_t axis = -1;
  std::int64_t p = 2;

  bool operator==(const LpNorm&) const = default;
};

TSR_API std::vector<TensorType> infer(const LpNorm& op, const Knowns& inputs);
TSR_API Work work(const LpNorm& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const LpNorm& op, const Arrays& inputs);

// Local response normalisation across channels.
struct Lrn {
  static constexpr std::string_view kName = "Lrn";

  std::int64_t size = 1;
  float alpha = 1e-4f;
  float beta = 0.75f;
  float bias = 1;

  bool operator==(const Lrn&) const = default;
};

TSR_API std::vector<TensorType> infer(const Lrn& op, const Knowns& inputs);
TSR_API Work work(const Lrn& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const Lrn& op, const Arrays& inputs);

struct MeanVarianceNorm {
  static constexpr std::string_view kName = "MeanVarianceNorm";

  std::vector<std::int64_t> axes{0, 2, 3};

  bool operator==(const MeanVarianceNorm&) const = default;
};

TSR_API std::vector<TensorType> infer(const MeanVarianceNorm& op, const Knowns& inputs);
TSR_API Work work(const MeanVarianceNorm& op, const Types& inputs, const Types& outputs);
TSR_API std::vector<Array> reference(const MeanVarianceNorm& op, const Arrays& inputs);

}  // namespace tessera
