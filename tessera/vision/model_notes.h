#pragma once

// What a network's file says about its pictures, and what is guessed where it says nothing.

#include "tessera/core/export.h"
#include "tessera/graph/tensor_type.h"
#include "tessera/vision/output_form.h"
#include "tessera/vision/preprocessing.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

struct ModelNotes {
  std::vector<std::string> labels{};
  std::optional<Preprocessing> preprocessing{};
};

// From the metadata of an ONNX file: `tessera.labels` (a name on each line) and `tessera.preprocessing` (TOML), or what
// Ultralytics writes (`names`, `task`).
TSR_API ModelNotes read_model_notes(const std::map<std::string, std::string>& metadata);

// Of a network by name or a file; nothing for networks that are in no file.
TSR_API ModelNotes load_model_notes(const std::string& model);

// A name on each line.
TSR_API std::vector<std::string> load_labels(const std::filesystem::path& path);

namespace vision {

struct GuessedPreprocessing {
  Preprocessing preprocessing;
  std::string why;
};

// By the shape of the input and the form of the outputs.
GuessedPreprocessing guess_preprocessing(const TensorType& input, const std::optional<OutputReading>& reading);

}  // namespace vision
}  // namespace tessera
