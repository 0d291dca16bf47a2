#include "tessera/ncp/wiring.h"
#include "tessera/core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::ncp {
namespace TSR_FILE {

using testing::HasSubstr;

struct Golden {
  const char* spec;
  int inputs;
  SynapseCounts counts;
  const char* digest;
};

// Made with ncps 1.0.1 and NumPy 2.4.6; tests/data/ncp/wirings.py prints them.
const Golden kGolden[] = {
    {"NCP(10,10,8,6,6,4,6)", 8, {112, 63, 48, 28}, "17b3fe3e24689926"},
    {"NCP(12,6,1,4,5,6,4)", 7, {71, 31, 30, 16}, "ee06ae9769e45405"},
    {"NCP(12,6,1,6,4,4,6)", 32, {58, 31, 192, 95}, "571db8d97c7a0f41"},
    {"NCP(8,4,2,1,1,1,1,seed=7)", 1, {15, 7, 8, 2}, "d37d2fcde90deb7c"},
    {"AutoNCP(8,1)", 2, {11, 8, 6, 1}, "53453c5c44e93905"},
    {"AutoNCP(16,4)", 8, {28, 17, 32, 18}, "55e54b0806d1d8f5"},
    {"AutoNCP(64,8,0.75,seed=3)", 20, {221, 115, 160, 77}, "1b91f963241638b6"},
    {"FullyConnected(8,4)", 8, {64, 50, 64, 45}, "84e01fcdcbb266be"},
    {"FullyConnected(32,self_connections=false)", 8, {992, 680, 256, 164}, "4e03662accdf59f2"},
    {"Random(16,sparsity=0.5,seed=1111)", 8, {128, 84, 64, 42}, "90c599d8ecc5878a"},
    {"Random(128,sparsity=0.5)", 90, {8192, 5408, 5760, 3818}, "de27d91ccda2231e"},
    {"NCP(10,1,8,10,1,11,1,4261455315)", 3, {19, 9, 30, 11}, "52fb0ef5e2883137"},
    {"NCP(8,17,3,3,3,17,16,3057118199)", 22, {90, 38, 66, 32}, "817bce962bed3b6d"},
    {"NCP(28,5,6,15,3,20,2,2339777577)", 40, {109, 47, 600, 293}, "9a854c034fb09004"},
    {"NCP(14,1,6,9,1,10,1,1397717727)", 14, {21, 10, 126, 68}, "5b62323875dd338f"},
    {"NCP(27,4,1,14,1,14,4,4148392935)", 35, {41, 21, 490, 230}, "a33fb4b602904d1f"},
    {"NCP(28,4,4,4,1,9,3,4277539)", 17, {47, 22, 72, 38}, "eebb993f22eb40ba"},
    {"NCP(5,10,5,2,10,20,3,1352336191)", 35, {85, 48, 70, 32}, "06d3e6cad2a12fca"},
    {"NCP(18,6,6,17,3,3,5,1972624070)", 39, {87, 39, 663, 320}, "0289a0daa9b4c19a"},
    {"NCP(28,10,9,19,2,18,7,2589721967)", 4, {136, 72, 76, 42}, "c4be888fa8892d66"},
    {"NCP(14,15,3,3,4,6,9,3371636277)", 27, {90, 46, 81, 44}, "c420bc3d4d63db05"},
    {"NCP(29,1,7,4,1,6,1,75849069)", 9, {37, 19, 43, 22}, "2ce2c74f361001b6"},
    {"NCP(14,15,6,7,15,3,3,2644310548)", 2, {235, 121, 19, 7}, "adc2ef71298899c2"},
    {"NCP(11,8,2,1,2,15,6,2776002199)", 35, {48, 24, 38, 14}, "9fa430887a1b6090"},
    {"NCP(21,20,6,16,1,19,8,1750366568)", 1, {99, 45, 21, 11}, "c8de52392feceb7f"},
    {"NCP(16,11,2,15,5,6,1,1017220778)", 18, {97, 49, 270, 121}, "09e140dc990ee20d"},
    {"NCP(22,3,5,12,2,5,1,1493774289)", 19, {54, 25, 228, 110}, "74bfdb06860aeec1"},
    {"NCP(3,16,4,2,2,17,15,2532661588)", 35, {94, 53, 70, 41}, "018e01bf94bafb75"},
    {"NCP(27,6,10,11,4,18,3,944142571)", 24, {155, 91, 264, 115}, "ff232e200d4da636"},
    {"NCP(27,15,5,10,2,1,4,2699860923)", 5, {79, 38, 51, 24}, "feebf741ac6bcb04"},
    {"NCP(15,11,2,13,9,9,4,2151414182)", 6, {157, 65, 78, 42}, "d01b38b3e6b1de90"},
    {"AutoNCP(57,47,0.411,1066386377)", 23, {109, 49, 69, 36}, "bbff72d5eb639768"},
    {"AutoNCP(11,4,0.896,872687351)", 29, {10, 7, 29, 13}, "35b18e7a7200fc17"},
    {"AutoNCP(65,36,0.192,2657066024)", 14, {447, 228, 196, 98}, "caf29569cc39e2a6"},
    {"AutoNCP(19,4,0.578,1661870606)", 10, {31, 16, 30, 16}, "2debbd32ea64f6fa"},
    {"AutoNCP(53,50,0.99,2114084523)", 36, {53, 24, 36, 17}, "d8979ac44ee7cbe0"},
    {"AutoNCP(94,42,0.194,3393125810)", 29, {1216, 621, 725, 354}, "b6a9e1fdc4d75d94"},
    {"AutoNCP(59,37,0.922,470887352)", 6, {57, 26, 14, 7}, "f9f390d02dfc9ddd"},
    {"AutoNCP(119,40,0.205,2142011501)", 24, {2160, 1075, 912, 462}, "3ac43748c2cd7f90"},
    {"AutoNCP(37,14,0.869,93061573)", 1, {35, 19, 14, 9}, "9addee1d6b0386b8"},
    {"AutoNCP(19,14,0.665,4252723819)", 24, {18, 7, 24, 15}, "65404e114b9b46da"},
    {"AutoNCP(72,45,0.235,2301431810)", 31, {448, 238, 403, 201}, "71a1a5b33bd191ac"},
    {"AutoNCP(99,87,0.327,2889807491)", 34, {193, 97, 170, 74}, "4eb8c04c115f7350"},
    {"Random(33,None,0.84,1074126596763)", 99, {174, 110, 523, 364}, "8f24be1f82674977"},
    {"Random(136,None,0.049,919805400153)", 21, {17590, 11676, 2716, 1844}, "0a9ac73326d936aa"},
    {"Random(29,None,0.405,246696792032)", 4, {500, 325, 69, 46}, "38b16e221ca6349a"},
    {"Random(79,None,0.184,605532723051)", 70, {5093, 3426, 4512, 3030}, "a51cf3b40878447d"},
    {"Random(116,None,0.596,810409273298)", 44, {5436, 3620, 2062, 1403}, "240df4e0d6e6ef34"},
    {"Random(109,None,0.854,897087859752)", 25, {1735, 1180, 398, 252}, "0700843453f86111"},
    {"Random(34,None,0.521,253472705948)", 79, {554, 383, 1287, 848}, "fe52cf5dc3338cb0"},
    {"Random(150,None,0.489,498645148765)", 86, {11498, 7706, 6592, 4374}, "e122114899f6517f"},
    {"FullyConnected(26,None,514218452832)", 19, {676, 453, 494, 326}, "14fd8a27516b729d"},
    {"FullyConnected(10,None,965954898929)", 5, {100, 70, 50, 31}, "bb2936c16d6951cf"},
    {"FullyConnected(7,None,643457319291)", 1, {49, 33, 7, 5}, "ff7398960d75aad2"},
    {"FullyConnected(36,None,168465917638)", 8, {1296, 893, 288, 183}, "1e0d32a9f90c0d04"},
};

std::vector<int> numbers(const SynapseCounts& c) {
  return {c.synapses, c.excitatory, c.sensory_synapses, c.sensory_excitatory};
}

std::string error_of(const char* spec, int inputs) {
  try {
    build_wiring(parse_wiring_spec(spec), inputs);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Wiring, MatricesAreThoseOfNcpsForTheSameSeed) {
  for (const Golden& golden : kGolden) {
    SCOPED_TRACE(golden.spec);
    const Wiring wiring = build_wiring(parse_wiring_spec(golden.spec), golden.inputs);
    EXPECT_EQ(numbers(count_synapses(wiring)), numbers(golden.counts));
    EXPECT_EQ(digest(wiring), golden.digest);
  }
}

TEST(Wiring, BuildingTwiceGivesTheSame) {
  for (const Golden& golden : kGolden) {
    const WiringSpec spec = parse_wiring_spec(golden.spec);
    EXPECT_EQ(build_wiring(spec, golden.inputs), build_wiring(spec, golden.inputs)) << golden.spec;
  }
}

TEST(Wiring, AnotherSeedOrNumberOfInputsGivesOtherMatrices) {
  const auto digest_of = [](const char* spec, int inputs) {
    return digest(build_wiring(parse_wiring_spec(spec), inputs));
  };
  EXPECT_NE(digest_of("AutoNCP(16,4)", 8), digest_of("AutoNCP(16,4,seed=22223)", 8));
  EXPECT_NE(digest_of("AutoNCP(16,4)", 8), digest_of("AutoNCP(16,4)", 9));
  EXPECT_NE(digest_of("Random(16)", 8), digest_of("Random(16,seed=1)", 8));
}

TEST(Wiring, NeuronsAreNumberedFromTheMotorSide) {
  const Wiring wiring = build_wiring(NcpSpec{12, 6, 1, 6, 4, 4, 6}, 32);
  ASSERT_EQ(wiring.layers.size(), 3u);
  EXPECT_EQ(wiring.units, 19);
  EXPECT_EQ(wiring.outputs, 1);
  EXPECT_EQ(wiring.layers[0].name, "inter");
  EXPECT_EQ(wiring.layers[0].neurons.front(), 7);
  EXPECT_EQ(wiring.layers[1].name, "command");
  EXPECT_EQ(wiring.layers[1].neurons.front(), 1);
  EXPECT_EQ(wiring.layers[2].neurons, std::vector<int>{0});
  EXPECT_EQ(neuron_type(wiring, 0), "motor");
  EXPECT_EQ(neuron_type(wiring, 6), "command");
  EXPECT_EQ(neuron_type(wiring, 7), "inter");
  EXPECT_THROW(neuron_type(wiring, 19), Error);
}

TEST(Wiring, SynapsesOfAnNcpGoFromLayerToLayerOnly) {
  const Wiring wiring = build_wiring(parse_wiring_spec("AutoNCP(64,8,0.75,seed=3)"), 20);
  for (int s = 0; s < wiring.units; ++s)
    for (int d = 0; d < wiring.units; ++d) {
      if (wiring.polarity(s, d) == 0) continue;
      const std::string way = std::string(neuron_type(wiring, s)) + "-" + std::string(neuron_type(wiring, d));
      EXPECT_TRUE(way == "inter-command" || way == "command-command" || way == "command-motor") << way;
    }
  for (int i = 0; i < wiring.inputs; ++i)
    for (int d = 0; d < wiring.units; ++d)
      EXPECT_TRUE(wiring.sensory_polarity(i, d) == 0 || neuron_type(wiring, d) == "inter");
}

TEST(Wiring, EveryNeuronOfAnNcpIsReached) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const Wiring wiring = build_wiring(NcpSpec{9, 5, 3, 1, 1, 0, 1, seed}, 2);
    for (int d = 0; d < wiring.units; ++d) {
      bool reached = false;
      for (int s = 0; s < wiring.units; ++s) reached = reached || wiring.polarity(s, d) != 0;
      for (int i = 0; i < wiring.inputs; ++i) reached = reached || wiring.sensory_polarity(i, d) != 0;
      EXPECT_TRUE(reached) << "neuron " << d << " with seed " << seed;
    }
  }
}

