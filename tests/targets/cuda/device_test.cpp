#include "tests/targets/cuda/conv2d_case.h"

#include "tessera/core/error.h"
#include "tessera/targets/cuda/device/context.h"
#include "tessera/targets/cuda/device/memory.h"
#include "tessera/targets/cuda/device/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tessera::cuda {
namespace {

TEST(CudaDevice, SaysWhatIsMissing) {
  const auto missing = absence(1000);
  ASSERT_TRUE(missing);
  if (missing->what == Missing::driver)
    EXPECT_THAT(missing->text, ::testing::HasSubstr("driver"));
  else
    EXPECT_EQ(missing->what, Missing::device);
  try {
    const Context context(1000);
    FAIL() << "there is a device 1000";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::unsupported);
    EXPECT_EQ(error.message(), missing->text);
  }
}

TEST(CudaDevice, KeepsBytesAndReplaysGraphs) {
  if (const std::string why = no_device(); !why.empty()) GTEST_SKIP() << why;
  const Context context;
  EXPECT_EQ(context.properties().compute_major, 9);
  const Stream stream(context);
  const std::vector<std::byte> bytes(1000, std::byte{7});
  const Memory memory(context, bytes);
  std::vector<std::byte> back(1000);
  memory.read(stream, back);
  stream.synchronize();
  EXPECT_EQ(back, bytes);

  const Graph graph(stream, [&] { memory.fill(stream, 9); });
  memory.read(stream, back);
  stream.synchronize();
  EXPECT_EQ(back[0], std::byte{7}) << "recording runs nothing";
  const Event before(context), after(context);
  before.record(stream);
  graph.replay(stream);
  after.record(stream);
  memory.read(stream, back);
  stream.synchronize();
  EXPECT_EQ(back[999], std::byte{9});
  EXPECT_GE(milliseconds_between(before, after), 0);
}

TEST(CudaDevice, OutOfMemoryIsAnErrorWithNumbers) {
  if (const std::string why = no_device(); !why.empty()) GTEST_SKIP() << why;
  const Context context;
  try {
    const Memory memory(context, std::int64_t{1} << 50);
    FAIL() << "a pebibyte fits";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::out_of_memory);
    EXPECT_THAT(error.message(), ::testing::HasSubstr("1125899906842624 bytes"));
  }
  const Memory memory(context, 1024);  // still works
  EXPECT_NE(memory.data(), nullptr);
}

TEST(CudaDevice, AFailureWhileRecordingLeavesTheStreamUsable) {
  if (const std::string why = no_device(); !why.empty()) GTEST_SKIP() << why;
  const Context context;
  const Stream stream(context);
  EXPECT_THROW(Graph(stream, [] { fail(Code::internal, "stop"); }), Error);
  const Memory memory(context, 16);
  memory.fill(stream, 1);
  stream.synchronize();
}

}  // namespace
}  // namespace tessera::cuda
