#include "tessera/kernel_plan/order.h"

namespace tessera {

std::string_view name(Order order) { return order == Order::row_major ? "row_major" : "channels_last"; }

Shape stored_shape(const Shape& shape, Order order) {
  if (order == Order::row_major || shape.rank() < 3) return shape;
  std::vector<std::int64_t> dims{shape[0]};
  dims.insert(dims.end(), shape.begin() + 2, shape.end());
  dims.push_back(shape[1]);
  return Shape(std::move(dims));
}

int stored_axis(int axis, int rank, Order order) {
  if (order == Order::row_major || rank < 3 || axis == 0) return axis;
  return axis == 1 ? rank - 1 : axis - 1;
}

}  // namespace tessera
