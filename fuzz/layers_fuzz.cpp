// Files of layers.

#include "fuzz.h"
#include "text.h"

#include "tessera/io/layer_file.h"

int fuzz_one(std::span<const std::uint8_t> input) {
  using namespace tessera;
  try {
    for (const ConvBlock& layer : parse_layers(fuzz::text_of(input))) {
      fuzz::require(layer.oh() > 0 && layer.ow() > 0 && layer.ic % layer.groups == 0,
                    "a layer that was read can be run");
      if (layer.ic * layer.oc * layer.kh * layer.kw < 1 << 16) verify(make_layer(layer));
    }
  } catch (const Error& error) {
    return fuzz::refused(error);
  }
  return 0;
}
