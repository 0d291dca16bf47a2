#include "tessera/targets/tensix/ops/roll/roll.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/card_op.h"
#include "tessera/targets/tensix/ops/shape_ops/shape_ops.h"
#include "tessera/targets/tensix/ops/tensor_work.h"
#include "tessera/targets/tensix/ops/whole_program.h"

#include <vector>

namespace tessera::tensix {
namespace {

std::vector<double> rolled(const std::vector<double>& x, const AlongDim& along, std::int64_t shift) {
  std::vector<double> y(x.size());
  const std::int64_t by = (shift % along.length + along.length) % along.length;
  for (std::int64_t line = 0; line < along.lines(); ++line)
    for (std::int64_t i = 0; i < along.length; ++i) y[along.at(line, (i + by) % along.length)] = x[along.at(line, i)];
  return y;
}

}  // namespace

DeviceTensor roll(const DeviceTensor& x, std::span<const std::int64_t> shifts, std::span<const int> dims,
                  const std::optional<MemoryConfig>& config) {
  x.check_allocated();
  const Shape& shape = x.spec().logical_shape();
  const bool flat = dims.empty();
  check(shifts.size() == (flat ? 1 : dims.size()), Code::invalid_argument,
        "roll: there are {} shifts and {} dimensions; each dimension needs one", shifts.size(), dims.size());
  std::vector<int> checked;
  for (const int d : dims) checked.push_back(checked_dim("roll", d, shape.rank()));
  const TensorSpec result = x.spec().with_memory_config(place_of_result(config, x, shape));
  return whole_program(ProgramKind::roll, "roll", {&x}, result, [&] {
    std::vector<double> y = numbers_of(x);
    if (y.empty()) return y;
    if (flat) return rolled(y, AlongDim(Shape{shape.volume()}, 0), shifts[0]);
    for (std::size_t i = 0; i < checked.size(); ++i) y = rolled(y, AlongDim(shape, checked[i]), shifts[i]);
    return y;
  });
}

const CardOp card_op_roll = {.kind = ProgramKind::roll, .count = count_rearranged, .role = CallRole::converts};

}  // namespace tessera::tensix
