// Times whole networks: one CUDA graph, inputs on the device, events around each of many replays, the median.
//
//   tessera_cuda_networks_bench [--networks resnet50,unet] [--batches 1,16] [--type f16|bf16|f32] [--json FILE]
//   [--steps]
//
// --steps also times every step by itself, as one of 20 in a graph. Outputs are compared with those of this machine's
// processor in float32 before anything is timed.

#include "tessera/core/error.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/session/session.h"
#include "tessera/targets/cuda/plan/cuda_plan.h"
#include "tessera/targets/cuda/plan/cuda_target.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace tessera::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) out.push_back(part);
  return out;
}

LoadedNetwork network_of(const std::string& name, std::int64_t batch) {
  LoadedNetwork network{.model = name, .name = name, .graph = make_zoo_model(name, batch)};
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (const ValueId id : network.graph.inputs) {
    Array array(ElementType::float32, network.graph.value(id).type.shape());
    for (float& value : array.as<float>()) value = normal(random);
    network.inputs.push_back(std::move(array));
  }
  return network;
}

// ||found - wanted|| / ||wanted|| over all outputs.
double relative_error(const std::vector<Array>& found, const std::vector<Array>& wanted) {
  double difference = 0, size = 0;
  for (std::size_t o = 0; o < wanted.size(); ++o) {
    const std::vector<double> a = found[o].to_double(), b = wanted[o].to_double();
    for (std::size_t i = 0; i < b.size(); ++i) {
      difference += (a[i] - b[i]) * (a[i] - b[i]);
      size += b[i] * b[i];
    }
  }
  return std::sqrt(difference / size);
}

nlohmann::json bench(const std::string& name, std::int64_t batch, ElementType type, const Machine& machine,
                     bool steps) {
  const LoadedNetwork network = network_of(name, batch);
  const auto begin = Clock::now();
  const CudaPlan plan(network, machine, {.storage = type});
  const double plan_ms = milliseconds_since(begin);
  std::vector<const Array*> inputs;
  for (const Array& input : network.inputs) inputs.push_back(&input);
  const std::vector<Array> outputs = plan.program().run(inputs);
  const double first_ms = milliseconds_since(begin);
  const double error = relative_error(outputs, Session(network.graph).run(network.inputs));
  constexpr int kWarm = 10, kReplays = 60;
  plan.program().time_replays(kWarm);
  std::vector<double> times = plan.program().time_replays(kReplays);
  std::ranges::sort(times);
  nlohmann::json row{{"network", name},
                     {"batch", batch},
                     {"type", tessera::name(type)},
                     {"median_ms", times[kReplays / 2]},
                     {"minimum_ms", times[0]},
                     {"model_ms", plan.totals().device_s * 1e3},
                     {"plan_ms", plan_ms},
                     {"first_result_ms", first_ms},
                     {"relative_error", error},
                     {"values_bytes", plan.kernel_plan().arena_bytes},
                     {"steps", plan.kernel_plan().steps.size()}};
  fmt::print(
      "{:18} b{:<3} {:8.4f} ms  min {:8.4f}  model {:8.4f}  plan {:5.0f} ms  first result {:6.0f} ms  error {:.2e}\n",
      name, batch, times[kReplays / 2], times[0], plan.totals().device_s * 1e3, plan_ms, first_ms, error);
  std::fflush(stdout);
  if (!steps) return row;
  const std::vector<double> alone = plan.program().time_steps_repeated(20);
  double sum = 0;
  for (std::size_t s = 0; s < alone.size(); ++s) {
    const Step& step = plan.kernel_plan().steps[s];
    const Plan& p = plan.kernel_plan();
    const PlanBuffer& y = p.buffers[static_cast<std::size_t>(step.outputs[0])];
    sum += alone[s];
    row["profile"].push_back(
        {{"step", p.step_name(s)},
         {"op", step.kernel ? op_text(p.graph.nodes[static_cast<std::size_t>(step.node)]) : "order"},
         {"kernel", step.kernel ? step.kernel->name : "convert_order"},
         {"result", p.graph.value(y.value).type.to_string()},
         {"us", alone[s] * 1e3},
         {"model_us", step.offer.estimate.seconds * 1e6}});
  }
  row["steps_ms"] = sum;
  return row;
}

int run(int argc, char** argv) {
  std::string networks = "resnet18,resnet50,vgg16,mobilenet_v2,unet,efficientnet_like", batches = "1,16", file;
  ElementType type = ElementType::float16;
  bool steps = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto next = [&] {
      check(i + 1 < argc, Code::invalid_argument, "{} needs a value", word);
      return std::string(argv[++i]);
    };
    if (word == "--networks")
      networks = next();
    else if (word == "--batches")
      batches = next();
    else if (word == "--json")
      file = next();
    else if (word == "--steps")
      steps = true;
    else if (word == "--type") {
      const std::string given = next();
      check(given == "f16" || given == "bf16" || given == "f32", Code::invalid_argument, "there is no type '{}'",
            given);
      type = given == "f16" ? ElementType::float16 : given == "bf16" ? ElementType::bfloat16 : ElementType::float32;
    } else
      fail(Code::invalid_argument, "there is no option '{}'", word);
  }
  const Machine machine = device_machine();
  fmt::print("{}\n", machine.title);
  nlohmann::json rows = nlohmann::json::array();
  for (const std::string& name : split(networks))
    for (const std::string& batch : split(batches))
      rows.push_back(bench(name, std::stoll(batch), type, machine, steps));
  if (!file.empty()) std::ofstream(file) << rows.dump(1) << "\n";
  return 0;
}

}  // namespace
}  // namespace tessera::cuda

int main(int argc, char** argv) {
  try {
    return tessera::cuda::run(argc, argv);
  } catch (const tessera::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
