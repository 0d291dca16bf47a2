#pragma once

// What a network says about a picture.

#include "tessera/core/export.h"
#include "tessera/vision/image.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

enum class Task : std::uint8_t { classify, detect, segment };

TSR_API std::string_view name(Task task);
TSR_API std::optional<Task> parse_task(std::string_view text);

// One class and how sure the network is of it.
struct RankedClass {
  std::int64_t index = 0;
  std::string label{};     // empty: nobody has named it
  double score = 0;        // as the network gives it
  double probability = 0;  // of all classes together 1

  bool operator==(const RankedClass&) const = default;
};

// In pixels of the picture, from its upper left corner.
struct DetectedBox {
  double left = 0, top = 0, right = 0, bottom = 0;
  std::int64_t index = 0;  // of the class
  std::string label{};
  double score = 0;  // 0 to 1

  bool operator==(const DetectedBox&) const = default;
};

// One class of a mask, and which part of the picture it has.
struct MaskArea {
  std::int64_t index = 0;
  std::string label{};
  std::int64_t pixels = 0;
  double fraction = 0;

  bool operator==(const MaskArea&) const = default;
};

// The class of each pixel of the picture, row by row.
struct Mask {
  static constexpr std::uint16_t kUnseen = 0xFFFF;  // cut off before the network saw it

  std::int64_t width = 0, height = 0;
  std::vector<std::uint16_t> classes;

  bool operator==(const Mask&) const = default;
};

struct Answers {
  Task task = Task::classify;
  std::string form{};                  // which kind of outputs this was read from, in words
  std::int64_t width = 0, height = 0;  // of the picture
  std::vector<RankedClass> classes{};  // classify: the best first
  std::vector<DetectedBox> boxes{};    // detect: the surest first
  std::vector<MaskArea> areas{};       // segment: the largest first
  std::optional<Mask> mask{};          // segment

  // "7 (0.98)", "2 boxes: person (0.91), dog (0.80)".
  TSR_API std::string to_string() const;
};

// {"task": ..., "form": ..., "width": ..., "height": ..., "classes" or "boxes" or "areas": [...]}.
TSR_API std::string answers_json(const Answers& answers);

// The picture with what was found: boxes with their labels, masks as a layer of colour, the best classes below.
TSR_API Image draw_answers(const Image& image, const Answers& answers);

}  // namespace tessera
