#include "tessera/targets/tensix/views/conv2d_table.h"

#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera::tensix {
namespace {

using for_tests::error_of;
using testing::HasSubstr;

constexpr const char* kColumns =
    "name,N,H,W,C,K,k,s,p,groups,dil,shard,abh,act_db,w_db,in_dtype,w_dtype,out_dtype,bias,fidelity,l1acc,fp32acc,"
    "out_layout,split_reader";
constexpr const char* kRow =
    "r,2,56,28,64,32,3,2,1,4,1,HEIGHT,64,True,False,bfloat16,bfloat8_b,bfloat16,False,,,,TILE,";

Conv2dProblem problem(const std::string& more_columns = "", const std::string& more_cells = "",
                      const std::string& row = kRow) {
  return problem_of_row(parse_csv(kColumns + more_columns + "\n" + row + more_cells + "\n"), 0);
}

TEST(Conv2dTable, ReadsALayer) {
  const Conv2dProblem p = problem();
  EXPECT_EQ(p.batch, 2);
  EXPECT_EQ(p.height, 56);
  EXPECT_EQ(p.width, 28);
  EXPECT_EQ(p.in_channels, 64);
  EXPECT_EQ(p.out_channels, 32);
  EXPECT_EQ(p.groups, 4);
  EXPECT_EQ(p.window.kernel_h, 3);
  EXPECT_EQ(p.window.stride_w, 2);
  EXPECT_FALSE(p.has_bias);
  EXPECT_EQ(p.input_layout, Layout::row_major);
  EXPECT_EQ(p.weights_dtype, DType::bfloat8_b);
  EXPECT_EQ(p.config.shard_layout, TensorMemoryLayout::height_sharded);
  EXPECT_EQ(p.config.act_block_h_override, 64);
  EXPECT_TRUE(p.config.enable_act_double_buffer);
  EXPECT_FALSE(p.config.enable_weights_double_buffer);
}

TEST(Conv2dTable, WhatATableDoesNotHaveIsOff) {
  const Conv2dConfig c = problem().config;
  EXPECT_FALSE(c.reshard_if_not_optimal);
  EXPECT_FALSE(c.deallocate_activation);
  EXPECT_FALSE(c.full_inner_dim);
  EXPECT_FALSE(c.enable_activation_reuse);
  EXPECT_FALSE(c.force_split_reader.has_value());
  const Conv2dConfig on = problem(",reshard,dealloc,full_inner,reuse,abw_div", ",True,True,1,true,2").config;
  EXPECT_TRUE(on.reshard_if_not_optimal);
  EXPECT_TRUE(on.deallocate_activation);
  EXPECT_TRUE(on.full_inner_dim);
  EXPECT_TRUE(on.enable_activation_reuse);
  EXPECT_EQ(on.act_block_w_div, 2);
  EXPECT_FALSE(problem(",reshard", ",None").config.reshard_if_not_optimal);
}

TEST(Conv2dTable, SaysWhichCellIsWrong) {
  EXPECT_THAT(error_of([] { problem(",reshard", ",perhaps"); }),
              HasSubstr("column 'reshard' has 'perhaps' where True, False or nothing is needed"));
  EXPECT_THAT(error_of([] { dtype_named("float7", "column 'in_dtype'"); }), HasSubstr("there is no dtype 'float7'"));
  EXPECT_THAT(error_of([] { layout_named("ROWS", "--layout"); }), HasSubstr("only TILE and ROW_MAJOR"));
  EXPECT_THAT(error_of([] { sharding_named("DEPTH", "--shard"); }), HasSubstr("only HEIGHT, BLOCK and WIDTH"));
  EXPECT_THAT(error_of([] { fidelity_named("HiFi9", "--fidelity"); }), HasSubstr("only LoFi, HiFi2, HiFi3 and HiFi4"));
  EXPECT_EQ(fidelity_named("hifi3", ""), MathFidelity::hifi3);
  EXPECT_EQ(sharding_named("width", ""), TensorMemoryLayout::width_sharded);
}

}  // namespace
}  // namespace tessera::tensix
