#include "run_dataset.h"

#include "arguments.h"
#include "progress.h"
#include "world.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/text.h"
#include "tessera/graph/graph.h"
#include "tessera/io/samples.h"
#include "tessera/report/units.h"
#include "tessera/scale/chunked_run.h"
#include "tessera/scale/run_identity.h"
#include "tessera/scale/run_parts.h"
#include "tessera/scale/shared_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

fs::path parts_folder(const std::string& folder) { return fs::path(folder) / ".unfinished"; }

std::vector<std::string> marked(std::string_view mark, std::vector<std::string> words) {
  for (std::string& word : words) word.insert(0, mark);
  return words;
}

// What all ranks must have been told alike; inputs, outputs and threads are their own affair.
std::string told(const ModelArgument& model, const SessionArgument& session) {
  return fmt::format(
      "{}, chunks of {}, {}, weights {}{}{}{}{}{}", model.model, std::max(model.batch, model.rebatch), session.dtype,
      session.weights, session.exact ? ", exact" : "", fmt::join(marked(", shape ", model.shapes), ""),
      fmt::join(marked(", extent ", model.dimensions), ""), fmt::join(marked(", without ", session.passes_off), ""),
      fmt::join(marked(", without ", session.kernels_off), ""));
}

// A layer or a network of the zoo is made by each rank for itself.
std::string network_text(const Session& session) {
  std::vector<std::string> ports;
  for (const std::vector<Port>* some : {&session.inputs(), &session.outputs()})
    for (const Port& port : *some) ports.push_back(fmt::format("{} {}", port.name, port.type.to_string()));
  return fmt::format("{}", fmt::join(ports, ", "));
}

// One sample at a time where nothing says how many; else what the inputs begin with.
std::int64_t set_open_batch(Graph& graph) {
  std::int64_t batch = 1;
  for (const ValueId id : graph.inputs) {
    TensorType& type = graph.value(id).type;
    if (!type.dims || type.dims->empty()) continue;
    if (type.dims->front() == TensorType::kUnknown) type.dims->front() = 1;
    batch = type.dims->front();
  }
  return batch;
}

// A layer is one line of a file of them.
Payload layer_file(const std::string& model) {
  const std::size_t colon = model.rfind(':');
  const bool layer = find_layer(model).has_value() && colon != std::string::npos;
  return layer ? read_file(model.substr(0, colon), std::uint64_t{64} << 20) : Payload{};
}

std::string closing_text(const ChunkedRunReport& report, const Communicator& world, const Session& session) {
  const std::int64_t now =
      report.samples * (report.chunks - report.resumed_chunks) / std::max<std::int64_t>(1, report.chunks);
  double busy = 0;
  for (const double seconds : report.busy_seconds) busy += seconds;
  std::string text = fmt::format("{} in {}", counted(report.samples, "sample"), counted(report.chunks, "chunk"));
  if (report.resumed_chunks > 0) text += fmt::format(", {} of them done before", report.resumed_chunks);
  text += fmt::format(": {} measured, {:.2f} samples/s", format_time(report.seconds * 1e9),
                      static_cast<double>(now) / std::max(report.seconds, 1e-9));
  const int ranks = world.size();
  text += fmt::format(" on {} of {} ({})", counted(ranks, "rank"), counted(session.threads(), "thread"),
                      name(session.isa()));
  if (ranks > 1) {
    text += fmt::format("\nranks were computing for {:.1f} % of that time", 100 * busy / (report.seconds * ranks));
    for (int rank = 0; rank < ranks; ++rank)
      text += fmt::format("\n  {}: {} chunks in {}", rank_text(world, rank),
                          report.rank_chunks[static_cast<std::size_t>(rank)],
                          format_time(report.busy_seconds[static_cast<std::size_t>(rank)] * 1e9));
  }
  return text + "\n";
}

}  // namespace

void add_dataset_argument(CLI::App& command, DatasetArgument& argument) {
  command.add_option("--samples", argument.samples, "Run N random samples, --batch at a time")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 30))
      ->type_name("N");
  command.add_flag("--resume", argument.resume, "Continue an interrupted run of the same network in --output");
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
  check(!argument.resume || !folder.empty(), Code::invalid_argument, "--resume needs --output");
  ModelArgument model = given;
  model.inputs.clear();
  must_agree(all, "what to run", told(model, session_argument));
  const SharedModel file(all, model.model);

  std::optional<Session> session;
  std::vector<Array> samples;
  std::optional<Graph> network;  // of rank 0
  std::int64_t chunk = 1;
  together(all, [&] {
    Graph graph = all.rank() == 0 ? load_graph(model) : load_graph(model, file.bytes(), file.folder());
    chunk = set_open_batch(graph);
    for (const ValueId id : graph.inputs)
      check(graph.value(id).type.is_static(), Code::invalid_argument, Hint{"--shape, --dim, --batch"},
            "input '{}' is {}: which shape shall it have?", graph.value(id).name, graph.value(id).type.to_string());
    if (all.rank() == 0) samples = read_samples(graph, given.inputs, {.count = argument.samples, .seed = given.seed});
    if (all.rank() == 0 && !folder.empty()) network = graph;
    session.emplace(std::move(graph), session_options(session_argument));
  });
  must_agree(all, "the network", network_text(*session));
  must_agree(all, "the instruction set (--isa sets it)", name(session->isa()));

  ChunkedRunOptions options;
  options.chunk = chunk;
  options.resume = argument.resume;
  if (!folder.empty()) options.parts = parts_folder(folder);
  together(all, [&] {
    if (!network) return;
    const Payload layers = layer_file(model.model);
    options.identity = run_identity({.version = TESSERA_VERSION,
                                     .model = model.model,
                                     .file = layers.empty() ? file.bytes() : layers,
                                     .chunk = chunk},
                                    *network, *session, samples);
    network.reset();
  });
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
