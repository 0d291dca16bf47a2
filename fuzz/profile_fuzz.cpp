// Device profiles.

#include "fuzz.h"
#include "text.h"

#include "tessera/targets/apple/verdicts/device_profile.h"

#include <string>

int fuzz_one(std::span<const std::uint8_t> input) {
  using namespace tessera;
  std::string written;
  try {
    written = apple::device_profile_to_json(apple::device_profile_from_json(fuzz::text_of(input)));
  } catch (const Error& error) {
    return fuzz::refused(error);
  }
  fuzz::require(apple::device_profile_to_json(apple::device_profile_from_json(written)) == written,
                "a profile that was written is read as the same");
  return 0;
}
