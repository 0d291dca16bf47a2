#include "tessera/vision/model_notes.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/text.h"
#include "tessera/io/named_networks.h"

#include <charconv>
#include <cstddef>
#include <sstream>
#include <system_error>

namespace tessera {
namespace {

constexpr std::int64_t kDefaultExtent = 224, kDetectorExtent = 640;
constexpr std::int64_t kMostClasses = 100'000;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(printable(line));
  }
  return lines;
}

// {0: 'person', 1: "bird's nest"}: a dict as Python prints it. Anything else is no list of names.
std::vector<std::string> python_names(const std::string& text) {
  std::vector<std::string> names;
  std::size_t at = 0;
  const auto blanks = [&] { at = std::min(text.find_first_not_of(" \t\n", at), text.size()); };
  const auto take = [&](char c) {
    blanks();
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  };
  if (!take('{')) return {};
  while (true) {
    blanks();
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), index);
    if (error != std::errc() || index != std::ssize(names) || index >= kMostClasses) return {};
    at = static_cast<std::size_t>(end - text.data());
    if (!take(':')) return {};
    blanks();
    if (at >= text.size() || (text[at] != '\'' && text[at] != '"')) return {};
    const char quote = text[at++];
    std::string name;
    for (; at < text.size() && text[at] != quote; ++at) {
      if (text[at] == '\\' && at + 1 < text.size()) ++at;
      name += text[at];
    }
    if (!take(quote)) return {};
    names.push_back(std::move(name));
    if (take('}')) return names;
    if (!take(',')) return {};
  }
}

std::optional<Preprocessing> of_ultralytics(const std::string& task) {
  if (task != "classify") return preprocessing_preset("yolo");
  Preprocessing out;
  out.fit = Fit::crop;
  return out;
}

}  // namespace

ModelNotes read_model_notes(const std::map<std::string, std::string>& metadata) {
  const auto find = [&](const char* key) -> const std::string* {
    const auto entry = metadata.find(key);
    return entry == metadata.end() ? nullptr : &entry->second;
  };
  ModelNotes notes;
  if (const std::string* labels = find("tessera.labels")) notes.labels = lines_of(*labels);
  if (const std::string* text = find("tessera.preprocessing"))
    notes.preprocessing = parse_preprocessing(*text, "tessera.preprocessing");
  if (const std::string* names = find("names"); names && notes.labels.empty()) {
    notes.labels = python_names(*names);
    const std::string* task = find("task");
    if (task && !notes.preprocessing) notes.preprocessing = of_ultralytics(*task);
  }
  return notes;
}

ModelNotes load_model_notes(const std::string& model) { return read_model_notes(model_metadata(model)); }

std::vector<std::string> load_labels(const std::filesystem::path& path) {
  std::vector<std::string> labels = lines_of(read_text_file(path));
  check(!labels.empty(), Code::invalid_argument, Hint{"one name on each line, in the order of the classes"},
        "{} names no class", path.string());
  return labels;
}

vision::GuessedPreprocessing vision::guess_preprocessing(const TensorType& input,
                                                         const std::optional<OutputReading>& reading) {
  const bool detects = reading && task_of(reading->form) == Task::detect;
  const bool classifies = !reading || task_of(reading->form) == Task::classify;
  GuessedPreprocessing out;
  std::string why;
  if (input.type == ElementType::uint8) {
    out.preprocessing.range = {0, 255};
    out.preprocessing.fit = detects ? Fit::pad : Fit::stretch;
    why = "pixels from 0 to 255, since the input is uint8";
  } else if (detects) {
    out.preprocessing = preprocessing_preset("yolo");
    why = "preset yolo, since the outputs are boxes";
  } else if (classifies) {
    Preprocessing imagenet = preprocessing_preset("imagenet");
    const bool gray = input.dims && input.dims->size() >= 3 &&
                      ((*input.dims)[input.dims->size() - 3] == 1 || input.dims->back() == 1);
    if (gray) {
      why = "pixels from 0 to 1 without a mean, since the input has one channel";
    } else {
      out.preprocessing = std::move(imagenet);
      why = reading ? "preset imagenet, since the output has a score for each class"
                    : "preset imagenet, since the shapes of the outputs do not say what the network does";
    }
  } else {
    why = "pixels from 0 to 1, the picture stretched to the input, since the output is a mask";
  }
  // An input of any size.
  const auto open = [&](std::size_t from_end) {
    return input.dims && input.dims->size() >= from_end &&
           (*input.dims)[input.dims->size() - from_end] == TensorType::kUnknown;
  };
  const bool last_is_channels =
      input.dims && !input.dims->empty() && (input.dims->back() == 3 || input.dims->back() == 1);
  const std::size_t width_at = last_is_channels ? 2 : 1;
  if (open(width_at) || open(width_at + 1)) {
    const std::int64_t extent = detects ? kDetectorExtent : kDefaultExtent;
    if (open(width_at)) out.preprocessing.width = extent;
    if (open(width_at + 1)) out.preprocessing.height = extent;
    why += fmt::format("; {} pixels where the network leaves its extents open", extent);
  }
  out.why = std::move(why);
  return out;
}

}  // namespace tessera
