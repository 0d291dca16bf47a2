#include "run_command.h"

#include "tessera/core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace tessera {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class PlanEmit : public testing::Test {
 protected:
  PlanEmit() {
    std::filesystem::create_directories(folder_);
    write_file_atomically(folder_ / "two.txt", "net h16 w16 ic128 oc128 k3 p1 bias relu pool2\n");
  }
  ~PlanEmit() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string model() const { return file("two.txt:net"); }
  std::string text(const std::string& name) const { return read_text_file(folder_ / name); }

  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "plan_emit_command";
};

TEST_F(PlanEmit, WritesScriptsWithTheirWeights) {
  const auto ttnn = run_tessera({"plan", model(), "--device", "wormhole_n150", "--emit", "ttnn", file("a.py")});
  EXPECT_EQ(ttnn.status, 0) << ttnn.err;
  EXPECT_THAT(ttnn.out, HasSubstr("a.py, weights to a.safetensors"));
  EXPECT_THAT(text("a.py"), AllOf(StartsWith("\"\"\"net on wormhole_n150"), HasSubstr("L1_SMALL = 32768")));
  const auto mlx = run_tessera({"plan", model(), "--emit", "mlx", file("b.py"), "--quiet"});
  EXPECT_EQ(mlx.status, 0) << mlx.err;
  EXPECT_EQ(mlx.out, "");
  EXPECT_THAT(text("b.py"), HasSubstr("mx.conv2d("));
  const auto nki = run_tessera({"plan", model(), "--device", "trainium1", "--emit", "nki", file("c.py")});
  EXPECT_EQ(nki.status, 0) << nki.err;
  EXPECT_THAT(nki.out, HasSubstr("1 of 1 convolutions"));
  EXPECT_THAT(text("c.py"), HasSubstr("def fused_conv2d_maxpool_0("));
  for (const char* name : {"a.safetensors", "b.safetensors", "c.safetensors"})
    EXPECT_GT(std::filesystem::file_size(folder_ / name), 128u * 128 * 9 * 4) << name;
}

TEST_F(PlanEmit, SaysWhatItNeeds) {
  const auto expect = [&](std::vector<std::string> words, const char* why) {
    words.insert(words.begin(), {"plan", model()});
    const CommandResult result = run_tessera(words);
    EXPECT_NE(result.status, 0);
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "a.py"));
  };
  expect({"--emit", "cuda", file("a.py")}, "--emit cuda: it is ttnn, mlx or nki");
  expect({"--emit", "ttnn", file("a.py")}, "--device wormhole_n150");
  expect({"--emit", "nki", file("a.py")}, "--device trainium1");
  expect({"--emit", "nki", file("a.py"), "--device", "wormhole_n150"}, "wormhole_n150");
  expect({"--emit", "mlx"}, "--emit");
  expect({"--emit", "mlx", "/nowhere/a.py"}, "/nowhere");
}

TEST_F(PlanEmit, LeavesNoPlanWhereTheScriptCannotBeWritten) {
  const std::string where = std::string(TESSERA_TEST_DATA) + "/onnx/test_where_example/model.onnx";
  const auto result = run_tessera({"plan", where, "--device", "wormhole_n150", "--partial", "-o", file("plan.json"),
                                   "--report", file("report.html"), "--emit", "ttnn", file("a.py")});
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.err, HasSubstr("operators have no TTNN call: 'z' (Where (host))"));
  for (const char* name : {"plan.json", "report.html", "a.py"})
    EXPECT_FALSE(std::filesystem::exists(folder_ / name)) << name;
}

}  // namespace
}  // namespace tessera
