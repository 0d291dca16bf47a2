#include "tessera/graph/ops/reshape.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/moving.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace tessera {

using namespace moving;

namespace {

// The extents that a shape with -1 and 0 stands for; kUnknown where the input does not tell.
Dims resolved(const Reshape& op, const TensorType& x, const Dims& wanted, std::string_view name) {
  const auto text = [&] { return fmt::format("[{}]", fmt::join(wanted, ", ")); };
  if (wanted.size() > static_cast<std::size_t>(Shape::kMaxRank))
    fail(Code::invalid_argument, "{}: a shape of rank {} is given, at most {} is supported", name, wanted.size(),
         Shape::kMaxRank);
  Dims dims = wanted;
  std::optional<std::size_t> rest;
  bool has_zero = false;
  std::vector<bool> kept(x.dims ? x.dims->size() : 0);  // extents of the input that are taken over
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] < -1) fail(Code::invalid_argument, "{}: the shape {} has an extent of {}", name, text(), wanted[i]);
    if (wanted[i] == -1) {
      if (rest) fail(Code::invalid_argument, "{}: the shape {} leaves more than one extent open", name, text());
      rest = i;
    }
    if (wanted[i] != 0) continue;
    has_zero = true;
    if (op.allow_zero) continue;
    if (x.dims && i >= x.dims->size())
      fail(Code::invalid_argument, "{}: the shape {} keeps dimension {}, but the input is {}", name, text(), i,
           x.to_string());
    dims[i] = x.dims ? (*x.dims)[i] : TensorType::kUnknown;
    if (x.dims) kept[i] = true;
  }
  if (op.allow_zero && rest && has_zero)
    fail(Code::invalid_argument, "{}: the shape {} has a 0 and leaves an extent open, which could then be anything",
         name, text());
  if (!x.dims) return dims;
  // What both sides have besides the extents taken over; those may be unknown without harm.
  std::int64_t had = 1, given = 1, kept_product = 1;
  bool decided = true;
  for (std::size_t i = 0; i < x.dims->size(); ++i) {
    if (!kept[i])
      had = multiply_extents(had, (*x.dims)[i], name);
    else if ((*x.dims)[i] != TensorType::kUnknown)
      kept_product = multiply_extents(kept_product, (*x.dims)[i], name);
    if (had == TensorType::kUnknown) decided = false, had = 1;
  }
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (!(wanted[i] == 0 && !op.allow_zero) && i != rest) given = multiply_extents(given, dims[i], name);
  if (!decided) return dims;
  if (rest) {
    if (given == 0 || kept_product == 0 || had % given != 0)
      fail(Code::invalid_argument, "{}: no extent makes {} out of {}", name, text(), x.to_string());
    dims[*rest] = had / given;
  } else if (had != given && kept_product != 0) {
    fail(Code::invalid_argument, "{}: {} cannot be seen as {}", name, x.to_string(), text());
  }
  return dims;
}

// The axes of Squeeze and Unsqueeze: an attribute, or a constant input; none if they cannot be told yet.
std::optional<Dims> axes_of(const Dims& attribute, const Knowns& inputs) {
  check(attribute.empty() || !inputs.has(1), Code::invalid_argument,
        "{}: axes are given as an attribute and as an input", inputs.op());
  if (inputs.has(1)) return constant_integers(inputs, 1, "the axes");
  return attribute;
}

// Rank unknown, or known from the number of axes alone.
TensorType undecided(const TensorType& x, std::int64_t rank, std::string_view op) {
  check(rank >= 0 && rank <= Shape::kMaxRank, Code::invalid_argument, "{}: the output would be of rank {}", op, rank);
  return TensorType(x.type, Dims(static_cast<std::size_t>(rank), TensorType::kUnknown));
}

template <class X>
std::vector<Array> same_elements(const X& op, const Arrays& inputs) {
  return {inputs[0].reshaped(infer_from(op, inputs).front().shape())};
}

}  // namespace

std::vector<TensorType> infer(const Reshape& op, const Knowns& inputs) {
  inputs.expect_count(2, 2);
  const TensorType& x = inputs[0];
  std::optional<Dims> wanted = constant_integers(inputs, 1, "the shape");
  const std::int64_t rank = list_length(inputs, 1);
  if (rank == 0) wanted.emplace();  // a list of no numbers is known before it comes
  if (wanted) return {output_type(x.type, resolved(op, x, *wanted, inputs.op()), inputs.op())};
  if (rank == TensorType::kUnknown) return {TensorType(x.type, std::nullopt)};
  return {undecided(x, rank, inputs.op())};
}

