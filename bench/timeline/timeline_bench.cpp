// How many tasks the event engine simulates a second: blocks that go through readers, math and writers of many cores
// with double buffers between them, built and run anew each time.
//
// usage: tessera_timeline_bench [--cores 64] [--blocks 2000] [--rounds 5]

#include "bench/measure.h"
#include "tessera/timeline/timeline.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>
#include <vector>

namespace tessera::bench {
namespace {

sim::Timeline build(int cores, int blocks) {
  sim::Timeline t;
  t.reserve(static_cast<std::size_t>(cores) * static_cast<std::size_t>(blocks) * 3);
  const sim::ResourceId dram = t.add_resource("dram", 12);
  for (int core = 0; core < cores; ++core) {
    const sim::ResourceId math = t.add_resource(fmt::format("math {}", core), 1, sim::Order::program);
    const sim::ResourceId writer = t.add_resource(fmt::format("writer {}", core));
    const sim::BufferId in = t.add_buffer("in", 2), out = t.add_buffer("out", 2);
    for (int i = 0; i < blocks; ++i) {
      const sim::TaskId read = t.add_task(dram, 100 + (i * 7 + core) % 13, "read");
      t.acquire(read, in);
      const sim::TaskId multiply = t.add_task(math, 500 + i % 5, "multiply");
      t.after(multiply, read);
      t.acquire(multiply, out);
      t.release(multiply, in);
      const sim::TaskId write = t.add_task(writer, 200, "write");
      t.after(write, multiply);
      t.release(write, out);
    }
  }
  return t;
}

int run(int argc, char** argv) {
  int cores = 64, blocks = 2000, rounds = 5;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    const int value = std::atoi(argv[i + 1]);
    if (option == "--cores") cores = value;
    if (option == "--blocks") blocks = value;
    if (option == "--rounds") rounds = value;
  }
  std::vector<double> building, running;
  std::int64_t end_ps = 0;
  double tasks = 0;
  for (int round = 0; round < rounds; ++round) {
    sim::Timeline t;
    building.push_back(seconds_of([&] { t = build(cores, blocks); }));
    running.push_back(seconds_of([&] { end_ps = simulate(t).end_ps; }));
    tasks = static_cast<double>(t.tasks().size());
  }
  fmt::print("{:.0f} tasks, end at {:.3f} ms: built at {:.2f}, simulated at {:.2f} million tasks a second\n", tasks,
             sim::ns_of(end_ps) * 1e-6, tasks / median(building) * 1e-6, tasks / median(running) * 1e-6);
  // The promise that the engine makes, with room for a slow machine.
  return tasks / (median(building) + median(running)) >= 1e5 ? 0 : 1;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) { return tessera::bench::run(argc, argv); }
