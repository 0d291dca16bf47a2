#include "run_command.h"

#include "tessera/core/file.h"
#include "tessera/graph/graph.h"
#include "tessera/io/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace tessera {
namespace {

using testing::HasSubstr;

TEST(ExportCommand, WritesANetworkOfTheZooThatCanBeReadBackAndWrittenAgain) {
  if (!has_onnx()) GTEST_SKIP() << "built without ONNX";
  const std::string file = testing::TempDir() + "export_command.onnx", again = testing::TempDir() + "again.onnx";
  const CommandResult result = run_tessera({"export", "shallow_unet", file, "--batch", "2"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("nodes"));
  const Graph graph = import_onnx(file);
  EXPECT_EQ(graph.name, "shallow_unet");
  EXPECT_EQ(graph.value(graph.inputs[0]).type.dims->front(), 2);
  EXPECT_EQ(run_tessera({"export", file, again, "--opset", "17", "--quiet"}).out, "");
  EXPECT_TRUE(read_file(file, 1u << 30) == read_file(again, 1u << 30));
  const CommandResult json = run_tessera({"export", "shallow_unet", file, "--batch", "2", "--format", "json"});
  EXPECT_THAT(json.out, HasSubstr("\"shape\": \"float32[2, 4, 1056, 160]\""));
  std::filesystem::remove(file);
  std::filesystem::remove(again);
}

TEST(ExportCommand, WritesEachLayerOfAFileIntoAFolder) {
  if (!has_onnx()) GTEST_SKIP() << "built without ONNX";
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "export_layers";
  std::filesystem::create_directories(folder);
  const std::string layers = (folder / "two.txt").string();
  write_file_atomically(layers, "a:b n2 h9 w9 ic8 oc16 k3 bias pool2\nc h5 w5 ic3 oc4 k1\n");
  const CommandResult result = run_tessera({"export", layers, (folder / "onnx").string()});
  EXPECT_EQ(result.status, 0) << result.err;
  const Graph graph = import_onnx(folder / "onnx" / "a_b.onnx");
  EXPECT_EQ(graph.value(graph.inputs[0]).type.shape(), (Shape{2, 8, 9, 9}));
  EXPECT_EQ(graph.value(graph.outputs[0]).type.shape(), (Shape{2, 16, 3, 3}));
  EXPECT_EQ(import_onnx(folder / "onnx" / "c.onnx").nodes.size(), 1u);
  const std::string one = (folder / "one.onnx").string();
  EXPECT_EQ(run_tessera({"export", layers + ":a:b", one, "--quiet"}).status, 0);
  EXPECT_TRUE(read_file(one, 1u << 30) == read_file(folder / "onnx" / "a_b.onnx", 1u << 30));
  std::filesystem::remove_all(folder);
}

TEST(ExportCommand, RefusesWhatItCannotDo) {
  if (!has_onnx()) GTEST_SKIP() << "built without ONNX";
  EXPECT_EQ(run_tessera({"export", "shallow_unet"}).status, 2);
  EXPECT_EQ(run_tessera({"export", "shallow_unet", "/tmp/x.onnx", "--opset", "9"}).status, 2);
  const CommandResult unknown = run_tessera({"export", "resnet51", "/tmp/x.onnx"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'resnet50'"));
  const CommandResult nowhere = run_tessera({"export", "shallow_unet", "/nowhere/x.onnx"});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_THAT(nowhere.err, HasSubstr("/nowhere/x.onnx"));
}

}  // namespace
}  // namespace tessera
