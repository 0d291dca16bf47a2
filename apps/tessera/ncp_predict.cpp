// tessera ncp predict: what a trained layer makes of data, from a file or step by step from standard input.

#include "arguments.h"
#include "ncp.h"

#include "tessera/core/array.h"
#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/parallel_for.h"
#include "tessera/core/text.h"
#include "tessera/io/npy.h"
#include "tessera/ncp/evaluation.h"
#include "tessera/ncp/runner.h"
#include "tessera/ncp/tasks/number_table.h"
#include "tessera/report/table.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {
namespace {

struct PredictOptions {
  NcpTrainedArgument model;
  std::string input;
  std::string output;
  bool stream = false;
  bool elapsed = false;
  bool last = false;
  int threads = 0;
};

// What the layer is given: sequences of one length each, or several of the same length side by side.
struct Batch {
  std::int64_t batch = 1, steps = 0;
  std::vector<float> input, timespans;
  double name = 0;  // of the only sequence
};

struct Batches {
  std::vector<Batch> items;
  bool named = false;        // by a column of the table
  bool has_samples = false;  // an array with a dimension for samples
};

Batches batches_of_table(const std::string& path, int inputs) {
  ncp::TableInputs table = ncp::table_inputs(ncp::parse_number_table(read_text_file(path)));
  check(std::ssize(table.names) == inputs, Code::invalid_argument,
        Hint{"'elapsed', 'sequence' and columns whose names begin with 'target' do not count"},
        "the table has {}, and the layer takes {}", counted(table.names.size(), "column of input"), inputs);
  Batches out;
  out.named = table.named;
  for (ncp::TableSequence& sequence : table.sequences)
    out.items.push_back({1, sequence.steps, std::move(sequence.input), std::move(sequence.timespans), sequence.name});
  return out;
}

Batches batches_of_array(const std::string& path, int inputs) {
  NpyArray file = load_npy(path);
  const Array array(file.type, Shape(file.shape), std::move(file.data));
  const Shape& shape = array.shape();
  check((shape.rank() == 2 || shape.rank() == 3) && shape[shape.rank() - 1] == inputs && array.count() > 0,
        Code::invalid_argument, "the array is {}; steps x {} or samples x steps x {} is needed", array.to_string(),
        inputs, inputs);
  Batch batch;
  batch.batch = shape.rank() == 3 ? shape[0] : 1;
  batch.steps = shape[shape.rank() - 2];
  for (const double value : array.to_double()) batch.input.push_back(static_cast<float>(value));
  return {{std::move(batch)}, false, shape.rank() == 3};
}

Batches read_batches(const std::string& path, int inputs) {
  return with_context("while reading " + path, [&] {
    if (path.ends_with(".npy")) return batches_of_array(path, inputs);
    check(path.ends_with(".csv"), Code::invalid_argument, "--input takes a .csv or a .npy file");
    return batches_of_table(path, inputs);
  });
}

// [samples, steps, outputs] of one call; of the last step alone where that is all that is wanted.
struct Predicted {
  std::int64_t batch = 1, steps = 0;
  std::vector<float> values;
  double name = 0;
};

Predicted predict(const ncp::Runner& runner, const Batch& batch, int outputs, bool last) {
  const ncp::SequenceResult<float> result =
      runner.run({.batch = batch.batch, .steps = batch.steps, .input = batch.input, .timespans = batch.timespans});
  if (!last) return {batch.batch, batch.steps, result.output, batch.name};
  Predicted out{batch.batch, 1, {}, batch.name};
  for (std::int64_t n = 0; n < batch.batch; ++n) {
    const auto from = result.output.begin() + ((n + 1) * batch.steps - 1) * outputs;
    out.values.insert(out.values.end(), from, from + outputs);
  }
  return out;
}

Table prediction_table(const std::vector<Predicted>& results, const Batches& batches, int outputs) {
  const bool with_sequence = batches.named || batches.has_samples;
  std::vector<Column> columns;
  if (with_sequence) columns.push_back({.name = "sequence", .align = Align::right});
  columns.push_back({.name = "step", .align = Align::right});
  for (int i = 0; i < outputs; ++i)
    columns.push_back({.name = outputs == 1 ? "output" : fmt::format("output_{}", i), .align = Align::right});
  Table table(std::move(columns));
  for (std::size_t r = 0; r < results.size(); ++r) {
    const Predicted& result = results[r];
    const std::int64_t first_step = batches.items[r].steps - result.steps;
    for (std::int64_t n = 0; n < result.batch; ++n)
      for (std::int64_t t = 0; t < result.steps; ++t) {
        std::vector<Cell> row;
        if (batches.named)
          row.emplace_back(result.name, fmt::format("{}", result.name));
        else if (with_sequence)
          row.emplace_back(n);
        row.emplace_back(first_step + t);
        for (int i = 0; i < outputs; ++i) {
          const float value = result.values[static_cast<std::size_t>((n * result.steps + t) * outputs + i)];
          row.emplace_back(static_cast<double>(value), fmt::format("{}", value));
        }
        table.add_row(std::move(row));
      }
  }
  return table;
}

void write_array(const std::string& path, const std::vector<Predicted>& results, const Batches& batches, int outputs) {
  check(results.size() == 1, Code::invalid_argument, Hint{"write a .csv file"},
        "{} of different lengths do not make one array", counted(results.size(), "sequence"));
  std::vector<std::int64_t> shape;
  if (batches.has_samples) shape.push_back(results[0].batch);
  shape.push_back(results[0].steps);
  shape.push_back(outputs);
  save_npy(path, NpyView(ElementType::float32, shape, std::as_bytes(std::span(results[0].values))));
}

void predict_file(const PredictOptions& options, const Context& context) {
  check(options.output.empty() || options.output.ends_with(".csv") || options.output.ends_with(".npy"),
        Code::invalid_argument, "-o takes a .csv or a .npy file, not '{}'", options.output);
  if (!options.output.empty()) check_can_write(options.output);
  const ThreadLimit limit(options.threads);
  NcpTrained trained = load_ncp_trained(options.model);
  const ncp::LayerSizes sizes = ncp::sizes(trained.layer);
  const Batches batches = read_batches(options.input, sizes.inputs);
  const ncp::Runner runner(ncp::evaluated(trained.layer), std::move(trained.parameters));
  std::vector<Predicted> results;
  for (const Batch& batch : batches.items) results.push_back(predict(runner, batch, sizes.outputs, options.last));
  if (options.output.ends_with(".npy")) return write_array(options.output, results, batches, sizes.outputs);
  const Table table = prediction_table(results, batches, sizes.outputs);
  if (options.output.empty()) return context.print(table);
  write_file_atomically(options.output, std::string_view(render_csv(table)));
}

// The numbers of a line, separated by commas, spaces or tabs.
std::vector<float> numbers_of(std::string_view line, std::int64_t number) {
  std::vector<float> out;
  constexpr std::string_view kBetween = ", \t\r";
  for (std::size_t at = line.find_first_not_of(kBetween); at != std::string_view::npos;
       at = line.find_first_not_of(kBetween, at)) {
    const std::string_view word = line.substr(at, line.find_first_of(kBetween, at) - at);
    float value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    check(error == std::errc{} && end == word.data() + word.size() && std::isfinite(value), Code::parse,
          "line {}: '{}' is no finite number", number, printable(word));
    out.push_back(value);
    at += word.size();
  }
  return out;
}

// A line in, a line out, the state kept in between. A line that says "reset" sets the state to zeros.
void predict_stream(const PredictOptions& options, const Context& context) {
  NcpTrained trained = load_ncp_trained(options.model);
  const ncp::LayerSizes sizes = ncp::sizes(trained.layer);
  const ncp::Runner runner(ncp::evaluated(trained.layer), std::move(trained.parameters));
  ncp::Stepper stepper(runner);
  const std::size_t wanted = static_cast<std::size_t>(sizes.inputs) + (options.elapsed ? 1 : 0);
  std::chrono::nanoseconds busy{0};
  std::int64_t steps = 0, number = 0;
  std::string out;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    if (line == "reset" || line == "reset\r") {
      stepper.reset();
      continue;
    }
    const std::vector<float> values = numbers_of(line, number);
    if (values.empty()) continue;
    check(values.size() == wanted, Code::invalid_argument, "line {} has {}, and a step takes {}{}", number,
          counted(values.size(), "number"), wanted, options.elapsed ? ": the inputs and the time elapsed" : "");
    const std::span<const float> inputs = std::span(values).first(static_cast<std::size_t>(sizes.inputs));
    check(!options.elapsed || values.back() >= 0, Code::invalid_argument,
          "line {}: {} is the time since the line before, and negative", number, values.back());
    const auto start = std::chrono::steady_clock::now();
    const std::span<const float> result = options.elapsed ? stepper.step(inputs, values.back()) : stepper.step(inputs);
    busy += std::chrono::steady_clock::now() - start;
    ++steps;
    out.clear();
    for (const float value : result) out += fmt::format("{}{}", out.empty() ? "" : ",", value);
    out += '\n';
    context.print(out);
    check(std::fflush(stdout) == 0, Code::io, "standard output takes no more");
  }
  if (steps > 0 && !context.quiet)
    std::cerr << fmt::format("{}, {:.2f} us each (measured, without reading and writing)\n", counted(steps, "step"),
                             std::chrono::duration<double, std::micro>(busy).count() / static_cast<double>(steps));
}

}  // namespace

