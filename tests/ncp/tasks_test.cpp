#include "tessera/core/error.h"

#include "tessera/core/file.h"
#include "tessera/core/sha256.h"
#include "tessera/ncp/tasks/task.h"
#include "tests/error_of.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

namespace tessera::ncp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using tessera::for_tests::error_of;

std::string digest(const XorStreams& streams) {
  std::vector<std::byte> all;
  const auto add = [&](const auto& values) {
    const auto bytes = std::as_bytes(std::span(values));
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  add(streams.events);
  add(streams.elapsed);
  add(streams.mask);
  add(streams.labels);
  return sha256_hex(all, 16);
}

std::int64_t total(const auto& values) { return std::accumulate(values.begin(), values.end(), std::int64_t{0}); }

std::vector<int> first(const auto& values) { return {values.begin(), values.begin() + 8}; }

TEST(XorTask, StreamsAreThoseOfThePaper) {
  const XorStreams test = draw_xor(48736, 10000);
  EXPECT_THAT(first(test.labels), ElementsAre(0, 1, 1, 1, 0, 0, 0, 1));
  EXPECT_THAT(first(test.bits), ElementsAre(17, 9, 7, 31, 10, 22, 20, 16));
  EXPECT_EQ(total(test.labels), 5089);
  EXPECT_EQ(total(test.mask), 93144);
  EXPECT_EQ(digest(test), "0223e339248fa409");
  const XorStreams training = draw_xor(1234984, 100000);
  EXPECT_THAT(first(training.labels), ElementsAre(0, 0, 0, 0, 0, 1, 0, 0));
  EXPECT_THAT(first(training.bits), ElementsAre(18, 23, 25, 31, 31, 5, 11, 23));
  EXPECT_EQ(total(training.labels), 50054);
  EXPECT_EQ(total(training.mask), 925057);
  EXPECT_EQ(digest(training), "eedb573be36e090d");
}

TEST(XorTask, ElapsedTimesAre32nds) {
  const Task task = xor_task({.training = 3, .validation = 2, .test = 4});
  EXPECT_EQ(task.training.samples, 3);
  EXPECT_EQ(task.validation.samples, 2);
  EXPECT_EQ(task.test.samples, 4);
  const XorStreams drawn = draw_xor(48736, 4);
  for (std::size_t i = 0; i < drawn.elapsed.size(); ++i)
    EXPECT_EQ(task.test.timespans[i] * 32, static_cast<float>(drawn.elapsed[i]));
  EXPECT_EQ(task.test.lengths, drawn.counts);
  const Layer layer = layer_from_json(R"({"type":"CfC","input_size":1,"units":4,"proj_size":2})");
  for (const Dataset* set : {&task.training, &task.validation, &task.test})
    check_dataset(*set, layer, task.loss, task.readout);
}

TEST(SineTask, IsTheExampleOfNcps) {
  const Task task = sine_task();
  EXPECT_EQ(task.training.steps, 48);
  EXPECT_EQ(task.training.input[0], 0);
  EXPECT_EQ(task.training.input[1], 1);
  EXPECT_NEAR(task.training.targets[47], 0, 1e-6);
  EXPECT_FLOAT_EQ(task.training.targets[8], static_cast<float>(std::sin(6 * M_PI * 8 / 47)));
}

std::vector<Trace> made_traces(std::size_t count) {
  std::vector<Trace> traces(count);
  for (std::size_t i = 0; i < count; ++i) {
    traces[i] = {1000, 17, {}};
    for (int t = 0; t < 1000; ++t)
      for (int k = 0; k < 17; ++k) traces[i].values.push_back(std::sin(0.05 * t + k) + 10 * static_cast<double>(i));
  }
  return traces;
}

TEST(CheetahTask, WindowsComeFromTheRightTraces) {
  const Task task = cheetah_task(made_traces(31));
  EXPECT_EQ(task.training.samples, 970);
  EXPECT_EQ(task.test.samples, 970);
  EXPECT_EQ(task.validation.samples, 485);
  EXPECT_EQ(task.training.steps, 32);
  EXPECT_EQ(task.outputs, 17);
  EXPECT_NEAR(task.training.input[0], 150, 1);
  EXPECT_NEAR(task.test.input[0], 50, 1);
  EXPECT_NEAR(task.validation.input[0], 0, 1);
  // The target is the next frame, and the next window begins ten frames later.
  EXPECT_EQ(task.training.targets[0], task.training.input[17]);
  EXPECT_EQ(task.training.input[32 * 17], task.training.input[10 * 17]);
  EXPECT_THAT(error_of([&] { cheetah_task(made_traces(24)); }), HasSubstr("24 traces"));
}

TEST(CheetahTask, TracesAreReadFromText) {
  const auto path = std::filesystem::path(testing::TempDir()) / "trace.txt";
  write_file_atomically(path, std::string_view("1 -2.5e-1\n+3,4\n\n5\t6"));
  const Trace trace = read_trace(path);
  EXPECT_EQ(trace.rows, 3);
  EXPECT_EQ(trace.columns, 2);
  EXPECT_THAT(trace.values, ElementsAre(1, -0.25, 3, 4, 5, 6));
  write_file_atomically(path, std::string_view("1 2\n3\n"));
  EXPECT_THAT(error_of([&] { read_trace(path); }), HasSubstr("line 2 has 1 numbers, the first has 2"));
  write_file_atomically(path, std::string_view("1 nan\n"));
  EXPECT_THAT(error_of([&] { read_trace(path); }), HasSubstr("line 1, number 2"));
  write_file_atomically(path, std::string_view(""));
  EXPECT_THAT(error_of([&] { read_trace(path); }), HasSubstr("no numbers"));
}

TEST(CsvTask, ColumnsAreToldByTheirNames) {
  std::string text = "sequence,elapsed,x,target,z\n";
  for (int s = 0; s < 10; ++s)
    for (int t = 0; t <= s % 3; ++t) text += fmt::format("{},0.5,{},{},{}\n", s, 10 * s + t, s % 2, -t);
  const Task task = csv_task(text);
  EXPECT_EQ(task.training.samples, 8);
  EXPECT_EQ(task.validation.samples, 1);
  EXPECT_EQ(task.test.samples, 1);
  EXPECT_EQ(task.training.steps, 3);
  EXPECT_EQ(task.training.inputs, 2);
  EXPECT_EQ(task.outputs, 1);
  EXPECT_THAT(task.training.lengths, ElementsAre(1, 2, 3, 1, 2, 3, 1, 2));
  EXPECT_THAT(task.training.begins, ElementsAre(0, 1, 3, 6, 7, 9, 12, 13));
  EXPECT_EQ(task.training.input.size(), 2u * 15);  // nothing is padded
  EXPECT_EQ(task.training.input[2], 10);           // of the second sequence
  EXPECT_FALSE(task.windowed);
  EXPECT_EQ(task.test.input[0], 90);
  const Task last = csv_task(text, {.loss = Loss::softmax_cross_entropy, .readout = Readout::last_step});
  EXPECT_EQ(last.outputs, 2);
  EXPECT_EQ(last.training.targets.size(), 8u);
}

TEST(CsvTask, WithoutSequencesWindowsAreCut) {
  std::string text = "x,target_a,target_b\r\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("{},{},{}\r\n", i, 2 * i, 3 * i);
  const Task task = csv_task(text, {.window = 10, .stride = 5});
  EXPECT_EQ(task.training.samples + task.validation.samples + task.test.samples, 19);
  EXPECT_TRUE(task.windowed);
  EXPECT_EQ(task.training.begins[1], 5);
  EXPECT_EQ(task.training.input[5], 5);
  EXPECT_EQ(task.training.input.size(), 16u * 5 + 10);  // windows share the rows that they have in common
  EXPECT_EQ(task.outputs, 2);
  EXPECT_EQ(task.training.targets[3], 3);
}

TEST(CsvTask, WhatMakesNoSenseIsRefused) {
  EXPECT_THAT(error_of([] { csv_task("x,target\n1,a\n"); }), HasSubstr("line 2, column 'target': 'a' is no finite"));
  EXPECT_THAT(error_of([] { csv_task("x,target\n1\n"); }), HasSubstr("line 2 has 1 fields, the first line names 2"));
  EXPECT_THAT(error_of([] { csv_task("x,y\n1,2\n"); }), HasSubstr("0 of targets"));
  EXPECT_THAT(error_of([] { csv_task("x,target\n1,2\n"); }), HasSubstr("1 rows, less than a window of 32"));
  EXPECT_THAT(error_of([] { csv_task(""); }), HasSubstr("no line of numbers"));
  EXPECT_THAT(error_of([] { csv_task("x,elapsed,target\n1,1,2\n1,-0.5,2\n", {.window = 1}); }),
              HasSubstr("row 2 below the names has -0.5 in 'elapsed'"));
  for (const char* label : {"1e300", "-1", "0.5", "32768"})
    EXPECT_THAT(error_of([&] {
                  csv_task(std::string("x,target\n1,0\n1,1\n1,") + label + "\n",
                           {.loss = Loss::softmax_cross_entropy, .window = 1});
                }),
                HasSubstr("a class is a whole number from 0 to 32767"))
        << label;
}

}  // namespace
}  // namespace tessera::ncp
