#include "run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace tessera {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ConfigFile : public testing::Test {
 protected:
  // The command, with --config FILE at the end.
  CommandResult run(const std::string& text, std::vector<std::string> words) {
    std::ofstream(file_) << text;
    words.insert(words.end(), {"--config", file_});
    return run_tessera(std::move(words));
  }

  std::string file_ = testing::TempDir() + "options.toml";
};

TEST_F(ConfigFile, GivesOptionsToEveryCommandAndToOne) {
  EXPECT_THAT(run("format = 'json'\n", {"machines"}).out, StartsWith("{"));
  EXPECT_THAT(run("[machines.show]\nformat = 'csv'\n", {"machines", "show", "wormhole_n150"}).out,
              StartsWith("machine,group,key"));
  const std::string both = "format = 'json'\n[machines]\nformat = 'csv'\n";
  EXPECT_THAT(run(both, {"machines"}).out, StartsWith("name,"));  // the command's own table wins
  EXPECT_THAT(run(both, {"doctor"}).out, StartsWith("{"));
  const CommandResult run_once =
      run("[run]\nthreads = 1\ndtype = 'bf16'\nexact = true\nseed = 3\n", {"run", "resnet18", "--format", "json"});
  EXPECT_EQ(run_once.status, 0) << run_once.err;
}

TEST_F(ConfigFile, YieldsToTheCommandLine) {
  EXPECT_THAT(run("format = 'json'\n", {"machines", "--format", "csv"}).out, StartsWith("name,"));
  // Of options that may be repeated too: nothing is added up.
  const std::string text = "[plan]\nwithout-kernel = ['no_such_kernel']\n";
  EXPECT_NE(run(text, {"plan", "resnet18"}).status, 0);
  EXPECT_THAT(run(text, {"plan", "resnet18", "--without-kernel", "other_kernel"}).err,
              AllOf(HasSubstr("other_kernel"), Not(HasSubstr("no_such_kernel"))));
}

TEST_F(ConfigFile, GivesRequiredWordsAndLists) {
  const CommandResult result = run("[machines.show]\nNAME = 'wormhole_n150'\n", {"machines", "show"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Wormhole"));
  EXPECT_THAT(run("[plan]\nwithout-pass = ['fold_batch_norm', 'no_such_pass']\n", {"plan", "resnet18"}).err,
              HasSubstr("no_such_pass"));
}

TEST_F(ConfigFile, RefusesWhatNamesNothing) {
  struct Case {
    std::string text, says;
  };
  for (const Case& c : std::vector<Case>{
           {"[run]\nthreds = 2\n", ":2:1: 'tessera run' has no option 'threds'; did you mean 'threads'?"},
           {"[rum]\nthreads = 2\n", "there is no command 'rum'; did you mean 'run'?"},
           {"[ncp.trian]\nsteps = 2\n", "there is no command 'trian' below ncp; did you mean 'train'?"},
           {"fromat = 'csv'\n", "no option that every command takes is called 'fromat'; did you mean 'format'?"},
           {"threads = 2\n", "'threads' is not an option of every command: write it in the table of one, [run], "},
           {"quiet = 1\n", "quiet is on or off: true or false"},
           {"[run]\nthreads = [1, 2]\n", "threads takes one value, not a list"},
           {"[run]\nthreads = 2024-01-01\n", "threads is a string, a number, true or false, or a list of them"},
           {"[run]\nconfig = 'other.toml'\n", "'tessera run' has no option 'config'"},
           {"[run\n", "not valid TOML"}}) {
    // A mistake in another command's table is one too.
    const CommandResult result = run(c.text, {"machines"});
    EXPECT_EQ(result.status, 1) << c.text;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(HasSubstr(file_), HasSubstr(c.says))) << c.text;
  }
}

TEST_F(ConfigFile, NamesEveryMistakeAtOnce) {
  const CommandResult result = run("[run]\nthreds = 2\nsede = 1\n", {"machines"});
  EXPECT_THAT(result.err, AllOf(HasSubstr("threds"), HasSubstr("sede")));
}

TEST_F(ConfigFile, SaysWhereAValueCameFromThatIsRefused) {
  const CommandResult result = run("\n[run]\nthreads = 0\n", {"run", "resnet18"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, AllOf(StartsWith("error: --threads: "), HasSubstr(file_ + ":3:1")));
  EXPECT_THAT(run("[run]\nthreads = 2\n", {"run", "resnet18", "--threads", "0"}).err, Not(HasSubstr(file_)));
}

TEST_F(ConfigFile, HasToExist) {
  const CommandResult result = run_tessera({"machines", "--config", file_ + ".none"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("there is no file '" + file_ + ".none'"));
}

}  // namespace
}  // namespace tessera
