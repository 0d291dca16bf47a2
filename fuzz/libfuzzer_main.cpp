// The entry that clang's libFuzzer calls.

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_one({data, size});  // has coverage of its own
  return 0;
}
