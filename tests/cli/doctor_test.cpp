#include "run_command.h"

#include "tessera/core/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>

namespace tessera {
namespace {

TEST(Doctor, SaysWhatTheMachineHas) {
  const CommandResult result = run_tessera({"doctor", "--format", "json"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  const auto document = nlohmann::json::parse(result.out);
  std::map<std::string, nlohmann::json> found;
  for (const auto& row : document["rows"]) found[row["what"]] = row["found"];
  EXPECT_EQ(found.at("instruction set"), std::string(name(active_isa())));
  EXPECT_GE(found.at("threads").get<int>(), 1);
  EXPECT_GT(found.at("memory").get<double>(), 1e6);
  EXPECT_GE(found.at("machines").get<int>(), 1);
  EXPECT_TRUE(found.at("ONNX").is_boolean());
  EXPECT_TRUE(found.at("MPI").is_boolean());
  EXPECT_THAT(found.at("libraries").get<std::string>(), testing::ContainsRegex("fmt [0-9.]+, CLI11 [0-9.]+"));
  EXPECT_TRUE(found.at("GPU").is_string());
  // What kernels may use is among what the processor says of itself.
  const bool avx2 = found.at("CPU features").get<std::string>().find("avx2") != std::string::npos;
  EXPECT_TRUE(avx2 || host_isa() == Isa::portable);
}

TEST(Doctor, SaysWhatIsMissingAndWhatFor) {
  const CommandResult result = run_tessera({"doctor"}, {{"PATH", "/nowhere"}});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, testing::ContainsRegex("mpirun +none +missing +starts several processes"));
  EXPECT_THAT(result.out, testing::ContainsRegex("\nmissing: .*mpirun, python3; everything else works without\n"));
}

TEST(Doctor, FollowsTheInstructionSetThatIsForced) {
  const CommandResult result = run_tessera({"doctor"}, {{"TESSERA_ISA", "portable"}});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, testing::ContainsRegex("instruction set +portable"));
}

}  // namespace
}  // namespace tessera
