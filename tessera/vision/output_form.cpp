#include "tessera/vision/output_form.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <cctype>
#include <optional>

namespace tessera::vision {
namespace {

constexpr std::int64_t kSideBins = 4 * 16;  // of the heads of YOLOv8
constexpr std::int64_t kFewestBoxes = 16;   // of detectors that leave suppression to others

bool is_floating(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float16 || type == ElementType::bfloat16 ||
         type == ElementType::float64;
}
bool is_integer(ElementType type) {
  return type == ElementType::int64 || type == ElementType::int32 || type == ElementType::uint8 ||
         type == ElementType::int16 || type == ElementType::uint16 || type == ElementType::int8;
}

using Dims = std::vector<std::int64_t>;

bool known(std::int64_t extent) { return extent != TensorType::kUnknown; }

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool says(const NamedOutput& output, std::string_view word) {
  return lower(output.name).find(word) != std::string::npos;
}

std::size_t rank(const NamedOutput& output) { return output.type.dims ? output.type.dims->size() : 0; }
std::int64_t last(const NamedOutput& output) { return output.type.dims->back(); }

// --- one output
// -------------------------------------------------------------------------------------------------------

std::optional<OutputReading> scores(std::span<const NamedOutput> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].type.dims || !is_floating(outputs[i].type.type)) continue;
    const Dims& dims = *outputs[i].type.dims;
    const bool flat = dims.size() == 2 || (dims.size() == 4 && dims[2] == 1 && dims[3] == 1);
    if (flat && dims[1] >= 2) return OutputReading{OutputForm::scores, {i}, dims[1], false};
  }
  return std::nullopt;
}

// The shorter of the last two extents counts what a box has, the longer one boxes.
std::optional<OutputReading> yolo(std::span<const NamedOutput> outputs, std::size_t labels) {
  if (outputs.size() != 1 || rank(outputs[0]) != 3 || !is_floating(outputs[0].type.type)) return std::nullopt;
  const Dims& dims = *outputs[0].type.dims;
  const std::int64_t a = dims[1], b = dims[2], named = static_cast<std::int64_t>(labels);
  if (known(b) && b == 6 && (named == 0 || named > 2)) return OutputReading{OutputForm::final_rows, {0}, named, false};
  if (!known(a) || !known(b)) return std::nullopt;
  if (a >= 5 && (b > a || (named > 0 && a == 4 + named)) && b >= kFewestBoxes)
    return OutputReading{OutputForm::yolo_columns, {0}, a - 4, false};
  if (b >= 6 && a > b) return OutputReading{OutputForm::yolo_rows, {0}, b - 5, false};
  return std::nullopt;
}

std::optional<OutputReading> heads(std::span<const NamedOutput> outputs, const PictureInput& input) {
  OutputReading reading{OutputForm::yolo_heads, {}, 0, false};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (rank(outputs[i]) != 4 || !is_floating(outputs[i].type.type)) return std::nullopt;
    const Dims& dims = *outputs[i].type.dims;
    const bool fits = dims[1] > kSideBins && dims[2] > 0 && dims[3] > 0 && input.height % dims[2] == 0 &&
                      input.width % dims[3] == 0 && input.height / dims[2] == input.width / dims[3];
    if (!fits || (i > 0 && dims[1] - kSideBins != reading.classes)) return std::nullopt;
    reading.classes = dims[1] - kSideBins;
    reading.outputs.push_back(i);
  }
  return outputs.size() >= 2 ? std::optional(reading) : std::nullopt;
}

// --- boxes and scores apart
// -------------------------------------------------------------------------------------------