TEST(Wiring, TwoHiddenLayersAreAnNcp) {
  const Wiring ncp = build_wiring(NcpSpec{12, 6, 1, 6, 4, 4, 6, 9}, 32);
  const Wiring layered = build_wiring(parse_wiring_spec("Layered(inter:12x6,command:6x4+4,motor:1x6,seed=9)"), 32);
  EXPECT_EQ(layered.adjacency, ncp.adjacency);
  EXPECT_EQ(layered.sensory, ncp.sensory);
  EXPECT_EQ(layered.layers, ncp.layers);
}

TEST(Wiring, AnyNumberOfHiddenLayersCanBeStacked) {
  const Wiring wiring =
      build_wiring(parse_wiring_spec("Layered(first:10x3,second:7x2+5,third:5x2,command:4x2+3,motor:2x3)"), 6);
  ASSERT_EQ(wiring.layers.size(), 5u);
  EXPECT_EQ(wiring.units, 28);
  EXPECT_EQ(neuron_type(wiring, 27), "first");
  EXPECT_EQ(neuron_type(wiring, 2), "command");
  for (int s = 0; s < wiring.units; ++s)
    for (int d = 0; d < wiring.units; ++d)
      EXPECT_TRUE(wiring.polarity(s, d) == 0 || neuron_type(wiring, d) != "third" ||
                  neuron_type(wiring, s) == "second");
  const Wiring one = build_wiring(parse_wiring_spec("Layered(inter:4x2,motor:2x3)"), 3);
  EXPECT_EQ(one.layers.size(), 2u);
}

