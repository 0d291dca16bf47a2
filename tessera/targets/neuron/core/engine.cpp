#include "tessera/targets/neuron/core/engine.h"

namespace tessera::neuron {

std::string_view name(Engine engine) {
  switch (engine) {
    case Engine::tensor: return "tensor";
    case Engine::vector: return "vector";
    case Engine::scalar: return "scalar";
    case Engine::gpsimd: return "gpsimd";
    case Engine::dma: return "dma";
  }
  return "?";
}

std::string_view name(MathOp op) {
  switch (op) {
    case MathOp::copy: return "copy";
    case MathOp::add: return "add";
    case MathOp::subtract: return "subtract";
    case MathOp::multiply: return "multiply";
    case MathOp::divide: return "divide";
    case MathOp::max: return "max";
    case MathOp::min: return "min";
  }
  return "?";
}

std::string_view name(Function function) {
  switch (function) {
    case Function::identity: return "identity";
    case Function::relu: return "relu";
    case Function::exp: return "exp";
    case Function::tanh: return "tanh";
    case Function::sigmoid: return "sigmoid";
    case Function::square: return "square";
    case Function::sqrt: return "sqrt";
    case Function::rsqrt: return "rsqrt";
    case Function::reciprocal: return "reciprocal";
    case Function::log: return "log";
    case Function::abs: return "abs";
    case Function::silu: return "silu";
  }
  return "?";
}

}  // namespace tessera::neuron
