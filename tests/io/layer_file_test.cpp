#include "tessera/io/layer_file.h"

#include "io_test.h"

#include "tessera/graph/evaluate.h"

#include <gmock/gmock.h>

#include <filesystem>

namespace tessera {
namespace {

using io_test::expect_refusal;

void expect_line_refusal(std::string_view text, const std::string& line) {
  expect_refusal(Code::parse, text, [&] { parse_layers(line); });
}

TEST(LayerFile, ReadsEveryWordOfALine) {
  const auto layers = parse_layers("a:b n2 h9 w8 ic6 oc4 k3x2 s2 p1 g2 bias relu pool2 x5\n");
  ASSERT_EQ(layers.size(), 1u);
  ConvBlock want;
  want.name = "a:b";
  want.n = 2, want.h = 9, want.w = 8, want.ic = 6, want.oc = 4, want.kh = 3, want.kw = 2;
  want.stride = 2, want.pad = 1, want.groups = 2, want.times = 5, want.pool = 2;
  want.bias = want.relu = true;
  EXPECT_EQ(layers[0], want);
}

TEST(LayerFile, LeavesOutWhatIsUsualAndTakesWordsInAnyOrder) {
  const auto layers =
      parse_layers("\n# a remark\n  square k3 oc2 ic1 w5 h4 # another\r\n\t\nlong h4 w5 ic1 oc2 k3x3\n");
  ASSERT_EQ(layers.size(), 2u);
  ConvBlock again = layers[1];
  again.name = "square";
  EXPECT_EQ(layers[0], again);
  EXPECT_EQ(layers[0].n, 1);
  EXPECT_EQ(layers[0].stride, 1);
  EXPECT_EQ(layers[0].pad, 0);
  EXPECT_EQ(layers[0].groups, 1);
  EXPECT_EQ(layers[0].times, 1);
  EXPECT_EQ(layers[0].pool, 1);
  EXPECT_FALSE(layers[0].bias || layers[0].relu);
}

TEST(LayerFile, SaysWhichLineIsWrong) {
  expect_line_refusal("in line 3", "# first\nok h4 w4 ic1 oc1 k3\nbad h4 w4 ic1 oc1 k3 stride2\n");
}

TEST(LayerFile, RefusesWordsThatItDoesNotKnow) {
  expect_line_refusal("unknown word 'biass'; did you mean 'bias'?", "l h4 w4 ic1 oc1 k3 biass");
  expect_line_refusal("unknown word 'poll2'; did you mean 'pool'?", "l h4 w4 ic1 oc1 k3 poll2");
  expect_line_refusal("unknown word 'kx3'; did you mean 'k'?", "l h4 w4 ic1 oc1 kx3");
  expect_line_refusal("unknown word 'd2'", "l h4 w4 ic1 oc1 k3 d2");
  expect_line_refusal("unknown word '3'", "l h4 w4 ic1 oc1 k3 3");
  expect_line_refusal("unknown word 'N1'", "l h4 w4 ic1 oc1 k3 N1");
}

TEST(LayerFile, RefusesNumbersThatAreNone) {
  for (const char* word : {"n0", "n-1", "n", "n1x", "n1.5", "n99999999999999999999", "n1048577"})
    expect_line_refusal("takes a whole number from 1 to 1048576", std::string("l h4 w4 ic1 oc1 k3 ") + word);
  for (const char* word : {"k", "k3x", "k3x3x3", "k0", "k3*3", "k3x-3"})
    expect_line_refusal("takes a whole number", std::string("l h4 w4 ic1 oc1 ") + word);
  expect_line_refusal("'p-1' takes a whole number from 0", "l h4 w4 ic1 oc1 k3 p-1");
}

TEST(LayerFile, RefusesWhatIsSaidTwiceOrNotAtAll) {
  expect_line_refusal("'h5' says again", "l h4 h5 w4 ic1 oc1 k3");
  expect_line_refusal("'relu' says again", "l h4 w4 ic1 oc1 k3 relu relu");
  expect_line_refusal("'oc' is missing", "l h4 w4 ic1 k3");
  expect_line_refusal("'h' is missing", "l");
  expect_line_refusal("there is a layer 'l' already", "l h4 w4 ic1 oc1 k3\nl h5 w5 ic1 oc1 k3");
  expect_line_refusal("there is no layer", "# nothing\n\n");
  expect_line_refusal("there is no layer", "");
}

TEST(LayerFile, RefusesLayersThatCannotBe) {
  expect_line_refusal("do not divide into 2 groups", "l h4 w4 ic3 oc4 k3 g2");
  expect_line_refusal("do not divide into 2 groups", "l h4 w4 ic4 oc3 k3 g2");
  expect_line_refusal("a kernel of 5x5 does not fit", "l h2 w9 ic1 oc1 k5 p1");
  expect_line_refusal("a kernel of 1x9 does not fit", "l h2 w6 ic1 oc1 k1x9 p1");
  expect_line_refusal("a pool of 3x3 does not fit into the result of 2x4", "l h4 w6 ic1 oc1 k3 pool3");
  expect_line_refusal("elements", "l n1048576 h1048576 w1048576 ic1048576 oc1 k1");
}

TEST(LayerFile, MakesANetworkThatComputesTheLayer) {
  const ConvBlock layer = parse_layers("l n2 h7 w6 ic4 oc6 k3x2 s1 p1 g2 bias relu pool2")[0];
  const Graph graph = make_layer(layer);
  ASSERT_EQ(graph.inputs.size(), 1u);
  EXPECT_EQ(graph.value(graph.inputs[0]).type.shape(), (Shape{2, 4, 7, 6}));
  Array x(ElementType::float32, Shape{2, 4, 7, 6});
  float next = -1;
  for (float& v : x.as<float>()) v = next = next > 0.9f ? -1 : next + 0.037f;
  const std::vector<Array> y = evaluate(graph, {x});
  ASSERT_EQ(y.size(), 1u);
  EXPECT_EQ(y[0].shape(), (Shape{2, 6, 3, 3}));  // 7x7 before the pool
  EXPECT_EQ(layer.oh(), 7);
  EXPECT_EQ(layer.ow(), 7);
  EXPECT_EQ(layer.flops(), 2.0 * 2 * 7 * 7 * 6 * 2 * 3 * 2);
  for (const float v : y[0].as<float>()) EXPECT_GE(v, 0);
  // Seeded by the name: the same weights again, others under another name.
  EXPECT_EQ(evaluate(make_layer(layer), {x})[0], y[0]);
  ConvBlock renamed = layer;
  renamed.name = "m";
  EXPECT_NE(evaluate(make_layer(renamed), {x})[0], y[0]);
}

TEST(LayerFile, ReadsTheFilesOfTheProject) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(TESSERA_SHAPES_DIR)) {
    EXPECT_FALSE(load_layers(entry.path()).empty()) << entry.path();
    ++files;
  }
  EXPECT_GE(files, 5u);
  expect_refusal(Code::not_found, "no_such.txt", [] { load_layers("no_such.txt"); });
}

}  // namespace
}  // namespace tessera
