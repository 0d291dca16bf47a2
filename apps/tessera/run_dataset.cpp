#include "run_dataset.h"

#include "progress.h"
#include "world.h"

#include "tessera/core/error.h"
#include "tessera/core/sha256.h"
#include "tessera/io/npy.h"
#include "tessera/io/npz.h"
#include "tessera/report/units.h"
#include "tessera/scale/chunked_run.h"
#include "tessera/scale/run_parts.h"
#include "tessera/scale/shared_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

fs::path parts_folder(const std::string& folder) { return fs::path(folder) / ".unfinished"; }

// Samples of one input as they come from files, one behind the other.
class Stack {
 public:
  void add(const std::string& file, NpyArray array, std::size_t rank) {
    // A file without the extent that counts is one sample.
    if (array.shape.size() + 1 == rank) array.shape.insert(array.shape.begin(), 1);
    check(array.shape.size() == rank, Code::invalid_argument, "{} has shape {}: the input has {} extents", file,
          Shape(array.shape).to_string(), rank);
    if (data_.empty()) {
      type_ = array.type;
      shape_ = array.shape;
      shape_[0] = 0;
    }
    check(array.type == type_ && std::equal(shape_.begin() + 1, shape_.end(), array.shape.begin() + 1),
          Code::invalid_argument, "{} holds {} of {}, the files before it {} of {}", file, name(array.type),
          Shape(array.shape).to_string(), name(type_), Shape(shape_).to_string());
    shape_[0] += array.shape[0];
    data_.insert(data_.end(), array.data.begin(), array.data.end());
  }
  Array array() && { return Array(type_, Shape(shape_), std::move(data_)); }

 private:
  ElementType type_ = ElementType::float32;
  std::vector<std::int64_t> shape_;
  std::vector<std::byte> data_;
};

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".npy" || entry.path().extension() == ".npz") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  check(!files.empty(), Code::not_found, "there is no .npy or .npz file in {}", folder.string());
  return files;
}

// All samples, in the graph's order of inputs.
std::vector<Array> read_samples(const ModelArgument& model, const DatasetArgument& argument, const Graph& graph) {
  std::map<std::string, Stack> stacks;
  std::map<std::string, std::size_t> ranks;
  for (const ValueId id : graph.inputs) ranks[graph.value(id).name] = graph.value(id).type.shape().rank();
  const auto add = [&](const std::string& input, const std::string& file, NpyArray array) {
    graph.input_position(input);  // an Error that lists the names
    stacks[input].add(file, std::move(array), ranks.at(input));
  };
  const auto read = [&](const std::string& input, const fs::path& file) {
    if (file.extension() == ".npz") {
      for (auto& [name, array] : load_npz(file)) add(name, file.string(), std::move(array));
      return;
    }
    check(!input.empty() || graph.inputs.size() == 1, Code::invalid_argument, Hint{"NAME=FOLDER, or .npz files"},
          "{} does not say which of {} inputs it is for", file.string(), graph.inputs.size());
    add(input.empty() ? graph.value(graph.inputs[0]).name : input, file.string(), load_npy(file));
  };
  for (const std::string& word : model.inputs) {
    const std::size_t at = fs::exists(word) ? std::string::npos : word.rfind('=');
    const std::string input = at == std::string::npos ? "" : word.substr(0, at);
    const fs::path path = at == std::string::npos ? word : word.substr(at + 1);
    check(fs::exists(path), Code::not_found, "there is no file or folder '{}'", path.string());
    if (!fs::is_directory(path)) {
      read(input, path);
      continue;
    }
    for (const fs::path& file : files_in(path)) read(input, file);
  }
  std::vector<Array> samples;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs[i]);
    if (const auto found = stacks.find(value.name); found != stacks.end()) {
      samples.push_back(std::move(found->second).array());
      continue;
    }
    check(argument.samples > 0, Code::invalid_argument,
          Hint{fmt::format("--input {}=FOLDER, or --samples N for random ones", value.name)},
          "there are no samples of input '{}'", value.name);
    TensorType type = value.type;
    type.dims->front() = argument.samples;
    samples.push_back(random_array(type, model.seed + i));
  }
  return samples;
}

std::vector<std::string> marked(std::string_view mark, std::vector<std::string> words) {
  for (std::string& word : words) word.insert(0, mark);
  return words;
}

// What all ranks must have been told alike; inputs, outputs and threads are their own affair.
std::string told(const ModelArgument& model, const SessionArgument& session) {
  return fmt::format("{}, chunks of {}, {}, weights {}{}{}{}{}{}", model.model, model.batch, session.dtype,
                     session.weights, session.exact ? ", exact" : "", fmt::join(marked(", shape ", model.shapes), ""),
                     fmt::join(marked(", extent ", model.dimensions), ""),
                     fmt::join(marked(", without ", session.passes_off), ""),
                     fmt::join(marked(", without ", session.kernels_off), ""));
}

// A layer or a network of the zoo is made by each rank for itself.
std::string network_text(const Session& session) {
  std::vector<std::string> ports;
  for (const std::vector<Port>* some : {&session.inputs(), &session.outputs()})
    for (const Port& port : *some) ports.push_back(fmt::format("{} {}", port.name, port.type.to_string()));
  return fmt::format("{}", fmt::join(ports, ", "));
}

