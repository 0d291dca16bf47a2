#include "tessera/targets/neuron/kernels/vector_add.h"

#include "tessera/core/error.h"

#include <array>

namespace tessera::neuron {
namespace {

constexpr std::array kCases = {
    VectorAddCase{25600, 1, 1, 37318},  VectorAddCase{25600, 128, 1, 378},    VectorAddCase{25600, 128, 2, 186},
    VectorAddCase{25600, 128, 200, 15}, VectorAddCase{256000, 128, 2000, 28}, VectorAddCase{256000, 128, 1000, 26},
};

}  // namespace

void vector_add(Kernel& k, const View& a, const View& b, const View& c, std::int64_t rows, std::int64_t columns) {
  const std::int64_t each = rows * columns;
  check(a.rank() == 1 && each >= 1 && a.count() % each == 0, Code::invalid_argument,
        "vector_add: {} is not made of blocks of {}x{}", a.text(), rows, columns);
  const auto part = [&](const View& v, std::int64_t i) { return v.slice(0, i * each, each).split(0, columns); };
  for (std::int64_t i = 0; i < a.count() / each; ++i) {
    const View x = k.sbuf("a", a.type(), {rows, columns}), y = k.sbuf("b", b.type(), {rows, columns});
    k.dma_copy(x, part(a, i));
    k.dma_copy(y, part(b, i));
    const View sum = k.sbuf("c", c.type(), {rows, columns});
    k.tensor_tensor(sum, x, y, MathOp::add);
    k.dma_copy(part(c, i), sum);
  }
}

std::span<const VectorAddCase> vector_add_cases() { return kCases; }

Profile run_vector_add(const NeuronSpec& spec, const VectorAddCase& each) {
  Kernel k(spec, {.values = false});
  const View a = k.input("a", ElementType::float32, {each.n}), b = k.input("b", ElementType::float32, {each.n});
  vector_add(k, a, b, k.output("c", ElementType::float32, {each.n}), each.rows, each.columns);
  return k.profile();
}

}  // namespace tessera::neuron
