#include "tessera/targets/tensix/time/fit/measured_ops.h"

#include "tessera/core/file.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace tessera::tensix {
namespace {

using for_tests::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kColumns =
    "device,mode,grid,M,K,N,trace,in0_storage,in1_storage,out_storage,dtype,fidelity,time_ns\n";

class Gemms : public testing::Test {
 protected:
  MeasuredOps read(const std::string& rows) const {
    write_file_atomically(path_, kColumns + rows);
    return read_measured_gemms(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::filesystem::path path_ = std::filesystem::path(testing::TempDir()) / "tessera-gemms.csv";
};

TEST_F(Gemms, ReadsWhatWasMeasured) {
  const MeasuredOps found = read(
      "n150,oob,8x8,1024,512,2048,False,DRAM,DRAM,DRAM,BFLOAT8_B,LoFi,46341.5\n"
      "p150,tuned,8x8,1024,1024,1024,True,L1,DRAM,L1,BFLOAT16,HiFi4,66068\n");
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].name, "1024x512x2048 bfloat8_b LoFi 8x8 DRAM");
  EXPECT_EQ(found.rows[0].machine, "wormhole_n150");
  EXPECT_EQ(found.rows[0].measured_ns, 46341.5);
  EXPECT_TRUE(found.rows[0].from_host);
  EXPECT_FALSE(found.rows[0].traced);
  EXPECT_EQ(found.rows[1].name, "1024x1024x1024 bfloat16 HiFi4 8x8 L1 traced");
  EXPECT_EQ(found.rows[1].machine, "blackhole_p150");
  EXPECT_TRUE(found.rows[1].traced);
}

TEST_F(Gemms, LeavesOutBoardsThatNobodyKnowsAndRefusesWhatIsNoTable) {
  EXPECT_THAT(read("n9,oob,8x8,32,32,32,False,DRAM,DRAM,DRAM,BFLOAT16,LoFi,1\n").left_out,
              ElementsAre(HasSubstr("row 1: there is no machine file for 'n9'")));
  EXPECT_THAT(error_of([&] { read("n150,oob,8x8,32,32,32,False,DRAM,DRAM,DRAM,BFLOAT16,HiFi7,1\n"); }),
              HasSubstr("there is no fidelity 'HiFi7'"));
  EXPECT_THAT(error_of([&] { read("n150,oob,8y8,32,32,32,False,DRAM,DRAM,DRAM,BFLOAT16,LoFi,1\n"); }),
              HasSubstr("the grid is '8y8', not columns x rows"));
  EXPECT_THAT(error_of([&] { read("n150,oob,8x8,a,32,32,False,DRAM,DRAM,DRAM,BFLOAT16,LoFi,1\n"); }),
              HasSubstr("M is 'a', not a number"));
}

}  // namespace
}  // namespace tessera::tensix
