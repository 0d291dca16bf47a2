// tessera quantize: what it prints, what it writes, and what it refuses.

#include "run_command.h"

#include "tessera/core/temporary_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

const std::string kPictures = std::string(TESSERA_TEST_DATA) + "/../../examples/pictures";

class QuantizeCommand : public testing::Test {
 protected:
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
  bool is_empty() const { return fs::is_empty(folder_.path()); }

  TemporaryDirectory folder_;
};

TEST_F(QuantizeCommand, ANetworkOfPicturesIsQuantisedFromPicturesAndStillSeesThem) {
  const CommandResult made = run_tessera({"quantize", "digits", "-o", path("q.onnx"), "--calibration", kPictures});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("int8"), HasSubstr("layers quantized to int8"), HasSubstr("pictures: PCC"),
                              HasSubstr("(measured)"), Not(HasSubstr("random"))));
  const CommandResult seen = run_tessera({"run", path("q.onnx"), "--input", kPictures + "/seven.png"});
  ASSERT_EQ(seen.status, 0) << seen.err;
  EXPECT_THAT(seen.out, AllOf(HasSubstr("preprocessing comes with the network"), HasSubstr("  7  7")));
}

TEST_F(QuantizeCommand, RandomInputsAreUsedWhereNothingIsGivenAndItSaysSo) {
  const CommandResult made =
      run_tessera({"quantize", "digits", "-o", path("q.onnx"), "--samples", "3", "--method", "min-max"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, AllOf(HasSubstr("on 3 random samples"), HasSubstr("give real ones with --calibration")));
  const CommandResult again = run_tessera({"run", path("q.onnx")});
  EXPECT_EQ(again.status, 0) << again.err;
}

TEST_F(QuantizeCommand, JsonHasARowForEachLayer) {
  const CommandResult made =
      run_tessera({"quantize", "digits", "-o", path("q.onnx"), "--samples", "2", "--format", "json"});
  ASSERT_EQ(made.status, 0) << made.err;
  const Json json = Json::parse(made.out);
  const Json& rows = json.is_array() ? json : json.at("rows");
  ASSERT_GE(rows.size(), 3U);
  EXPECT_EQ(rows.at(0).at("type"), "int8");
  EXPECT_GT(rows.at(0).at("signal_db").get<double>(), 10);
}

TEST_F(QuantizeCommand, WhatHasNoEffectOrCannotBeIsRefusedAndNothingIsWritten) {
  const auto refused = [&](std::vector<std::string> words, const char* text) {
    words.insert(words.begin(), {"quantize", "digits", "-o", path("q.onnx")});
    const CommandResult result = run_tessera(words);
    EXPECT_THAT(result.status, testing::AnyOf(1, 2)) << text;
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_TRUE(is_empty()) << text;
  };
  refused({"--percentile", "99"}, "--percentile has no effect without --method percentile");
  refused({"--preprocess", "imagenet"}, "--preprocess has no effect: --calibration has no pictures");
  refused({"--exclude", "Conf"}, "no node and no operator 'Conf'");
  refused({"--calibration", "/nowhere"}, "/nowhere");
  refused({"--calibration", kPictures, "--calibration", "x.npy"}, "both pictures and arrays");
  refused({"--method", "best"}, "best");
  refused({"--samples", "0"}, "--samples");
  const CommandResult nowhere = run_tessera({"quantize", "digits", "-o", "/nowhere/q.onnx"});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("/nowhere"));
  const CommandResult without = run_tessera({"quantize", "digits"});
  EXPECT_THAT(without.err, HasSubstr("--output"));
}

}  // namespace
}  // namespace tessera
