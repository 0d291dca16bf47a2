// Recipes of wirings as people write them, and wirings, layers and settings of training as JSON.

#include "fuzz.h"
#include "text.h"

#include "tessera/ncp/layer.h"
#include "tessera/ncp/trainer.h"
#include "tessera/ncp/wiring.h"

#include <string>

namespace {

using namespace tessera;

// What was read is written, and read again as the same.
template <class Read, class Write>
int round_trip(std::string_view text, Read read, Write write) {
  std::string written;
  try {
    written = write(read(text));
  } catch (const Error& error) {
    return fuzz::refused(error);
  }
  fuzz::require(write(read(written)) == written, "what was written is read as the same");
  return 0;
}

}  // namespace

int fuzz_one(std::span<const std::uint8_t> input) {
  if (input.empty()) return 0;
  const std::string_view text = fuzz::text_of(input.subspan(1));
  switch (input[0] % 5) {
    case 0:  // the form that people write is not written
      try {
        return round_trip(ncp::wiring_spec_to_json(ncp::parse_wiring_spec(text)), ncp::wiring_spec_from_json,
                          ncp::wiring_spec_to_json);
      } catch (const Error& error) {
        return fuzz::refused(error);
      }
    case 1: return round_trip(text, ncp::wiring_spec_from_json, ncp::wiring_spec_to_json);
    case 2: return round_trip(text, ncp::wiring_from_json, ncp::wiring_to_json);
    case 3: return round_trip(text, ncp::layer_from_json, ncp::layer_to_json);
    default: return round_trip(text, ncp::training_options_from_json, ncp::training_options_to_json);
  }
}
