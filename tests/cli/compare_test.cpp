#include "run_command.h"

#include "tessera/core/file.h"
#include "tessera/graph/graph.h"
#include "tessera/io/onnx/export.h"
#include "tessera/io/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <filesystem>
#include <random>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class Compare : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_onnx()) GTEST_SKIP() << "built without ONNX";
    std::string name = (fs::temp_directory_path() / "tessera-compare-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    model_ = (folder_ / "small.onnx").string();
    export_onnx(network(), model_);
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }

  // conv1, a batch norm, a ReLU, a residual sum, a dense layer: large enough that sums of float32 are not exact.
  static Graph network() {
    Graph graph;
    graph.name = "small";
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    const auto weights = [&](const std::string& name, const Shape& shape, bool positive = false) {
      Array array(ElementType::float32, shape);
      for (float& value : array.as<float>()) value = positive ? 1 + std::abs(normal(random)) : normal(random);
      return graph.add_constant(name, std::move(array));
    };
    const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 8, 9, 7}));
    Conv conv;
    conv.window.kernel = {3, 3};
    conv.window.pads = {1, 1, 1, 1};
    ValueId y = graph.add("conv1", conv, {x, weights("w1", Shape{8, 8, 3, 3})});
    y = graph.add(
        "bn1", BatchNorm{},
        {y, weights("s", Shape{8}), weights("b", Shape{8}), weights("m", Shape{8}), weights("v", Shape{8}, true)});
    y = graph.add("relu1", Unary{Unary::Kind::relu}, {y});
    y = graph.add("sum", Binary{Binary::Kind::add}, {y, x});
    y = graph.add("flat", Flatten{}, {y});
    Gemm dense;
    dense.transpose_b = true;
    graph.outputs = {graph.add("y", dense, {y, weights("w2", Shape{5, 8 * 9 * 7}), weights("b2", Shape{5})})};
    return graph;
  }

  std::string write_program(const std::string& name, const std::string& text) const {
    const fs::path file = folder_ / name;
    write_file_atomically(file, text);
    fs::permissions(file, fs::perms::owner_all);
    return file.string();
  }

  fs::path folder_;
  std::string model_;
};

TEST_F(Compare, WrongArgumentsAreUsageErrors) {
  EXPECT_EQ(run_tessera({"compare"}).status, 2);
  const CommandResult peer = run_tessera({"compare", model_, "--against", "guesswork"});
  EXPECT_EQ(peer.status, 2);
  EXPECT_THAT(peer.err, HasSubstr("reference"));
  EXPECT_EQ(run_tessera({"compare", model_, "--tolerance", "-1"}).status, 2);
}

