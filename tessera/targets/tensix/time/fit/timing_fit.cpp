#include "tessera/targets/tensix/time/fit/timing_fit.h"

#include "tessera/machine/machine_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace tessera::tensix {
namespace {

using FitVector = std::vector<double>;

constexpr const char* kBlackhole = "blackhole_p150";
constexpr const char* kWormhole = "wormhole_n150";
constexpr double kQuadratic = 0.05;  // errors below 5 % count by their square, larger ones by their size
constexpr double kPricePull = 0.05;  // of a price towards where it began, per squared logarithm
constexpr double kSlopeStep = 1e-3;  // of a derivative, in logarithms
constexpr int kFitRounds = 40;

// A free number of the fit: a price of Blackhole, which may carry over, or one that Wormhole has for itself.
struct FreePrice {
  double TensixCosts::* value;
  bool wormhole;
};

std::vector<FreePrice> free_prices() {
  std::vector<FreePrice> out;
  for (const CostField& field : kCostFields) {
    out.push_back({field.value, false});
    if (field.rule == CostRule::own) out.push_back({field.value, true});
  }
  return out;
}

// Rows of convolutions and products are what networks are made of; the table of products is long and of one kind.
double weight_of(const MeasuredOp& op) {
  if (op.from_host) return 0.5;
  return op.work.kind == ProgramKind::conv2d || op.work.kind == ProgramKind::matmul ? 3 : 1;
}

// Solves A x = b for a symmetric positive definite matrix, by Cholesky.
FitVector solved(std::vector<FitVector> a, FitVector b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(std::max(sum, 1e-12)) : sum / a[j][j];
    }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

// Levenberg and Marquardt's way down, on logarithms of prices and times, rows weighted so that their errors count by
// size and not by square.
FitVector descend(const FitVector& start, const FitVector& weights,
                  const std::function<FitVector(const FitVector&)>& errors) {
  const std::size_t n = start.size(), rows = weights.size();
  const auto cost = [&](const FitVector& e, const FitVector& x) {
    double sum = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      const double size = std::abs(e[i]);
      sum += weights[i] * (size < kQuadratic ? 0.5 * size * size / kQuadratic : size - 0.5 * kQuadratic);
    }
    for (std::size_t j = 0; j < n; ++j) sum += kPricePull * (x[j] - start[j]) * (x[j] - start[j]);
    return sum;
  };
  FitVector x = start, e = errors(x);
  double best = cost(e, x), damping = 1e-2;
  for (int round = 0; round < kFitRounds; ++round) {
    std::vector<FitVector> slopes(n);
    for (std::size_t j = 0; j < n; ++j) {
      FitVector moved = x;
      moved[j] += kSlopeStep;
      slopes[j] = errors(moved);
      for (std::size_t i = 0; i < rows; ++i) slopes[j][i] = (slopes[j][i] - e[i]) / kSlopeStep;
    }
    std::vector<FitVector> normal(n, FitVector(n));
    FitVector downhill(n);
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < rows; ++i) {
        const double w = weights[i] / std::max(std::abs(e[i]), kQuadratic);
        if (slopes[j][i] == 0) continue;
        downhill[j] -= w * slopes[j][i] * e[i];
        for (std::size_t k = 0; k <= j; ++k) normal[j][k] += w * slopes[j][i] * slopes[k][i];
      }
      downhill[j] -= 2 * kPricePull * (x[j] - start[j]);
      normal[j][j] += 2 * kPricePull;
    }
    bool better = false;
    double gain = 0;
    for (int attempt = 0; attempt < 7 && !better; ++attempt) {
      std::vector<FitVector> damped = normal;
      for (std::size_t j = 0; j < n; ++j) damped[j][j] *= 1 + damping;
      const FitVector step = solved(std::move(damped), downhill);
      FitVector next = x;
      for (std::size_t j = 0; j < n; ++j) next[j] += std::clamp(step[j], -0.7, 0.7);
      FitVector next_errors = errors(next);
      const double next_cost = cost(next_errors, next);
      better = next_cost < best;
      if (better) {
        gain = best - next_cost;
        x = std::move(next), e = std::move(next_errors), best = next_cost;
        damping = std::max(damping / 5, 1e-6);
      } else {
        damping *= 5;
      }
    }
    if (!better || gain < 1e-3) break;
  }
  return x;
}

}  // namespace

