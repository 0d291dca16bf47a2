#pragma once

#include "tessera/core/isa.h"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

namespace tessera {
inline void PrintTo(Isa isa, std::ostream* out) { *out << name(isa); }
}  // namespace tessera

namespace tessera::for_tests {

// A test that runs once for every instruction set that this CPU has.
class WithIsa : public ::testing::TestWithParam<Isa> {
 protected:
  void SetUp() override { set_active_isa(GetParam()); }
  void TearDown() override { set_active_isa(std::nullopt); }
};

inline std::string isa_name(const ::testing::TestParamInfo<Isa>& info) { return std::string(name(info.param)); }

}  // namespace tessera::for_tests

#define TESSERA_FOR_EACH_ISA(Suite)                                                                     \
  INSTANTIATE_TEST_SUITE_P(Isa, Suite, ::testing::ValuesIn(usable_isas().begin(), usable_isas().end()), \
                           ::tessera::for_tests::isa_name)
