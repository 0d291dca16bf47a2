#include "tessera/ncp/wiring.h"
#include "tessera/core/error.h"
#include "tests/text_cases.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::ncp {
namespace {

using testing::HasSubstr;

struct Golden {
  std::string place, spec;
  int inputs = 0;
  std::string counts, digest;
};

std::vector<Golden> golden_wirings() {
  std::vector<Golden> out;
  for (const for_tests::TextCase& c : for_tests::text_cases("ncp/wirings.txt", 4))
    out.push_back({c.place, c[0], std::stoi(c[1]), c[2], c[3]});
  return out;
}

std::string text_of(const SynapseCounts& c) {
  return fmt::format("{}, {}, {}, {}", c.synapses, c.excitatory, c.sensory_synapses, c.sensory_excitatory);
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
  for (const Golden& golden : golden_wirings()) {
    SCOPED_TRACE(golden.place);
    const Wiring wiring = build_wiring(parse_wiring_spec(golden.spec), golden.inputs);
    EXPECT_EQ(text_of(count_synapses(wiring)), golden.counts);
    EXPECT_EQ(digest(wiring), golden.digest);
  }
}

TEST(Wiring, BuildingTwiceGivesTheSame) {
  for (const Golden& golden : golden_wirings()) {
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
  EXPECT_THAT(error_of("Random(32768)", 3), HasSubstr("draws 1073741824 times, 67108864 times at most"));
  EXPECT_THAT(error_of("FullyConnected(8,9)", 3), HasSubstr("9 outputs of 8 units"));
  EXPECT_THAT(error_of("FullyConnected(8)", 0), HasSubstr("a wiring of 0 inputs"));
  EXPECT_THAT(error_of("FullyConnected(40000)", 1), HasSubstr("40000 units"));
  EXPECT_THAT(error_of("AutoNCP(8,6)", 3), HasSubstr("while building AutoNCP(8,6)"));
  EXPECT_THAT(error_of("Layered(a\"b:12x2,motor:1x2)", 3), HasSubstr("no name for a layer"));
}

}  // namespace
}  // namespace tessera::ncp
