#include "tessera/io/ncp_task.h"

#include "tessera/core/array.h"
#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/npy.h"

#include <algorithm>
#include <filesystem>

namespace tessera {
namespace {

constexpr std::string_view kCsvTask = "csv:";

ncp::Trace load_trace(const std::filesystem::path& path) {
  if (path.extension() != ".npy") return ncp::read_trace(path);
  NpyArray array = load_npy(path);
  check(array.shape.size() == 2, Code::parse, "{} has {} dimensions: frames and their numbers are two", path.string(),
        array.shape.size());
  const Array values(array.type, Shape(array.shape), std::move(array.data));
  return {array.shape[0], array.shape[1], values.to_double()};
}

ncp::Task load_cheetah(const std::string& folder) {
  check(!folder.empty(), Code::invalid_argument,
        Hint{"name the folder of the traces: --data FOLDER (31 files of 1000 x 17 numbers, text or .npy)"},
        "the traces of the half-cheetah are not part of this program");
  check(std::filesystem::is_directory(folder), Code::not_found, "there is no folder {}", folder);
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<ncp::Trace> traces;
  for (const auto& file : files) traces.push_back(load_trace(file));
  return with_context("while reading the traces in " + folder, [&] { return ncp::cheetah_task(traces); });
}

}  // namespace

ncp::Task load_ncp_task(const NcpTaskOptions& options) {
  if (options.task == "xor") {
    ncp::XorSizes sizes;
    if (options.samples > 0) sizes.training = options.samples;
    return ncp::xor_task(sizes);
  }
  if (options.task == "sine") return ncp::sine_task();
  if (options.task == "cheetah") return load_cheetah(options.data);
  if (options.task.starts_with(kCsvTask)) {
    const std::string path = options.task.substr(kCsvTask.size());
    return with_context("while reading " + path, [&] {
      return ncp::csv_task(
          read_text_file(path, 1u << 30),
          {.loss = *ncp::parse_loss(options.loss),
           .readout = options.readout == "last_step" ? ncp::Readout::last_step : ncp::Readout::every_step,
           .window = options.window,
           .stride = options.stride});
    });
  }
  if (options.task.empty())
    fail(Code::invalid_argument, Hint{"--task xor, --task sine, --task cheetah --data FOLDER, or --task csv:FILE"},
         "no task was given");
  fail(Code::not_found, "there is no task '{}': it can be xor, sine, cheetah or csv:FILE", options.task);
}

std::map<std::string, std::string> ncp_task_notes(const NcpTaskOptions& options) {
  return {{"task", options.task},
          {"data", options.data},
          {"samples", std::to_string(options.samples)},
          {"loss", options.loss},
          {"readout", options.readout},
          {"window", std::to_string(options.window)},
          {"stride", std::to_string(options.stride)}};
}

NcpTaskOptions ncp_task_from_notes(const std::map<std::string, std::string>& notes) {
  const auto at = [&](const char* key) {
    const auto found = notes.find(key);
    check(found != notes.end(), Code::parse, "the checkpoint does not say what '{}' was", key);
    return found->second;
  };
  const auto number = [&](const char* key) {
    const std::string text = at(key);
    check(!text.empty() && text.size() < 18 && text.find_first_not_of("0123456789") == std::string::npos, Code::parse,
          "the checkpoint says '{}' for '{}', which is no number", text, key);
    return std::int64_t{std::stoll(text)};
  };
  return {.task = at("task"),
          .data = at("data"),
          .samples = number("samples"),
          .loss = at("loss"),
          .readout = at("readout"),
          .window = number("window"),
          .stride = number("stride")};
}

}  // namespace tessera
