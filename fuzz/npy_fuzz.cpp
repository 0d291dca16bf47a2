#include "fuzz.h"

#include "tessera/core/error.h"
#include "tessera/io/npy.h"

#include <optional>

int fuzz_one(std::span<const std::uint8_t> input) {
  std::optional<tessera::NpyArray> array;
  try {
    array = tessera::parse_npy(std::as_bytes(input));
  } catch (const tessera::Error& error) {
    return tessera::fuzz::refused(error);
  }
  tessera::fuzz::require(array->data.size() <= input.size(), "no more data than the file has");
  tessera::fuzz::require(tessera::parse_npy(tessera::encode_npy(*array)) == *array, "written and read again is equal");
  return 0;
}
