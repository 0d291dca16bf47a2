#include "tessera/ncp/internal/batch_chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tessera::ncp {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> rows_of(std::int64_t batch, std::int64_t rows) {
  std::vector<BatchChunk> chunks(9);  // of a larger batch before
  cut_batch(batch, 3, {}, rows, chunks);
  std::vector<std::int64_t> out;
  for (const BatchChunk& chunk : chunks) out.push_back(chunk.rows());
  return out;
}

TEST(BatchChunks, AreFullButForTheLast) {
  EXPECT_THAT(rows_of(8, 4), ElementsAre(4, 4));
  EXPECT_THAT(rows_of(9, 4), ElementsAre(4, 4, 1));
  EXPECT_THAT(rows_of(11, 4), ElementsAre(4, 4, 3));
  EXPECT_THAT(rows_of(3, 4), ElementsAre(3));
  EXPECT_THAT(rows_of(1, 1), ElementsAre(1));
}

TEST(BatchChunks, HoldTheLongestFirstWithoutHoles) {
  const std::vector<std::int32_t> lengths{1, 3, 2};
  std::vector<BatchChunk> chunks;
  cut_batch(3, 3, lengths, 2, chunks);
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_THAT(chunks[0].samples, ElementsAre(1, 2));
  EXPECT_THAT(chunks[0].lengths, ElementsAre(3, 2));
  EXPECT_THAT(chunks[0].offset, ElementsAre(0, 2, 4, 5));
  EXPECT_THAT(chunks[1].samples, ElementsAre(0));
  EXPECT_THAT(chunks[1].offset, ElementsAre(0, 1));
}

}  // namespace
}  // namespace tessera::ncp
