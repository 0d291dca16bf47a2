// Times a liquid layer for compare_ncps.py: tessera_ncp_worker PARAMETERS.safetensors LAYER_JSON BATCH STEPS INPUT
// OUTPUT. INPUT and OUTPUT are raw float32. Each line on standard input asks for one block of calls, and the answer is
// the seconds of the fastest call in it; "steps" asks for the median of single steps, "backward" for a block of passes
// there and back, each with gradients of the sum of all outputs. Those by the parameters are written beside OUTPUT.

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/ncp_file.h"
#include "tessera/ncp/gradient.h"
#include "tessera/ncp/runner.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

namespace tessera {
namespace {

constexpr double kBlockSeconds = 0.02;

// As a control loop sees it: the median of single steps.
double seconds_of_a_step(const ncp::Runner& runner) {
  ncp::Stepper stepper(runner);
  const std::vector<float> input(static_cast<std::size_t>(sizes(runner.layer()).inputs), 0.5f);
  std::vector<double> times;
  for (int i = 0; i < 20000; ++i) {
    const auto start = std::chrono::steady_clock::now();
    stepper.step(input, 0.1f);
    times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(times.begin(), times.begin() + 10000, times.end());
  return times[10000];
}

template <class Call>
double fastest_of_a_block(Call&& call) {
  double best = 1e9, spent = 0;
  while (spent < kBlockSeconds) {
    const auto start = std::chrono::steady_clock::now();
    call();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

int serve(char** argv) {
  const ncp::Layer layer = ncp::layer_from_json(argv[2]);
  const ncp::ParameterSet<float> parameters = load_ncp_parameters(argv[1], layer);
  const ncp::Runner runner(layer, parameters);
  const std::vector<std::byte> bytes = read_file(argv[5], 1u << 30);
  std::vector<float> input(bytes.size() / sizeof(float));
  std::memcpy(input.data(), bytes.data(), input.size() * sizeof(float));
  const ncp::Sequence<float> sequence{std::stoll(argv[3]), std::stoll(argv[4]), input};
  auto result = runner.run(sequence);
  write_file_atomically(argv[6], std::as_bytes(std::span(result.output)));
  std::printf("%s\n", std::string(runner.kernel()).c_str());
  std::fflush(stdout);
  ncp::Gradient gradient(layer);
  ncp::SequenceGradients<float> gradients;
  const std::vector<float> ones(result.output.size(), 1.0f);
  const auto there_and_back = [&] {
    gradient.forward(sequence, result);
    gradient.backward(ones, gradients);
  };
  for (std::string line; std::getline(std::cin, line);) {
    double seconds = 0;
    if (line == "steps") {
      seconds = seconds_of_a_step(runner);
    } else if (line == "backward") {
      gradient.set_parameters(parameters);
      if (gradients.input.empty()) {
        there_and_back();
        save_ncp_file(std::string(argv[6]) + ".gradients", layer, gradients.parameters);
      }
      seconds = fastest_of_a_block(there_and_back);
    } else {
      seconds = fastest_of_a_block([&] { runner.run(sequence, result); });
    }
    std::printf("%.9f\n", seconds);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: %s PARAMETERS.safetensors LAYER_JSON BATCH STEPS INPUT OUTPUT\n", argv[0]);
    return 2;
  }
  try {
    return tessera::serve(argv);
  } catch (const tessera::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
