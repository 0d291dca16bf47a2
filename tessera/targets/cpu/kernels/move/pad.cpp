// Pad in any order: row by row with a constant around, or by tables of where each position comes from.

#include "tessera/core/parallel_for.h"
#include "tessera/targets/cpu/kernels/families.h"
#include "tessera/targets/cpu/kernels/move/moving.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace tessera::cpu {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::int64_t kGrainBytes = 1 << 16;

Answer consider(const KernelInfo&, const Problem& problem) {
  if (!problem.node.fused.empty()) return Refusal{"something is fused"};
  for (const std::size_t i : {1, 3})
    if (problem.has(i) && problem.constant(i) == nullptr) return Refusal{"the pads are not constant"};
  return moving_offer(problem, problem.orders[0], problem.orders[0]);
}

// By stored dimension.
struct Sides {
  Dims begins, ends;
};

Sides sides_of(const Problem& problem, Order order) {
  const int rank = problem.input(0).rank();
  const Dims pads = problem.constant(1)->to_int64();
  Sides sides{Dims(static_cast<std::size_t>(rank), 0), Dims(static_cast<std::size_t>(rank), 0)};
  const std::size_t count = pads.size() / 2;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t named = problem.has(3) ? problem.constant(3)->to_int64()[i] : static_cast<std::int64_t>(i);
    const auto at = static_cast<std::size_t>(stored_axis(normalized_axis(named, rank, Pad::kName), rank, order));
    sides.begins[at] = pads[i];
    sides.ends[at] = pads[count + i];
  }
  return sides;
}

// Where each position of a padded dimension comes from, as in the definition.
Dims sources(Pad::Mode mode, std::int64_t extent, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = std::max<std::int64_t>(-begin, 0);
  const std::int64_t count = extent - first - std::max<std::int64_t>(-end, 0);
  Dims out;
  for (std::int64_t i = 0; i < extent + begin + end; ++i) {
    const std::int64_t position = i - std::max<std::int64_t>(begin, 0);
    std::int64_t at = std::clamp<std::int64_t>(position, 0, count - 1);
    if (mode == Pad::Mode::wrap) at = (position % count + count) % count;
    if (mode == Pad::Mode::reflect && count > 1) {
      const std::int64_t period = 2 * (count - 1);
      at = (position % period + period) % period;
      if (at >= count) at = period - at;
    }
    out.push_back(first + at);
  }
  return out;
}

Runner prepare_repeating(Pad::Mode mode, const Shape& x, const Sides& sides, std::int64_t bytes) {
  std::vector<Dims> tables;
  std::int64_t stride = x.volume();
  for (int d = 0; d < x.rank(); ++d) {
    const std::size_t at = static_cast<std::size_t>(d);
    stride /= std::max<std::int64_t>(x[d], 1);
    tables.push_back(sources(mode, x[d], sides.begins[at], sides.ends[at]));
    for (std::int64_t& offset : tables.back()) offset *= stride;
  }
  auto copy = std::make_shared<const IndexedCopy>(std::move(tables), bytes);
  return [copy](const StepArgs& args) { copy->run(args.inputs[0], args.outputs[0]); };
}

template <class T>
void fill(std::byte* to, std::int64_t count, const std::byte* value) {
  T v;
  std::memcpy(&v, value, sizeof(T));
  std::fill_n(reinterpret_cast<T*>(to), count, v);
}

// `count` elements; `to` is aligned to them, as outputs are.
void fill(std::byte* to, std::int64_t count, const std::byte* value, std::int64_t bytes) {
  switch (bytes) {
    case 1: return fill<std::uint8_t>(to, count, value);
    case 2: return fill<std::uint16_t>(to, count, value);
    case 4: return fill<std::uint32_t>(to, count, value);
    default: return fill<std::uint64_t>(to, count, value);
  }
}

