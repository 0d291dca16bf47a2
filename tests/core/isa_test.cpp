#include "tessera/core/isa.h"

#include "tessera/core/error.h"
#include "tessera/core/tile_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace tessera {
namespace {

using ::testing::HasSubstr;

class IsaEnvironment : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* text = std::getenv("TESSERA_ISA")) before_ = text;
  }
  void TearDown() override {
    before_.empty() ? unsetenv("TESSERA_ISA") : setenv("TESSERA_ISA", before_.c_str(), 1);
    set_active_isa(std::nullopt);
  }
  std::string message_with(const char* value) {
    setenv("TESSERA_ISA", value, 1);
    try {
      set_active_isa(std::nullopt);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }
  std::string before_;
};

TEST(Isa, NamesReadBackAsThemselves) {
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx})
    EXPECT_EQ(parse_isa(name(isa)), isa);
  EXPECT_FALSE(parse_isa("AVX2"));
  EXPECT_FALSE(parse_isa(""));
}

TEST(Isa, UsableOnesGoFromPortableToTheHost) {
  EXPECT_EQ(usable_isas().front(), Isa::portable);
  EXPECT_EQ(usable_isas().back(), host_isa());
}

#if defined(__x86_64__)
TEST(Isa, HostAgreesWithTheCompilersOwnDetection) {
  EXPECT_EQ(host_isa() >= Isa::avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(host_isa() >= Isa::avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                                           __builtin_cpu_supports("avx512cd"));
  EXPECT_EQ(host_isa() >= Isa::avx512_vnni, host_isa() >= Isa::avx512 && __builtin_cpu_supports("avx512vnni"));
  EXPECT_EQ(host_isa() >= Isa::avx512_bf16, host_isa() >= Isa::avx512_vnni && __builtin_cpu_supports("avx512bf16"));
}
#endif

TEST_F(IsaEnvironment, ForcesTheKernelOfALowerInstructionSet) {
  for (Isa isa : usable_isas()) {
    setenv("TESSERA_ISA", std::string(name(isa)).c_str(), 1);
    set_active_isa(std::nullopt);
    EXPECT_EQ(active_isa(), isa);
    const std::string expected = "pack_bfp8_host_" + std::string(name(std::min(isa, Isa::avx512)));
    EXPECT_EQ(chosen_tile_kernel("pack_bfp8_host").name, expected);
  }
  unsetenv("TESSERA_ISA");
  set_active_isa(std::nullopt);
  EXPECT_EQ(active_isa(), host_isa());
}

TEST_F(IsaEnvironment, RefusesANameThatDoesNotExistAndChangesNothing) {
  set_active_isa(Isa::portable);
  const std::string message = message_with("sse9");
  EXPECT_THAT(message, HasSubstr("TESSERA_ISA='sse9'"));
  EXPECT_THAT(message, HasSubstr(std::string(name(host_isa()))));
  EXPECT_EQ(active_isa(), Isa::portable);
}

TEST_F(IsaEnvironment, RefusesMoreThanTheHostHas) {
  if (host_isa() == Isa::amx) GTEST_SKIP() << "this CPU has everything there is";
  const Isa more = static_cast<Isa>(static_cast<int>(host_isa()) + 1);
  const std::string message = message_with(std::string(name(more)).c_str());
  EXPECT_THAT(message, HasSubstr("'" + std::string(name(more)) + "'"));
  EXPECT_THAT(message, HasSubstr("'" + std::string(name(host_isa())) + "'"));
  EXPECT_THROW(set_active_isa(more), Error);
}

}  // namespace
}  // namespace tessera