TEST_F(Compare, ANetworkThatDoesNotExistIsAnError) {
  const CommandResult result = run_tessera({"compare", "resnet5000", "--against", "reference"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("resnet5000"));
}

TEST_F(Compare, AgreesWithTheReference) {
  const CommandResult result = run_tessera({"compare", model_, "--against", "reference", "--bisect"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("agrees"));
  EXPECT_THAT(result.out, HasSubstr("values compared; none differs by more than 0.0001"));
  EXPECT_EQ(result.err, "");
}

TEST_F(Compare, NothingAgreesToZeroAndBisectNamesTheFirstProduct) {
  const CommandResult result =
      run_tessera({"compare", model_, "--against", "reference", "--bisect", "--tolerance", "0", "--format", "json"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("the outputs differ from those of the reference"));
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["agrees"], false);
  ASSERT_EQ(json["outputs"].size(), 1u);
  const auto& output = json["outputs"][0];
  EXPECT_EQ(output["output"], "y");
  EXPECT_EQ(output["verdict"], "differs");
  EXPECT_GT(output["max_abs_error"].get<double>(), 0);
  EXPECT_LT(output["max_relative_error"].get<double>(), 1e-5);
  EXPECT_GT(output["pcc"].get<double>(), 0.999999);
  const auto& first = json["bisect"]["first"];
  ASSERT_EQ(first.size(), 3u);  // the value, and the two that its node reads
  EXPECT_EQ(first[0]["value"], "conv1");
  EXPECT_EQ(first[0]["op"], "Conv");
  EXPECT_THAT(first[0]["kernel"].get<std::string>(), Not(""));
  EXPECT_NE(first[0]["found"], first[0]["expected"]);
  EXPECT_EQ(first[1]["role"], "given");
  EXPECT_EQ(first[2]["role"], "constant");
}

TEST_F(Compare, ACardsArithmeticIsComparedForEveryChoiceOfTypes) {
  const CommandResult result =
      run_tessera({"compare", model_, "--device", "wormhole_n150", "--types", "bfloat16/bfloat16,bfloat4_b/bfloat8_b",
                   "--fidelity", "LoFi,HiFi4", "--format", "json"});
  EXPECT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["device"], "wormhole_n150");
  EXPECT_EQ(json["kind"], "simulated");
  EXPECT_EQ(json["statistics"], "as they are");  // the model brought its weights
  ASSERT_EQ(json["rows"].size(), 8u);
  for (const auto& row : json["rows"]) {
    EXPECT_GT(row["relative_error"].get<double>(), 0);
    EXPECT_LT(row["pcc"].get<double>(), 1);
    EXPECT_LE(row["worst_pcc"].get<double>(), row["pcc"].get<double>());
    EXPECT_THAT(row["worst_layer"].get<std::string>(), Not(""));
  }
  const auto error = [&](std::size_t i) { return json["rows"][i]["relative_error"].get<double>(); };
  EXPECT_EQ(json["rows"][3]["accumulation"], "float32");
  EXPECT_LT(error(3), error(1));  // HiFi4 after LoFi
  EXPECT_LT(error(3), error(7));  // bfloat16 before bfloat4_b
}

TEST_F(Compare, CardsWithoutAMatrixEngineOfTilesAreRefused) {
  const CommandResult result = run_tessera({"compare", model_, "--device", "cpu_avx2"});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("cpu_avx2"));
  const CommandResult types = run_tessera({"compare", model_, "--device", "wormhole_n150", "--types", "int8/int8"});
  EXPECT_EQ(types.status, 1);
  EXPECT_THAT(types.err, HasSubstr("not 'int8'"));
}

TEST_F(Compare, AnInterpreterThatIsNotThereIsAnError) {
  const CommandResult flag = run_tessera({"compare", model_, "--python", "/nowhere/python3"});
  EXPECT_EQ(flag.status, 1);
  EXPECT_THAT(flag.err, HasSubstr("cannot run the Python interpreter '/nowhere/python3'"));
  EXPECT_THAT(flag.err, HasSubstr("--python"));
  EXPECT_EQ(flag.out, "");  // nothing else is compared with instead
  const CommandResult variable = run_tessera({"compare", model_}, {{"TESSERA_PYTHON", "/nowhere/else"}});
  EXPECT_EQ(variable.status, 1);
  EXPECT_THAT(variable.err, HasSubstr("'/nowhere/else'"));
}

TEST_F(Compare, AnInterpreterWithoutOnnxRuntimeIsAnErrorThatSaysWhatToInstall) {
  const std::string python = write_program("python", "#!/bin/sh\nexit 12\n");
  const CommandResult result = run_tessera({"compare", model_, "--python", python});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("has no onnxruntime"));
  EXPECT_THAT(result.err, HasSubstr("pip install onnxruntime"));
  EXPECT_EQ(result.out, "");
}

TEST_F(Compare, WhatThePeerSaysWhenItFailsIsShown) {
  const std::string python =
      write_program("python", "#!/bin/sh\necho first >&2\necho the wheels came off >&2\nexit 1\n");
  const CommandResult result = run_tessera({"compare", model_, "--python", python});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("ended with status 1"));
  EXPECT_THAT(result.err, HasSubstr("the wheels came off"));
}

