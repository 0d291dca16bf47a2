// What --config takes: settings of one operator of a card, or of several by name.

#include "fuzz.h"
#include "text.h"

#include "tessera/targets/tensix/ops/layer_config.h"

int fuzz_one(std::span<const std::uint8_t> input) {
  using namespace tessera;
  if (input.empty()) return 0;
  const std::string_view text = fuzz::text_of(input.subspan(1));
  try {
    if (input[0] % 2 == 0)
      tensix::parse_layer_config(text);
    else
      tensix::parse_layer_configs(text);
  } catch (const Error& error) {
    return fuzz::refused(error);
  }
  return 0;
}
