// Rates of data-parallel networks that tt-metal publishes (models/README, November 2025) next to simulated ones. The
// one constant that is fitted, host_chip_command_ns, is fitted over all of them; the others are measured or assumed.

#include "tessera/fleet/data_parallel.h"

#include "workloads.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace tessera::fleet {
namespace {

using namespace for_tests;

struct Point {
  std::string network, machine;
  PublishedNetwork work;
  double published_per_s;
};

double simulated(const Point& p, std::optional<double> host_chip_command_ns = std::nullopt) {
  Machine machine = load_machine(p.machine);
  if (host_chip_command_ns)
    for (Figure& figure : machine.figures)
      if (figure.key == "host_chip_command_ns") figure.value = *host_chip_command_ns;
  DataParallelModel model(machine, workload_of(p.work));
  return model.run(p.machine == "wormhole_n150" ? topology_of_chips(machine, 1) : topology_of(machine)).frames_per_s;
}

const std::vector<Point>& points() {
  static const std::vector<Point> kPoints{
      {"ResNet-50", "wormhole_n150", kResNet50, 4700},      {"ResNet-50", "fleet_n300", kResNet50, 9200},
      {"ResNet-50", "fleet_t3000", kResNet50, 35'800},      {"ResNet-50", "fleet_galaxy", kResNet50, 96'800},
      {"MobileNetV2", "wormhole_n150", kMobileNetV2, 3030}, {"MobileNetV2", "fleet_n300", kMobileNetV2, 5280}};
  return kPoints;
}

TEST(Published, DataParallelRatesOfClassifiersAreWithinAnEighth) {
  double log_error = 0;
  for (const Point& p : points()) {
    const double rate = simulated(p), ratio = rate / p.published_per_s;
    fmt::print("{:12} {:14} published {:7.0f}/s  simulated {:7.0f}/s  ratio {:.3f}\n", p.network, p.machine,
               p.published_per_s, rate, ratio);
    EXPECT_NEAR(ratio, 1, 1.0 / 8) << p.network << " on " << p.machine;
    log_error += std::log(ratio) * std::log(ratio) / static_cast<double>(points().size());
  }
  fmt::print("root of the mean square of log ratios: {:.3f}\n", std::sqrt(log_error));
}

TEST(Published, TheFittedCostOfACommandIsWhereTheErrorIsLeast) {
  const auto error = [](double command_ns) {
    double sum = 0;
    for (const Point& p : points()) sum += std::pow(std::log(simulated(p, command_ns) / p.published_per_s), 2);
    return sum;
  };
  const double fitted = error(required_fleet(load_machine("wormhole_n150")).host_chip_command_ns);
  for (const double other : {5e3, 10e3, 15e3, 25e3, 30e3, 40e3}) EXPECT_GT(error(other), fitted) << other;
}

// Two chips against one, of networks whose kernel times are not published: the rate of one chip is taken as given, and
// only what the second adds is simulated. Nothing is fitted to these. Preparation of inputs on the host is not
// simulated, which is probably why the published gain is the smaller one nearly everywhere.
TEST(Published, TwoChipsGainAsMuchAsDetectorsAndSegmentersDoWithinAThird) {
  struct Pair {
    std::string network;
    std::int64_t height, width;
    double one_per_s, two_per_s;
  };
  const std::vector<Pair> pairs{
      {"YOLOv4 320", 320, 320, 166, 254},    {"YOLOv4", 640, 640, 74, 123},    {"YOLOv5x", 640, 640, 67, 126},
      {"YOLOv6l", 640, 640, 103, 181},       {"YOLOv8x", 640, 640, 66, 124},   {"YOLOv8s", 640, 640, 215, 368},
      {"YOLOv8s_world", 640, 640, 105, 189}, {"YOLOv9c", 640, 640, 98, 173},   {"YOLOv10x", 640, 640, 48, 91},
      {"YOLOv11m", 640, 640, 95, 157},       {"YOLOv11n", 640, 640, 234, 372}, {"YOLOv12x", 640, 640, 14, 28},
      {"UNet VGG19", 256, 256, 198, 318},    {"UNet", 480, 640, 60, 119},      {"SegFormer", 512, 512, 132, 248},
      {"UFLD v2", 320, 800, 365, 637}};
  std::vector<double> ratios;
  for (const Pair& p : pairs) {
    const std::int64_t pixels = p.height * p.width;
    const PublishedNetwork work{150, 200, p.one_per_s, 1, pixels * 16 * 2, pixels * 2};
    const Point one{p.network, "wormhole_n150", work, p.one_per_s}, two{p.network, "fleet_n300", work, p.two_per_s};
    const double published = p.two_per_s / p.one_per_s, gain = simulated(two) / simulated(one);
    ratios.push_back(gain / published);
    fmt::print("{:14} two chips against one: published {:.2f}  simulated {:.2f}  ratio {:.3f}\n", p.network, published,
               gain, ratios.back());
    EXPECT_NEAR(ratios.back(), 1, 1.0 / 3) << p.network;
  }
  std::sort(ratios.begin(), ratios.end());
  fmt::print("median ratio {:.3f}\n", ratios[ratios.size() / 2]);
  EXPECT_NEAR(ratios[ratios.size() / 2], 1, 1.0 / 6);
}

// The published runs of ViT on two and on eight chips are of one demo; the one on one chip is another.
TEST(Published, EightChipsGainAsMuchOverTwoAsViTDoesWithinAnEighth) {
  const PublishedNetwork vit{150, 200, 950, 8, 8LL * 224 * 224 * 4 * 2, 8LL * 1000 * 2};
  const double gain = simulated({"ViT", "fleet_t3000", vit, 7700}) / simulated({"ViT", "fleet_n300", vit, 1900});
  fmt::print("ViT eight chips against two: published {:.2f}  simulated {:.2f}\n", 7700.0 / 1900, gain);
  EXPECT_NEAR(gain / (7700.0 / 1900), 1, 1.0 / 8);
}

}  // namespace
}  // namespace tessera::fleet
