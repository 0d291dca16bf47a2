#include "tessera/scale/run_parts.h"

#include "tessera/core/file.h"
#include "tests/error_of.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using tessera::for_tests::error_of;
using testing::HasSubstr;

Payload bytes_of(std::initializer_list<int> values) {
  Payload out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

fs::path only_part(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".part") return entry.path();
  return {};
}

class RunPartsTest : public testing::Test {
 protected:
  void SetUp() override {
    RunParts parts(folder, "run a\n", false);
    parts.add(3, bytes_of({1, 2, 3}));
    parts.add(5, {});
    parts.flush();
  }
  void TearDown() override { fs::remove_all(folder); }
  fs::path folder = fs::path(testing::TempDir()) / "run_parts";
};

TEST_F(RunPartsTest, WhatWasAddedIsThereAgain) {
  const RunParts again(folder, "run a\n", true);
  EXPECT_EQ(again.there(), (std::map<std::int64_t, Payload>{{3, bytes_of({1, 2, 3})}, {5, {}}}));
}

TEST_F(RunPartsTest, MuchIsWrittenAtOnce) {
  const auto files = [&] { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); };
  {
    RunParts parts(folder, "run a\n", true);
    const auto before = files();
    parts.add(7, Payload(5 << 20));
    EXPECT_EQ(files(), before);
    parts.add(8, Payload(5 << 20));
    EXPECT_EQ(files(), before + 1);
  }
  const RunParts again(folder, "run a\n", true);
  EXPECT_EQ(again.there().count(7), 1U);
  EXPECT_EQ(again.there().at(8).size(), std::size_t{5} << 20);
}

TEST_F(RunPartsTest, AFolderIsForOneAtATime) {
  {
    const RunParts first(folder, "run a\n", true);
    EXPECT_THAT(error_of([&] { RunParts(folder, "run a\n", true); }),
                HasSubstr(fmt::format("is in use by process {}", ::getpid())));
  }
  EXPECT_EQ(RunParts(folder, "run a\n", true).there().size(), 2U);
}

TEST_F(RunPartsTest, APartCarriesTheRunItIsOf) {
  write_file_atomically(folder / "run.txt", std::string_view("run b\n"));
  EXPECT_THAT(error_of([&] { RunParts(folder, "run b\n", true); }), HasSubstr("was written by another run"));
}

TEST_F(RunPartsTest, PartsAreNotOverwrittenUnasked) {
  EXPECT_THAT(error_of([&] { RunParts(folder, "run a\n", false); }), HasSubstr("what an earlier run has finished"));
}

TEST_F(RunPartsTest, PartsOfAnotherRunAreRefused) {
  const std::string error = error_of([&] { RunParts(folder, "run b\n", true); });
  EXPECT_THAT(error, HasSubstr("belongs to another run"));
  EXPECT_THAT(error, HasSubstr("it was begun with: run a"));
  EXPECT_THAT(error, HasSubstr("this one has: run b"));
}

TEST_F(RunPartsTest, ADamagedPartIsRefused) {
  const fs::path part = only_part(folder);
  Payload file = read_file(part, 1 << 20);
  for (const std::size_t keep : {file.size() - 1, std::size_t{31}, std::size_t{0}}) {
    write_file_atomically(part, std::span<const std::byte>(file).first(keep));
    EXPECT_THAT(error_of([&] { RunParts(folder, "run a\n", true); }), HasSubstr("is damaged")) << keep;
  }
  file[0] ^= std::byte{1};
  write_file_atomically(part, std::span<const std::byte>(file));
  EXPECT_THAT(error_of([&] { RunParts(folder, "run a\n", true); }), HasSubstr("is damaged"));
}

TEST_F(RunPartsTest, TheyGoWhenAllIsDone) {
  remove_parts(folder);
  EXPECT_FALSE(fs::exists(folder));
}

}  // namespace
}  // namespace tessera
