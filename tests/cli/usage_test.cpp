#include "run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Usage, HelpAndVersionGoToStandardOutput) {
  const CommandResult version = run_tessera({"--version"});
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, StartsWith("tessera 0."));
  EXPECT_EQ(version.err, "");
  const CommandResult help = run_tessera({"--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("machines"));
  EXPECT_THAT(help.out, HasSubstr("--format"));
}

TEST(Usage, NoCommandIsAUsageError) {
  const CommandResult result = run_tessera({});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(result.err, "error: no command was given\nhint: see `tessera --help`\n");
}

TEST(Usage, WhatTheSystemRefusesIsNoFaultOfTheCommand) {
  const std::string name(300, 'a');  // longer than any file may be called
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run", name},
                                             {"run", "digits", "--input", name + ".png"},
                                             {"run", "digits", "--input", "image=" + name},
                                             {"run", "digits", "--output", name},
                                             {"plan", "digits", "-o", name},
                                             {"simulate", name, "--device", "wormhole_n150"},
                                             {"ncp", "eval", name}}) {
    const CommandResult result = run_tessera(words);
    EXPECT_EQ(result.status, 1) << words[0];
    EXPECT_THAT(result.err, HasSubstr("File name too long")) << words[0];
  }
}

TEST(Usage, UnknownCommandsSayWhatWasMeant) {
  const CommandResult near = run_tessera({"machnes"});
  EXPECT_EQ(near.status, 2);
  EXPECT_THAT(near.err, StartsWith("error: unknown command 'machnes'; did you mean 'machines'?\nhint: "));
  const CommandResult far = run_tessera({"sing"});
  EXPECT_EQ(far.status, 2);
  EXPECT_THAT(far.err, StartsWith("error: unknown command 'sing'\n"));
  EXPECT_THAT(run_tessera({"machines", "shwo"}).err, HasSubstr("does not accept 'shwo'; did you mean 'show'?"));
}

TEST(Usage, UnknownFlagsSayWhatWasMeant) {
  for (const auto& words : std::vector<std::vector<std::string>>{
           {"--fromat", "json", "machines"}, {"machines", "--fromat", "json"}, {"machines", "--fromat=json"}}) {
    const CommandResult result = run_tessera(words);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("unknown option '--fromat' for 'tessera machines'; did you mean '--format'?"));
  }
}

TEST(Usage, FormatsThatDoNotExistAreUsageErrors) {
  const CommandResult result = run_tessera({"machines", "--format", "yaml"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("yaml"));
  EXPECT_THAT(result.err, HasSubstr("json"));
}

TEST(Usage, ErrorsThatAreNotShownOnATerminalHaveNoColour) {
  EXPECT_EQ(run_tessera({"machnes"}).err.find('\033'), std::string::npos);
}

TEST(Usage, NumbersThatAreNoneAreUsageErrors) {
  const std::vector<std::string> plan{"plan", "resnet18", "--device", "wormhole_n150"};
  struct Case {
    std::string option, value, says;
  };
  for (const Case& c :
       std::vector<Case>{{"--budget", "nan", "'nan' is not a number greater than 0"},
                         {"--budget", "inf", "'inf' is not a number greater than 0"},
                         {"--budget", "0", "'0' is not a number greater than 0"},
                         {"--min-pcc", "nan", "'nan' is not a number from 0 to 1"},
                         {"--max-reshards", "-1", "'-1' is not a whole number of at least 0"},
                         {"--max-reshards", "99999999999999999999", "is not a whole number of at least 0"},
                         {"--max-reshards", "1.5", "'1.5' is not a whole number of at least 0"},
                         {"--seed", "-1", "'-1' is not a whole number from 0 to 2^64 - 1"},
                         {"--seed", "18446744073709551616", "is not a whole number from 0 to 2^64 - 1"}}) {
    std::vector<std::string> words = plan;
    words.insert(words.end(), {c.option, c.value});
    const CommandResult result = run_tessera(words);
    EXPECT_EQ(result.status, 2) << c.option << " " << c.value;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, StartsWith("error: " + c.option + ": "));
    EXPECT_THAT(result.err, HasSubstr(c.says));
  }
}

TEST(Usage, EmptyWordsAreUsageErrors) {
  for (const auto& words : std::vector<std::vector<std::string>>{{"plan", "resnet18", "-o", ""},
                                                                 {"plan", ""},
                                                                 {"plan", "resnet18", "--device", ""},
                                                                 {"simulate", "resnet18", "--fleet-svg", ""},
                                                                 {"ncp", "train", "--task", ""},
                                                                 {"machines", "show", ""}}) {
    const CommandResult result = run_tessera(words);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("is empty"));
  }
}

}  // namespace
}  // namespace tessera
