#include "tessera/core/element_type.h"

#include <gtest/gtest.h>

#include <set>

namespace tessera {
namespace {

TEST(ElementType, NamesAreUniqueAndReadBack) {
  std::set<std::string_view> names, descrs, stored;
  for (ElementType type : all_element_types()) {
    EXPECT_TRUE(names.insert(name(type)).second) << name(type);
    EXPECT_EQ(element_bits(type) == 8 * element_bytes(type) || is_narrow(type), true) << name(type);
    if (!safetensors_name(type).empty()) {
      EXPECT_TRUE(stored.insert(safetensors_name(type)).second) << name(type);
      EXPECT_EQ(parse_safetensors_name(safetensors_name(type)), type);
    }
    if (numpy_descr(type).empty()) continue;
    EXPECT_TRUE(descrs.insert(numpy_descr(type)).second) << name(type);
    EXPECT_EQ(numpy_descr(type)[2] - '0', element_bytes(type)) << name(type);
  }
  EXPECT_EQ(names.size(), 23u);
  EXPECT_EQ(stored.size(), 15u);
  EXPECT_EQ(descrs.size(), 13u);
  EXPECT_EQ(parse_safetensors_name("f32"), std::nullopt);
  EXPECT_EQ(parse_safetensors_name(""), std::nullopt);
}

TEST(ElementType, MapsToTheTypesOfTheMachinesAndBack) {
  for (DType dtype : all_dtypes()) {
    const std::optional<ElementType> type = to_element_type(dtype);
    EXPECT_EQ(type.has_value(), !is_block_float(dtype)) << name(dtype);
    if (!type) continue;
    EXPECT_EQ(to_dtype(*type), dtype);
    EXPECT_EQ(element_bytes(*type), element_bytes(dtype));
    EXPECT_EQ(name(*type), name(dtype));
  }
  EXPECT_EQ(to_dtype(ElementType::float64), std::nullopt);
  EXPECT_EQ(to_dtype(ElementType::boolean), std::nullopt);
}

}  // namespace
}  // namespace tessera
