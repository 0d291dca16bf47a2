#include "tessera/machine/fleet_spec.h"

#include "tessera/core/file.h"
#include "tessera/machine/machine_file.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using for_tests::error_of;
using testing::AllOf;
using testing::HasSubstr;

class FleetFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Machine load(const std::string& fleet, const std::string& base = "wormhole_n150") const {
    write_file_atomically(folder_ / "mine.toml",
                          "name = \"mine\"\ntitle = \"my fleet\"\nfamily = \"tensix\"\ninherits = \"" + base +
                              "\"\n[sources]\nme = { kind = \"assumed\", text = \"a wish\" }\n" + fleet);
    return load_machine_file(folder_ / "mine.toml");
  }

  fs::path folder_;
};

TEST_F(FleetFile, SaysWhatDiffersFromItsCard) {
  const std::optional<FleetSpec> spec =
      fleet_of(load("[fleet]\nsource = \"me\"\nhosts = 3\nmtbf_hours = 1000\nspares = 2\n"));
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->hosts, 3);
  EXPECT_EQ(spec->mtbf_hours, 1000);
  EXPECT_EQ(spec->spares, 2);
  EXPECT_EQ(spec->cards_per_host, 8);  // the card's
  EXPECT_EQ(spec->pcie_bytes_per_s, 14.0e9);
  EXPECT_FALSE(spec->card_ethernet_bytes_per_s.has_value());
}

TEST_F(FleetFile, HasASummaryOfAllItsCards) {
  const Machine machine = load("[fleet]\nsource = \"me\"\nhosts = 3\n");
  EXPECT_EQ(summarize(machine).cores, 3 * 8 * 64);
  EXPECT_EQ(summarize(load_machine("wormhole_n150")).cores, 64);
}

TEST_F(FleetFile, NamesTheLineOfEveryMistake) {
  const std::string text = error_of([&] {
    load(
        "[fleet]\nsource = \"me\"\nhosts = 0\ncards = 4\nhost_threads = 1.5\nnetwork_bytes_per_s = -1.0\nspares = 1\n");
  });
  EXPECT_THAT(text, AllOf(HasSubstr("4 problems"), HasSubstr("mine.toml:9:9: 'hosts' is 0, but it must be more than 0"),
                          HasSubstr("mine.toml:10:1: unknown key 'cards' in [fleet]"),
                          HasSubstr("mine.toml:11:16: 'host_threads' must be a whole number"),
                          HasSubstr("'network_bytes_per_s' is -1, but it must be more than 0")));
}

TEST_F(FleetFile, NeedsACardAtWork) {
  EXPECT_THAT(error_of([&] { load("[fleet]\nsource = \"me\"\nspares = 16\nhosts = 2\n"); }),
              HasSubstr("'spares' is 16, which leaves no card at work: there are 2 hosts of 8"));
  EXPECT_THAT(error_of([&] { load("[fleet]\nsource = \"me\"\nhosts = 9_000_000\n"); }),
              HasSubstr("'hosts' is 9000000, which with 8 cards each is more than the 10000000 that can be simulated"));
  EXPECT_THAT(error_of([&] { load("[fleet]\nsource = \"me\"\ncards_per_host = 20_000_000\n"); }),
              HasSubstr("'cards_per_host' is 20000000, which is beyond reason"));
}

TEST_F(FleetFile, NeedsTheWayToChipsBehindOthers) {
  EXPECT_THAT(error_of([&] { load("[chip]\nsource = \"me\"\nchips = 4\n"); }),
              HasSubstr("[fleet] needs 'card_ethernet_bytes_per_s': a card has 4 chips"));
}

TEST_F(FleetFile, NeedsASourceForEveryNumber) {
  EXPECT_THAT(error_of([&] { load("[fleet]\nhosts = 2\n"); }), HasSubstr("'hosts' has no source"));
}

TEST(Fleets, OtherFamiliesHaveNone) { EXPECT_FALSE(fleet_of(load_machine("trainium2")).has_value()); }

}  // namespace
}  // namespace tessera
