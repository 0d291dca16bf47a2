#include "tessera/vision/answers.h"

#include "tessera/core/text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostNamed = 5;

std::string shown(const std::string& label, std::int64_t index) {
  return label.empty() ? fmt::format("class {}", index) : label;
}

void add_class(Json& json, std::int64_t index, const std::string& label) {
  json["class"] = index;
  if (!label.empty()) json["label"] = label;
}

}  // namespace

std::string_view name(Task task) {
  return task == Task::classify ? "classify" : task == Task::detect ? "detect" : "segment";
}

std::optional<Task> parse_task(std::string_view text) {
  for (const Task task : {Task::classify, Task::detect, Task::segment})
    if (name(task) == text) return task;
  return std::nullopt;
}

std::string Answers::to_string() const {
  std::string out;
  const auto add = [&](const std::string& label, std::int64_t index, double figure) {
    out += fmt::format("{}{} ({:.2f})", out.empty() ? "" : ", ", shown(label, index), figure);
  };
  if (task == Task::classify) {
    if (!classes.empty()) add(classes[0].label, classes[0].index, classes[0].probability);
    return out.empty() ? "no class" : out;
  }
  if (task == Task::segment) {
    for (std::size_t i = 0; i < std::min(kMostNamed, areas.size()); ++i)
      add(areas[i].label, areas[i].index, areas[i].fraction);
    return out.empty() ? "no mask" : out;
  }
  for (std::size_t i = 0; i < std::min(kMostNamed, boxes.size()); ++i)
    add(boxes[i].label, boxes[i].index, boxes[i].score);
  if (boxes.empty()) return "no box";
  return fmt::format("{}: {}{}", counted(boxes.size(), "box"), out, boxes.size() > kMostNamed ? ", ..." : "");
}

std::string answers_json(const Answers& answers) {
  Json json;
  json["task"] = name(answers.task);
  json["form"] = answers.form;
  json["width"] = answers.width;
  json["height"] = answers.height;
  if (answers.task == Task::classify) {
    json["classes"] = Json::array();
    for (const RankedClass& one : answers.classes) {
      Json& row = json["classes"].emplace_back(Json::object());
      add_class(row, one.index, one.label);
      row["score"] = one.score;
      row["probability"] = one.probability;
    }
  } else if (answers.task == Task::detect) {
    json["boxes"] = Json::array();
    for (const DetectedBox& box : answers.boxes) {
      Json& row = json["boxes"].emplace_back(Json::object());
      add_class(row, box.index, box.label);
      row["score"] = box.score;
      row["left"] = box.left;
      row["top"] = box.top;
      row["right"] = box.right;
      row["bottom"] = box.bottom;
    }
  } else {
    json["areas"] = Json::array();
    for (const MaskArea& area : answers.areas) {
      Json& row = json["areas"].emplace_back(Json::object());
      add_class(row, area.index, area.label);
      row["pixels"] = area.pixels;
      row["fraction"] = area.fraction;
    }
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tessera
