#include "tessera/targets/apple/verdicts/device_profile.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/parallel_for.h"
#include "tessera/machine/machine_file.h"
#include "tessera/machine/unified_guide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera::apple {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Guide {
  const char* name;
  const char* title;
  int cores;
  std::int64_t least_gb, most_gb;
  double about_gb_per_s;
  std::vector<int> batches, hidden, backbone;
  double tflops, gb_per_s;
  int limit;
};

const std::vector<Guide>& guide() {
  static const std::vector<Guide> all = {
      {"apple_m1", "M1", 16, 8, 16, 70, {32, 64}, {64, 128}, {64, 64}, 2, 50, 128},
      {"apple_m1_pro", "M1 Pro", 16, 16, 32, 200, {64, 128}, {128, 256}, {128, 128}, 4, 150, 256},
      {"apple_m1_max", "M1 Max", 16, 32, 64, 400, {128, 256}, {256, 512}, {256, 256}, 8, 300, 512},
      {"apple_m1_ultra", "M1 Ultra", 32, 64, 128, 800, {256, 512}, {512, 1024}, {512, 512}, 16, 600, 1024}};
  return all;
}

TEST(DeviceProfile, HoldsEveryNumberOfTheGuide) {
  for (const Guide& row : guide()) {
    SCOPED_TRACE(row.name);
    const DeviceProfile p = device_profile(row.title);
    EXPECT_EQ(p.name, row.name);
    EXPECT_EQ(p.neural_engine_cores, row.cores);
    EXPECT_EQ(p.memory_min_bytes, row.least_gb << 30);
    EXPECT_EQ(p.memory_bytes, row.most_gb << 30);
    EXPECT_EQ(unified_guide_of(load_machine(row.name)).guide_bytes_per_s, row.about_gb_per_s * 1e9);
    EXPECT_EQ(p.batch_sizes, row.batches);
    EXPECT_EQ(p.hidden_sizes, row.hidden);
    EXPECT_EQ(p.get_optimal_batch_size(), row.batches.back());
    EXPECT_EQ(p.get_optimal_hidden_size(), row.hidden.back());
    EXPECT_EQ(p.get_optimal_backbone(), row.backbone);
    EXPECT_DOUBLE_EQ(p.min_tflops(), row.tflops);
    EXPECT_DOUBLE_EQ(p.min_bandwidth(), row.gb_per_s);
    EXPECT_EQ(p.hidden_limit, row.limit);
    EXPECT_EQ(p.memory_budget(), static_cast<double>(row.least_gb * 1024));
    EXPECT_EQ(p.kind(), "modelled");
    EXPECT_EQ(p.learning_rate, 0.001);
    EXPECT_EQ(p.backbone_dropout, 0.1);
    EXPECT_EQ(p.target_utilization, 0.5);
    EXPECT_EQ(p.advice.size(), 4u);
  }
}

TEST(DeviceProfile, KeepsTheTiersThatContradictTheGuideApart) {
  const double classes[] = {50, 100, 200, 400};
  for (std::size_t i = 0; i < guide().size(); ++i) {
    const DeviceProfile p = device_profile(guide()[i].name);
    ASSERT_EQ(p.tiers.size(), 3u);
    EXPECT_EQ(p.tiers[0].name, "guide");
    EXPECT_EQ(p.tiers[1].bytes_per_s, classes[i] * 1e9);
    EXPECT_EQ(p.tiers[2].flop_per_s, 1.5 * p.tiers[0].flop_per_s);
    EXPECT_EQ(p.tiers[2].memory_bytes, p.memory_budget_bytes / 4 * 3);
    for (const TargetTier& tier : p.tiers) EXPECT_THAT(tier.source, HasSubstr("ncps-enhanced"));
  }
}

