// How fast convolutions run, next to a loop of nothing but multiply-adds in the same run.
//
// usage: tessera_cpu_bench [--format table|json] [--seconds 0.3] [--isa NAME] [--dtype f32|bf16] [--threads N]
//                               [--filter TEXT] [--relu] [--all] [shapes/resnet50.txt ...]
//
// Without --all, only the kernel that a plan would take for the instruction set is timed. Kernels are called as they
// are, on values that are in their order already, and pools are left out: `tessera bench` takes the time of whole
// layers.

#include "bench/cpu/problem.h"
#include "bench/measure.h"
#include "tessera/core/error.h"
#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"
#include "tessera/core/peak.h"
#include "tessera/io/layer_file.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace tessera::bench {
namespace {

struct Options {
  bool json = false, all = false, relu = false;
  double seconds = 0.3;
  std::optional<Isa> isa;
  ElementType type = ElementType::float32;
  int threads = 1;
  std::string filter;
  std::vector<std::string> files;
};

// A node with all it needs to be run.
struct Subject {
  const cpu::CpuKernel* kernel;
  Offer offer;
  cpu::Runner run;
};

struct Setup {
  Graph graph;
  Array x;  // in channels_last order
  std::unique_ptr<Problem> problem;
  KernelMachine machine;
};

std::unique_ptr<Setup> make_setup(const ConvBlock& l, const Options& options) {
  auto setup = std::make_unique<Setup>();
  std::mt19937_64 random(1);
  Graph& g = setup->graph;
  const Shape x{l.n, l.ic, l.h, l.w};
  Conv conv;
  conv.window.strides = {l.stride, l.stride};
  conv.window.pads = {l.pad, l.pad, l.pad, l.pad};
  conv.groups = l.groups;
  const ValueId id = g.add_input("x", {options.type, x});
  std::vector<ValueId> operands{
      id, g.add_constant("w", random_array(options.type, Shape{l.oc, l.ic / l.groups, l.kh, l.kw}, random))};
  if (l.bias) operands.push_back(g.add_constant("b", random_array(options.type, Shape{l.oc}, random)));
  const std::size_t operand_count = operands.size();
  g.outputs = {g.add("conv", conv, std::move(operands))};
  if (l.relu) g.nodes[0].fused.push_back({Unary{Unary::Kind::relu}, {FusedOp::kChained}});
  setup->x = random_array(options.type, Shape{l.n, l.h, l.w, l.ic}, random);
  setup->machine = KernelMachine(machine());
  const Node& node = g.nodes[0];
  setup->problem = std::make_unique<Problem>(Problem{g, node, infer_node(g, node),
                                                     std::vector<Order>(operand_count, Order::row_major),
                                                     setup->machine, options.threads});
  return setup;
}

// A few results, from the definition.
void check_results(const ConvBlock& l, const Setup& setup, const std::byte* y, const Options& options,
                   const KernelInfo& kernel) {
  std::mt19937_64 random(7);
  const std::vector<double> x = setup.x.to_double(), w = setup.problem->constant(1)->to_double(),
                            b = l.bias ? setup.problem->constant(2)->to_double()
                                       : std::vector<double>(static_cast<std::size_t>(l.oc));
  const Shape out = setup.problem->output().shape();
  const std::int64_t oh = out[2], ow = out[3], ic = l.ic / l.groups, oc = l.oc / l.groups;
  for (int i = 0; i < 64; ++i) {
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    const std::int64_t n = below(l.n), m = below(l.oc), oy = below(oh), ox = below(ow);
    double sum = b[static_cast<std::size_t>(m)], size = 1;
    for (std::int64_t c = 0; c < ic; ++c)
      for (std::int64_t ky = 0; ky < l.kh; ++ky)
        for (std::int64_t kx = 0; kx < l.kw; ++kx) {
          const std::int64_t iy = oy * l.stride - l.pad + ky, ix = ox * l.stride - l.pad + kx;
          if (iy < 0 || iy >= l.h || ix < 0 || ix >= l.w) continue;
          const double product = x[static_cast<std::size_t>(((n * l.h + iy) * l.w + ix) * l.ic + m / oc * ic + c)] *
                                 w[static_cast<std::size_t>(((m * ic + c) * l.kh + ky) * l.kw + kx)];
          sum += product;
          size += std::abs(product);
        }
    if (l.relu) sum = std::max(sum, 0.0);
    const std::int64_t at = ((n * oh + oy) * ow + ox) * l.oc + m;
    const bool f32 = options.type == ElementType::float32;
    const double got = f32 ? reinterpret_cast<const float*>(y)[at]
                           : float_from_bfloat16(reinterpret_cast<const std::uint16_t*>(y)[at]);
    const double allowed =
        size * std::ldexp(1.0, kernel.exact() ? -22 : -18) + (f32 ? 0 : std::abs(sum) * std::ldexp(1.0, -8));
    check(std::abs(got - sum) <= allowed, Code::internal, "{}: {} gives {} instead of {}", l.name, kernel.name, got,
          sum);
  }
}

struct Row {
  ConvBlock layer;
  std::string kernel;
  double flops, bytes;
  Comparison time;
  double peak_flop_per_s, peak_part;
};

void measure(const ConvBlock& layer, const Options& options, std::vector<Row>& rows) {
  const std::unique_ptr<Setup> setup = make_setup(layer, options);
  const Isa isa = options.isa.value_or(host_isa());
  cpu::WeightCache weights;
  std::vector<Subject> subjects;
  for (const cpu::CpuKernel& kernel : cpu::kernels()) {
    if (kernel.info.op != Conv::kName || kernel.info.isa > isa || kernel.info.type != options.type) continue;
    if (options.isa && kernel.info.isa != isa) continue;
    Answer answer = kernel.info.consider(kernel.info, *setup->problem);
    if (!std::holds_alternative<Offer>(answer)) continue;
    Offer offer = std::get<Offer>(answer);
    if (offer.inputs[0] != Order::channels_last) continue;
    if (!options.all && !subjects.empty()) {
      if (offer.estimate.seconds >= subjects[0].offer.estimate.seconds) continue;
      subjects.clear();
    }
    subjects.push_back({&kernel, offer, {}});
  }
  check(!subjects.empty(), Code::unsupported, "{}: no kernel takes it", layer.name);

  set_max_threads(options.threads);
  const TensorType out = setup->problem->output();
  cpu::PackedWeights y(static_cast<std::size_t>(out.shape().volume() * element_bytes(out.type)));
  const Work work = tessera::work(setup->graph, setup->graph.nodes[0]);
  for (Subject& subject : subjects) {
    Problem problem = *setup->problem;
    problem.orders = subject.offer.inputs;
    subject.run = subject.kernel->prepare(subject.kernel->info, problem, subject.offer, weights);
    cpu::PackedWeights scratch(static_cast<std::size_t>(std::max<std::int64_t>(subject.offer.scratch_bytes, 1)));
    const std::byte* inputs[] = {setup->x.bytes().data(), nullptr, nullptr};
    std::byte* outputs[] = {y.data()};
    const cpu::StepArgs args{inputs, outputs, scratch.data()};
    subject.run(args);
    check_results(layer, *setup, y.data(), options, subject.kernel->info);
    const double flops = layer.flops();
    // As long as the subject, about.
    const auto steps = static_cast<std::int64_t>(std::max(1e4, std::min(flops / 320, 1e6)));
    double peak_flops = 0;
    const Comparison time =
        compare([&] { subject.run(args); }, [&] { peak_flops = run_peak_loop(subject.kernel->info.isa, steps); },
                Budget{options.seconds, 5, 1001});
    // The best round of each: others may be using the machine too.
    const double peak = peak_flops / time.best_peer_s * options.threads;
    rows.push_back({layer, std::string(subject.kernel->info.name), flops, work.read_bytes + work.write_bytes, time,
                    peak, flops / time.best_subject_s / peak});
    if (!options.json)
      fmt::print("{:<26} {:<30} {:>9.3f} {:>9.3f} {:>9.1f} {:>8.1f} {:>7.1f} {:>4}\n", layer.name, rows.back().kernel,
                 time.subject_s * 1e3, time.best_subject_s * 1e3, flops / time.best_subject_s * 1e-9,
                 rows.back().bytes / time.best_subject_s * 1e-9, 100 * rows.back().peak_part, layer.times);
  }
  set_max_threads(0);
}

void print_json(const std::vector<Row>& rows, const Options& options) {
  nlohmann::json out{{"schema", "tessera.bench/1"},
                     {"kind", "measured"},
                     {"program", "tessera_cpu_bench"},
                     {"isa", name(host_isa())},
                     {"threads", options.threads}};
  for (const Row& row : rows)
    out["rows"].push_back({{"layer", row.layer.name},
                           {"times", row.layer.times},
                           {"kernel", row.kernel},
                           {"flops", row.flops},
                           {"bytes", row.bytes},
                           {"seconds", row.time.subject_s},
                           {"deviation_s", row.time.subject_deviation_s},
                           {"best_s", row.time.best_subject_s},
                           {"rounds", row.time.rounds},
                           {"peak_flop_per_s", row.peak_flop_per_s},
                           {"part_of_peak", row.peak_part}});
  fmt::print("{}\n", out.dump(1));
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const auto value = [&]() -> std::string {
      check(i + 1 < argc, Code::invalid_argument, "{} needs a value", flag);
      return argv[++i];
    };
    if (flag == "--format") {
      options.json = value() == "json";
    } else if (flag == "--seconds") {
      options.seconds = std::atof(value().c_str());
    } else if (flag == "--isa") {
      const std::string text = value();
      options.isa = parse_isa(text);
      check(options.isa.has_value(), Code::invalid_argument, "'{}' names no instruction set", text);
    } else if (flag == "--dtype") {
      const std::string text = value();
      check(text == "f32" || text == "bf16", Code::invalid_argument, "--dtype is f32 or bf16, not '{}'", text);
      options.type = text == "f32" ? ElementType::float32 : ElementType::bfloat16;
    } else if (flag == "--threads") {
      options.threads = std::atoi(value().c_str());
      check(options.threads > 0, Code::invalid_argument, "--threads needs a positive number");
    } else if (flag == "--filter") {
      options.filter = value();
    } else if (flag == "--relu") {
      options.relu = true;
    } else if (flag == "--all") {
      options.all = true;
    } else {
      check(!flag.starts_with("--"), Code::invalid_argument,
            Hint{"usage: tessera_cpu_bench [--format table|json] [--seconds S] [--isa NAME] [--dtype f32|bf16] "
                 "[--threads N] [--filter TEXT] [--relu] [--all] [SHAPES...]"},
            "unknown option '{}'", flag);
      options.files.emplace_back(flag);
    }
  }
  if (options.files.empty()) options.files = {"shapes/resnet50.txt"};  // as `make bench` runs it
  return options;
}

