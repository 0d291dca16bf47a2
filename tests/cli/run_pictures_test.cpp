// tessera run over pictures: one, several, a folder, a video; what is printed, written and refused.

#include "run_command.h"

#include "tessera/core/file.h"
#include "tessera/vision/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
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
const std::string kSeven = kPictures + "/seven.png";

class RunPictures : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder()), fs::create_directories(folder()); }
  void TearDown() override { fs::remove_all(folder()); }
  static fs::path folder() {
    return fs::path(testing::TempDir()) /
           (std::string("tessera-pictures-") + testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  static std::string path(const char* name) { return (folder() / name).string(); }
  // A program of this name, found first on PATH.
  static std::vector<std::pair<std::string, std::string>> with_program(const char* name, const std::string& script) {
    write_file_atomically(folder() / "bin" / name, "#!/bin/sh\n" + script, Directories::create);
    fs::permissions(folder() / "bin" / name, fs::perms::owner_all);
    return {{"PATH", (folder() / "bin").string() + ":" + std::getenv("PATH")}};
  }
};

TEST_F(RunPictures, ASevenIsSeenAsOne) {
  const CommandResult result = run_tessera({"run", "digits", "--input", kSeven});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("preprocessing comes with the network: fit = pad"), HasSubstr("  7  7"),
                                HasSubstr("1 picture: made ready in"), HasSubstr("(measured)")));
}