void add_ncp_predict(CLI::App& ncp, const Context& context) {
  CLI::App* command = ncp.add_subcommand("predict", "Run a trained layer over data, or step by step as a controller");
  auto options = std::make_shared<PredictOptions>();
  add_ncp_trained_argument(*command, options->model);
  CLI::Option* input =
      command
          ->add_option("--input", options->input,
                       "A .csv table (one row per step; columns 'elapsed', 'sequence' and 'target...' "
                       "as for training) or a .npy array (steps x inputs, or samples x steps x inputs)")
          ->type_name("FILE");
  CLI::Option* stream = command->add_flag("--stream", options->stream,
                                          "Read one step per line from standard input and write its outputs at once; "
                                          "the state is kept, a line 'reset' clears it");
  command->add_flag("--elapsed", options->elapsed, "The last number of each line is the time since the line before")
      ->needs(stream);
  command->add_flag("--last", options->last, "Only the last step of each sequence")->needs(input);
  command->add_option("-o,--output", options->output, "Write a .csv table or a .npy array")
      ->needs(input)
      ->type_name("FILE");
  command->add_option("--threads", options->threads, "Number of threads; 0: all")
      ->check(whole_number(0, 4096))
      ->needs(input);
  input->excludes(stream);
  command->callback([options, &context] {
    check(options->stream || !options->input.empty(), Code::invalid_argument,
          "--input FILE or --stream says where the data come from");
    options->stream ? predict_stream(*options, context) : predict_file(*options, context);
  });
}

}  // namespace tessera::cli
