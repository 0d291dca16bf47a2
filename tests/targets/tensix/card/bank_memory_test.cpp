#include "tessera/targets/tensix/card/bank_memory.h"

#include "tessera/core/error.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tessera::tensix {
namespace {

using for_tests::error_of;
using testing::HasSubstr;

constexpr std::int64_t kBankBytes = std::int64_t{1} << 30;

// Pages of address space that this process has.
std::int64_t reserved_pages() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

TEST(BankMemory, BanksAreApartAndReadAsZeroUntilTheyAreWritten) {
  BankMemory memory(3, kBankBytes);
  *memory.at(1, kBankBytes - 1, 1) = std::byte{7};
  *memory.at(2, 0, 1) = std::byte{8};
  EXPECT_EQ(*memory.at(1, kBankBytes - 1, 1), std::byte{7});
  EXPECT_EQ(*memory.at(0, kBankBytes - 1, 1), std::byte{0});
  EXPECT_EQ(memory.at(2, 0, 0) - memory.at(1, 0, 0), kBankBytes);
  EXPECT_THAT(error_of([&] { memory.at(3, 0, 1); }), HasSubstr("bytes 0 to 1 of bank 3 are outside"));
  EXPECT_THAT(error_of([&] { memory.at(0, kBankBytes, 1); }), HasSubstr("of 3 banks of 1073741824 B"));
}

#if defined(__linux__)
TEST(BankMemory, GivesAllOfItsAddressSpaceBack) {
  const std::int64_t before = reserved_pages();
  {
    const BankMemory memory(8, kBankBytes);
    EXPECT_GT(reserved_pages(), before);
  }
  EXPECT_LE(reserved_pages(), before);  // less where the C library has given pages of its own back meanwhile
}
#endif

}  // namespace
}  // namespace tessera::tensix