TEST_F(RunPictures, JsonHasEverythingAndThePictureIsWrittenWithItsAnswers) {
  const CommandResult result = run_tessera({"run", "digits", "--input", kSeven, "--input", kPictures + "/three.jpg",
                                            "--output", path("out"), "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("model"), "digits");
  EXPECT_THAT(json.at("preprocessing").get<std::string>(), HasSubstr("strokes = true"));
  ASSERT_EQ(json.at("rows").size(), 2u);
  EXPECT_EQ(json.at("rows")[0].at("classes")[0].at("label"), "7");
  EXPECT_EQ(json.at("rows")[1].at("classes")[0].at("label"), "3");
  EXPECT_EQ(json.at("rows")[1].at("file"), path("out/three.jpg"));
  const Image drawn = load_image(path("out/seven.png")), picture = load_image(kSeven);
  EXPECT_EQ(drawn.width, picture.width);
  EXPECT_GT(drawn.height, picture.height);
  EXPECT_NO_THROW(load_image(path("out/three.jpg")));
}

TEST_F(RunPictures, ShapesAreToldApartByTheLiquidHead) {
  const CommandResult result =
      run_tessera({"run", "shapes", "--input", kPictures + "/star.png", "--top", "1", "--format", "csv"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("star.png,1,3,star,"));
}

TEST_F(RunPictures, AFolderGoesOnBehindADamagedPictureAndEndsWithAnError) {
  fs::create_directories(folder() / "in");
  fs::copy_file(kSeven, folder() / "in" / "a.png");
  write_file_atomically(folder() / "in" / "b.png", "no picture");
  fs::copy_file(kSeven, folder() / "in" / "c.PNG");
  const CommandResult result = run_tessera({"run", "digits", "--input", path("in"), "--format", "json"});
  EXPECT_EQ(result.status, 1);
  const Json rows = Json::parse(result.out).at("rows");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1].at("classes").size(), 1u);  // of several pictures the best class alone
  EXPECT_THAT(rows[2].at("error").get<std::string>(), HasSubstr("neither PNG nor JPEG"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("1 of 3 pictures could not be read"), HasSubstr("b.png")));
  EXPECT_EQ(run_tessera({"run", "digits", "--input", path("in/b.png")}).out, "");
}

TEST_F(RunPictures, FlagsChangePreprocessingAndSayWhatIsWrong) {
  const CommandResult json = run_tessera({"run", "resnet18", "--input", kSeven, "--mean", "0.5,0.5,0.5", "--std", "0.5",
                                          "--fit", "stretch", "--top", "2", "--format", "json"});
  ASSERT_EQ(json.status, 0) << json.err;
  const Json told = Json::parse(json.out);
  EXPECT_THAT(told.at("preprocessing").get<std::string>(),
              AllOf(HasSubstr("mean = [0.5, 0.5, 0.5]"), HasSubstr("stretch")));
  EXPECT_THAT(told.at("remarks")[0].get<std::string>(), HasSubstr("guessed (preset imagenet"));
  write_file_atomically(path("p.toml"), "preset = \"imagenet\"\nsize = [300, 300]\n");
  EXPECT_THAT(run_tessera({"run", "resnet18", "--input", kSeven, "--preprocess", path("p.toml")}).err,
              HasSubstr("shall be 300, and the network fixes it to 224"));
  EXPECT_THAT(run_tessera({"run", "resnet18", "--input", kSeven, "--preprocess", "imagnet"}).err,
              HasSubstr("did you mean 'imagenet'"));
  EXPECT_THAT(run_tessera({"run", "resnet18", "--input", kSeven, "--range", "1,0"}).err, HasSubstr("begins at 1"));
  EXPECT_THAT(run_tessera({"run", "resnet18", "--mean", "1"}).err, HasSubstr("--mean has no effect"));
  EXPECT_THAT(run_tessera({"run", "digits", "--input", kSeven, "--samples", "3"}).err,
              HasSubstr("--samples has no effect"));
  EXPECT_THAT(run_tessera({"run", "digits", "--input", "there-is-none.png"}).err, HasSubstr("no file or folder"));
  EXPECT_THAT(run_tessera({"run", "digits", "--input", "other=" + kSeven}).err, HasSubstr("no input 'other'"));
}

TEST_F(RunPictures, LabelsNameClassesAndMustFit) {
  write_file_atomically(path("ten.txt"), "nil\none\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n");
  write_file_atomically(path("two.txt"), "nil\none\n");
  const CommandResult result =
      run_tessera({"run", "digits", "--input", "picture=" + kSeven, "--labels", path("ten.txt"), "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out).at("rows")[0].at("classes")[0].at("label"), "seven");
  EXPECT_THAT(run_tessera({"run", "digits", "--input", kSeven, "--labels", path("two.txt")}).err,
              HasSubstr("names for 2 classes, and the network has 10"));
}

TEST_F(RunPictures, BoxesAndMasksAreFoundAndDrawn) {
  const CommandResult boxes = run_tessera(
      {"run", "yolo_like", "--input", kSeven, "--least-score", "0.4", "--output", path("boxes"), "--format", "json"});
  ASSERT_EQ(boxes.status, 0) << boxes.err;
  const Json row = Json::parse(boxes.out).at("rows")[0];
  EXPECT_EQ(row.at("task"), "detect");
  ASSERT_FALSE(row.at("boxes").empty());
  for (const Json& box : row.at("boxes")) {
    EXPECT_LT(box.at("left"), box.at("right"));
    EXPECT_LE(box.at("bottom"), row.at("height"));
    EXPECT_GE(box.at("score"), 0.4);
  }
  EXPECT_NE(load_image(path("boxes/seven.png")), load_image(kSeven));
  EXPECT_THAT(run_tessera({"run", "yolo_like", "--input", kSeven, "--least-score", "1"}).out, HasSubstr("no box"));

  const CommandResult mask = run_tessera({"run", "unet", "--input", kSeven, "--output", path("mask")});
  ASSERT_EQ(mask.status, 0) << mask.err;
  EXPECT_THAT(mask.out, HasSubstr("read as segment"));
  const Image classes = load_image(path("mask/seven.mask.png")), picture = load_image(kSeven);
  EXPECT_EQ(classes.width, picture.width);
  EXPECT_EQ(classes.height, picture.height);
}

TEST_F(RunPictures, OutputsThatWouldOverwriteAreRefused) {
  fs::create_directories(folder() / "in");
  fs::copy_file(kSeven, folder() / "in" / "a.png");
  fs::create_directories(folder() / "other");
  fs::copy_file(kSeven, folder() / "other" / "a.png");
  EXPECT_THAT(run_tessera({"run", "digits", "--input", path("in/a.png"), "--output", path("in")}).err,
              HasSubstr("would be written over itself"));
  EXPECT_THAT(
      run_tessera({"run", "digits", "--input", path("in"), "--input", path("other"), "--output", path("o")}).err,
      HasSubstr("would be written to one file"));
  EXPECT_EQ(load_image(path("in/a.png")), load_image(kSeven));
}

TEST_F(RunPictures, TheReferenceAndACardsPlanSeeTheSame) {
  const auto best = [](const std::vector<std::string>& words) {
    const CommandResult result = run_tessera(words);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.status == 0 ? Json::parse(result.out).at("rows")[0].at("classes")[0].at("label").get<std::string>()
                              : "";
  };
  EXPECT_EQ(best({"run", "digits", "--input", kSeven, "--device", "reference", "--format", "json"}), "7");
  ASSERT_EQ(run_tessera({"plan", "digits", "--device", "wormhole_n150", "-o", path("plan.json")}).status, 0);
  EXPECT_EQ(best({"run", path("plan.json"), "--input", kSeven, "--format", "json"}), "7");
}

// Two frames of 2 x 1 pixels, as ffmpeg writes them.
constexpr const char* kTwoFrames = "printf 'P6\\n2 1\\n255\\nabcdefP6\\n2 1\\n255\\nghijkl'\n";

TEST_F(RunPictures, FramesOfAVideoComeFromFfmpeg) {
  write_file_atomically(path("v.mp4"), "anything");
  const auto environment = with_program("ffmpeg", kTwoFrames);
  const CommandResult all = run_tessera(
      {"run", "digits", "--input", path("v.mp4"), "--output", path("out"), "--format", "json"}, environment);
  ASSERT_EQ(all.status, 0) << all.err;
  const Json rows = Json::parse(all.out).at("rows");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[1].at("picture").get<std::string>(), HasSubstr("v.mp4, frame 1"));
  EXPECT_TRUE(fs::exists(path("out/v-000001.png")));
  EXPECT_EQ(load_image(path("out/v-000001.png")).pixel(1, 0)[2], 'l');
  const CommandResult half =
      run_tessera({"run", "digits", "--input", path("v.mp4"), "--every", "2", "--format", "json"}, environment);
  EXPECT_EQ(Json::parse(half.out).at("rows").size(), 1u);
}

TEST_F(RunPictures, AVideoThatFfmpegCannotReadIsToldInItsWords) {
  write_file_atomically(path("v.mp4"), "anything");
  const std::vector<std::string> words{"run", "digits", "--input", path("v.mp4")};
  EXPECT_THAT(run_tessera(words, with_program("ffmpeg", "echo 'moov atom not found' >&2; exit 1\n")).err,
              AllOf(HasSubstr("moov atom not found"), HasSubstr("v.mp4")));
  EXPECT_THAT(run_tessera(words, with_program("ffmpeg", "printf 'P6\\n2 1\\n255\\nab'\n")).err,
              HasSubstr("ends within a picture"));
  EXPECT_THAT(run_tessera(words, with_program("ffmpeg", "printf 'P6\\n9999999 1\\n255\\nab'\n")).err,
              Not(HasSubstr("internal")));
  EXPECT_THAT(run_tessera(words, with_program("ffmpeg", "exit 0\n")).err, HasSubstr("no frame"));
  EXPECT_THAT(run_tessera(words, {{"PATH", "/nowhere"}}).err,
              AllOf(HasSubstr("cannot be run"), HasSubstr("install ffmpeg")));
}

}  // namespace
}  // namespace tessera
