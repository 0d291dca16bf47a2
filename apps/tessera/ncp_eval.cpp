// tessera ncp eval: what a trained layer makes of a task.

#include "ncp.h"
#include "ncp_task.h"
#include "number_argument.h"

#include "tessera/core/error.h"
#include "tessera/core/parallel_for.h"
#include "tessera/io/ncp_checkpoint.h"
#include "tessera/io/ncp_file.h"

#include <chrono>
#include <filesystem>
#include <memory>

namespace tessera::cli {
namespace {

struct EvalOptions {
  std::string model;
  TaskOptions task;
  std::string which = "best";
  std::string set = "test";
  std::string precision = "f32";
  std::int64_t batch = 256;
  int threads = 0;
};

struct Trained {
  ncp::Layer layer;
  ncp::ParameterSet<float> parameters;
};

Trained load(EvalOptions& options, bool task_given) {
  if (!std::filesystem::is_directory(options.model)) {
    NcpFile file = load_ncp_file(options.model);
    return {std::move(file.layer), std::move(file.parameters)};
  }
  NcpCheckpoint found = load_ncp_checkpoint(std::filesystem::path(options.model) / "checkpoint.safetensors");
  if (!task_given) {
    const std::string data = options.task.data;
    options.task = task_from_notes(found.notes);
    if (!data.empty()) options.task.data = data;
  }
  const bool best = options.which == "best" && found.state.best_epoch > 0;
  return {std::move(found.layer), std::move(best ? found.state.best_parameters : found.state.parameters)};
}

void evaluate_model(EvalOptions options, bool task_given, const Context& context) {
  const ThreadLimit limit(options.threads);
  const Trained trained = load(options, task_given);
  const ncp::Task task = make_task(options.task);
  const ncp::Dataset& data = options.set == "training"     ? task.training
                             : options.set == "validation" ? task.validation
                                                           : task.test;
  check(data.samples > 0, Code::invalid_argument, "the task '{}' has no {} set", options.task.task, options.set);
  const auto start = std::chrono::steady_clock::now();
  const ncp::LossSums sums = ncp::evaluate(trained.layer, trained.parameters, data, task.loss, task.readout,
                                           *ncp::parse_precision(options.precision), options.batch);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Table table({{.name = "task"},
               {.name = "set"},
               {.name = "samples", .align = Align::right},
               {.name = "loss", .align = Align::right},
               {.name = "accuracy [%]", .key = "accuracy", .align = Align::right},
               {.name = "samples/s", .key = "samples_per_second", .align = Align::right},
               {.name = "precision"}});
  table.add_row({options.task.task, options.set, data.samples, fmt::format("{:.6f}", sums.mean_loss()),
                 task.loss == ncp::Loss::mean_squared_error ? "" : fmt::format("{:.2f}", 100 * sums.accuracy()),
                 fmt::format("{:.0f}", static_cast<double>(data.samples) / seconds), options.precision});
  context.print(table);
}

}  // namespace

void add_ncp_eval(CLI::App& ncp, const Context& context) {
  CLI::App* command = ncp.add_subcommand("eval", "Loss and accuracy of a trained layer");
  auto options = std::make_shared<EvalOptions>();
  command
      ->add_option("MODEL", options->model,
                   "A folder that `tessera ncp train --checkpoint` made, or a .safetensors file")
      ->required();
  add_task_options(*command, options->task);
  command->add_option("--which", options->which, "Parameters of a folder: best or last")
      ->check(CLI::IsMember({"best", "last"}));
  command->add_option("--set", options->set, "test, validation or training")
      ->check(CLI::IsMember({"test", "validation", "training"}));
  command->add_option("--precision", options->precision, "f32, bf16 or f16")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command->add_option("--batch", options->batch, "Sequences at a time")->check(whole_number(1));
  command->add_option("--threads", options->threads, "Threads; 0: all")->check(whole_number(0, 4096));
  command->callback([options, command, &context] { evaluate_model(*options, command->count("--task") > 0, context); });
}

}  // namespace tessera::cli
