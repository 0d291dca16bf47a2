#include "tessera/targets/apple/verdicts/guide.h"

#include "tessera/core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace tessera::apple {
namespace {

constexpr std::int64_t kLineFloats = 16;  // of 64 bytes

bool power_of_two(std::int64_t n) { return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n)); }

class Linter {
 public:
  explicit Linter(const DeviceProfile& device) : device_(device) {}

  void size(const std::string& subject, std::int64_t value) {
    if (!power_of_two(value)) {
      const auto above = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(value)));
      add(Severity::warning, "power-of-two", subject,
          fmt::format("{} is {}, no power of two: {} or {} fill tiles", subject, value, above / 2, above));
    }
  }
  void alignment(const std::string& subject, std::int64_t value) {
    if (value % kLineFloats != 0)
      add(Severity::advice, "alignment", subject,
          fmt::format("rows of {} floats are {} bytes: every other row starts inside a line of 64", value, 4 * value));
  }
  void range(const std::string& subject, std::int64_t value, const std::vector<int>& sizes) {
    if (value < sizes.front() || value > sizes.back())
      add(Severity::warning, "range", subject,
          fmt::format("{} is {}; {} to {} are recommended for {}", subject, value, sizes.front(), sizes.back(),
                      device_.title));
  }
  void add(Severity severity, std::string rule, std::string subject, std::string message) {
    out_.push_back({severity, std::move(rule), std::move(subject), std::move(message)});
  }
  std::vector<Finding> done() && { return std::move(out_); }

 private:
  const DeviceProfile& device_;
  std::vector<Finding> out_;
};

void lint_backbone(Linter& linter, const ncp::CfcLayer& layer, const DeviceProfile& device) {
  for (std::size_t l = 0; l < layer.backbone.size(); ++l) {
    const std::string subject = fmt::format("backbone[{}]", l);
    linter.size(subject, layer.backbone[l]);
    linter.alignment(subject, layer.backbone[l]);
    if (layer.backbone[l] > *std::max_element(device.backbone_units.begin(), device.backbone_units.end()))
      linter.add(Severity::advice, "backbone", subject,
                 fmt::format("{} is {}; the guide uses [{}] on {}", subject, layer.backbone[l],
                             fmt::join(device.backbone_units, ", "), device.title));
  }
  if (layer.backbone.size() < device.backbone_units.size())
    linter.add(Severity::advice, "backbone", "backbone",
               fmt::format("{} backbone layers; the guide uses {} of them: [{}]", layer.backbone.size(),
                           device.backbone_units.size(), fmt::join(device.backbone_units, ", ")));
}

}  // namespace

std::string_view name(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "advice";
}

std::vector<Finding> lint(const ncp::Layer& layer, const DeviceProfile& device, std::int64_t batch,
                          std::int64_t steps) {
  const ncp::LayerSizes size = ncp::sizes(layer);
  Linter linter(device);
  linter.size("units", size.state);
  linter.alignment("units", size.state);
  linter.range("units", size.state, device.hidden_sizes);
  if (size.state > device.hidden_limit)
    linter.add(Severity::error, "limit", "units",
               fmt::format("{} units are over the limit of {} for {}", size.state, device.hidden_limit, device.title));
  linter.alignment("inputs", size.inputs);
  if (const auto* cfc = std::get_if<ncp::CfcLayer>(&layer)) {
    if (!cfc->wiring) lint_backbone(linter, *cfc, device);
    if (cfc->wiring)
      linter.add(Severity::advice, "backbone", "wiring",
                 fmt::format("a wired CfC has no backbone, and a cell for each of the {} layers of the wiring: each "
                             "waits for the one before it in every step",
                             cfc->wiring->layers.size()));
  } else {
    const auto& ltc = std::get<ncp::LtcLayer>(layer);
    linter.add(
        Severity::advice, "fusion", "ode_unfolds",
        fmt::format("{} dependent unfolds a step: each is a launch unless a kernel does them all", ltc.ode_unfolds));
  }
  if (batch > 0) {
    linter.size("batch", batch);
    linter.range("batch", batch, device.batch_sizes);
    const ncp::MemoryNeed need = ncp::memory_need(layer, batch, steps, true);
    if (need.total() > device.memory_budget_bytes)
      linter.add(Severity::error, "memory", "batch",
                 fmt::format("training with a batch of {} and {} steps takes {:.1f} MB, over the budget of {:.0f} MB",
                             batch, steps, static_cast<double>(need.total()) / 1048576, device.memory_budget()));
  }
  for (const std::string& words : device.advice)
    linter.add(Severity::advice, "device", device.name, fmt::format("of every model on {}: {}", device.title, words));
  return std::move(linter).done();
}

