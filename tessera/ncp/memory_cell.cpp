#include "tessera/ncp/internal/cells.h"

namespace tessera::ncp {
namespace {

constexpr int kForgetBias = 1;

// The four blocks of the sum, in upstream's order.
template <class Real>
struct Gates {
  Real value, input, forget, output;
  Gates(const std::vector<Real>& z, std::size_t i, std::size_t n)
      : value(std::tanh(z[i])),
        input(sigmoid(z[n + i])),
        forget(sigmoid(z[2 * n + i] + kForgetBias)),
        output(sigmoid(z[3 * n + i])) {}
};

template <class Real>
std::vector<Real> sum(const MemoryCell<Real>& cell, const ParameterSet<Real>& p, const std::vector<Real>& x,
                      const std::vector<Real>& h) {
  std::vector<Real> z = apply(cell.input_map, p, x);
  const std::vector<Real> recurrent = apply(cell.recurrent_map, p, h);
  for (std::size_t i = 0; i < z.size(); ++i) z[i] += recurrent[i];
  return z;
}

}  // namespace

template <class Real>
MemoryCell<Real>::MemoryCell(const ParameterSet<Real>& p)
    : input_map(find_linear(p, "lstm.input_map")), recurrent_map(find_linear(p, "lstm.recurrent_map")) {}

template <class Real>
void MemoryCell<Real>::forward(const ParameterSet<Real>& p, const std::vector<Real>& x, std::vector<Real>& h,
                               std::vector<Real>& c) const {
  const std::vector<Real> z = sum(*this, p, x, h);
  for (std::size_t i = 0; i < h.size(); ++i) {
    const Gates<Real> gates(z, i, h.size());
    c[i] = c[i] * gates.forget + gates.value * gates.input;
    h[i] = std::tanh(c[i]) * gates.output;
  }
}

template <class Real>
void MemoryCell<Real>::backward(const ParameterSet<Real>& p, const std::vector<Real>& x, const std::vector<Real>& h,
                                const std::vector<Real>& c, std::vector<Real>& dx, std::vector<Real>& dh,
                                std::vector<Real>& dc, ParameterSet<Real>& gradients) const {
  const std::vector<Real> z = sum(*this, p, x, h);
  const std::size_t n = h.size();
  std::vector<Real> dz(4 * n);
  for (std::size_t i = 0; i < n; ++i) {
    const Gates<Real> gates(z, i, n);
    const Real t = std::tanh(c[i] * gates.forget + gates.value * gates.input);
    const Real d_cell = dc[i] + dh[i] * gates.output * (1 - t * t);
    dz[i] = d_cell * gates.input * (1 - gates.value * gates.value);
    dz[n + i] = d_cell * gates.value * gates.input * (1 - gates.input);
    dz[2 * n + i] = d_cell * c[i] * gates.forget * (1 - gates.forget);
    dz[3 * n + i] = dh[i] * t * gates.output * (1 - gates.output);
    dc[i] = d_cell * gates.forget;
    dh[i] = 0;
  }
  apply_backward(input_map, p, x, dz, dx, gradients);
  apply_backward(recurrent_map, p, h, dz, dh, gradients);
}

template struct MemoryCell<float>;
template struct MemoryCell<double>;

}  // namespace tessera::ncp
