#include "tessera/machine/host_cpu.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/temporary_directory.h"
#include "tessera/machine/machine_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const HostCpu kXeon{"GenuineIntel", 6, 207, Isa::amx};

HostCpu with_isa(HostCpu host, Isa isa) {
  host.isa = isa;
  return host;
}

std::string matched(const HostCpu& host) {
  const std::optional<Machine> machine = match_machine(host);
  return machine ? machine->name : "";
}

// A directory of the user's, which is looked at first.
class HostMatching : public testing::Test {
 protected:
  void SetUp() override { ::setenv("TESSERA_MACHINES", directory_.c_str(), 1); }
  void TearDown() override { ::unsetenv("TESSERA_MACHINES"); }
  void add(const std::string& name, const std::string& match) const {
    write_file_atomically(directory_ / (name + ".toml"),
                          "inherits = \"cpu_amx\"\ntitle = \"Mine\"\n[sources]\n"
                          "me = { kind = \"assumed\", text = \"a test\" }\n" +
                              match);
  }
  std::string fault(const std::string& match) const {
    add("mine", match);
    try {
      load_machine("mine");
    } catch (const Error& error) {
      return error.message();
    }
    return "nothing was thrown";
  }

  TemporaryDirectory temporary_;
  const fs::path directory_ = temporary_.path();
};

TEST(HostCpu, IsThisOne) {
  const HostCpu host = host_cpu(Isa::avx2);
  EXPECT_EQ(host.isa, Isa::avx2);
#if defined(__x86_64__)
  EXPECT_EQ(host.vendor.size(), 12u);
  EXPECT_GT(host.family, 0);
#endif
}

TEST(HostCpu, EveryConditionOfAMatchHasToHold) {
  const HostMatch match{
      .priority = 1, .vendor = "GenuineIntel", .family = 6, .models = {{143, 143}, {207, 210}}, .isa = Isa::avx512};
  EXPECT_TRUE(matches(match, kXeon));
  HostCpu other = kXeon;
  other.vendor = "AuthenticAMD";
  EXPECT_FALSE(matches(match, other));
  other = kXeon, other.family = 7;
  EXPECT_FALSE(matches(match, other));
  for (const auto& [model, holds] : {std::pair{142, false}, {143, true}, {144, false}, {206, false}, {210, true}}) {
    other = kXeon, other.model = model;
    EXPECT_EQ(matches(match, other), holds) << model;
  }
  EXPECT_FALSE(matches(match, with_isa(kXeon, Isa::avx2)));
  EXPECT_TRUE(matches(HostMatch{}, other));
}

TEST(HostCpu, ShippedFilesDescribeTheHostsTheyWereMeasuredOn) {
  ::unsetenv("TESSERA_MACHINES");
  EXPECT_EQ(matched(kXeon), "cpu_amx");
  EXPECT_EQ(matched(with_isa(kXeon, Isa::avx512_bf16)), "cpu_avx512");
  EXPECT_EQ(matched(with_isa(kXeon, Isa::avx512)), "cpu_avx512");
  EXPECT_EQ(matched(with_isa(kXeon, Isa::avx2)), "cpu_avx2");
  const HostCpu zen4{"AuthenticAMD", 25, 17, Isa::avx512_bf16}, zen3{"AuthenticAMD", 25, 1, Isa::avx2};
  EXPECT_EQ(matched(zen4), "cpu_zen4");
  EXPECT_EQ(matched(with_isa(zen4, Isa::avx2)), "cpu_zen4");
  EXPECT_EQ(matched(zen3), "cpu_avx2");
  EXPECT_EQ(matched({"", 0, 0, Isa::portable}), "cpu_avx2");  // the stated fallback
}

TEST_F(HostMatching, TheHighestPriorityWinsAndThenTheFirstName) {
  add("mine_b", "[match]\nsource = \"me\"\npriority = 99\nfamily = 6\n");
  EXPECT_EQ(matched(kXeon), "mine_b");
  add("mine_a", "[match]\nsource = \"me\"\npriority = 99\n");
  EXPECT_EQ(matched(kXeon), "mine_a");
  add("mine_c", "[match]\nsource = \"me\"\npriority = 100\nmodels = [[0, 206]]\nfamily = 6\n");
  EXPECT_EQ(matched(kXeon), "mine_a");
}

TEST_F(HostMatching, IsNotInherited) {
  add("mine", "");
  EXPECT_FALSE(load_machine("mine").cpu->match.has_value());
  EXPECT_EQ(matched(kXeon), "cpu_amx");
  add("mine", "[match]\nsource = \"me\"\npriority = 7\n");
  const HostMatch match = load_machine("mine").cpu->match.value();
  EXPECT_EQ(match.priority, 7);
  EXPECT_FALSE(match.isa.has_value());
}

TEST_F(HostMatching, WhatIsWrongIsRefusedWithItsPlace) {
  EXPECT_THAT(fault("[match]\nsource = \"me\"\n"), HasSubstr("missing value 'priority' in [match]"));
  EXPECT_THAT(fault("[match]\nsource = \"me\"\npriority = -1\n"), HasSubstr("'priority' is -1"));
  EXPECT_THAT(fault("[match]\npriority = 1\n"), HasSubstr("'priority' has no source"));
  const std::string good = "[match]\nsource = \"me\"\npriority = 1\n";
  EXPECT_THAT(fault(good + "modles = [[1, 2]]\n"),
              HasSubstr("unknown key 'modles' in [match]; did you mean 'models'?"));
  EXPECT_THAT(fault(good + "models = [[1, 2]]\n"), HasSubstr("'models' are those of a 'family', which is missing"));
  EXPECT_THAT(fault(good + "family = 6\nmodels = [3, 4]\n"), HasSubstr("array of [first, last] pairs"));
  EXPECT_THAT(fault(good + "family = 6\nmodels = []\n"), HasSubstr("array of [first, last] pairs, not empty"));
  EXPECT_THAT(fault(good + "family = 6\nmodels = [[4, 3]]\n"), HasSubstr("begins at 4 and ends at 3"));
  EXPECT_THAT(fault(good + "family = \"six\"\n"), HasSubstr("'family' must be a whole number, not a string"));
  EXPECT_THAT(fault(good + "vendor = 6\n"), HasSubstr("'vendor' must be text, not an integer"));
  EXPECT_THAT(fault(good + "isa = \"avx521\"\n"),
              HasSubstr("'isa' is 'avx521', but it must be one of portable, avx2,"));
  EXPECT_THROW(match_machine(kXeon), Error);
}

TEST_F(HostMatching, IsOfCpusOnly) {
  write_file_atomically(directory_ / "mine.toml",
                        "inherits = \"wormhole_n150\"\ntitle = \"Mine\"\n[match]\npriority = 1\n");
  EXPECT_THAT([] { load_machine("mine"); }, testing::ThrowsMessage<Error>(HasSubstr("unknown group 'match'")));
}

}  // namespace
}  // namespace tessera
