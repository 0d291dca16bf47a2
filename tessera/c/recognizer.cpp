// Pictures in, answers out, for C.

#include "tessera/session/recognizer.h"
#include "tessera/c/internal/guarded.h"
#include "tessera/c/tessera.h"
#include "tessera/core/error.h"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace tessera;
using namespace tessera::c;

static_assert(static_cast<int>(Task::classify) == TSR_CLASSIFY);
static_assert(static_cast<int>(Task::detect) == TSR_DETECT);
static_assert(static_cast<int>(Task::segment) == TSR_SEGMENT);

// The labels belong to `answers`.
std::vector<tsr_answer> rows_of(const Answers& answers) {
  std::vector<tsr_answer> rows;
  for (const RankedClass& one : answers.classes)
    rows.push_back({one.index, one.label.c_str(), one.probability, 0, 0, 0, 0});
  for (const DetectedBox& box : answers.boxes)
    rows.push_back({box.index, box.label.c_str(), box.score, box.left, box.top, box.right, box.bottom});
  for (const MaskArea& area : answers.areas)
    rows.push_back({area.index, area.label.c_str(), area.fraction, 0, 0, 0, 0});
  return rows;
}

Image image_of(const std::uint8_t* rgb, std::int64_t width, std::int64_t height) {
  const std::int64_t most = ImageLimits{}.pixels;
  check(width > 0 && height > 0 && width <= most / height, Code::invalid_argument,
        "a picture of {} x {} pixels; it may have 1 to {}", width, height, most);
  const std::uint8_t* first = &required(rgb, "rgb");
  return Image(width, height, {first, first + width * height * 3});
}

}  // namespace

struct tsr_recognizer {
  Recognizer recognizer;
};

struct tsr_answers {
  Image picture;
  Answers answers;
  std::vector<tsr_answer> rows;
  std::string text, json;

  tsr_answers(Image image, Answers found)
      : picture(std::move(image)),
        answers(std::move(found)),
        rows(rows_of(answers)),
        text(answers.to_string()),
        json(answers_json(answers)) {}
};

void tsr_recognizer_options_init(tsr_recognizer_options* options) {
  const RecognizerOptions defaults;
  *options = {sizeof(tsr_recognizer_options), nullptr, defaults.top, defaults.least_score, defaults.most_overlap, 0};
}

tsr_status tsr_recognizer_create(const char* model, const tsr_recognizer_options* options,
                                 tsr_recognizer** recognizer) {
  return guarded([&] {
    tsr_recognizer*& out = required(recognizer, "recognizer");
    const tsr_recognizer_options given = options_of(options, tsr_recognizer_options_init);
    const auto is_fraction = [](double value) { return value >= 0 && value <= 1; };
    check(given.threads >= 0, Code::invalid_argument, "{} threads cannot run anything", given.threads);
    check(is_fraction(given.least_score) && is_fraction(given.most_overlap), Code::invalid_argument,
          "least_score is {} and most_overlap is {}; both are from 0 to 1", given.least_score, given.most_overlap);
    RecognizerOptions made;
    if (given.preprocessing != nullptr) made.preprocessing = load_preprocessing(given.preprocessing);
    made.top = given.top;
    made.least_score = given.least_score;
    made.most_overlap = given.most_overlap;
    made.session.threads = given.threads;
    out = new tsr_recognizer{Recognizer(text_of(model, "model"), made)};
  });
}

tsr_status tsr_recognizer_run(const tsr_recognizer* recognizer, const char* picture, tsr_answers** answers) {
  return guarded([&] {
    tsr_answers*& out = required(answers, "answers");
    const Recognizer& network = required(recognizer, "recognizer").recognizer;
    Image image = load_image(text_of(picture, "picture"));
    Answers found = network.run(image);
    out = new tsr_answers(std::move(image), std::move(found));
  });
}

tsr_status tsr_recognizer_run_rgb(const tsr_recognizer* recognizer, const uint8_t* rgb, int64_t width, int64_t height,
                                  tsr_answers** answers) {
  return guarded([&] {
    tsr_answers*& out = required(answers, "answers");
    const Recognizer& network = required(recognizer, "recognizer").recognizer;
    Image image = image_of(rgb, width, height);
    Answers found = network.run(image);
    out = new tsr_answers(std::move(image), std::move(found));
  });
}

void tsr_recognizer_free(tsr_recognizer* recognizer) { delete recognizer; }

tsr_task tsr_answers_task(const tsr_answers* answers) { return static_cast<tsr_task>(answers->answers.task); }
size_t tsr_answers_count(const tsr_answers* answers) { return answers->rows.size(); }

tsr_status tsr_answers_get(const tsr_answers* answers, size_t index, tsr_answer* answer) {
  return guarded([&] {
    const std::vector<tsr_answer>& rows = required(answers, "answers").rows;
    check(index < rows.size(), Code::invalid_argument, "there is no answer {}: there are {}", index, rows.size());
    required(answer, "answer") = rows[index];
  });
}

const char* tsr_answers_text(const tsr_answers* answers) { return answers->text.c_str(); }
const char* tsr_answers_json(const tsr_answers* answers) { return answers->json.c_str(); }

tsr_status tsr_answers_save_picture(const tsr_answers* answers, const char* file) {
  return guarded([&] {
    const tsr_answers& found = required(answers, "answers");
    save_image(text_of(file, "file"), draw_answers(found.picture, found.answers));
  });
}

void tsr_answers_free(tsr_answers* answers) { delete answers; }
