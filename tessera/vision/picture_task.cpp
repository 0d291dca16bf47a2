#include "tessera/vision/picture_task.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace tessera::vision {
namespace {

bool are_known(std::span<const NamedOutput> outputs) {
  return std::all_of(outputs.begin(), outputs.end(),
                     [](const NamedOutput& output) { return output.type.dims.has_value(); });
}

// TOML in one line: "fit = crop, crop = 0.875, ...".
std::string in_words(const Preprocessing& preprocessing) {
  std::string text = to_toml(preprocessing), out;
  text.pop_back();
  for (const char c : text) {
    if (c == '\n')
      out += ", ";
    else if (c != '"')
      out += c;
  }
  return out;
}

void check_labels(const OutputReading& reading, std::span<const std::string> labels) {
  if (labels.empty() || reading.classes == 0) return;
  const std::int64_t named = std::ssize(labels);
  const bool without_background = reading.form == OutputForm::scored_boxes && named + 1 == reading.classes;
  check(named == reading.classes || without_background, Code::invalid_argument,
        Hint{"one name on each line, in the order of the classes"},
        "there are names for {} classes, and the network has {}", named, reading.classes);
}

}  // namespace

PictureTask::PictureTask(std::span<const NamedOutput> inputs, std::span<const NamedOutput> outputs, ModelNotes notes,
                         PictureTaskOptions options)
    : outputs_(outputs.begin(), outputs.end()),
      labels_(std::move(options.labels)),
      task_(options.task),
      limits_(options.limits) {
  check(inputs.size() == 1, Code::unsupported, Hint{"hand its inputs over as arrays: --input NAME=FILE.npy"},
        "the network has {} inputs; pictures are for networks with one", inputs.size());
  if (labels_.empty() && !notes.labels.empty()) {
    labels_ = std::move(notes.labels);
    remarks_.push_back(fmt::format("names of {} classes come with the network", labels_.size()));
  }
  const TensorType& type = inputs[0].type;
  // The form of the outputs may depend on the extents of the input, and the guess of those on the form.
  const PictureInput any{.width = 1, .height = 1};
  std::optional<OutputReading> reading;
  if (are_known(outputs_)) {
    PictureInput probe = any;
    try {
      probe = picture_input(type, {});
    } catch (const Error&) {  // extents that are open; what is wrong otherwise shows below
      probe = any;
    }
    reading = read_outputs(outputs_, probe, labels_.size(), task_);
  }
  std::string origin;
  if (options.preprocessing) {
    preprocessing_ = *options.preprocessing;
  } else if (notes.preprocessing) {
    preprocessing_ = *notes.preprocessing;
    origin = "preprocessing comes with the network";
  } else {
    GuessedPreprocessing guess = guess_preprocessing(type, reading);
    preprocessing_ = std::move(guess.preprocessing);
    origin = fmt::format("preprocessing is guessed ({})", guess.why);
  }
  for (const auto& [field, text] : options.fields) set_preprocessing_field(preprocessing_, field, text);
  if (!origin.empty()) remarks_.push_back(fmt::format("{}: {}", origin, in_words(preprocessing_)));
  input_ = picture_input(type, preprocessing_);
  batch_ = !input_.batched ? 1 : type.dims && type.dims->front() == TensorType::kUnknown ? 0 : input_.batch;
  if (are_known(outputs_)) {
    reading = read_outputs(outputs_, input_, labels_.size(), task_);
    if (!reading) refuse_outputs(outputs_, task_);
    check_labels(*reading, labels_);
    remarks_.push_back(
        fmt::format("the outputs are read as {} ({})", name(task_of(reading->form)), description(reading->form)));
  }
}

PictureBatch PictureTask::prepare(std::span<const Image> pictures) const {
  const std::int64_t count = std::ssize(pictures);
  check(count > 0 && (batch_ == 0 || count <= batch_), Code::invalid_argument,
        "{} pictures cannot go through together: the network takes {}", count, batch_);
  PictureInput input = input_;
  input.batch = batch_ == 0 ? count : batch_;
  PictureBatch out{Array(input.type, input.shape()), {}};
  std::size_t at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const Image& picture = pictures[static_cast<std::size_t>(i)];
    const PreparedPicture prepared = prepare_picture(picture, input, preprocessing_);
    const std::span<const std::byte> bytes = prepared.values.bytes();
    std::memcpy(out.input.bytes().data() + at, bytes.data(), bytes.size());
    at += bytes.size();
    out.pictures.push_back({picture.width, picture.height, prepared.placement, input, i});
  }
  return out;
}

std::vector<Answers> PictureTask::read(const PictureBatch& batch, std::span<const Array> outputs) const {
  check(outputs.size() == outputs_.size(), Code::internal, "{} outputs of {} came", outputs.size(), outputs_.size());
  std::vector<NamedOutput> found = outputs_;
  for (std::size_t i = 0; i < outputs.size(); ++i) found[i].type = TensorType(outputs[i].type(), outputs[i].shape());
  const std::optional<OutputReading> reading = read_outputs(found, input_, labels_.size(), task_);
  if (!reading) refuse_outputs(found, task_);
  check_labels(*reading, labels_);
  std::vector<Answers> answers;
  for (const Seen& seen : batch.pictures) answers.push_back(read_answers(*reading, outputs, seen, labels_, limits_));
  return answers;
}

}  // namespace tessera::vision
