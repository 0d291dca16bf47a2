#include "fuzz.h"

#include "tessera/core/error.h"
#include "tessera/vision/preprocessing.h"

#include <optional>
#include <string>
#include <vector>

int fuzz_one(std::span<const std::uint8_t> input) {
  const std::string text(input.begin(), input.end());
  std::optional<tessera::Preprocessing> read;
  try {
    read = tessera::parse_preprocessing(text);
    tessera::Preprocessing again = tessera::parse_preprocessing(tessera::to_toml(*read));
    // What does not count under this fit is not written.
    again.crop = read->crop;
    again.resize = read->resize;
    again.fill = read->fill;
    tessera::fuzz::require(again == *read, "written and read again is equal");
    // What a small picture becomes of it.
    const tessera::TensorType type(tessera::ElementType::float32, std::vector<std::int64_t>{1, 3, 16, 16});
    tessera::prepare_picture(tessera::Image(9, 5, 100), tessera::picture_input(type, *read), *read);
  } catch (const tessera::Error& error) {
    return tessera::fuzz::refused(error);
  }
  return 0;
}
