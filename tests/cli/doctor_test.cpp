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
}

TEST(Doctor, FollowsTheInstructionSetThatIsForced) {
  const CommandResult result = run_tessera({"doctor"}, {{"TESSERA_ISA", "portable"}});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, testing::ContainsRegex("instruction set +portable"));
}

}  // namespace
}  // namespace tessera