std::optional<OutputReading> separate(std::span<const NamedOutput> outputs) {
  std::optional<std::size_t> boxes, scores, classes, number, matrix;
  const auto holds_boxes = [](const NamedOutput& output) {
    return is_floating(output.type.type) && (rank(output) == 2 || rank(output) == 3) && last(output) == 4;
  };
  // Scores of four classes have the same shape: then the name tells.
  for (std::size_t i = 0; i < outputs.size() && !boxes; ++i)
    if (holds_boxes(outputs[i]) && says(outputs[i], "box")) boxes = i;
  for (std::size_t i = 0; i < outputs.size() && !boxes; ++i)
    if (holds_boxes(outputs[i])) boxes = i;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].type.dims || i == boxes) continue;
    const std::size_t r = rank(outputs[i]);
    const bool floating = is_floating(outputs[i].type.type), integer = is_integer(outputs[i].type.type);
    if (says(outputs[i], "num") && r <= 2)
      number = i;
    else if (r <= 2 && r >= 1 && (integer || says(outputs[i], "class") || says(outputs[i], "label")))
      classes = i;
    else if (floating && r == 3 && last(outputs[i]) >= 2)
      matrix = i;
    else if (floating && r <= 2 && r >= 1)
      scores = i;
  }
  if (!boxes) return std::nullopt;
  const bool yx = says(outputs[*boxes], "detection_boxes");
  if (scores && classes) {
    OutputReading reading{OutputForm::final_boxes, {*boxes, *scores, *classes}, 0, yx};
    if (number) reading.outputs.push_back(*number);
    return reading;
  }
  if (matrix) return OutputReading{OutputForm::scored_boxes, {*boxes, *matrix}, last(outputs[*matrix]), yx};
  return std::nullopt;
}

std::optional<OutputReading> mask(std::span<const NamedOutput> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].type.dims) continue;
    const Dims& dims = *outputs[i].type.dims;
    const auto large = [](std::int64_t extent) { return !known(extent) || extent > 1; };
    if (is_floating(outputs[i].type.type) && dims.size() == 4 && large(dims[2]) && large(dims[3]) && known(dims[1]))
      return OutputReading{OutputForm::mask_scores, {i}, std::max<std::int64_t>(2, dims[1]), false};
    if (is_integer(outputs[i].type.type) && (dims.size() == 3 || (dims.size() == 4 && dims[1] == 1)) &&
        large(dims[dims.size() - 2]) && large(dims.back()))
      return OutputReading{OutputForm::mask_classes, {i}, 0, false};
  }
  return std::nullopt;
}

}  // namespace

std::string_view description(OutputForm form) {
  switch (form) {
    case OutputForm::scores: return "a score for each class";
    case OutputForm::yolo_columns:
      return "YOLOv8: a column for each box with its centre, its size and a score for each class";
    case OutputForm::yolo_rows:
      return "YOLOv5: a row for each box with its centre, its size, how sure it is, and a score for each class";
    case OutputForm::yolo_heads:
      return "heads of YOLOv8: for each cell the sides of a box as 16 bins, and a score for each class";
    case OutputForm::final_rows: return "a row for each box with its corners, its score and its class";
    case OutputForm::final_boxes: return "boxes, scores and classes as separate outputs";
    case OutputForm::scored_boxes: return "SSD: boxes, and a score for each class and the background";
    case OutputForm::mask_scores: return "a score for each class and pixel";
    case OutputForm::mask_classes: return "the class of each pixel";
  }
  fail(Code::internal, "a form of outputs that is none");
}

Task task_of(OutputForm form) {
  switch (form) {
    case OutputForm::scores: return Task::classify;
    case OutputForm::mask_scores:
    case OutputForm::mask_classes: return Task::segment;
    default: return Task::detect;
  }
}

std::optional<OutputReading> read_outputs(std::span<const NamedOutput> outputs, const PictureInput& input,
                                          std::size_t labels, std::optional<Task> task) {
  const auto wanted = [&](const std::optional<OutputReading>& reading) {
    return reading && (!task || task_of(reading->form) == *task);
  };
  // What is most particular comes first.
  if (const auto found = heads(outputs, input); wanted(found)) return found;
  if (const auto found = separate(outputs); wanted(found)) return found;
  if (const auto found = yolo(outputs, labels); wanted(found)) return found;
  if (const auto found = scores(outputs); wanted(found)) return found;
  if (const auto found = mask(outputs); wanted(found)) return found;
  return std::nullopt;
}

void refuse_outputs(std::span<const NamedOutput> outputs, std::optional<Task> task) {
  std::string found;
  for (const NamedOutput& output : outputs)
    found += fmt::format("{}{} {}", found.empty() ? "" : ", ", output.name, output.type.to_string());
  std::string forms;
  for (int form = 0; form <= static_cast<int>(OutputForm::mask_classes); ++form)
    if (!task || task_of(static_cast<OutputForm>(form)) == *task)
      forms += fmt::format("\n  {}", description(static_cast<OutputForm>(form)));
  fail(Code::unsupported,
       Hint{"without pictures, `tessera run MODEL --output DIR` writes the outputs as they are, as .npy files"},
       "the outputs cannot be read as answers about a picture: {}. Known are:{}", found, forms);
}

}  // namespace tessera::vision
