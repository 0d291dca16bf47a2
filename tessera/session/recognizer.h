#pragma once

// Pictures in, answers out:
//
//   const Recognizer digits("digits");              // a network by name, or an ONNX file
//   const Answers answers = digits.run("seven.png");
//   std::puts(answers.to_string().c_str());         // 7 (0.99)
//
// How a picture becomes the network's input, and what the outputs mean, is taken from the network's file or guessed:
// remarks() says which. A recognizer may be used from several threads at once.

#include "tessera/core/export.h"
#include "tessera/session/network.h"
#include "tessera/session/session.h"
#include "tessera/vision/answers.h"
#include "tessera/vision/image.h"
#include "tessera/vision/preprocessing.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera {

struct RecognizerOptions {
  std::optional<Preprocessing> preprocessing{};               // none: as the network's file says, else guessed
  std::vector<std::pair<std::string, std::string>> fields{};  // set_preprocessing_field() on top of that
  std::optional<Task> task{};                                 // none: as the outputs look
  std::vector<std::string> labels{};                          // none: those of the network's file
  std::int64_t top = 5;                                       // classes that are listed
  double least_score = 0.25;                                  // of boxes
  double most_overlap = 0.45;                                 // of two boxes of one class: intersection over union
  SessionOptions session{};
};

class TSR_API Recognizer {
 public:
  // A network by name, or an ONNX file.
  explicit Recognizer(const std::string& model, const RecognizerOptions& options = {});
  explicit Recognizer(const Network& network, const RecognizerOptions& options = {});
  Recognizer(Recognizer&&) noexcept;
  Recognizer& operator=(Recognizer&&) noexcept;
  ~Recognizer();

  Answers run(const std::filesystem::path& picture) const;
  Answers run(const Image& picture) const;
  // Several, as many at a time as the network takes.
  std::vector<Answers> run(std::span<const Image> pictures) const;

  const Session& session() const;
  const Preprocessing& preprocessing() const;
  const std::vector<std::string>& labels() const;  // empty: nobody has named the classes
  const std::vector<std::string>& remarks() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