TEST(Wiring, ExplicitSynapsesAreTaken) {
  ExplicitSpec spec{.units = 3, .outputs = 1, .inputs = 2};
  spec.layers = {{"hidden", {1, 2}}, {"motor", {0}}};
  spec.synapses = {{1, 0, -1}, {2, 0, 1}, {1, 0, 1}};
  spec.sensory_synapses = {{0, 1, 1}, {1, 2, -1}};
  const Wiring wiring = build_wiring(spec, 2);
  EXPECT_EQ(wiring.polarity(1, 0), 1) << "a later synapse replaces an earlier one";
  EXPECT_EQ(wiring.polarity(2, 0), 1);
  EXPECT_EQ(wiring.sensory_polarity(1, 2), -1);
  EXPECT_EQ(count_synapses(wiring).synapses, 2);
  EXPECT_THROW(build_wiring(spec, 3), Error);
  spec.synapses.push_back({1, 3, 1});
  EXPECT_THROW(build_wiring(spec, 2), Error);
  spec.synapses.back() = {1, 2, 2};
  EXPECT_THROW(build_wiring(spec, 2), Error);
  spec.synapses.pop_back();
  spec.layers[0].neurons = {1};
  EXPECT_THROW(build_wiring(spec, 2), Error) << "neuron 2 is in no layer";
}