std::string fingerprint_of(const ModelArgument& model, const Payload& file, const std::vector<Array>& samples,
                           const Session& session) {
  std::string text =
      fmt::format("model {} {}\nchunks of {}\n{} {}\n", model.model, file.empty() ? "of the zoo" : sha256_hex(file, 16),
                  model.batch, name(session.isa()), name(session.options().storage));
  for (std::size_t i = 0; i < samples.size(); ++i)
    text +=
        fmt::format("{} {} {}\n", session.inputs()[i].name, samples[i].to_string(), sha256_hex(samples[i].bytes(), 16));
  return text;
}

std::string closing_text(const ChunkedRunReport& report, const Communicator& world, const Session& session) {
  const std::int64_t now =
      report.samples * (report.chunks - report.resumed_chunks) / std::max<std::int64_t>(1, report.chunks);
  double busy = 0;
  for (const double seconds : report.busy_seconds) busy += seconds;
  std::string text = fmt::format("{} samples in {} chunks", report.samples, report.chunks);
  if (report.resumed_chunks > 0) text += fmt::format(", {} of them there already", report.resumed_chunks);
  text += fmt::format(": {} measured, {:.2f} samples/s", format_time(report.seconds * 1e9),
                      static_cast<double>(now) / std::max(report.seconds, 1e-9));
  const int ranks = world.size();
  text += fmt::format(" on {} rank{} of {} thread{} ({})", ranks, ranks == 1 ? "" : "s", session.threads(),
                      session.threads() == 1 ? "" : "s", name(session.isa()));
  if (ranks > 1) {
    text += fmt::format("\nranks computed {:.1f} % of that time", 100 * busy / (report.seconds * ranks));
    for (int rank = 0; rank < ranks; ++rank)
      text += fmt::format("\n  {}: {} chunks in {}", rank_text(world, rank),
                          report.rank_chunks[static_cast<std::size_t>(rank)],
                          format_time(report.busy_seconds[static_cast<std::size_t>(rank)] * 1e9));
  }
  return text + "\n";
}

}  // namespace

void add_dataset_argument(CLI::App& command, DatasetArgument& argument) {
  command.add_option("--samples", argument.samples, "So many random samples, --batch at a time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->type_name("N");
  command.add_flag("--resume", argument.resume, "Go on from what an earlier run of the same has left in --output");
}

bool wants_dataset(const ModelArgument& model, const DatasetArgument& argument) {
  if (argument.samples > 0 || argument.resume || in_a_world()) return true;
  return std::any_of(model.inputs.begin(), model.inputs.end(), [](const std::string& word) {
    const std::size_t at = word.rfind('=');
    return fs::is_directory(word) || (at != std::string::npos && fs::is_directory(word.substr(at + 1)));
  });
}

DatasetRun run_dataset(const ModelArgument& given, const SessionArgument& session_argument,
                       const DatasetArgument& argument, const std::string& folder, const Context& context) {
  Communicator& all = world();
  must_agree(all, "the version", TESSERA_VERSION);
  check(!argument.resume || !folder.empty(), Code::invalid_argument, "--resume needs the --output to go on in");
  ModelArgument model = given;
  model.batch = std::max<std::int64_t>(1, given.batch);
  model.inputs.clear();
  must_agree(all, "what to run", told(model, session_argument));
  const SharedModel file(all, model.model);

  std::optional<Session> session;
  std::vector<Array> samples;
  together(all, [&] {
    Graph graph = all.rank() == 0 ? load_graph(model) : load_graph(model, file.bytes(), file.folder());
    for (const ValueId id : graph.inputs)
      check(graph.value(id).type.is_static(), Code::invalid_argument, Hint{"--shape, --dim, --batch"},
            "input '{}' is {}: which shape shall it have?", graph.value(id).name, graph.value(id).type.to_string());
    if (all.rank() == 0) samples = read_samples(given, argument, graph);
    session.emplace(std::move(graph), session_options(session_argument));
  });
  must_agree(all, "the network", network_text(*session));
  must_agree(all, "the instruction set (--isa sets it)", name(session->isa()));

  ChunkedRunOptions options;
  options.chunk = model.batch;
  options.resume = argument.resume;
  if (!folder.empty()) options.parts = parts_folder(folder);
  if (all.rank() == 0) options.fingerprint = fingerprint_of(model, file.bytes(), samples, *session);
  Progress progress("running", all.rank() == 0 ? static_cast<std::size_t>(samples[0].shape()[0]) : 0, context.quiet);
  ChunkedRun done = run_chunks(all, *session, samples, options,
                               [&](std::int64_t samples_done) { progress.at(static_cast<std::size_t>(samples_done)); });
  DatasetRun out{session->outputs(), std::move(done.outputs), {}};
  if (all.rank() == 0) out.closing = closing_text(done.report, all, *session);
  return out;
}

void finish_dataset(const std::string& folder) {
  if (!folder.empty()) remove_parts(parts_folder(folder));
}

}  // namespace tessera::cli
