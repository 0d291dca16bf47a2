// What the outputs of networks mean: forms that are recognised, boxes that are read out of them, masks, drawings.

#include "tessera/vision/answers.h"

#include "tests/error_of.h"

#include "tessera/core/error.h"
#include "tessera/vision/picture_task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <functional>
#include <string>

namespace tessera {
namespace {

using for_tests::error_of;
using testing::AllOf;
using testing::HasSubstr;
using vision::NamedOutput;
using vision::PictureTask;

using Dims = std::vector<std::int64_t>;

NamedOutput floats(std::string name, Dims dims) { return {std::move(name), {ElementType::float32, std::move(dims)}}; }
NamedOutput integers(std::string name, Dims dims) { return {std::move(name), {ElementType::int64, std::move(dims)}}; }

// An array whose elements are what `value` says of their index.
Array filled(const Dims& dims, const std::function<float(const Dims&)>& value) {
  Array out(ElementType::float32, Shape(dims));
  Dims at(dims.size(), 0);
  for (float& element : out.as<float>()) {
    element = value(at);
    for (std::size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

const NamedOutput kInput = floats("images", {1, 3, 100, 100});

// A picture of 200 x 100 in an input of 100 x 100: half its size, 25 rows of filling above.
std::vector<DetectedBox> boxes_of(const std::vector<NamedOutput>& outputs, const std::vector<Array>& arrays,
                                  vision::PictureTaskOptions options = {}) {
  const PictureTask task(std::span(&kInput, 1), outputs, {}, std::move(options));
  const Image picture(200, 100, 50);
  return task.read(task.prepare(std::span(&picture, 1)), arrays).at(0).boxes;
}

// The one box that every detector below gives: 40, 20 to 80, 60 in the picture, of class 2.
void expect_the_box(const std::vector<DetectedBox>& boxes, double score, std::int64_t index = 2) {
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_NEAR(boxes[0].left, 40, 1e-4);
  EXPECT_NEAR(boxes[0].top, 20, 1e-4);
  EXPECT_NEAR(boxes[0].right, 80, 1e-4);
  EXPECT_NEAR(boxes[0].bottom, 60, 1e-4);
  EXPECT_NEAR(boxes[0].score, score, 1e-5);
  EXPECT_EQ(boxes[0].index, index);
}

// In the input: 20, 35 to 40, 55; its centre 30, 45, its size 20 x 20. Box 7 and its neighbour, a bit beside it.
float centre_form(std::int64_t box, std::int64_t k) {
  if (box != 7 && box != 8) return 0;
  const float beside = box == 8 ? 1.0f : 0.0f;
  return k == 0 ? 30 + beside : k == 1 ? 45 : 20;
}

TEST(Boxes, OfYoloColumns) {
  const Dims dims{1, 4 + 3, 30};
  const Array out = filled(dims, [](const Dims& at) {
    if (at[1] < 4) return centre_form(at[2], at[1]);
    return at[1] == 6 && at[2] == 7 ? 0.9f : at[1] == 6 && at[2] == 8 ? 0.8f : 0.01f;
  });
  expect_the_box(boxes_of({floats("output0", dims)}, {out}), 0.9);
}

TEST(Boxes, OfYoloColumnsInPartsOfTheInput) {
  const Dims dims{1, 4 + 3, 30};
  const Array out = filled(dims, [](const Dims& at) {
    if (at[1] < 4) return centre_form(at[2], at[1]) / 100;
    return at[1] == 6 && at[2] == 7 ? 0.9f : 0.01f;
  });
  expect_the_box(boxes_of({floats("output0", dims)}, {out}), 0.9);
}

TEST(Boxes, OfYoloRowsTimesThatThereIsAnything) {
  const Dims dims{1, 30, 5 + 3};
  const Array out = filled(dims, [](const Dims& at) {
    if (at[2] < 4) return centre_form(at[1], at[2]);
    if (at[2] == 4) return at[1] == 7 ? 0.5f : 0.1f;
    return at[2] == 7 ? 0.9f : 0.0f;
  });
  expect_the_box(boxes_of({floats("output0", dims)}, {out}), 0.45);
}

TEST(Boxes, OfHeadsOfTwoStrides) {
  const Dims fine{1, 64 + 3, 10, 10}, coarse{1, 64 + 3, 5, 5};
  const auto nothing = [](const Dims& at) { return at[1] < 64 ? 0.0f : -20.0f; };
  // Cell 2, 3 of stride 10: its centre 25, 35. 0.5 cells to the left, 0 up, 1.5 right, 2 down.
  const double cells[4] = {0.5, 0, 1.5, 2};
  const Array out = filled(fine, [&](const Dims& at) {
    if (at[2] != 3 || at[3] != 2) return nothing(at);
    if (at[1] >= 64) return at[1] == 66 ? 2.0f : -20.0f;
    const double side = cells[at[1] / 16], bin = static_cast<double>(at[1] % 16);
    // A weight of 1/2 each on the two bins around a half, all on the bin of a whole number.
    return std::abs(bin - side) < 0.75 ? 60.0f : -60.0f;
  });
  expect_the_box(boxes_of({floats("p3", fine), floats("p4", coarse)}, {out, filled(coarse, nothing)}),
                 1 / (1 + std::exp(-2.0)));
}

TEST(Boxes, OfFinalRowsAreNotSuppressedAway) {
  const Dims dims{1, 20, 6};
  const Array out = filled(dims, [](const Dims& at) {
    const float box[6] = {20, 35, 40, 55, 0.7f, 2};
    return at[1] == 0 ? box[at[2]] : 0.0f;
  });
  expect_the_box(boxes_of({floats("output0", dims)}, {out}), 0.7);
}

TEST(Boxes, OfSeparateOutputsWithTheirNumber) {
  // Top, left, bottom, right in parts of the input: the names say so.
  const Array boxes = filled({1, 3, 4}, [](const Dims& at) {
    const float box[4] = {0.35f, 0.2f, 0.55f, 0.4f};
    return box[at[2]];
  });
  const Array scores = filled({1, 3}, [](const Dims& at) { return at[1] == 0 ? 0.6f : 0.9f; });
  const Array classes = filled({1, 3}, [](const Dims& at) { return at[1] == 0 ? 2.0f : 5.0f; });
  const Array number = filled({1}, [](const Dims&) { return 1.0f; });  // the others are left over
  expect_the_box(boxes_of({floats("num_detections", {1}), floats("detection_boxes", {1, 3, 4}),
                           floats("detection_scores", {1, 3}), floats("detection_classes", {1, 3})},
                          {number, boxes, scores, classes}),
                 0.6);
  // As torchvision has them: corners in pixels, whole numbers as classes, no batch.
  const Array corners = filled({1, 4}, [](const Dims& at) {
    const float box[4] = {20, 35, 40, 55};
    return box[at[1]];
  });
  const std::int64_t label = 2;
  expect_the_box(boxes_of({floats("boxes", {-1, 4}), integers("labels", {-1}), floats("scores", {-1})},
                          {corners, Array::of<std::int64_t>(Shape{1}, std::span(&label, 1)),
                           filled({1}, [](const Dims&) { return 0.6f; })}),
                 0.6);
}

TEST(Boxes, OfSsdLeaveTheBackgroundOut) {
  const Array boxes = filled({1, 40, 4}, [](const Dims& at) {
    const float box[4] = {0.2f, 0.35f, 0.4f, 0.55f};
    return box[at[2]];
  });
  const Array scores = filled({1, 40, 4}, [](const Dims& at) {
    if (at[1] != 9) return at[2] == 0 ? 0.99f : 0.01f / 3;
    return at[2] == 2 ? 0.75f : at[2] == 0 ? 0.2f : 0.025f;
  });
  vision::PictureTaskOptions options;
  options.labels = {"cat", "dog", "bird"};  // without the background
  const auto found = boxes_of({floats("scores", {1, 40, 4}), floats("boxes", {1, 40, 4})}, {scores, boxes}, options);
  expect_the_box(found, 0.75);
  EXPECT_EQ(found.at(0).label, "dog");
}

TEST(Boxes, OverlapsOfOneClassLeaveTheSurestAlone) {
  const auto box = [](double left, std::int64_t index, double score) {
    return DetectedBox{left, 0, left + 10, 10, index, {}, score};
  };
  // 0 and 2 share 8 of 12 columns: 0.67; 0 and 6 share 4 of 16: 0.25.
  const auto kept = vision::suppress_overlaps({box(2, 1, 0.5), box(0, 1, 0.9), box(6, 1, 0.4), box(1, 3, 0.3)},
                                              {.most_overlap = 0.45});
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[0].score, 0.9);
  EXPECT_EQ(kept[1].score, 0.4);
  EXPECT_EQ(kept[2].index, 3);  // another class
  EXPECT_EQ(vision::suppress_overlaps(kept, {.most_boxes = 1}).size(), 1u);
}

TEST(Classes, AreRankedWithProbabilities) {
  const std::vector<double> scores{1, 3, 2};
  const auto best = vision::rank_classes(scores, 2);
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].index, 1);
  const double sum = std::exp(1) + std::exp(2) + std::exp(3);
  EXPECT_NEAR(best[0].probability, std::exp(3) / sum, 1e-12);
  const std::vector<double> already{0.25, 0.75};
  EXPECT_EQ(vision::rank_classes(already, 5)[0].probability, 0.75);
}

TEST(Masks, AreOfThePictureNotOfTheInput) {
  // Class 1 in the left half of the network's 4 x 4 cells; filling above and below belongs to no picture.
  const Dims dims{1, 3, 4, 4};
  const Array out = filled(dims, [](const Dims& at) { return at[1] == (at[3] < 2 ? 1 : 0) ? 5.0f : 0.0f; });
  vision::PictureTaskOptions options;
  options.preprocessing = preprocessing_preset("yolo");
  options.labels = {"nothing", "cat", "dog"};
  const NamedOutput output = floats("mask", dims);
  const PictureTask task(std::span(&kInput, 1), std::span(&output, 1), {}, options);
  const Image picture(200, 100, 50);
  const Answers answers = task.read(task.prepare(std::span(&picture, 1)), std::span(&out, 1)).at(0);
  EXPECT_EQ(answers.task, Task::segment);
  ASSERT_TRUE(answers.mask);
  EXPECT_EQ(answers.mask->width, 200);
  EXPECT_EQ(answers.mask->classes[0], 1);
  EXPECT_EQ(answers.mask->classes[99], 1);
  EXPECT_EQ(answers.mask->classes[100], 0);
  ASSERT_EQ(answers.areas.size(), 2u);
  EXPECT_DOUBLE_EQ(answers.areas[0].fraction, 0.5);
  const Image drawn = draw_answers(picture, answers);
  EXPECT_NE(drawn.pixel(10, 10)[0], 50);   // coloured
  EXPECT_EQ(drawn.pixel(150, 10)[0], 50);  // background
}

TEST(Masks, WhatWasCroppedAwayIsUnseen) {
  const Dims dims{1, 2, 4, 4};
  vision::PictureTaskOptions options;
  options.preprocessing = Preprocessing{};
  options.preprocessing->fit = Fit::crop;
  const NamedOutput output = floats("mask", dims);
  const PictureTask task(std::span(&kInput, 1), std::span(&output, 1), {}, options);
  const Image picture(200, 100, 50);
  const Array out = filled(dims, [](const Dims& at) { return static_cast<float>(at[1]); });
  const Answers answers = task.read(task.prepare(std::span(&picture, 1)), std::span(&out, 1)).at(0);
  EXPECT_EQ(answers.mask->classes[49], Mask::kUnseen);
  EXPECT_EQ(answers.mask->classes[50], 1);
  EXPECT_DOUBLE_EQ(answers.areas.at(0).fraction, 0.5);
}

TEST(Outputs, ThatNobodyKnowsAreRefusedWithTheKnownForms) {
  const NamedOutput output = floats("embedding", {1, 7, 3, 2, 2});
  EXPECT_THAT(error_of([&] { PictureTask(std::span(&kInput, 1), std::span(&output, 1), {}); }),
              AllOf(HasSubstr("embedding float32[1, 7, 3, 2, 2]"), HasSubstr("YOLOv8"), HasSubstr("class and pixel")));
  const NamedOutput scores = floats("y", {1, 10});
  EXPECT_THAT(error_of([&] { PictureTask(std::span(&kInput, 1), std::span(&scores, 1), {}, {.task = Task::segment}); }),
              HasSubstr("cannot be read"));
  const std::vector<NamedOutput> two{kInput, kInput};
  EXPECT_THAT(error_of([&] { PictureTask(two, std::span(&scores, 1), {}); }), HasSubstr("2 inputs"));
  EXPECT_THAT(error_of([&] { PictureTask(std::span(&kInput, 1), std::span(&scores, 1), {}, {.labels = {"a", "b"}}); }),
              HasSubstr("names for 2 classes, and the network has 10"));
}

TEST(Outputs, NanIsNoAnswer) {
  const NamedOutput output = floats("y", {1, 10});
  const PictureTask task(std::span(&kInput, 1), std::span(&output, 1), {});
  const Image picture(10, 10);
  const Array nan = filled({1, 10}, [](const Dims&) { return std::nanf(""); });
  EXPECT_THAT(error_of([&] { task.read(task.prepare(std::span(&picture, 1)), std::span(&nan, 1)); }), HasSubstr("NaN"));
}

TEST(ModelNotes, UltralyticsAndOurs) {
  const ModelNotes theirs = read_model_notes({{"names", "{0: 'person', 1: \"bird's nest\"}"}, {"task", "detect"}});
  EXPECT_EQ(theirs.labels, (std::vector<std::string>{"person", "bird's nest"}));
  EXPECT_EQ(theirs.preprocessing, preprocessing_preset("yolo"));
  EXPECT_TRUE(read_model_notes({{"names", "{1: 'person'}"}}).labels.empty());
  EXPECT_TRUE(read_model_notes({{"names", "{0: 'person'"}}).labels.empty());
  const ModelNotes ours = read_model_notes({{"tessera.labels", "a\nb"}, {"tessera.preprocessing", "fit = \"pad\""}});
  EXPECT_EQ(ours.labels.size(), 2u);
  EXPECT_EQ(ours.preprocessing->fit, Fit::pad);
}

TEST(Drawing, FramesBoxesAndWritesClassesBelow) {
  Answers answers{.task = Task::detect, .width = 100, .height = 80};
  answers.boxes.push_back({20, 30, 60, 70, 1, "dog", 0.9});
  const Image picture(100, 80, 128);
  const Image drawn = draw_answers(picture, answers);
  EXPECT_EQ(drawn.width, 100);
  const auto changed = [&](std::int64_t x, std::int64_t y) {
    return drawn.pixel(x, y)[0] != 128 || drawn.pixel(x, y)[1] != 128;
  };
  EXPECT_TRUE(changed(20, 50) && changed(59, 50) && changed(40, 30) && changed(40, 69));
  EXPECT_FALSE(changed(40, 50));
  EXPECT_FALSE(changed(80, 75));
  Answers classes{.task = Task::classify, .width = 100, .height = 80};
  classes.classes = {{7, "seven", 3.0, 0.9}};
  const Image captioned = draw_answers(picture, classes);
  EXPECT_GT(captioned.height, 80);
  EXPECT_EQ(std::vector(captioned.rgb.begin(), captioned.rgb.begin() + 300), std::vector<std::uint8_t>(300, 128));
  answers.boxes[0] = {-5, -5, 300, 300, 1, "beyond every edge", 0.9};
  EXPECT_NO_THROW(draw_answers(Image(3, 2), answers));
}

TEST(Answers, AsWordsAndJson) {
  Answers answers{.task = Task::detect, .form = "boxes", .width = 100, .height = 80};
  EXPECT_EQ(answers.to_string(), "no box");
  answers.boxes = {{20, 30, 60, 70, 1, "dog", 0.9}, {1, 2, 3, 4, 5, "", 0.5}};
  EXPECT_EQ(answers.to_string(), "2 boxes: dog (0.90), class 5 (0.50)");
  const auto json = nlohmann::json::parse(answers_json(answers));
  EXPECT_EQ(json.at("boxes").at(0).at("label"), "dog");
  EXPECT_EQ(json.at("boxes").at(1).at("bottom"), 4);
  EXPECT_FALSE(json.at("boxes").at(1).contains("label"));
  EXPECT_EQ(json.at("width"), 100);
}

}  // namespace
}  // namespace tessera
