#include "tessera/targets/neuron/kernels/ladder.h"

#include <array>

namespace tessera::neuron {
namespace {

struct Published {
  std::string_view step;
  std::int64_t image, pool;
  double float32_us, float16_us;  // 0: not known
};

constexpr std::array kPublished = {
    Published{"baseline", 224, 1, 13481, 12303}, Published{"halo", 224, 1, 6289, 5600},
    Published{"hoisted", 224, 1, 3700, 4100},    Published{"hoisted", 224, 2, 3700, 0},
    Published{"cached", 224, 1, 0, 3300},        Published{"native", 224, 1, 3000, 930},
    Published{"native", 224, 2, 3000, 870},      Published{"independent", 224, 1, 3832, 824},
    Published{"independent", 224, 2, 3830, 825}, Published{"baseline", 32, 1, 430, 0},
};

}  // namespace

bool has_published_times(const NeuronSpec& spec) { return spec.arch == "NeuronCore-v3"; }

std::optional<double> published_us(std::string_view step, const ConvProblem& p) {
  const bool harness =
      p.n == 1 && p.ic == 256 && p.oc == 256 && p.k == 3 && ((p.h == 224 && p.w == 224) || (p.h == 32 && p.w == 16));
  if (!harness || (p.type != ElementType::float32 && p.type != ElementType::float16)) return std::nullopt;
  for (const Published& each : kPublished) {
    if (each.step != step || each.image != p.h || each.pool != p.pool) continue;
    const double us = p.type == ElementType::float32 ? each.float32_us : each.float16_us;
    if (us > 0) return us;
  }
  return std::nullopt;
}

std::vector<ConvProblem> ladder_cases() {
  std::vector<ConvProblem> out;
  for (const std::int64_t height : {224, 32})
    for (const ElementType type : {ElementType::float32, ElementType::float16})
      for (const std::int64_t pool : {1, 2}) {
        ConvProblem p;
        p.h = height;
        p.w = height == 224 ? 224 : 16;
        p.type = type;
        p.pool = pool;
        out.push_back(p);
      }
  return out;
}

std::vector<LadderStep> ladder_steps() {
  std::vector<LadderStep> out;
  for (const ConvProblem& p : ladder_cases()) {
    int number = 0;
    for (const ConvStep& step : conv_steps()) {
      const int mine = number++;
      if (step.name == "small" && p.h == 224) continue;
      out.push_back({mine, step, p});
    }
  }
  return out;
}

std::vector<LadderRow> conv_ladder(const NeuronSpec& spec) {
  std::vector<LadderRow> rows;
  for (const auto& [number, step, p] : ladder_steps())
    rows.push_back({number, std::string(step.name), p, run_conv(spec, p, step.run).profile, conv_bound(spec, p),
                    has_published_times(spec) ? published_us(step.name, p) : std::nullopt});
  return rows;
}

}  // namespace tessera::neuron