TimingModel::TimingModel() : given_{tensix_costs(load_machine(kBlackhole)), tensix_costs(load_machine(kWormhole))} {}

const TensixSpec& TimingModel::card(const std::string& machine) const {
  const auto found = machines_.find(machine);
  return tensix_of(found != machines_.end() ? found->second
                                            : machines_.emplace(machine, load_machine(machine)).first->second);
}

const TensixCosts& TimingModel::prices_of(const TensixSpec& spec, const Prices& prices) const {
  return spec.arch == card(kBlackhole).arch ? prices.blackhole : prices.wormhole;
}

StepTime TimingModel::time(const MeasuredOp& op, const Prices& prices) const {
  const TensixSpec& spec = card(op.machine);
  return time_of(op.work, spec, prices_of(spec, prices));
}

double TimingModel::predicted_ns(const MeasuredOp& op, const Prices& prices) const {
  const double kernel = time(op, prices).ns;
  if (!op.from_host) return kernel;
  const TensixSpec& spec = card(op.machine);
  const double loop = kernel + spec.op_gap_ns;
  return op.traced ? loop : std::max(loop, prices_of(spec, prices).host_loop_ns);
}

Prices TimingModel::fit(std::span<const MeasuredOp* const> rows) const {
  const std::vector<FreePrice> free = free_prices();
  const TensixSpec &from = card(kBlackhole), &to = card(kWormhole);
  FitVector start;
  for (const FreePrice& u : free) start.push_back(std::log((u.wormhole ? given_.wormhole : given_.blackhole).*u.value));
  const auto prices_at = [&](const FitVector& x) {
    Prices p = given_;
    for (std::size_t i = 0; i < free.size(); ++i) {
      TensixCosts& side = free[i].wormhole ? p.wormhole : p.blackhole;
      side.*free[i].value = std::exp(x[i]);
    }
    p.wormhole = carried_over(p.blackhole, from, to, p.wormhole);
    return p;
  };
  FitVector weights;
  for (const MeasuredOp* op : rows) weights.push_back(weight_of(*op));
  const auto errors = [&](const FitVector& x) {
    const Prices p = prices_at(x);
    FitVector e;
    e.reserve(rows.size());
    for (const MeasuredOp* op : rows) e.push_back(std::log(predicted_ns(*op, p) / op->measured_ns));
    return e;
  };
  return prices_at(descend(start, weights, errors));
}

std::vector<double> TimingModel::predicted_by_others(std::span<const MeasuredOp> rows, int folds) const {
  // The same work in one fold, else a row would be predicted by its twin. Groups are dealt out by a fixed shuffle.
  std::vector<std::size_t> group(rows.size());
  std::size_t groups = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    group[i] = groups;
    for (std::size_t j = 0; j < i; ++j)
      if (rows[j].kind == rows[i].kind && rows[j].machine == rows[i].machine && rows[j].work == rows[i].work) {
        group[i] = group[j];
        break;
      }
    if (group[i] == groups) ++groups;
  }
  std::vector<std::size_t> order(groups);
  for (std::size_t i = 0; i < groups; ++i) order[i] = i;
  std::uint64_t state = 1;
  for (std::size_t i = groups; i > 1; --i) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    std::swap(order[i - 1], order[(state >> 33) % i]);
  }
  const auto fold_of = [&](std::size_t row) {
    return static_cast<int>(order[group[row]] % static_cast<std::size_t>(folds));
  };
  std::vector<double> predicted(rows.size());
  for (int fold = 0; fold < folds; ++fold) {
    std::vector<const MeasuredOp*> others;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (fold_of(i) != fold) others.push_back(&rows[i]);
    const Prices prices = fit(others);
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (fold_of(i) == fold) predicted[i] = predicted_ns(rows[i], prices);
  }
  return predicted;
}

std::string cost_sections(const Prices& prices) {
  std::string out;
  for (const auto& [title, costs] :
       {std::pair{"Blackhole", &prices.blackhole}, std::pair{"Wormhole", &prices.wormhole}}) {
    out += fmt::format("# {}\n[cost]\n", title);
    for (const CostField& field : kCostFields) out += fmt::format("{} = {:.4g}\n", field.name, costs->*field.value);
    out += "\n";
  }
  return out;
}

}  // namespace tessera::tensix
