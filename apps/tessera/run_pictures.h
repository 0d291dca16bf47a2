#pragma once

// `tessera run` over pictures and videos: which words are such, what is said about them, and what is written.

#include "command.h"
#include "model_argument.h"

#include "tessera/session/port.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace tessera::cli {

struct PicturesArgument {
  std::string preprocess, task;
  std::vector<std::pair<std::string, std::string>> fields;  // of preprocessing, as text
  std::int64_t top = 0;                                     // 0: 5 for one picture, 1 for each of several
  double least_score = 0.25, most_overlap = 0.45;
  std::int64_t every = 1;
  std::vector<CLI::Option*> options;
};

// --preprocess and the fields of it, --task, --top, --least-score, --overlap, --every.
void add_pictures_argument(CLI::App& command, PicturesArgument& argument);

// Whether --input has pictures, folders of them, or videos. An Error where it has both pictures and arrays.
bool wants_pictures(const ModelArgument& model);

// A network that is ready to run, wherever that is.
struct PictureRunner {
  std::vector<Port> inputs, outputs;
  std::function<std::vector<Array>(const std::vector<Array>& inputs)> run;
  std::string where;  // in words, for the closing line
};

struct PictureRun {
  const PicturesArgument& pictures;
  const ModelArgument& model;
  std::string network;  // where labels and preprocessing are looked for: a name, or a file
  std::string labels, output;
};

void run_pictures(const PictureRun& asked, const PictureRunner& runner, const Context& context);

}  // namespace tessera::cli
