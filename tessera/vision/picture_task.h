#pragma once

// A network's inputs and outputs as pictures and answers. It runs nothing: whoever has the network does.

#include "tessera/core/array.h"
#include "tessera/core/export.h"
#include "tessera/vision/answers.h"
#include "tessera/vision/image.h"
#include "tessera/vision/model_notes.h"
#include "tessera/vision/output_form.h"
#include "tessera/vision/preprocessing.h"
#include "tessera/vision/read_answers.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::vision {

struct PictureTaskOptions {
  std::optional<Preprocessing> preprocessing{};               // none: as the model's file says, else guessed
  std::vector<std::pair<std::string, std::string>> fields{};  // set_preprocessing_field() on top of that
  std::optional<Task> task{};                                 // none: as the outputs look
  std::vector<std::string> labels{};                          // none: those of the model's file
  AnswerLimits limits{};
};

struct PictureBatch {
  Array input;
  std::vector<Seen> pictures;
};

class PictureTask {
 public:
  // An Error for a network that takes anything but one picture (or a batch of them), or whose outputs say nothing that
  // is known here.
  TSR_API PictureTask(std::span<const NamedOutput> inputs, std::span<const NamedOutput> outputs, ModelNotes notes,
                      PictureTaskOptions options = {});

  // How many pictures go through at a time; 0: as many as there are.
  std::int64_t batch() const { return batch_; }
  const PictureInput& input() const { return input_; }
  const Preprocessing& preprocessing() const { return preprocessing_; }
  const std::vector<std::string>& labels() const { return labels_; }
  // What was taken from the model's file, and what was guessed: sentences for people.
  const std::vector<std::string>& remarks() const { return remarks_; }

  // At most batch() pictures; a batch that is fixed is filled up with zeros.
  TSR_API PictureBatch prepare(std::span<const Image> pictures) const;
  TSR_API std::vector<Answers> read(const PictureBatch& batch, std::span<const Array> outputs) const;

 private:
  PictureInput input_;
  Preprocessing preprocessing_;
  std::vector<NamedOutput> outputs_;
  std::vector<std::string> labels_, remarks_;
  std::optional<Task> task_;
  AnswerLimits limits_;
  std::int64_t batch_ = 1;
};

}  // namespace tessera::vision