// Rows are all dimensions from the last padded one on, as one.
struct Constant {
  struct Outer {
    std::int64_t extent, begin, from_extent, stride;  // of the result; its padding; of the input; elements in the input
  };
  std::vector<Outer> outer;  // outermost first
  std::int64_t rows = 1, bytes = 1;
  std::int64_t before = 0, first = 0, count = 0, width = 0;  // elements of a row: filled, where copied, copied, all
  int value = -1;

  void run(const StepArgs& args) const {
    static constexpr std::byte kZeros[8] = {};
    const std::byte* with = value < 0 ? kZeros : args.inputs[static_cast<std::size_t>(value)];
    parallel_for(rows, std::max<std::int64_t>(1, kGrainBytes / (width * bytes)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) run_row(r, args.inputs[0], args.outputs[0], with);
                 });
  }

 private:
  void run_row(std::int64_t row, const std::byte* from, std::byte* to, const std::byte* with) const {
    to += row * width * bytes;
    std::int64_t at = first;
    bool inside = count > 0;
    for (std::size_t d = outer.size(); d-- > 0; row /= outer[d].extent) {
      const std::int64_t position = row % outer[d].extent - outer[d].begin;
      inside = inside && position >= 0 && position < outer[d].from_extent;
      at += position * outer[d].stride;
    }
    if (!inside) return fill(to, width, with, bytes);
    fill(to, before, with, bytes);
    std::memcpy(to + before * bytes, from + at * bytes, static_cast<std::size_t>(count * bytes));
    fill(to + (before + count) * bytes, width - before - count, with, bytes);
  }
};

Runner prepare_constant(const Problem& problem, const Shape& x, const Shape& y, const Sides& sides) {
  auto job = std::make_shared<Constant>();
  job->bytes = element_bytes(problem.input(0).type);
  job->value = problem.has(2) ? 2 : -1;
  if (y.volume() == 0) return [](const StepArgs&) {};
  int last = x.rank() - 1;
  std::int64_t inner = 1;
  const auto padded = [&](int d) {
    return sides.begins[static_cast<std::size_t>(d)] != 0 || sides.ends[static_cast<std::size_t>(d)] != 0;
  };
  while (last > 0 && !padded(last)) inner *= x[last--];
  if (x.rank() > 0) {
    const std::int64_t begin = sides.begins[static_cast<std::size_t>(last)];
    const std::int64_t first = std::max<std::int64_t>(-begin, 0), end = std::min(x[last], y[last] - begin);
    job->before = std::max<std::int64_t>(begin, 0) * inner;
    job->first = first * inner;
    job->count = std::max<std::int64_t>(end - first, 0) * inner;
    job->width = y[last] * inner;
    // Padding of more than the row has is all there is.
    if (job->count == 0) job->before = job->first = 0;
  } else {
    job->count = job->width = 1;
  }
  std::int64_t stride = x.rank() > 0 ? x[last] * inner : 1;
  for (int d = last - 1; d >= 0; --d) {
    job->outer.insert(job->outer.begin(), {y[d], sides.begins[static_cast<std::size_t>(d)], x[d], stride});
    stride *= x[d];
    job->rows *= y[d];
  }
  return [job](const StepArgs& args) { job->run(args); };
}

Runner prepare(const KernelInfo&, const Problem& problem, const Offer& offer, WeightCache&) {
  const Pad& op = std::get<Pad>(problem.node.op);
  const Shape x = stored_shape(problem.input(0).shape(), offer.inputs[0]),
              y = stored_shape(problem.output().shape(), offer.outputs[0]);
  const Sides sides = sides_of(problem, offer.inputs[0]);
  if (op.mode == Pad::Mode::constant || y.volume() == 0) return prepare_constant(problem, x, y, sides);
  return prepare_repeating(op.mode, x, sides, element_bytes(problem.input(0).type));
}

constexpr CpuKernel kKernels[] = {{{.name = "pad", .op = Pad::kName, .consider = consider}, prepare}};

}  // namespace

std::span<const CpuKernel> pad_kernels() { return kKernels; }

}  // namespace tessera::cpu