TrainingSettings configure_training(const DeviceProfile& device) {
  TrainingSettings out{.batch_size = device.get_optimal_batch_size(),
                       .learning_rate = device.learning_rate,
                       .backbone_dropout = device.backbone_dropout};
  out.compute_type = device.measured ? "bfloat16" : "float16";
  out.loss_scaling = !device.measured;
  return out;
}

TrainingSettings configure_training(const DeviceProfile& device, const ncp::Layer& layer, std::int64_t steps) {
  TrainingSettings out = configure_training(device);
  const auto fits = [&](int batch) {
    return ncp::memory_need(layer, batch, steps, true).total() <= device.memory_budget_bytes;
  };
  for (auto batch = device.batch_sizes.rbegin(); batch != device.batch_sizes.rend(); ++batch) {
    out.batch_size = *batch;
    if (fits(*batch)) break;
  }
  while (out.batch_size > 1 && !fits(out.batch_size)) out.batch_size /= 2;
  const auto* cfc = std::get_if<ncp::CfcLayer>(&layer);
  const std::size_t dropping = cfc != nullptr && ncp::rules(cfc->dialect).dropout_after_first ? 0 : 1;
  if (cfc == nullptr || cfc->wiring || cfc->backbone.size() <= dropping) out.backbone_dropout = 0;
  // An LTC that only the reference differentiates.
  const auto* ltc = std::get_if<ncp::LtcLayer>(&layer);
  if (ltc != nullptr && (ltc->solver != ncp::OdeSolver::semi_implicit || ltc->mixed_memory)) {
    out.compute_type = "float32";
    out.loss_scaling = false;
  }
  return out;
}

ncp::CfcLayer create_optimized_model(const DeviceProfile& device, int inputs) {
  ncp::CfcLayer layer{.inputs = inputs, .units = device.get_optimal_hidden_size()};
  layer.backbone = device.get_optimal_backbone();
  layer.backbone_dropout = device.backbone_dropout;
  ncp::sizes(layer);
  return layer;
}

FusionReport fusion_report(const ncp::Layer& layer, std::int64_t batch, std::int64_t steps) {
  return {ncp::forward_work(layer, batch, steps, {.fusion = ncp::Fusion::none}),
          ncp::forward_work(layer, batch, steps, {.fusion = ncp::Fusion::elementwise}),
          ncp::forward_work(layer, batch, steps, {.fusion = ncp::Fusion::full})};
}

