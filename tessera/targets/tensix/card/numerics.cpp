#include "tessera/targets/tensix/card/numerics.h"

#include "tessera/core/block_float.h"
#include "tessera/core/error.h"
#include "tessera/core/tensor.h"
#include "tessera/graph/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

namespace tessera::tensix {

float multiply_add(std::span<const float, kFace> activations, std::span<const float, kFace> weights, int phase,
                   float dst, bool float32) {
  float sum = 0;
  for (std::size_t k = 0; k < kFace; ++k)
    sum = std::fma(activation_slice(activations[k], phase), weight_slice(weights[k], phase), sum);
  return into_dst(dst + sum, float32);
}

std::vector<float> stored_values(std::span<const float> x, Extent2d extent, DType dtype, Rounding rounding) {
  check(is_floating(dtype), Code::invalid_argument, "the matrix engine computes with floating types, not with {}",
        name(dtype));
  if (dtype == DType::float32 || x.empty()) return {x.begin(), x.end()};
  const Layout layout = is_block_float(dtype) ? Layout::tile : Layout::row_major;
  return Tensor::from_float32(x, Shape{extent.height, extent.width}, dtype, layout, {}, rounding).to_float32();
}

void store_block(std::span<float> x, DType dtype, Rounding rounding) {
  switch (dtype) {
    case DType::float32: return;
    case DType::bfloat16:
      for (float& v : x) v = float_from_bfloat16(bfloat16_from_float(v, rounding));
      return;
    case DType::bfloat8_b:
    case DType::bfloat4_b: {
      std::array<float, Block::kSize> block = {};
      std::copy(x.begin(), x.end(), block.begin());
      decode_block(encode_block(block, dtype, rounding), dtype, block);
      std::copy_n(block.begin(), x.size(), x.begin());
      return;
    }
    default: fail(Code::invalid_argument, "the card's matrix engine does not work with {}", name(dtype));
  }
}

DstActivation activation_from_name(std::string_view text) {
  using Kind = Unary::Kind;
  struct Named {
    std::string_view name;
    DstActivation activation;
    bool has_parameter = false;
  };
  static constexpr float kAny = std::numeric_limits<float>::infinity();
  const Named all[] = {
      {"relu", {{Kind::relu}, kAny}},
      {"relu6", {{Kind::relu}, 6}},
      {"silu", {{Kind::silu}, kAny}},
      {"swish", {{Kind::silu}, kAny}},
      {"gelu", {{Kind::gelu}, kAny}},
      {"sigmoid", {{Kind::sigmoid}, kAny}},
      {"tanh", {{Kind::tanh}, kAny}},
      {"leaky_relu", {{Kind::leaky_relu, 0.01f}, kAny}, true},
      {"hardswish", {{Kind::hard_swish}, kAny}},
      {"hardsigmoid", {{Kind::hard_sigmoid, 1.0f / 6, 0.5f}, kAny}},
      {"mish", {{Kind::mish}, kAny}},
      {"softplus", {{Kind::softplus}, kAny}},
      {"elu", {{Kind::elu, 1}, kAny}, true},
      {"exp", {{Kind::exp}, kAny}},
      {"sqrt", {{Kind::sqrt}, kAny}},
  };
  const std::size_t open = text.find('(');
  const std::string_view called = text.substr(0, open);
  std::string names;
  for (const Named& each : all) {
    if (each.name == called) {
      DstActivation activation = each.activation;
      if (open == std::string_view::npos) return activation;
      const std::string number(text.substr(open + 1, text.size() - open - 2));
      char* end = nullptr;
      const float value = std::strtof(number.c_str(), &end);
      check(each.has_parameter && text.back() == ')' && !number.empty() && *end == '\0', Code::invalid_argument,
            "activation '{}' takes {}", text, each.has_parameter ? "one number" : "no parameters");
      activation.function.alpha = value;
      return activation;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  }
  fail(Code::not_found, Hint{fmt::format("one of {}", names)}, "no activation is called '{}'", text);
}

void apply(const DstActivation& activation, std::span<float> dst, bool float32) {
  const Unary& function = activation.function;
  if (function.kind == Unary::Kind::relu) {
    for (float& v : dst) v = v < 0 ? 0.0f : v;
  } else if (function.kind != Unary::Kind::identity) {
    const Array x = Array::of<float>(Shape{static_cast<std::int64_t>(dst.size())}, dst);
    const Array* operands[] = {&x};
    const Array y = reference(Op(function), operands)[0];
    const auto values = y.as<float>();
    std::transform(values.begin(), values.end(), dst.begin(), [&](float v) { return from_vector_unit(v, float32); });
  }
  for (float& v : dst) v = v > activation.most ? activation.most : v;
}

}  // namespace tessera::tensix