TEST(Wiring, ImpossibleOnesAreRefusedWithTheirNumbers) {
  EXPECT_THAT(error_of("NCP(8,4,2,9,1,1,1)", 3), HasSubstr("would reach 9 neurons of layer 'inter', which has 8"));
  EXPECT_THAT(error_of("NCP(8,4,2,1,5,1,1)", 3), HasSubstr("would reach 5 neurons of layer 'command', which has 4"));
  EXPECT_THAT(error_of("NCP(8,4,2,1,1,1,5)", 3), HasSubstr("5 sources among the 4 neurons of layer 'command'"));
  EXPECT_THAT(error_of("NCP(0,4,2,0,1,1,1)", 3), HasSubstr("layer 'inter' has 0 neurons"));
  EXPECT_THAT(error_of("NCP(8,4,0,1,1,1,1)", 3), HasSubstr("0 motor neurons"));
  EXPECT_THAT(error_of("NCP(8,4,1,1,1,-1,1)", 3), HasSubstr("-1 recurrent synapses"));
  EXPECT_THAT(error_of("AutoNCP(8,6)", 3), HasSubstr("6 outputs of 8 units"));
  EXPECT_THAT(error_of("AutoNCP(8,2,0.05)", 3), HasSubstr("a sparsity of 0.05"));
  EXPECT_THAT(error_of("AutoNCP(8,2,nan)", 3), HasSubstr("a sparsity of nan"));
  EXPECT_THAT(error_of("Random(8,sparsity=1)", 3), HasSubstr("a sparsity of 1"));
  EXPECT_THAT(error_of("FullyConnected(8,9)", 3), HasSubstr("9 outputs of 8 units"));
  EXPECT_THAT(error_of("FullyConnected(8)", 0), HasSubstr("a wiring of 0 inputs"));
  EXPECT_THAT(error_of("FullyConnected(40000)", 1), HasSubstr("40000 units"));
  EXPECT_THAT(error_of("AutoNCP(8,6)", 3), HasSubstr("while building AutoNCP(8,6)"));
  EXPECT_THAT(error_of("Layered(a\"b:12x2,motor:1x2)", 3), HasSubstr("no name for a layer"));
}

}  // namespace TSR_FILE
}  // namespace tessera::ncp
