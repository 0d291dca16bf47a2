#include "tessera/core/error.h"
#include "tessera/ncp/wiring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::ncp {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view json) {
  try {
    wiring_spec_from_json(json);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(WiringJson, RecipesComeBackAsTheyWere) {
  for (const char* text : {"NCP(8,4,2,1,1,1,1,7)", "AutoNCP(64,8,0.7,3)", "FullyConnected(8)",
                           "FullyConnected(8,4,self_connections=false)", "Random(16,4,0.1,9)",
                           "Layered(inter:12x6,deep:8x4,command:6x4+4,motor:1x6,seed=4294967295)"}) {
    const WiringSpec spec = parse_wiring_spec(text);
    EXPECT_EQ(wiring_spec_from_json(wiring_spec_to_json(spec)), spec) << text;
  }
  const ExplicitSpec spec{.units = 3,
                          .outputs = 1,
                          .inputs = 2,
                          .layers = {{"hidden", {1, 2}}, {"motor", {0}}},
                          .synapses = {{1, 0, -1}, {2, 0, 1}},
                          .sensory_synapses = {{0, 1, 1}}};
  EXPECT_EQ(wiring_spec_from_json(wiring_spec_to_json(spec)), WiringSpec(spec));
}

TEST(WiringJson, KeysAreThoseOfNcps) {
  EXPECT_EQ(wiring_spec_to_json(parse_wiring_spec("FullyConnected(8,4)")),
            R"({"type":"FullyConnected","units":8,"output_dim":4,"erev_init_seed":1111,"self_connections":true})");
  EXPECT_EQ(wiring_spec_to_json(parse_wiring_spec("Random(8)")),
            R"({"type":"Random","units":8,"output_dim":null,"sparsity_level":0.0,"random_seed":1111})");
}

TEST(WiringJson, WholeWiringsComeBackAsTheyWere) {
  const Wiring wiring = build_wiring(parse_wiring_spec("AutoNCP(16,4)"), 8);
  EXPECT_EQ(wiring_from_json(wiring_to_json(wiring)), wiring);
}

TEST(WiringJson, AWiringThatIsNotWhatItSaysIsRefused) {
  std::string text = wiring_to_json(build_wiring(parse_wiring_spec("AutoNCP(16,4)"), 8));
  text.replace(text.find("22222"), 5, "22223");
  try {
    wiring_from_json(text);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("55e54b0806d1d8f5"));
  }
}

TEST(WiringJson, MistakesAreNamed) {
  EXPECT_THAT(error_of("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(error_of("{"), HasSubstr("no JSON object"));
  EXPECT_THAT(error_of("{}"), HasSubstr("'type' is missing"));
  EXPECT_THAT(error_of(R"({"type":"NPC"})"), HasSubstr("did you mean 'NCP'?"));
  EXPECT_THAT(error_of(R"({"type":"AutoNCP","units":3})"), HasSubstr("'output_size' is missing"));
  EXPECT_THAT(error_of(R"({"type":"AutoNCP","units":3.5,"output_size":1})"), HasSubstr("no whole number"));
  EXPECT_THAT(error_of(R"({"type":"AutoNCP","units":30000000000,"output_size":1})"), HasSubstr("out of range"));
  EXPECT_THAT(error_of(R"({"type":"AutoNCP","units":30,"output_size":1,"sed":3})"), HasSubstr("no field 'sed'"));
  EXPECT_THAT(error_of(R"({"type":"Explicit","units":2,"input_dim":1,"synapses":[[1,2]],"sensory_synapses":[]})"),
              HasSubstr("[source, destination, polarity]"));
}

}  // namespace
}  // namespace tessera::ncp
