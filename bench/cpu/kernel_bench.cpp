// How fast every kernel in the CPU's tables is, each on the largest node of bench_nodes() that it takes.
//
// usage: tessera_kernel_bench [--format table|json] [--seconds 0.05] [--isa NAME] [--threads N] [--filter TEXT]
//
// Rows come from the tables alone: a new kernel is timed without a line here. One that takes no node, of those that
// this machine can run, is an error. Definitions and views are left out: they are not there for speed.

#include "bench/cpu/problem.h"
#include "bench/measure.h"
#include "tessera/core/error.h"
#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"
#include "tessera/graph/evaluate.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::bench {
namespace {

struct Options {
  bool json = false;
  double seconds = 0.05;
  std::optional<Isa> isa;
  int threads = 1;
  std::string filter;
};

struct Row {
  std::string kernel, node;
  double best_s = 0, median_s = 0, flops = 0, bytes = 0;
};

struct Candidate {
  const BenchNode* node = nullptr;
  Offer offer;
};

Problem problem_of(const BenchNode& node, const KernelInfo& kernel, const KernelMachine& spec, int threads) {
  const Node& n = node.graph.nodes[node.node];
  Problem problem{node.graph, n,      infer_node(node.graph, n), std::vector<Order>(n.inputs.size(), Order::row_major),
                  spec,       threads};
  problem.weights = kernel.weights;
  return problem;
}

// The node that would take longest, as the kernel itself says.
Candidate largest(const cpu::CpuKernel& kernel, const std::vector<BenchNode>& nodes, const KernelMachine& spec,
                  int threads) {
  Candidate found;
  for (const BenchNode& node : nodes) {
    if (kernel.info.op != name(node.graph.nodes[node.node].op)) continue;
    const Answer answer = kernel.info.consider(kernel.info, problem_of(node, kernel.info, spec, threads));
    const Offer* offer = std::get_if<Offer>(&answer);
    if (offer != nullptr && (found.node == nullptr || offer->estimate.seconds > found.offer.estimate.seconds))
      found = {&node, *offer};
  }
  return found;
}

Row measure(const cpu::CpuKernel& kernel, const Candidate& candidate, const KernelMachine& spec,
            const Options& options) {
  Problem problem = problem_of(*candidate.node, kernel.info, spec, options.threads);
  problem.orders = candidate.offer.inputs;
  cpu::WeightCache weights;
  const cpu::Runner run = kernel.prepare(kernel.info, problem, candidate.offer, weights);
  std::mt19937_64 random(1);
  std::vector<Array> operands(problem.node.inputs.size());
  std::vector<const std::byte*> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (problem.has(i) && problem.constant(i) == nullptr)
      operands[i] = random_array(problem.input(i).type, problem.input(i).shape(), random);
    inputs.push_back(!problem.has(i)                  ? nullptr
                     : problem.constant(i) != nullptr ? problem.constant(i)->bytes().data()
                                                      : operands[i].bytes().data());
  }
  std::vector<std::unique_ptr<cpu::PackedWeights>> memory;
  const auto allocate = [&](std::int64_t bytes) {
    memory.push_back(std::make_unique<cpu::PackedWeights>(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))));
    return memory.back()->data();
  };
  std::vector<std::byte*> outputs;
  for (const TensorType& out : problem.types.outputs)
    outputs.push_back(allocate(out.shape().volume() * element_bytes(out.type)));
  const cpu::StepArgs args{inputs, outputs, allocate(candidate.offer.scratch_bytes)};

  run(args);
  std::vector<double> times;
  double spent = 0;
  while (times.size() < 3 || (spent < options.seconds && times.size() < 1001)) {
    times.push_back(seconds_of([&] { run(args); }));
    spent += times.back();
  }
  const Work work = tessera::work(problem.graph, problem.node);
  return {std::string(kernel.info.name),
          candidate.node->name,
          *std::ranges::min_element(times),
          median(times),
          work.flops,
          work.read_bytes + work.write_bytes};
}

void print(const std::vector<Row>& rows, const Options& options) {
  if (options.json) {
    nlohmann::json out{{"program", "tessera_kernel_bench"}, {"kind", "measured"}, {"threads", options.threads}};
    for (const Row& row : rows)
      out["rows"].push_back({{"kernel", row.kernel},
                             {"node", row.node},
                             {"best_s", row.best_s},
                             {"median_s", row.median_s},
                             {"flops", row.flops},
                             {"bytes", row.bytes}});
    fmt::print("{}\n", out.dump(1));
    return;
  }
  fmt::print("{:<44} {:<40} {:>10} {:>10} {:>9} {:>8}\n", "kernel", "node", "median us", "best us", "GFLOP/s", "GB/s");
  for (const Row& row : rows)
    fmt::print("{:<44} {:<40} {:>10.2f} {:>10.2f} {:>9.1f} {:>8.1f}\n", row.kernel, row.node, row.median_s * 1e6,
               row.best_s * 1e6, row.flops / row.best_s * 1e-9, row.bytes / row.best_s * 1e-9);
}

void run(const Options& options) {
  set_max_threads(options.threads);
  const std::vector<BenchNode> nodes = bench_nodes();
  const KernelMachine spec(machine());
  std::vector<Row> rows;
  std::vector<std::string_view> without;
  for (const cpu::CpuKernel& kernel : cpu::kernels()) {
    if (kernel.info.role != KernelRole::computes || kernel.info.isa > options.isa.value_or(host_isa())) continue;
    if (options.isa && kernel.info.isa != *options.isa) continue;
    if (kernel.info.name.find(options.filter) == std::string_view::npos) continue;
    const Candidate candidate = largest(kernel, nodes, spec, options.threads);
    if (candidate.node == nullptr)
      without.push_back(kernel.info.name);
    else
      rows.push_back(measure(kernel, candidate, spec, options));
  }
  print(rows, options);
  check(without.empty(), Code::not_found, Hint{"give bench_nodes() (bench/cpu/problem.cpp) a node of its operator"},
        "{} kernels take no node: {}", without.size(), fmt::join(without, ", "));
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      check(i + 1 < argc, Code::invalid_argument, "option '{}' needs a value", word);
      return std::string(argv[++i]);
    };
    if (word == "--format") {
      const std::string format = value();
      check(format == "table" || format == "json", Code::invalid_argument, "no format is called '{}'", format);
      options.json = format == "json";
    } else if (word == "--seconds") {
      options.seconds = std::stod(value());
    } else if (word == "--threads") {
      options.threads = std::stoi(value());
    } else if (word == "--filter") {
      options.filter = value();
    } else if (word == "--isa") {
      const std::string isa = value();
      options.isa = parse_isa(isa);
      check(options.isa.has_value(), Code::invalid_argument, "no instruction set is called '{}'", isa);
    } else {
      fail(Code::invalid_argument,
           Hint{"usage: tessera_kernel_bench [--format table|json] [--seconds S] [--isa NAME] [--threads N] "
                "[--filter TEXT]"},
           "unknown option '{}'", word);
    }
  }
  return options;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  try {
    tessera::bench::run(tessera::bench::parse(argc, argv));
    return 0;
  } catch (const tessera::Error& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
