#include "tests/targets/cpu/quantize_case.h"

#include <gtest/gtest.h>

namespace tessera::cpu {
namespace {

Shape image(Fuzz& fuzz) {
  const std::int64_t channels = fuzz.one_of<std::int64_t>({1, 3, 16, 17, 63, 64, 70, 200});
  return fuzz.pick(0, 3) == 0 ? Shape{fuzz.pick(1, 2), channels, fuzz.pick(1, 9)}
                              : Shape{fuzz.pick(1, 2), channels, fuzz.pick(1, 9), fuzz.pick(1, 9)};
}

TEST(ByteKernels, SumsAreExact) {
  for (Fuzz fuzz; fuzz.next();) {
    const Shape shape = image(fuzz);
    const ElementType at = byte_type(fuzz), bt = byte_type(fuzz), yt = byte_type(fuzz);
    const Order order = fuzz.one_of({Order::row_major, Order::channels_last});
    const bool extreme = fuzz.pick(0, 3) == 0;
    const auto scale = [&] { return constant(scale_of(Shape{}, fuzz, extreme)); };
    const auto zero = [&](ElementType type) { return constant(bytes_of(type, Shape{}, fuzz)); };
    KernelCase node = one_node(QLinearAdd{}, {input(bytes_of(at, shape, fuzz), order), scale(), zero(at),
                                              input(bytes_of(bt, shape, fuzz)), scale(), zero(bt), scale(), zero(yt)});
    if (fuzz.pick(0, 1) == 0) fuse_bounds(node, fuzz);
    SCOPED_TRACE(shape.to_string());
    expect_exact(std::move(node));
  }
}

TEST(ByteKernels, AveragesOverImagesAreExact) {
  for (Fuzz fuzz; fuzz.next();) {
    const Shape shape = image(fuzz);
    const ElementType xt = byte_type(fuzz), yt = byte_type(fuzz);
    const auto scale = [&] { return constant(scale_of(Shape{}, fuzz)); };
    KernelCase node = one_node(QLinearGlobalAveragePool{},
                               {input(bytes_of(xt, shape, fuzz)), scale(), constant(bytes_of(xt, Shape{}, fuzz)),
                                scale(), constant(bytes_of(yt, Shape{}, fuzz))});
    if (fuzz.pick(0, 1) == 0) fuse_bounds(node, fuzz);
    SCOPED_TRACE(shape.to_string());
    expect_exact(std::move(node));
  }
}

TEST(ByteKernels, MaximaAreExact) {
  for (Fuzz fuzz; fuzz.next();) {
    Shape shape = image(fuzz);
    MaxPool pool;
    for (int d = 2; d < shape.rank(); ++d) {
      pool.window.kernel.push_back(fuzz.pick(1, 3));
      pool.window.strides.push_back(fuzz.pick(1, 3));
    }
    for (int d = 0; d < 2 * (shape.rank() - 2); ++d) pool.window.pads.push_back(fuzz.pick(2, 3));
    pool.ceil_mode = fuzz.pick(0, 1) == 0;
    KernelCase node = one_node(pool, {input(bytes_of(byte_type(fuzz), shape, fuzz))});
    node.ulps = 0;
    SCOPED_TRACE(shape.to_string());
    EXPECT_EQ(expect_kernels_agree(node).size(), std::min<std::size_t>(usable_isas().size(), 3));
  }
}

TEST(ByteKernels, TablesAreExact) {
  for (Fuzz fuzz; fuzz.next();) {
    KernelCase node = one_node(ByteLookup{}, {input(bytes_of(byte_type(fuzz), image(fuzz), fuzz)),
                                              constant(bytes_of(byte_type(fuzz), Shape{256}, fuzz))});
    node.ulps = 0;
    EXPECT_EQ(expect_kernels_agree(node).size(), 1u);
  }
}

}  // namespace
}  // namespace tessera::cpu
