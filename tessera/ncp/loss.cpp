#include "tessera/ncp/loss.h"

#include "tessera/core/error.h"
#include "tessera/ncp/internal/linear.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace tessera::ncp {
namespace {

constexpr std::array<std::pair<Loss, std::string_view>, 3> kLosses{{{Loss::mean_squared_error, "mse"},
                                                                    {Loss::softmax_cross_entropy, "cross_entropy"},
                                                                    {Loss::binary_cross_entropy, "bce"}}};

}  // namespace

std::string_view name(Loss loss) {
  for (const auto& [item, text] : kLosses)
    if (item == loss) return text;
  return "?";
}

std::optional<Loss> parse_loss(std::string_view text) {
  for (const auto& [item, name] : kLosses)
    if (name == text) return item;
  return std::nullopt;
}

int targets_per_row(Loss loss, int outputs) { return loss == Loss::softmax_cross_entropy ? 1 : outputs; }

void add_loss(Loss loss, std::span<const float> output, std::span<const float> target, float scale, LossSums& sums,
              std::span<float> d_output) {
  const auto n = static_cast<double>(output.size());
  ++sums.rows;
  const auto put = [&](std::size_t i, double d) {
    if (!d_output.empty()) d_output[i] = static_cast<float>(d * scale);
  };
  switch (loss) {
    case Loss::mean_squared_error:
      for (std::size_t i = 0; i < output.size(); ++i) {
        const double off = static_cast<double>(output[i]) - target[i];
        sums.loss += off * off / n;
        put(i, 2 * off / n);
      }
      return;
    case Loss::softmax_cross_entropy: {
      const auto wanted = static_cast<std::size_t>(target[0]);
      const auto best = static_cast<std::size_t>(std::max_element(output.begin(), output.end()) - output.begin());
      double total = 0;
      for (const float value : output) total += std::exp(static_cast<double>(value) - output[best]);
      const double log_total = std::log(total) + output[best];
      sums.loss += log_total - output[wanted];
      sums.correct += best == wanted;
      for (std::size_t i = 0; i < output.size(); ++i)
        put(i, std::exp(static_cast<double>(output[i]) - log_total) - (i == wanted ? 1 : 0));
      return;
    }
    case Loss::binary_cross_entropy:
      for (std::size_t i = 0; i < output.size(); ++i) {
        const double x = output[i], y = target[i];
        sums.loss += (softplus(x) - x * y) / n;
        sums.correct += static_cast<double>((x > 0) == (y > 0.5)) / n;
        put(i, (sigmoid(x) - y) / n);
      }
      return;
  }
}

}  // namespace tessera::ncp
