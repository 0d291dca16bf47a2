// permute against plain index arithmetic on the host, and its refusals.

#include "tessera/targets/tensix/ops/permute/permute.h"

#include "golden.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/card/device_tensor.h"
#include "tessera/targets/tensix/time/kernel_time.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tessera::tensix {
namespace {

class Permute : public testing::Test {
 protected:
  DeviceTensor put(const Shape& shape, Layout layout, DType dtype = DType::float32,
                   const MemoryConfig& memory = kDramMemoryConfig) const {
    std::vector<float> values(static_cast<std::size_t>(shape.volume()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 251);
    return to_device(Tensor::from_float32(values, shape, dtype, layout), device, memory);
  }
  static std::vector<float> values_of(const DeviceTensor& x) { return from_device(x).to_float32(); }

  std::shared_ptr<Device> device = Device::open(load_machine("wormhole_n150"), {});
};

TEST_F(Permute, EveryElementIsWhereItsDimensionsWent) {
  const Shape shape{2, 3, 50, 70};
  const std::vector<std::vector<std::int64_t>> orders{{0, 1, 3, 2}, {0, 2, 1, 3}, {1, 0, 2, 3},
                                                      {0, 2, 3, 1}, {3, 2, 1, 0}, {0, 1, -1, -2}};
  for (const Layout layout : {Layout::tile, Layout::row_major})
    for (const auto& order : orders) {
      const DeviceTensor x = put(shape, layout);
      const DeviceTensor y = permute(x, order);
      const Shape& out = y.spec().logical_shape();
      EXPECT_EQ(y.spec().layout(), layout);
      EXPECT_EQ(y.spec().memory_config(), kDramMemoryConfig);
      const std::vector<float> from = values_of(x), to = values_of(y);
      std::int64_t at[4], source[4], i = 0;
      for (at[0] = 0; at[0] < out[0]; ++at[0])
        for (at[1] = 0; at[1] < out[1]; ++at[1])
          for (at[2] = 0; at[2] < out[2]; ++at[2])
            for (at[3] = 0; at[3] < out[3]; ++at[3], ++i) {
              for (int d = 0; d < 4; ++d) source[(order[static_cast<std::size_t>(d)] + 4) % 4] = at[d];
              const std::int64_t j = ((source[0] * shape[1] + source[1]) * shape[2] + source[2]) * shape[3] + source[3];
              ASSERT_EQ(to[static_cast<std::size_t>(i)], from[static_cast<std::size_t>(j)]) << i;
            }
    }
}

TEST_F(Permute, WhatMovesNothingIsTheTensorItself) {
  const DeviceTensor x = put({1, 1, 64, 32}, Layout::tile);
  const std::int64_t same[] = {0, 1, 2, 3}, ones[] = {1, 0, 2, 3};
  EXPECT_EQ(permute(x, same).address(), x.address());
  EXPECT_EQ(permute(x, ones).address(), x.address());
  EXPECT_TRUE(permute(x, same, kL1MemoryConfig).spec().memory_config().is_l1());
}

TEST_F(Permute, SwappedNeighboursAreTransposesAndAllHaveAPrice) {
  device->clear_trace();
  const DeviceTensor x = put({2, 3, 64, 32}, Layout::tile, DType::bfloat8_b);
  const std::int64_t last[] = {0, 1, 3, 2}, all[] = {3, 2, 1, 0};
  permute(x, last);
  EXPECT_EQ(device->trace().back().kind, ProgramKind::transpose);
  const DeviceTensor y = permute(x, all);  // by way of bfloat16
  EXPECT_EQ(y.spec().dtype(), DType::bfloat8_b);
  ASSERT_GE(device->trace().size(), 3u);
  EXPECT_EQ(device->trace()[device->trace().size() - 2].kind, ProgramKind::permute);
  EXPECT_EQ(device->trace().back().kind, ProgramKind::typecast);
  for (const TraceRecord& record : device->trace()) {
    if (!is_program(record)) continue;
    EXPECT_EQ(time_of(record, device->card(), costs_of(device->machine())).basis, TimeBasis::scaled) << record.op();
  }
}

// Stored answers for interleaved tensors: shapes, padding, place and address of the result, and refusals.
TEST_F(Permute, AnswersAsTheRealTtnn) {
  const golden::Json answers = golden::load("ops_reshape_n150");
  int asked = 0;
  for (const golden::Json& record : answers.at("records")) {
    if (record.at("op") != "permute" || !record.contains("shape")) continue;
    const auto order = record.at("dims").get<std::vector<std::int64_t>>();
    if (order == std::vector<std::int64_t>{0, 1, 2, 2}) continue;  // taken by the real one, refused here
    const Layout layout = record.at("layout") == "TILE" ? Layout::tile : Layout::row_major;
    const DeviceTensor x = put(Shape(record.at("shape").get<std::vector<std::int64_t>>()), layout, DType::bfloat16,
                               record.at("src") == "l1" ? kL1MemoryConfig : kDramMemoryConfig);
    ++asked;
    ASSERT_EQ(x.address(), record.at("in_addr").at(0).get<std::int64_t>()) << record.dump();
    if (!record.at("ok")) {
      EXPECT_THROW(permute(x, order), Error) << record.dump();
      continue;
    }
    const DeviceTensor y = permute(x, order);
    const golden::Json& got = record.at("got");
    EXPECT_EQ(y.spec().logical_shape().dims(), got.at("shape").get<std::vector<std::int64_t>>()) << record.dump();
    EXPECT_EQ(y.spec().padded_shape().dims(), got.at("padded").get<std::vector<std::int64_t>>()) << record.dump();
    EXPECT_EQ(y.spec().layout(), layout);
    EXPECT_EQ(y.spec().dtype(), DType::bfloat16);
    EXPECT_EQ(y.spec().memory_config(), x.spec().memory_config());
    EXPECT_EQ(y.address(), got.at("addr").get<std::int64_t>()) << record.dump();
  }
  EXPECT_EQ(asked, 52);
}

TEST_F(Permute, RefusesOrdersThatAreNoneAndShards) {
  const DeviceTensor x = put({2, 3, 64, 32}, Layout::tile);
  for (const std::vector<std::int64_t>& order :
       {std::vector<std::int64_t>{0, 1, 2}, std::vector<std::int64_t>{0, 1, 2, 7},
        std::vector<std::int64_t>{0, 1, 2, 2}})
    EXPECT_THROW(permute(x, order), Error);
  const MemoryConfig rows(TensorMemoryLayout::height_sharded, BufferType::l1,
                          ShardSpec{CoreRange(CoreCoord{0, 0}, CoreCoord{3, 0}), {96, 32}});
  const std::int64_t last[] = {0, 1, 3, 2};
  EXPECT_THROW(permute(put({2, 3, 64, 32}, Layout::tile, DType::bfloat16, rows), last), Error);
  EXPECT_THROW(permute(x, last, rows), Error);
}

}  // namespace
}  // namespace tessera::tensix
