#include "tessera/io/samples.h"

#include "tessera/graph/graph.h"
#include "tessera/io/npy.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace tessera {
namespace {

using for_tests::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

Graph graph_of_pairs() {
  Graph graph;
  const ValueId x = graph.add_input("x", TensorType(ElementType::float32, Shape{1, 2}));
  graph.outputs = {graph.add("y", Unary{Unary::Kind::relu}, {x})};
  return graph;
}

TEST(Samples, AFolderIsReadInTheOrderOfItsNames) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "samples";
  std::filesystem::create_directories(folder);
  const std::vector<float> one{5, 6}, two{1, 2, 3, 4};
  const std::vector<std::int64_t> alone{2}, pair{2, 2};  // one sample, and two in a file
  save_npy(folder / "b.npy", NpyView(ElementType::float32, alone, std::as_bytes(std::span(one))));
  save_npy(folder / "a.npy", NpyView(ElementType::float32, pair, std::as_bytes(std::span(two))));
  const std::vector<std::string> words{"x=" + folder.string()};
  const std::vector<Array> samples = read_samples(graph_of_pairs(), words);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].shape(), Shape({3, 2}));
  EXPECT_THAT(samples[0].to_double(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Samples, InputsWithoutFilesAreRandomWhereAskedFor) {
  const Graph graph = graph_of_pairs();
  const std::vector<Array> samples = read_samples(graph, {}, {.count = 4, .seed = 7});
  EXPECT_EQ(samples[0].shape(), Shape({4, 2}));
  EXPECT_EQ(samples[0], random_array(TensorType(ElementType::float32, Shape{4, 2}), 7));
  EXPECT_THAT(error_of([&] { read_samples(graph, {}); }), HasSubstr("there are no samples of input 'x'"));
}

}  // namespace
}  // namespace tessera
