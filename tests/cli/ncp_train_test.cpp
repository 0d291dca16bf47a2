#include "run_command.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <tuple>
#include <utility>

namespace tessera {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string fresh_folder(const char* name) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(path);
  return path.string();
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<std::string> kXor{"ncp",     "train", "--task",   "xor", "--samples", "200",
                                    "--units", "12",    "--epochs", "3",   "--batch",   "50"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(NcpTrain, LeavesALayerThatCanBeEvaluated) {
  const std::string folder = fresh_folder("trained");
  const CommandResult trained = run_tessera(with(kXor, {"--checkpoint", folder, "--format", "json"}));
  ASSERT_EQ(trained.status, 0) << trained.err;
  const json rows = json::parse(trained.out)["rows"];
  EXPECT_EQ(rows[0]["parameters"], "last");
  EXPECT_EQ(rows[0]["epoch"], 3);
  EXPECT_THAT(trained.err, HasSubstr("epoch 3/3  loss"));
  const CommandResult eval = run_tessera({"ncp", "eval", folder, "--which", "last", "--format", "json"});
  ASSERT_EQ(eval.status, 0) << eval.err;
  EXPECT_EQ(json::parse(eval.out)["rows"][0]["accuracy"], rows[0]["test_accuracy"]);
  const CommandResult file =
      run_tessera({"ncp", "eval", folder + "/model.safetensors", "--task", "xor", "--format", "json"});
  ASSERT_EQ(file.status, 0) << file.err;
  EXPECT_EQ(json::parse(file.out)["rows"][0]["loss"], rows[0]["test_loss"]);
  const json written = json::parse(bytes_of(folder + "/training.json"));
  EXPECT_EQ(written["history"].size(), 3u);
  EXPECT_EQ(written["training"]["optimizer"], "rmsprop");
}

TEST(NcpEval, RunsOnAGpuOrSaysWhatIsMissing) {
  const std::string folder = fresh_folder("for_gpu");
  ASSERT_EQ(run_tessera(with(kXor, {"--checkpoint", folder})).status, 0);
  const CommandResult eval = run_tessera({"ncp", "eval", folder, "--device", "cuda", "--format", "json"});
  if (eval.status == 0) {
    const CommandResult cpu = run_tessera({"ncp", "eval", folder, "--format", "json"});
    const json found = json::parse(eval.out)["rows"][0], wanted = json::parse(cpu.out)["rows"][0];
    EXPECT_EQ(found["device"], "cuda");
    EXPECT_EQ(found["accuracy"], wanted["accuracy"]);
  } else {
    EXPECT_EQ(eval.status, 1);
    EXPECT_THAT(eval.err,
                testing::ContainsRegex("cuda: (no driver|no device|there is no device|the driver|the kernels are "
                                       "for architecture|this program was built without)"));
  }
  const CommandResult half = run_tessera({"ncp", "eval", folder, "--device", "cuda", "--precision", "bf16"});
  EXPECT_EQ(half.status, 1);
  EXPECT_THAT(half.err, HasSubstr("--device cuda supports --precision f32 and tf32, not bf16"));
  const CommandResult cpu = run_tessera({"ncp", "eval", folder, "--precision", "tf32"});
  EXPECT_EQ(cpu.status, 1);
  EXPECT_THAT(cpu.err, HasSubstr("--precision tf32 needs --device cuda"));
}

TEST(NcpTrain, ATrainingThatWasStoppedEndsWithTheSameFiles) {
  const std::string whole = fresh_folder("whole"), parts = fresh_folder("parts");
  ASSERT_EQ(run_tessera(with(kXor, {"--checkpoint", whole, "--threads", "1"})).status, 0);
  for (int i = 0; i < 40 && !std::filesystem::exists(parts + "/model.safetensors"); ++i) {
    const CommandResult part = run_tessera(
        with(kXor, {"--checkpoint", parts, "--resume", "--max-seconds", "1e-9", "--threads", i % 2 == 0 ? "1" : "2"}));
    ASSERT_EQ(part.status, 0) << part.err;
  }
  EXPECT_EQ(bytes_of(parts + "/model.safetensors"), bytes_of(whole + "/model.safetensors"));
  EXPECT_EQ(bytes_of(parts + "/best.safetensors"), bytes_of(whole + "/best.safetensors"));
}

TEST(NcpTrain, ChecksWhatItGoesOnWith) {
  const std::string folder = fresh_folder("checked");
  ASSERT_EQ(run_tessera(with(kXor, {"--checkpoint", folder})).status, 0);
  const CommandResult again = run_tessera(with(kXor, {"--checkpoint", folder}));
  EXPECT_EQ(again.status, 1);
  EXPECT_THAT(again.err, HasSubstr("already has a checkpoint"));
  const CommandResult other = run_tessera({"ncp", "train", "--task", "sine", "--checkpoint", folder, "--resume"});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("--task is sine, but the checkpoint was made with xor"));
  const CommandResult more = run_tessera({"ncp", "train", "--checkpoint", folder, "--resume", "--epochs", "4"});
  ASSERT_EQ(more.status, 0) << more.err;
  EXPECT_THAT(more.err, HasSubstr("continuing"));
  EXPECT_THAT(more.err, HasSubstr("epoch 4/4"));
}

TEST(NcpTrain, CheetahTracesComeFromAFolder) {
  const std::string folder = fresh_folder("traces");
  std::filesystem::create_directories(folder);
  for (int i = 0; i < 31; ++i) {
    std::ofstream file(fmt::format("{}/trace_{:02}.txt", folder, i));
    for (int t = 0; t < 1000; ++t) {
      for (int k = 0; k < 17; ++k) file << fmt::format("{:.18e} ", std::sin(0.1 * t + k + i));
      file << "\n";
    }
  }
  const CommandResult result = run_tessera({"ncp", "train", "--task", "cheetah", "--data", folder, "--epochs", "1",
                                            "--units", "8", "--backbone", "16", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(json::parse(result.out)["rows"][0]["test_samples"], 970);
  const CommandResult none = run_tessera({"ncp", "train", "--task", "cheetah"});
  EXPECT_EQ(none.status, 1);
  EXPECT_THAT(none.err, HasSubstr("--data FOLDER"));
}

TEST(NcpTrain, TablesAndWiringsTrainToo) {
  const std::string path = testing::TempDir() + "table.csv";
  {
    std::ofstream file(path);
    file << "x,target\n";
    for (int i = 0; i < 320; ++i) file << fmt::format("{},{}\n", std::sin(0.3 * i), std::sin(0.3 * i + 0.3));
  }
  const CommandResult result = run_tessera({"ncp", "train", "--task", "csv:" + path, "--window", "16", "--model", "ltc",
                                            "--wiring", "AutoNCP(8,1)", "--epochs", "2", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(json::parse(result.out)["rows"][0]["kernel"].get<std::string>(), HasSubstr("ltc_f32_"));
  const CommandResult half = run_tessera({"ncp", "train", "--task", "csv:" + path, "--model", "ltc", "--precision",
                                          "f16", "--units", "1", "--epochs", "1", "--format", "json"});
  ASSERT_EQ(half.status, 0) << half.err;
  EXPECT_THAT(json::parse(half.out)["rows"][0]["kernel"].get<std::string>(), HasSubstr("ltc_f16_"));
  const CommandResult wrong =
      run_tessera({"ncp", "train", "--task", "csv:" + path, "--model", "ltc", "--wiring", "AutoNCP(8,2)"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_THAT(wrong.err, HasSubstr("the layer has 2 outputs, the task needs 1"));
  EXPECT_THAT(run_tessera({"ncp", "train", "--task", "maze"}).err, HasSubstr("there is no task 'maze'"));
  EXPECT_THAT(run_tessera({"ncp", "train", "--task", "sine", "--resume"}).err, HasSubstr("add --checkpoint DIR"));
}

TEST(NcpTrain, OptionsThatTheDataOrTheCheckpointOverrideAreRefused) {
  const std::string path = testing::TempDir() + "sequences.csv", folder = fresh_folder("overridden");
  {
    std::ofstream file(path);
    file << "sequence,x,target\n";
    for (int i = 0; i < 60; ++i) file << fmt::format("{},{},{}\n", i / 7, i % 5, i % 3);
  }
  const std::vector<std::string> train{"ncp", "train", "--task", "csv:" + path, "--units", "4", "--epochs", "1"};
  for (const char* option : {"--window", "--stride"}) {
    const CommandResult result = run_tessera(with(train, {option, "3"}));
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr(fmt::format("{} has no effect: the table's column 'sequence'", option)));
  }
  ASSERT_EQ(run_tessera(with(train, {"--checkpoint", folder})).status, 0);
  const std::vector<std::string> eval{"ncp", "eval", folder};
  EXPECT_EQ(run_tessera(eval).status, 0);
  const CommandResult loss = run_tessera(with(eval, {"--loss", "bce"}));
  EXPECT_EQ(loss.status, 1);
  EXPECT_THAT(loss.err, HasSubstr("--loss has no effect: the task is the one that the checkpoint was trained on"));
  EXPECT_THAT(run_tessera(with(eval, {"--data", folder})).err, HasSubstr("--data has no effect"));
}

TEST(NcpTrain, SettingsOfACheckpointCannotChangeOnTheWay) {
  const std::string folder = fresh_folder("settled");
  ASSERT_EQ(run_tessera(with(kXor, {"--checkpoint", folder, "--mixed-memory", "--lr", "0.01"})).status, 0);
  const std::string before = bytes_of(folder + "/checkpoint.safetensors");
  const std::vector<std::string> again{"ncp", "train", "--checkpoint", folder, "--resume", "--epochs", "5"};
  for (const auto& [option, value, was] :
       {std::tuple("--units", "13", "12"), std::tuple("--lr", "0.02", "0.01"), std::tuple("--samples", "100", "200"),
        std::tuple("--backbone", "7", "128"), std::tuple("--model", "ltc", "cfc"), std::tuple("--batch", "10", "50"),
        std::tuple("--clip-norm-each", "1", "10"), std::tuple("--schedule", "constant", "cosine")}) {
    const CommandResult result = run_tessera(with(again, {option, value}));
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err,
                HasSubstr(fmt::format("{} is {}, but the checkpoint was made with {}", option, value, was)));
  }
  EXPECT_EQ(bytes_of(folder + "/checkpoint.safetensors"), before);
  const CommandResult same = run_tessera(with(again, {"--units", "12", "--lr", "1e-2", "--mixed-memory"}));
  EXPECT_EQ(same.status, 0) << same.err;
}

TEST(NcpTrain, DamagedAndMissingCheckpointsAreNamed) {
  const std::string folder = fresh_folder("damaged");
  const CommandResult missing = run_tessera({"ncp", "train", "--checkpoint", folder, "--resume"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.err, HasSubstr(folder + " has no checkpoint to go on with"));
  EXPECT_FALSE(std::filesystem::exists(folder));
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/checkpoint.safetensors").close();  // empty is not missing
  const CommandResult empty = run_tessera(with(kXor, {"--checkpoint", folder, "--resume"}));
  EXPECT_EQ(empty.status, 1);
  EXPECT_THAT(empty.err, HasSubstr("while reading the checkpoint"));
  EXPECT_EQ(bytes_of(folder + "/checkpoint.safetensors"), "");
}

TEST(NcpTrain, WhatCannotBeTrainedIsRefused) {
  for (const auto& [option, value] :
       {std::pair("--units", "1000000"), std::pair("--backbone", "99999999"), std::pair("--decay", "nan"),
        std::pair("--decay", "-1"), std::pair("--max-seconds", "nan"), std::pair("--checkpoint-seconds", "nan"),
        std::pair("--dropout", "nan"), std::pair("--seed", "-1"), std::pair("--lr", "nan")}) {
    const CommandResult result = run_tessera({"ncp", "train", "--task", "sine", "--epochs", "1", option, value});
    EXPECT_EQ(result.status, 2) << option;
    EXPECT_THAT(result.err, HasSubstr(fmt::format("{}: '{}' is not a ", option, value)));
  }
  const CommandResult stopped =
      run_tessera({"ncp", "train", "--task", "sine", "--epochs", "3", "--max-seconds", "1e-9"});
  EXPECT_EQ(stopped.status, 0);
  EXPECT_THAT(stopped.err, HasSubstr("nothing was saved, because there is no --checkpoint"));
}

}  // namespace
}  // namespace tessera
