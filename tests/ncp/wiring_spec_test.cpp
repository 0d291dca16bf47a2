#include "tessera/ncp/wiring_spec.h"
#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::ncp {
namespace {

using testing::HasSubstr;

std::string error_of(const char* text) {
  try {
    parse_wiring_spec(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(WiringSpec, ArgumentsGoByPositionOrName) {
  EXPECT_EQ(parse_wiring_spec("NCP(8,4,2,1,1,1,1,seed=7)"), WiringSpec(NcpSpec{8, 4, 2, 1, 1, 1, 1, 7}));
  EXPECT_EQ(parse_wiring_spec("AutoNCP(16, 4)"), WiringSpec(AutoNcpSpec{16, 4, 0.5, 22222}));
  EXPECT_EQ(parse_wiring_spec(" AutoNCP( units=16 , output_size=4, sparsity=0.75 ) "),
            WiringSpec(AutoNcpSpec{16, 4, 0.75, 22222}));
  EXPECT_EQ(parse_wiring_spec("FullyConnected(8,4,self_connections=False)"),
            WiringSpec(FullyConnectedSpec{8, 4, 1111, false}));
  EXPECT_EQ(parse_wiring_spec("Random(16,sparsity=0.5,seed=1111)"), WiringSpec(RandomSpec{16, {}, 0.5, 1111}));
  EXPECT_EQ(parse_wiring_spec("Random(16,None,0.25)"), WiringSpec(RandomSpec{16, {}, 0.25, 1111}));
}

TEST(WiringSpec, TextIsReadBackAsTheSame) {
  for (const char* text :
       {"NCP(8,4,2,1,1,1,1)", "NCP(8,4,2,1,1,1,1,7)", "AutoNCP(16,4)", "AutoNCP(16,4,seed=3)", "AutoNCP(64,8,0.75,3)",
        "FullyConnected(8)", "FullyConnected(8,4,self_connections=false)", "Random(16,sparsity_level=0.5)",
        "Random(16,4,0.1,9)", "Layered(inter:12x6,deep:8x4,command:6x4+4,motor:1x6)",
        "Layered(inter:12x6,motor:1x6,seed=1)"})
    EXPECT_EQ(to_string(parse_wiring_spec(text)), text);
}

TEST(WiringSpec, MistakesAreNamed) {
  EXPECT_THAT(error_of("AutoNCp(16,4)"), HasSubstr("did you mean 'AutoNCP'?"));
  EXPECT_THAT(error_of("AutoNCP"), HasSubstr("is no wiring"));
  EXPECT_THAT(error_of(""), HasSubstr("is no wiring"));
  EXPECT_THAT(error_of("AutoNCP(16,x)"), HasSubstr("output_size is 'x', which is no whole number"));
  EXPECT_THAT(error_of("AutoNCP(16,4,sede=3)"), HasSubstr("did you mean 'seed'?"));
  EXPECT_THAT(error_of("AutoNCP(16,4,seed=-3)"), HasSubstr("seed is '-3'"));
  EXPECT_THAT(error_of("AutoNCP(16,4,0.5,1,2)"), HasSubstr("takes 4 arguments"));
  EXPECT_THAT(error_of("AutoNCP(16,units=16)"), HasSubstr("units is given twice"));
  EXPECT_THAT(error_of("AutoNCP(units=16,4)"), HasSubstr("follows an argument"));
  EXPECT_THAT(error_of("AutoNCP(16,,4)"), HasSubstr("between two commas"));
  EXPECT_THAT(error_of("FullyConnected(8,self_connections=maybe)"), HasSubstr("true or false"));
  EXPECT_THAT(error_of("Layered(inter:12x6)"), HasSubstr("needs a layer and the motor neurons"));
  EXPECT_THAT(error_of("Layered(inter:12x6,command:4x2)"), HasSubstr("the last layer is motor"));
  EXPECT_THAT(error_of("Layered(inter:12,motor:1x2)"), HasSubstr("is no layer"));
  EXPECT_THAT(error_of("Explicit(3)"), HasSubstr("JSON"));
}

}  // namespace
}  // namespace tessera::ncp
