#include "calibration_samples.h"

#include "arguments.h"
#include "picture_files.h"
#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/io/samples.h"
#include "tessera/vision/model_notes.h"
#include "tessera/vision/picture_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <utility>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRandomSamples = 32;
constexpr std::int64_t kOpenBatch = 1;  // samples that go together where the model leaves it open

// The same network with one sample at a time where its batch is open.
Graph sized(const Graph& graph) {
  Graph out = graph;
  for (const ValueId id : out.inputs) {
    TensorType& type = out.value(id).type;
    if (type.dims && !type.dims->empty() && type.dims->front() == TensorType::kUnknown) type.dims->front() = kOpenBatch;
    check(type.is_static() && type.rank() > 0, Code::invalid_argument, Hint{"--shape, --dim, --batch"},
          "input '{}' is {}: which shape do the samples have?", out.value(id).name, type.to_string());
  }
  return out;
}

Array rows(const Array& array, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> dims = array.shape().dims();
  const std::size_t row_bytes = array.bytes().size() / static_cast<std::size_t>(dims[0]);
  dims[0] = count;
  Array out(array.type(), Shape(std::move(dims)));
  std::memcpy(out.bytes().data(), array.bytes().data() + static_cast<std::size_t>(first) * row_bytes,
              static_cast<std::size_t>(count) * row_bytes);
  return out;
}

CalibrationSamples arrays(const Graph& graph, const CalibrationArgument& argument, const RandomSamples& random) {
  const Graph one = sized(graph);
  const std::vector<Array> all = read_samples(one, argument.inputs, random);
  const std::int64_t batch = one.value(one.inputs[0]).type.shape()[0];
  std::int64_t count = all[0].shape()[0];
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Value& input = one.value(one.inputs[i]);
    const Shape& wanted = input.type.shape();
    check(all[i].type() == input.type.type &&
              std::equal(wanted.dims().begin() + 1, wanted.dims().end(), all[i].shape().dims().begin() + 1),
          Code::invalid_argument, "the samples of '{}' are {}, and the network takes {}", input.name,
          all[i].to_string(), input.type.to_string());
    check(all[i].shape()[0] == count && wanted[0] == batch, Code::invalid_argument,
          "there are {} samples of '{}' and {} of '{}'", count, one.value(one.inputs[0]).name, all[i].shape()[0],
          input.name);
  }
  if (argument.samples > 0) count = std::min(count, argument.samples);
  CalibrationSamples out;
  for (std::int64_t first = 0; first + batch <= count; first += batch) {
    std::vector<Array> run;
    for (const Array& array : all) run.push_back(rows(array, first, batch));
    out.runs.push_back(std::move(run));
  }
  const std::int64_t used = static_cast<std::int64_t>(out.runs.size()) * batch;
  check(used > 0, Code::invalid_argument, "{} samples do not fill a batch of {}", count, batch);
  const bool is_random = argument.inputs.empty();
  out.description = counted(used, is_random ? "random sample" : "sample");
  out.random = is_random;
  return out;
}

std::vector<vision::NamedOutput> named(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<vision::NamedOutput> out;
  for (const ValueId id : ids) out.push_back({graph.value(id).name, graph.value(id).type});
  return out;
}

CalibrationSamples pictures(const Graph& graph, const ModelArgument& model, const CalibrationArgument& argument,
                            const Context& context) {
  vision::PictureTaskOptions options;
  if (!argument.preprocess.empty()) options.preprocessing = load_preprocessing(argument.preprocess);
  const vision::PictureTask task(named(graph, graph.inputs), named(graph, graph.outputs), load_model_notes(model.model),
                                 std::move(options));
  const auto batch = static_cast<std::size_t>(std::max<std::int64_t>(1, task.batch()));
  std::vector<PictureFile> files = list_pictures({argument.inputs.begin(), argument.inputs.end()});
  if (argument.samples > 0 && files.size() > static_cast<std::size_t>(argument.samples))
    files.resize(static_cast<std::size_t>(argument.samples));
  CalibrationSamples out;
  std::vector<Image> waiting;
  std::size_t used = 0;
  Progress progress("pictures", files.size(), context.quiet);
  for_each_picture(
      files, 1,
      [&](NamedPicture picture) {
        waiting.push_back(std::move(picture.image));
        if (waiting.size() < batch) return;
        out.runs.push_back({task.prepare(waiting).input});
        used += waiting.size();
        waiting.clear();
        progress.at(used);
      },
      [](const std::string& name, const std::string& why) {
        fail(Code::invalid_argument, Hint{"leave it out"}, "'{}' cannot be read: {}", name, why);
      });
  check(used > 0, Code::invalid_argument, "{} pictures do not fill a batch of {}", files.size(), batch);
  out.description = counted(used, "picture");
  return out;
}

}  // namespace

void add_calibration_argument(CLI::App& command, CalibrationArgument& argument) {
  command
      .add_option(
          "--calibration", argument.inputs,
          "Samples like those the network will see: folders or files of .npy (NAME=PATH for one of several inputs) "
          "or .npz arrays, or of pictures; default: random numbers")
      ->expected(1)
      ->take_all()
      ->type_name("PATH");
  command
      .add_option("--samples", argument.samples,
                  fmt::format("Use at most N samples; number of random ones (default {})", kRandomSamples))
      ->check(whole_number(1))
      ->type_name("N");
  command.add_option("--preprocess", argument.preprocess, "How pictures are prepared: a preset or a TOML file")
      ->type_name("PRESET|FILE");
}

CalibrationSamples calibration_samples(const Graph& graph, const ModelArgument& model,
                                       const CalibrationArgument& argument, const Context& context) {
  const auto count_if = [&](auto is) { return std::ranges::count_if(argument.inputs, is); };
  const auto of_pictures = count_if([](const std::string& path) { return is_picture_input(path); });
  check(of_pictures == 0 || of_pictures == static_cast<std::ptrdiff_t>(argument.inputs.size()), Code::invalid_argument,
        "--calibration has both pictures and arrays");
  check(of_pictures > 0 || argument.preprocess.empty(), Code::invalid_argument,
        "--preprocess has no effect: --calibration has no pictures");
  if (of_pictures > 0) return pictures(graph, model, argument, context);
  RandomSamples random;
  if (argument.inputs.empty())
    random = {.count = argument.samples > 0 ? argument.samples : kRandomSamples, .seed = model.seed};
  return arrays(graph, argument, random);
}

}  // namespace tessera::cli
