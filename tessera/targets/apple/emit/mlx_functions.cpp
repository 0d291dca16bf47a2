#include "tessera/targets/apple/emit/mlx_functions.h"

#include "tessera/io/emit/python_text.h"

#include <fmt/format.h>

namespace tessera::apple {

Extents extents_of(const Shape& shape) {
  Extents out;
  for (int d = 0; d < shape.rank(); ++d) out.push_back(shape[d]);
  return out;
}

Array permuted(const Array& x, const Extents& order) {
  const Extents from = extents_of(x.shape());
  Extents to, strides(from.size(), 1), steps;
  for (std::size_t d = from.size(); d-- > 1;) strides[d - 1] = strides[d] * from[d];
  for (const std::int64_t d : order) {
    to.push_back(from[static_cast<std::size_t>(d)]);
    steps.push_back(strides[static_cast<std::size_t>(d)]);
  }
  Array out(ElementType::float32, Shape(to));
  const auto in = x.as<float>();
  float* y = out.as<float>().data();
  Extents at(to.size(), 0);
  for (std::int64_t i = 0; i < out.count(); ++i) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * steps[d];
    y[i] = in[static_cast<std::size_t>(offset)];
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < to[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

// Of a function of one number as MLX has it; x stands for the number.
std::optional<std::string> function_text(const Unary& op, const std::string& x) {
  using Kind = Unary::Kind;
  const auto plain = [&](const char* name) { return fmt::format("mx.{}({})", name, x); };
  const std::string a = emit::py(double{op.alpha}), b = emit::py(double{op.beta});
  switch (op.kind) {
    case Kind::abs: return plain("abs");
    case Kind::ceil: return plain("ceil");
    case Kind::cos: return plain("cos");
    case Kind::elu: return fmt::format("mx.where({0} > 0, {0}, {1} * mx.expm1(mx.minimum({0}, 0.0)))", x, a);
    case Kind::erf: return plain("erf");
    case Kind::exp: return plain("exp");
    case Kind::floor: return plain("floor");
    case Kind::gelu: return fmt::format("0.5 * {0} * (1 + mx.erf({0} * 0.5**0.5))", x);
    case Kind::hard_sigmoid: return fmt::format("mx.clip({} * {} + {}, 0.0, 1.0)", a, x, b);
    case Kind::hard_swish: return fmt::format("{0} * mx.clip({0} / 6 + 0.5, 0.0, 1.0)", x);
    case Kind::identity: return x;
    case Kind::leaky_relu: return fmt::format("mx.where({0} < 0, {1} * {0}, {0})", x, a);
    case Kind::log: return plain("log");
    case Kind::mish: return fmt::format("{0} * mx.tanh(mx.logaddexp({0}, 0.0))", x);
    case Kind::neg: return fmt::format("-{}", x);
    case Kind::reciprocal: return plain("reciprocal");
    case Kind::relu: return fmt::format("mx.maximum({}, 0.0)", x);
    case Kind::round: return plain("round");
    case Kind::sigmoid: return plain("sigmoid");
    case Kind::sign: return plain("sign");
    case Kind::silu:
      if (op.alpha == 0 || op.alpha == 1) return fmt::format("{0} * mx.sigmoid({0})", x);
      return fmt::format("{0} * mx.sigmoid({1} * {0})", x, a);
    case Kind::sin: return plain("sin");
    case Kind::softplus: return fmt::format("mx.logaddexp({}, 0.0)", x);
    case Kind::softsign: return fmt::format("{0} / (1 + mx.abs({0}))", x);
    case Kind::sqrt: return plain("sqrt");
    case Kind::tanh: return plain("tanh");
    default: return std::nullopt;
  }
}

std::optional<std::string> binary_text(Binary::Kind kind, const std::string& a, const std::string& b) {
  using Kind = Binary::Kind;
  switch (kind) {
    case Kind::add: return fmt::format("{} + {}", a, b);
    case Kind::sub: return fmt::format("{} - {}", a, b);
    case Kind::mul: return fmt::format("{} * {}", a, b);
    case Kind::div: return fmt::format("{} / {}", a, b);
    case Kind::pow: return fmt::format("{} ** {}", a, b);
    case Kind::min: return fmt::format("mx.minimum({}, {})", a, b);
    case Kind::max: return fmt::format("mx.maximum({}, {})", a, b);
    case Kind::prelu: return fmt::format("mx.where({0} < 0, {1} * {0}, {0})", a, b);
    default: return std::nullopt;
  }
}

}  // namespace tessera::apple