// The guide is about the M1 family alone: of the others it has nothing to say, and their files say so.
TEST(DeviceProfile, OfLaterChipsHoldsSpecificationsAndMarksWhatIsTakenFromTheM1OfTheirClass) {
  struct Chip {
    const char* name;
    const char* class_of;
    double tflops, gb_per_s, tops;
    std::int64_t most_gb;
  };
  for (const Chip& chip : {Chip{"M2", "M1", 3.6, 100, 15.8, 24}, Chip{"M2 Pro", "M1 Pro", 6.8, 200, 15.8, 32},
                           Chip{"M2 Max", "M1 Max", 13.6, 400, 15.8, 96},
                           Chip{"M2 Ultra", "M1 Ultra", 27.2, 800, 31.6, 192}, Chip{"M3", "M1", 3.58, 100, 18, 24},
                           Chip{"M3 Pro", "M1 Pro", 6.44, 150, 18, 36}, Chip{"M3 Max", "M1 Max", 14.3, 400, 18, 128},
                           Chip{"M3 Ultra", "M1 Ultra", 28.6, 819, 36, 512}, Chip{"M4", "M1", 4.04, 120, 38, 32},
                           Chip{"M4 Pro", "M1 Pro", 8.09, 273, 38, 64}, Chip{"M4 Max", "M1 Max", 16.2, 546, 38, 128}}) {
    SCOPED_TRACE(chip.name);
    const DeviceProfile p = device_profile(chip.name), first = device_profile(chip.class_of);
    EXPECT_DOUBLE_EQ(p.peak_flop_per_s, chip.tflops * 1e12);
    EXPECT_DOUBLE_EQ(p.peak_bytes_per_s, chip.gb_per_s * 1e9);
    EXPECT_DOUBLE_EQ(p.neural_engine_op_per_s, chip.tops * 1e12);
    EXPECT_EQ(p.memory_bytes, chip.most_gb << 30);
    EXPECT_EQ(p.batch_sizes, first.batch_sizes);
    EXPECT_EQ(p.hidden_sizes, first.hidden_sizes);
    EXPECT_EQ(p.backbone_units, first.backbone_units);
    EXPECT_EQ(p.hidden_limit, first.hidden_limit);
    EXPECT_EQ(p.advice, first.advice);
    EXPECT_NEAR(p.min_tflops() * 1e12 / p.peak_flop_per_s, first.min_tflops() * 1e12 / first.peak_flop_per_s, 1e-3);
    EXPECT_NEAR(p.min_bandwidth() * 1e9 / p.peak_bytes_per_s, first.min_bandwidth() * 1e9 / first.peak_bytes_per_s,
                1e-3);
    ASSERT_EQ(p.tiers.size(), 1u);
    EXPECT_THAT(p.tiers[0].source, HasSubstr(chip.class_of));
    const Machine machine = load_machine(p.name);
    EXPECT_FALSE(unified_guide_of(machine).has_tiers);
    EXPECT_FALSE(unified_guide_of(machine).guide_bytes_per_s.has_value());
    for (const Figure& figure : machine.figures) {
      const bool of_the_guide = figure.group == "profile";
      if (of_the_guide) {
        EXPECT_EQ(figure.kind, FigureKind::assumed) << figure.key;
      }
      if (figure.key == "memory_bytes_per_s") {
        EXPECT_EQ(figure.kind, FigureKind::published);
      }
    }
    EXPECT_EQ(device_profile_from_json(device_profile_to_json(p)), p);
  }
}

TEST(DeviceProfile, IsFoundAsPeopleWriteIt) {
  for (const char* text : {"apple_m1_max", "M1 Max", "m1_max", "m1-max", "Apple M1 Max", "APPLE_M1_MAX"})
    EXPECT_EQ(device_profile(text).name, "apple_m1_max") << text;
}

TEST(DeviceProfile, RefusesUnknownNamesAndListsTheKnownOnes) {
  try {
    device_profile("M1 Mx");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::not_found);
    EXPECT_THAT(error.message(), HasSubstr("there is no device profile 'M1 Mx'"));
    EXPECT_EQ(error.hint(),
              "the devices are apple_m1, apple_m1_max, apple_m1_pro, apple_m1_ultra, apple_m2, apple_m2_max, "
              "apple_m2_pro, apple_m2_ultra, apple_m3, apple_m3_max, apple_m3_pro, apple_m3_ultra, apple_m4, "
              "apple_m4_max, apple_m4_pro, host");
  }
  try {
    device_profile(load_machine("trainium1"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("'trainium1' is of the family 'neuron'"));
  }
}

