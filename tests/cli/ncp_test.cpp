#include "run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>

namespace tessera {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Ncp, DigestsOfWiringsArePrinted) {
  EXPECT_EQ(run_tessera({"ncp", "wiring", "AutoNCP(16,4)", "--inputs", "8", "--digest"}).out, "55e54b0806d1d8f5\n");
  EXPECT_EQ(run_tessera({"ncp", "wiring", "NCP(8,4,2,1,1,1,1,seed=7)", "--digest"}).out, "d37d2fcde90deb7c\n");
  EXPECT_EQ(run_tessera({"ncp", "wiring", "Random(16,sparsity=0.5,seed=1111)", "--inputs", "8", "--digest"}).out,
            "90c599d8ecc5878a\n");
}

TEST(Ncp, WiringsAreSummedUpInATable) {
  const CommandResult result = run_tessera({"ncp", "wiring", "AutoNCP(16,4)", "--inputs", "8", "--format", "json"});
  ASSERT_EQ(result.status, 0) << result.err;
  const json row = json::parse(result.out)["rows"][0];
  EXPECT_EQ(row["synapses"], 28);
  EXPECT_EQ(row["sensory_synapses"], 32);
  EXPECT_EQ(row["layers"], "8 inter, 4 command, 4 motor");
}

TEST(Ncp, AWiringFileCanBeWrittenAndRead) {
  const std::string file = (std::filesystem::path(testing::TempDir()) / "tessera-wiring.json").string();
  ASSERT_EQ(run_tessera({"ncp", "wiring", "AutoNCP(16,4)", "--inputs", "8", "--json", "-o", file}).status, 0);
  EXPECT_EQ(run_tessera({"ncp", "wiring", file, "--digest"}).out, "55e54b0806d1d8f5\n");
  const CommandResult other = run_tessera({"ncp", "wiring", file, "--inputs", "9"});
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("8 inputs, but --inputs is 9"));
  EXPECT_THAT(run_tessera({"ncp", "wiring", file, "--dot"}).out, StartsWith("digraph"));
  EXPECT_THAT(run_tessera({"ncp", "wiring", file, "--svg", "--layout", "shell"}).out, StartsWith("<svg"));
}

TEST(Ncp, WrongWiringsAreErrors) {
  const CommandResult unknown = run_tessera({"ncp", "wiring", "AutoNPC(16,4)"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.err, HasSubstr("did you mean 'AutoNCP'?"));
  const CommandResult both = run_tessera({"ncp", "wiring", "AutoNCP(16,4)", "--svg", "--dot"});
  EXPECT_EQ(both.status, 2);
  EXPECT_EQ(run_tessera({"ncp", "wiring", "AutoNCP(16,4)", "-o", "x"}).status, 1);
}

}  // namespace
}  // namespace tessera
