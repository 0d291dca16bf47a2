// The report files of the real ttnn, byte for byte (tests/data/memory_reports).

#include "tessera/targets/tensix/card/memory_report.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/card/sharded_memory_config.h"
#include "tests/targets/tensix/relu.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera::tensix {
namespace {

std::string golden(const std::string& file) {
  return read_text_file(std::string(TESSERA_TEST_DATA) + "/memory_reports/" + file);
}

class MemoryReports : public testing::Test {
 protected:
  void SetUp() override {
    directory = std::filesystem::path(testing::TempDir()) / "tessera_memory_reports";
    std::filesystem::remove_all(directory);
    setenv("TT_METAL_LOGS_PATH", directory.c_str(), 1);
  }
  void TearDown() override {
    disable_memory_reports();
    unsetenv("TT_METAL_LOGS_PATH");
    std::filesystem::remove_all(directory);
  }
  void expect_equal(const std::string& prefix) {
    for (const char* file : {"l1_usage_summary.csv", "memory_usage_summary.csv", "detailed_memory_usage.csv"})
      EXPECT_EQ(read_text_file(directory / "generated" / "reports" / (prefix + file)), golden(prefix + file))
          << prefix << file;
  }
  static Tensor zeros(const Shape& shape, DType dtype) { return Tensor(shape, dtype, Layout::tile); }

  std::filesystem::path directory;
  std::shared_ptr<Device> device = Device::open(load_machine("wormhole_n150"), {.l1_small_bytes = 16384});
};

TEST_F(MemoryReports, FilesAreThoseOfTtnn) {
  enable_memory_reports();
  dump_device_memory_state(*device, "empty_");
  expect_equal("empty_");
  const DeviceTensor a = to_device(zeros(Shape{1, 1, 1024, 1024}, DType::bfloat16), device, kDramMemoryConfig);
  const DeviceTensor b = to_device(zeros(Shape{1, 1, 1024, 1024}, DType::bfloat16), device, kL1MemoryConfig);
  const Shape shape{1, 1, 2048, 64};
  const MemoryConfig rows = create_sharded_memory_config({.shape = shape, .grid = CoreGrid{8, 8}.to_core_range_set()});
  DeviceTensor c = to_device(zeros(shape, DType::bfloat8_b), device, rows);
  const DeviceTensor d = to_device(zeros(shape, DType::bfloat16), device, rows);
  c.deallocate();
  dump_device_memory_state(*device, "hole_");
  expect_equal("hole_");
  const DeviceTensor e = relu(d);
  expect_equal("program_");
}

TEST_F(MemoryReports, OnlyNewProgramsAddRows) {
  enable_memory_reports();
  const DeviceTensor t = to_device(zeros(Shape{32, 32}, DType::bfloat16), device);
  {
    const DeviceTensor once = relu(t);
  }
  const auto file = directory / "generated" / "reports" / "program_l1_usage_summary.csv";
  const std::string first = read_text_file(file);
  {
    const DeviceTensor twice = relu(t);
  }
  EXPECT_EQ(read_text_file(file), first);
  device->clear_program_cache();
  {
    const DeviceTensor again = relu(t);
  }
  EXPECT_EQ(read_text_file(file).substr(0, first.size()), first);
  EXPECT_NE(read_text_file(file).find("\n2,"), std::string::npos);
  disable_memory_reports();
  device->clear_program_cache();
  const std::string before = read_text_file(file);
  const DeviceTensor quiet = relu(t);
  EXPECT_EQ(read_text_file(file), before);
}

TEST_F(MemoryReports, PrefixCannotLeaveTheDirectory) { EXPECT_THROW(dump_device_memory_state(*device, "../x"), Error); }

}  // namespace
}  // namespace tessera::tensix
