#pragma once

// A folder for the files of a test, with a network of one convolution in it.

#include "tessera/core/file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace tessera {

class FolderOfOneLayer : public testing::Test {
 protected:
  explicit FolderOfOneLayer(int images = 1) : images_(images) {}

  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    layer_ = folder_ / "layers.txt";
    write_file_atomically(layer_, fmt::format("net:conv n{} h28 w28 ic32 oc64 k3x3 s1 p1 bias relu\n", images_));
    model_ = layer_.string() + ":net:conv";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  int images_;
  std::filesystem::path folder_, layer_;
  std::string model_;
};

}  // namespace tessera
