// Tessera as one of the processes that bench/peers/compare.py lets take turns. Questions come as lines of JSON on
// standard input, answers go to standard output; worker.py is the same for the others and says what they mean.

#include "tessera/core/array.h"
#include "tessera/core/error.h"
#include "tessera/core/peak.h"
#include "tessera/io/npy.h"
#include "tessera/io/npz.h"
#include "tessera/session/session.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace tessera::bench {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The most memory that this process has had, KiB.
std::int64_t peak_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "VmHWM:") {
      std::int64_t kib = 0;
      status >> kib;
      return kib;
    }
  return 0;
}

struct Worker {
  int threads = 1;
  std::unique_ptr<Session> session;
  std::vector<Array> inputs;

  double once() const {
    const auto start = Clock::now();
    session->run(inputs);
    return seconds_since(start);
  }

  Json load(const Json& question) {
    session.reset();
    inputs.clear();
    NpyArray x = load_npy(question.at("input").get<std::string>());
    inputs.emplace_back(x.type, Shape(x.shape), std::move(x.data));
    SessionOptions options;
    options.threads = threads;
    if (question.at("dtype") == "bf16") options.storage = ElementType::bfloat16;
    const std::int64_t before = peak_memory_kib();
    const auto start = Clock::now();
    session = std::make_unique<Session>(tessera::load(question.at("model").get<std::string>(), options));
    const PlanSummary plan = session->prepare(inputs);
    const double loaded = seconds_since(start);
    const std::vector<Array> outputs = session->run(inputs);
    const double first = seconds_since(start);
    const std::int64_t after = peak_memory_kib();
    if (question.contains("output")) {
      std::vector<std::pair<std::string, NpyView>> arrays;
      for (const Array& array : outputs)
        arrays.emplace_back(fmt::format("{}", arrays.size()),
                            NpyView(array.type(), array.shape().dims(), array.bytes()));
      save_npz(question.at("output").get<std::string>(), arrays);
    }
    return {{"load_s", loaded},     {"first_s", first},   {"run_s", once()},
            {"before_kib", before}, {"after_kib", after}, {"flops", plan.flops}};
  }

  Json run(const Json& question) const {
    const double seconds = question.at("seconds").get<double>();
    if (question.at("warm").get<bool>()) once();
    Json times = Json::array();
    const auto start = Clock::now();
    do times.push_back(once());
    while (seconds_since(start) < seconds);
    return {{"times", std::move(times)}};
  }

  Json answer(const Json& question) {
    const std::string what = question.at("do").get<std::string>();
    if (what == "load") return load(question);
    if (what == "run") return run(question);
    if (what == "peak")
      return {{"flop_per_s", measure_flop_per_s(active_isa(), threads, question.at("seconds").get<double>())}};
    fail(Code::invalid_argument, "there is no '{}' to do", what);
  }
};

int serve(int argc, char** argv) {
  check(argc == 2, Code::invalid_argument, "usage: tessera_peer_worker THREADS");
  Worker worker;
  worker.threads = std::stoi(argv[1]);
  const auto say = [](const Json& answer) {
    fmt::print("{}\n", answer.dump());
    std::fflush(stdout);
  };
  say({{"ready", "tessera"}, {"version", fmt::format("tessera ({})", name(active_isa()))}});
  for (std::string line; std::getline(std::cin, line);) {
    try {
      say(worker.answer(Json::parse(line)));
    } catch (const std::exception& error) {
      say({{"error", error.what()}});
    }
  }
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  try {
    return tessera::bench::serve(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
