#include "tessera/report/difference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tessera {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double apart = std::abs(a - b);
  return std::isnan(apart) ? kInfinity : apart;
}

std::optional<double> correlation(const std::vector<double>& a, const std::vector<double>& b) {
  double mean_a = 0, mean_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean_a += a[i];
    mean_b += b[i];
  }
  const double n = static_cast<double>(std::max<std::size_t>(a.size(), 1));
  mean_a /= n;
  mean_b /= n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  const double pcc = ab / std::sqrt(aa * bb);
  return std::isfinite(pcc) ? std::optional<double>(pcc) : std::nullopt;
}

}  // namespace

Difference difference(const Array& found, const Array& expected) {
  Difference out;
  out.same_form = found.type() == expected.type() && found.shape() == expected.shape();
  if (!out.same_form) return out;
  const std::vector<double> a = found.to_double(), b = expected.to_double();
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(b[i])) largest = std::max(largest, std::abs(b[i]));
    const double apart = distance(a[i], b[i]);
    if (i > 0 && apart <= out.max_abs) continue;
    out.max_abs = apart;
    out.worst = static_cast<std::int64_t>(i);
    out.found = a[i];
    out.expected = b[i];
  }
  out.max_relative = out.max_abs == 0 ? 0 : largest == 0 ? kInfinity : out.max_abs / largest;
  out.pcc = correlation(a, b);
  return out;
}

}  // namespace tessera