int run(int argc, char** argv) {
  const Options options = parse(argc, argv);
  std::vector<Row> rows;
  if (!options.json)
    fmt::print("{:<26} {:<30} {:>9} {:>9} {:>9} {:>8} {:>7} {:>4}\n", "layer", "kernel", "ms", "best ms", "GFLOP/s",
               "GB/s", "% peak", "x");
  for (const std::string& file : options.files) {
    for (ConvBlock& layer : load_layers(file)) {
      if (layer.name.find(options.filter) == std::string::npos) continue;
      layer.relu |= options.relu;
      measure(layer, options, rows);
    }
  }
  if (options.json) return print_json(rows, options), 0;
  if (options.all) return 0;
  double seconds = 0, best = 0, flops = 0, at_peak = 0;
  for (const Row& row : rows) {
    const double times = static_cast<double>(row.layer.times);
    seconds += times * row.time.subject_s, best += times * row.time.best_subject_s, flops += times * row.flops;
    at_peak += times * row.flops / row.peak_flop_per_s;
  }
  fmt::print("{:<26} {:<30} {:>9.3f} {:>9.3f} {:>9.1f} {:>8} {:>7.1f}\n", "together", "", seconds * 1e3, best * 1e3,
             flops / best * 1e-9, "", 100 * at_peak / best);
  return 0;
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  try {
    return tessera::bench::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