Contiguous contiguous(const float* data, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  check(shape.size() == strides.size(), Code::invalid_argument, "{} extents and {} strides", shape.size(),
        strides.size());
  std::int64_t count = 1;
  bool in_order = true;
  for (std::size_t i = shape.size(); i-- > 0;) {
    check(shape[i] >= 0, Code::invalid_argument, "extent {} is {}", i, shape[i]);
    if (shape[i] != 1 && strides[i] != count) in_order = false;
    count *= shape[i];
  }
  Contiguous out;
  if (in_order || count == 0) {
    out.values = {data, static_cast<std::size_t>(count)};
    return out;
  }
  out.copied = true;
  out.copy.reserve(static_cast<std::size_t>(count));
  std::vector<std::int64_t> at(shape.size(), 0);
  std::int64_t offset = 0;
  while (true) {
    out.copy.push_back(data[offset]);
    std::size_t axis = shape.size();
    while (axis-- > 0) {
      offset += strides[axis];
      if (++at[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) break;
  }
  out.values = out.copy;
  return out;
}

ncp::SequenceResult<float> process_in_batches(const ncp::Runner& runner, const ncp::Sequence<float>& sequence,
                                              std::int64_t batch_size, ncp::KeepStates keep) {
  check(batch_size >= 1, Code::invalid_argument, "a batch size of {} makes no slices", batch_size);
  check(!sequence.dropout_seed, Code::invalid_argument,
        "dropout goes by the number of a sample in its call: slices "
        "would drop other values than one call does");
  ncp::check_sequence(runner.layer(), sequence);
  const ncp::LayerSizes size = ncp::sizes(runner.layer());
  const std::int64_t all = sequence.batch, steps = sequence.steps;
  ncp::SequenceResult<float> out;
  const std::int64_t output_steps = size.return_sequences ? steps : 1;
  const auto sized = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  out.output.resize(sized(all * output_steps * size.outputs));
  out.state.resize(sized(all * size.state));
  if (size.mixed_memory) out.memory.resize(out.state.size());
  if (keep == ncp::KeepStates::yes) out.states.resize(sized(all * steps * size.state));

  // Rows of a sequence that belong to samples [begin, begin + n), as a sequence of their own, and back.
  const auto take = [&](std::span<const float> from, std::int64_t width, std::int64_t begin, std::int64_t n) {
    std::vector<float> part;
    part.reserve(sized(n * steps * width));
    const std::int64_t rows = size.batch_first ? 1 : steps, length = (size.batch_first ? n * steps : n) * width;
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto first = from.begin() + (size.batch_first ? begin * steps : r * all + begin) * width;
      part.insert(part.end(), first, first + length);
    }
    return part;
  };
  const auto put = [&](const std::vector<float>& part, std::vector<float>& to, std::int64_t in_steps,
                       std::int64_t width, std::int64_t begin, std::int64_t n) {
    const bool whole = size.batch_first || in_steps == 1;
    const std::int64_t rows = whole ? 1 : in_steps, length = (whole ? n * in_steps : n) * width;
    for (std::int64_t r = 0; r < rows; ++r)
      std::copy_n(part.begin() + r * length, length, to.begin() + (whole ? begin * in_steps : r * all + begin) * width);
  };
  ncp::SequenceResult<float> result;
  for (std::int64_t begin = 0; begin < all; begin += batch_size) {
    const std::int64_t n = std::min(batch_size, all - begin);
    ncp::Sequence<float> part{.batch = n, .steps = steps};
    const std::vector<float> input = take(sequence.input, size.inputs, begin, n);
    std::vector<float> timespans(sequence.timespans.begin(), sequence.timespans.end());  // one for all
    if (const auto given = static_cast<std::int64_t>(sequence.timespans.size()); given > 1)
      timespans = take(sequence.timespans, given / (all * steps), begin, n);  // for each step, or for each unit of it
    part.input = input;
    part.timespans = timespans;
    const auto rows = [&](std::span<const float> from) {
      return from.empty() ? from : from.subspan(sized(begin * size.state), sized(n * size.state));
    };
    part.state = rows(sequence.state);
    part.memory = rows(sequence.memory);
    runner.run(part, result, keep);
    put(result.output, out.output, output_steps, size.outputs, begin, n);
    put(result.state, out.state, 1, size.state, begin, n);
    if (size.mixed_memory) put(result.memory, out.memory, 1, size.state, begin, n);
    if (keep == ncp::KeepStates::yes) put(result.states, out.states, steps, size.state, begin, n);
  }
  return out;
}

const ncp::SequenceResult<float>& CompiledLayer::operator()(const ncp::Sequence<float>& sequence, bool training,
                                                            ncp::KeepStates keep) {
  check(training || !sequence.dropout_seed, Code::invalid_argument, Hint{"pass training = true, or no seed"},
        "a dropout seed was given, but the call is not one of training");
  const Key key{sequence.batch, sequence.steps, training, keep == ncp::KeepStates::yes};
  auto found = plans_.find(key);
  if (found == plans_.end()) {
    ncp::check_sequence(runner_.layer(), sequence);
    found = plans_.emplace(key, Plan{.work = ncp::forward_work(runner_.layer(), sequence.batch, sequence.steps)}).first;
  }
  Plan& plan = found->second;
  ++plan.calls;
  runner_.run(sequence, plan.result, keep);
  return plan.result;
}

}  // namespace tessera::apple