Work work(const Reshape&, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs.first(1), outputs);
}
std::vector<Array> reference(const Reshape& op, const Arrays& inputs) { return same_elements(op, inputs); }

std::vector<TensorType> infer(const Flatten& op, const Knowns& inputs) {
  inputs.expect_count(1, 1);
  const TensorType& x = inputs[0];
  if (!x.dims) return {TensorType(x.type, Dims(2, TensorType::kUnknown))};
  const int rank = x.rank();
  // The axis may also be the rank itself: all dimensions go to the first.
  const int axis = op.axis == rank ? rank : normalized_axis(op.axis, std::max(rank, 1), inputs.op());
  Dims dims(2, 1);
  for (int d = 0; d < rank; ++d) {
    std::int64_t& side = dims[d < axis ? 0 : 1];
    side = multiply_extents(side, (*x.dims)[static_cast<std::size_t>(d)], inputs.op());
  }
  return {output_type(x.type, std::move(dims), inputs.op())};
}

Work work(const Flatten&, const Types& inputs, const Types& outputs) { return streaming_work(inputs, outputs); }
std::vector<Array> reference(const Flatten& op, const Arrays& inputs) { return same_elements(op, inputs); }

std::vector<TensorType> infer(const Squeeze& op, const Knowns& inputs) {
  inputs.expect_count(1, 2);
  const TensorType& x = inputs[0];
  const std::optional<Dims> axes = axes_of(op.axes, inputs);
  if (!x.dims) return {TensorType(x.type, std::nullopt)};
  if (!axes) {
    const std::int64_t count = list_length(inputs, 1);
    if (count <= 0) return {TensorType(x.type, std::nullopt)};
    return {undecided(x, x.rank() - count, inputs.op())};
  }
  const std::vector<int> gone = normalized_axes(*axes, x.rank(), inputs.op());
  Dims dims;
  for (int d = 0; d < x.rank(); ++d) {
    const std::int64_t extent = (*x.dims)[static_cast<std::size_t>(d)];
    const bool named = std::find(gone.begin(), gone.end(), d) != gone.end();
    if (named && extent != 1 && extent != TensorType::kUnknown)
      fail(Code::invalid_argument, "{}: dimension {} of {} has {} elements, only 1 can be left out", inputs.op(), d,
           x.to_string(), extent);
    if (gone.empty() && extent == TensorType::kUnknown) return {TensorType(x.type, std::nullopt)};
    if (!named && (!gone.empty() || extent != 1)) dims.push_back(extent);
  }
  return {output_type(x.type, std::move(dims), inputs.op())};
}

Work work(const Squeeze&, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs.first(1), outputs);
}
std::vector<Array> reference(const Squeeze& op, const Arrays& inputs) { return same_elements(op, inputs); }

std::vector<TensorType> infer(const Unsqueeze& op, const Knowns& inputs) {
  inputs.expect_count(1, 2);
  const TensorType& x = inputs[0];
  const std::optional<Dims> axes = axes_of(op.axes, inputs);
  if (!x.dims) return {TensorType(x.type, std::nullopt)};
  const std::int64_t count = axes ? static_cast<std::int64_t>(axes->size()) : list_length(inputs, 1);
  if (count == TensorType::kUnknown) return {TensorType(x.type, std::nullopt)};
  const TensorType blank = undecided(x, add_extents(x.rank(), count, inputs.op()), inputs.op());
  if (!axes) return {blank};
  Dims dims = *blank.dims;
  for (int axis : normalized_axes(*axes, blank.rank(), inputs.op())) dims[static_cast<std::size_t>(axis)] = 1;
  // The places that are left take the input's extents, which may be unknown themselves.
  auto next = x.dims->begin();
  for (std::int64_t& d : dims)
    if (d == TensorType::kUnknown) d = *next++;
  return {output_type(x.type, std::move(dims), inputs.op())};
}

Work work(const Unsqueeze&, const Types& inputs, const Types& outputs) {
  return streaming_work(inputs.first(1), outputs);
}
std::vector<Array> reference(const Unsqueeze& op, const Arrays& inputs) { return same_elements(op, inputs); }

}  // namespace tessera