TEST_F(Compare, LeavesNoTemporaryFiles) {
  const fs::path temporary = folder_ / "tmp";
  fs::create_directory(temporary);
  const std::string python = write_program("python", "#!/bin/sh\nls -d \"$TMPDIR\"/*/run.py >&2 && exit 1\n");
  const CommandResult result = run_tessera({"compare", model_, "--python", python}, {{"TMPDIR", temporary.string()}});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("run.py"));  // they were there
  EXPECT_TRUE(fs::is_empty(temporary));
}

// An interpreter that has what it takes, or "".
std::string python_with_onnxruntime() {
  const char* named = std::getenv("TESSERA_PYTHON");
  const std::string python = named != nullptr ? named : "python3";
  const std::string test = "'" + python + "' -c 'import numpy, onnx, onnxruntime' >/dev/null 2>&1";
  return std::system(test.c_str()) == 0 ? python : "";
}

TEST_F(Compare, AgreesWithOnnxRuntime) {
  const std::string python = python_with_onnxruntime();
  if (python.empty()) GTEST_SKIP() << "no Python with numpy, onnx and onnxruntime; TESSERA_PYTHON names one";
  const CommandResult result =
      run_tessera({"compare", model_, "--python", python, "--bisect", "--format", "json", "--seed", "3"});
  EXPECT_EQ(result.status, 0) << result.err << result.out;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["agrees"], true);
  EXPECT_THAT(json["against"].get<std::string>(), HasSubstr("onnxruntime "));
  EXPECT_GE(json["bisect"]["compared"].get<int>(), 5);
  EXPECT_TRUE(json["bisect"]["first"].is_null());
  EXPECT_EQ(run_tessera({"compare", model_, "--python", python, "--tolerance", "0"}).status, 1);
}

TEST_F(Compare, SetsMachinesSideBySide) {
  const std::string page = (folder_ / "page.html").string();
  const auto run = run_tessera({"compare", model_, "--devices", "apple_m1,wormhole_n150,trainium2,apple_m1", "--format",
                                "json", "--html", page, "--price", "apple_m1=0.25", "--budget", "5"});
  ASSERT_EQ(run.status, 0) << run.err;
  const auto rows = nlohmann::json::parse(run.out)["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2]["machine"], "trainium2");
  EXPECT_THAT(rows[2]["note"].get<std::string>(), HasSubstr("not planned"));
  EXPECT_TRUE(rows[2]["frames_per_s"].is_null());
  for (int i : {0, 1}) {
    EXPECT_GT(rows[i]["frames_per_s"].get<double>(), 0);
    EXPECT_EQ(rows[i]["price_per_million_frames"].is_null(), rows[i]["machine"] != "apple_m1");
  }
  EXPECT_THAT(read_text_file(page), HasSubstr("wormhole_n150"));
}

TEST_F(Compare, RefusesOptionsThatMeanNothingForWhatIsCompared) {
  for (const auto& [words, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--devices", "apple_m1", "--tolerance", "1"}, "--tolerance has no effect with --devices"},
           {{"--devices", "apple_m1", "--dtype", "bf16"}, "--dtype has no effect with --devices"},
           {{"--devices", "apple_m1", "--price", "apple_m1"}, "what an hour of it costs"},
           {{"--devices", "apple_m1", "--price", "apple_m2=1"}, "'apple_m2', which is not compared"},
           {{"--devices", "apple_m"}, "apple_m"},
           {{"--device", "wormhole_n150", "--bisect"}, "--bisect has no effect with --device"},
           {{"--types", "bfloat8_b/bfloat16"}, "--types has no effect without --device"},
           {{"--budget", "3"}, "--devices"}}) {
    std::vector<std::string> all{"compare", model_};
    all.insert(all.end(), words.begin(), words.end());
    const auto run = run_tessera(all);
    EXPECT_NE(run.status, 0) << told;
    EXPECT_THAT(run.err, HasSubstr(told));
  }
}

}  // namespace
}  // namespace tessera