TEST(DeviceProfile, KnowsProcessorsByTheirBrand) {
  EXPECT_EQ(profile_name_of_processor("Apple M1"), "apple_m1");
  EXPECT_EQ(profile_name_of_processor("Apple M1 Ultra"), "apple_m1_ultra");
  EXPECT_EQ(profile_name_of_processor("Apple M4 Max"), "apple_m4_max");
  EXPECT_EQ(profile_name_of_processor("Apple M9"), "");
  EXPECT_EQ(profile_name_of_processor("AMD EPYC"), "");
}

TEST(DeviceProfile, GoesThroughJson) {
  for (const Guide& row : guide()) {
    const DeviceProfile p = device_profile(row.name);
    EXPECT_EQ(device_profile_from_json(device_profile_to_json(p)), p);
  }
  EXPECT_THROW(device_profile_from_json("[1]"), Error);
  EXPECT_THROW(device_profile_from_json("{\"name\": \"x\"}"), Error);
  std::string text = device_profile_to_json(device_profile("M1"));
  const std::size_t at = text.find("\"batch_sizes\": [");
  text.replace(at, 15, "\"batch_sizes\": 3, \"x\": ");
  EXPECT_THROW(device_profile_from_json(text), Error);
}

class HostProfile : public ::testing::Test {
 protected:
  HostProfile() : folder_(fs::temp_directory_path() / ("tessera-host-profile-" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    if (const char* before = std::getenv("XDG_CACHE_HOME")) before_ = before;
    ::setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
  }
  ~HostProfile() override {
    before_.empty() ? ::unsetenv("XDG_CACHE_HOME") : ::setenv("XDG_CACHE_HOME", before_.c_str(), 1);
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
    fs::remove_all(folder_, ignored);
  }
  fs::path folder_;
  std::string before_;
};

TEST_F(HostProfile, IsMeasuredOnceAndKept) {
  const DeviceProfile first = host_profile();
  EXPECT_EQ(first.name, "host");
  EXPECT_EQ(first.kind(), "measured");
  EXPECT_GT(first.peak_flop_per_s, 1e8);
  EXPECT_GT(first.peak_bytes_per_s, 1e7);
  EXPECT_GT(first.memory_bytes, 0);
  EXPECT_EQ(first.threads, max_threads());
  EXPECT_TRUE(fs::exists(host_profile_file()));
  EXPECT_EQ(host_profile_file().parent_path(), folder_ / "tessera");
  EXPECT_EQ(host_profile(), first);  // another measurement would differ in its last digits
  EXPECT_EQ(device_profile("Host"), first);
}

TEST_F(HostProfile, IsMeasuredAgainForAnotherNumberOfThreadsOrWhenTheFileIsBroken) {
  const fs::path file = host_profile_file();
  fs::create_directories(file.parent_path());
  write_file_atomically(file, "{\"name\": \"host\"");
  const DeviceProfile again = host_profile();
  EXPECT_EQ(device_profile_from_json(read_text_file(file)), again);
  const ThreadLimit limit(max_threads() + 1);
  EXPECT_NE(host_profile_file(), file);
}

TEST_F(HostProfile, IsNotTakenFromAFileOfAnotherProcessor) {
  DeviceProfile other = host_profile();
  other.title = "Some other processor";
  other.peak_flop_per_s = 1;
  write_file_atomically(host_profile_file(), device_profile_to_json(other));
  EXPECT_GT(host_profile().peak_flop_per_s, 1e8);
}

TEST_F(HostProfile, WorksWhereNothingCanBeKept) {
  write_file_atomically(folder_, "a file where the folder should be");
  EXPECT_EQ(host_profile().name, "host");
}

}  // namespace
}  // namespace tessera::apple
