#include "run_command.h"

#include "tessera/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>
#include <string>
#include <vector>

namespace tessera {
namespace {

using testing::HasSubstr;

CommandResult run_command(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return run_tessera(words);
}

TEST(TrainiumCommand, PrintsTheLadderAsRows) {
  const auto result = run_command("trainium conv2d --ladder --format json");
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json["rows"].size(), 4 * 6 + 4 * 7);
  for (const auto& row : json["rows"]) {
    for (const char* key : {"step", "dtype", "image", "pool", "simulated_us", "published_us", "ratio", "mfu"})
      EXPECT_TRUE(row.contains(key)) << key;
    if (!row["published_us"].is_null()) {
      EXPECT_NEAR(row["ratio"].get<double>(), row["simulated_us"].get<double>() / row["published_us"].get<double>(),
                  1e-9);
    }
  }
}

TEST(TrainiumCommand, DrawsTheLadderForPeople) {
  const auto result = run_command("trainium conv2d --ladder");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("224x224 float16 pool 2 (logarithmic; | published)"));
  EXPECT_THAT(result.out, HasSubstr("one set of constants"));
}

TEST(TrainiumCommand, ComparesNothingWithTimesOfAnotherMachine) {
  const auto ladder = run_command("trainium conv2d --ladder --device trainium1");
  ASSERT_EQ(ladder.status, 0) << ladder.err;
  EXPECT_THAT(ladder.out, HasSubstr("AWS Trainium 1"));
  EXPECT_THAT(ladder.out, HasSubstr("published: nothing for this machine"));
  const auto micro = run_command("trainium conv2d --microbenchmarks --device trainium1 --format json");
  ASSERT_EQ(micro.status, 0) << micro.err;
  const auto json = nlohmann::json::parse(micro.out);
  for (const auto& row : json["rows"]) EXPECT_TRUE(row["ratio"].is_null());
}

TEST(TrainiumCommand, PrintsAProfileInTheVendorsWords) {
  const auto result = run_command("trainium conv2d --step native --in 1x128x16x16 --out-channels 128 --format csv");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("tensor_engine_active_time_percent,"));
  EXPECT_THAT(result.out, HasSubstr("lower_bound_time,"));
}

TEST(TrainiumCommand, DrawsTheFirstMicroseconds) {
  const auto result = run_command("trainium conv2d --step native --in 1x128x16x16 --out-channels 128 --draw 12");
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("tensor    "));
  EXPECT_THAT(result.out, HasSubstr("dma 0..15  "));
  EXPECT_THAT(result.out, HasSubstr("12.0 us"));
}

TEST(TrainiumCommand, DrawsAPictureOfThem) {
  const std::string file = testing::TempDir() + "first.svg";
  const auto result =
      run_command("trainium conv2d --step native --in 1x128x16x16 --out-channels 128 --draw 12 --svg " + file);
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string svg = read_text_file(file);
  EXPECT_THAT(svg, HasSubstr("native, the first 12 us of 1x128x16x16 to 128 channels"));
  EXPECT_THAT(svg, HasSubstr(">dma 0..15<"));
  EXPECT_THAT(svg, HasSubstr("<title>matmul "));
}

TEST(TrainiumCommand, ExplainsAStep) {
  const std::string page = testing::TempDir() + "step.html";
  const auto result =
      run_command("trainium conv2d --step baseline --in 1x128x10x64 --out-channels 128 --explain --html " + page);
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("The longest chain: "));
  EXPECT_THAT(result.out, HasSubstr("keep rows of x with their halo in SBUF"));
  EXPECT_THAT(read_text_file(page), HasSubstr("keep rows of x with their halo in SBUF"));
}

TEST(TrainiumCommand, SaysWhichInterpreterCannotRunAScript) {
  const auto missing = run_command("trainium run k.py --python /nowhere/python");
  EXPECT_NE(missing.status, 0);
  EXPECT_THAT(missing.err, HasSubstr("cannot run the Python interpreter '/nowhere/python'"));
  EXPECT_THAT(missing.err, HasSubstr("that has tessera"));
  EXPECT_THAT(run_command("trainium explain").err, HasSubstr("script"));
}

TEST(TrainiumCommand, SaysWhatIsWrong) {
  EXPECT_THAT(run_command("trainium conv2d --step fast").err, HasSubstr("there is no step 'fast'"));
  EXPECT_THAT(run_command("trainium conv2d --in 3x4").err, HasSubstr("'3x4' is not four sizes"));
  EXPECT_THAT(run_command("trainium conv2d --device wormhole_n150").err, HasSubstr("a neuron machine is needed"));
  EXPECT_THAT(run_command("tune trainium-conv2d --in 1x100x16x16").err, HasSubstr("multiples of 128 are needed"));
}

TEST(TrainiumCommand, TunesAndEmitsAScript) {
  const auto table = run_command("tune trainium-conv2d --in 1x128x16x16 --out-channels 128 --dtype f16 --format json");
  ASSERT_EQ(table.status, 0) << table.err;
  const auto json = nlohmann::json::parse(table.out);
  int best = 0;
  for (const auto& row : json["rows"]) best += row["best"].get<bool>();
  EXPECT_EQ(best, 1);
  const auto script = run_command("tune trainium-conv2d --in 1x128x16x16 --out-channels 128 --dtype f16 --emit nki");
  ASSERT_EQ(script.status, 0) << script.err;
  EXPECT_THAT(script.out, HasSubstr("def fused_conv2d_maxpool(X, W, bias, pool_size=1):"));
}

}  // namespace
}  // namespace tessera
