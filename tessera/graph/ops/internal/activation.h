#pragma once

// The activations of recurrent layers, by the names ONNX gives them.

#include "tessera/core/error.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct RecurrentActivation {
  double (*function)(double x, double alpha, double beta) = nullptr;
  double alpha = 0;
  double beta = 0;
  double operator()(double x) const { return function(x, alpha, beta); }
};

namespace internal {

struct ActivationInfo {
  std::string_view name;
  bool takes_alpha, takes_beta;
  double alpha, beta;  // where the model gives none
  double (*function)(double x, double alpha, double beta);
};

inline constexpr std::array kActivations{
    ActivationInfo{"Affine", true, true, 1, 0, [](double x, double a, double b) { return a * x + b; }},
    ActivationInfo{"Elu", true, false, 1, 0, [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }},
    ActivationInfo{"HardSigmoid", true, true, 0.2, 0.5,
                   [](double x, double a, double b) {
                     const double y = a * x + b;
                     return y < 0 ? 0.0 : y > 1 ? 1.0 : y;
                   }},
    ActivationInfo{"LeakyRelu", true, false, 0.01, 0, [](double x, double a, double) { return x < 0 ? a * x : x; }},
    ActivationInfo{"Relu", false, false, 0, 0, [](double x, double, double) { return x < 0 ? 0.0 : x; }},
    ActivationInfo{"ScaledTanh", true, true, 1, 1, [](double x, double a, double b) { return a * std::tanh(b * x); }},
    ActivationInfo{"Sigmoid", false, false, 0, 0, [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
    ActivationInfo{
        "Softplus", false, false, 0, 0,
        [](double x, double, double) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }},
    ActivationInfo{"Softsign", false, false, 0, 0, [](double x, double, double) { return x / (1 + std::fabs(x)); }},
    ActivationInfo{"Tanh", false, false, 0, 0, [](double x, double, double) { return std::tanh(x); }},
    ActivationInfo{"ThresholdedRelu", true, false, 1, 0, [](double x, double a, double) { return x > a ? x : 0.0; }},
};

inline bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace internal

// Alphas and betas go, in order, to those activations that take one. Exporters that list one for every activation leave
// some over: they are ignored.
inline std::vector<RecurrentActivation> recurrent_activations(std::span<const std::string> names,
                                                              std::span<const float> alphas,
                                                              std::span<const float> betas) {
  std::vector<RecurrentActivation> out;
  std::size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    const internal::ActivationInfo* found = nullptr;
    for (const internal::ActivationInfo& info : internal::kActivations)
      if (internal::equal_ignoring_case(info.name, name)) found = &info;
    if (found == nullptr) fail(Code::unsupported, "Recurrent: there is no activation '{}'", name);
    RecurrentActivation activation{found->function, found->alpha, found->beta};
    if (found->takes_alpha && alpha < alphas.size()) activation.alpha = static_cast<double>(alphas[alpha++]);
    if (found->takes_beta && beta < betas.size()) activation.beta = static_cast<double>(betas[beta++]);
    out.push_back(activation);
  }
  return out;
}

}  // namespace tessera
