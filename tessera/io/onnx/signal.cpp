// Spectra and what goes with them. A transform is a product with a matrix of cosines and sines, whose angles are made
// from whole numbers modulo the length, in double.

#include "tessera/io/onnx/internal/formula.h"
#include "tessera/io/onnx/internal/registry.h"
#include "tessera/io/onnx/internal/tensor.h"

#include <numbers>

namespace tessera::onnx {
namespace {

constexpr ElementType kDouble = ElementType::float64;

struct Transform {
  bool inverse = false;
  bool onesided = false;
};

ValueId floor_div(const Formula& f, ValueId a, std::int64_t b) { return f.div(a, f.whole(b)); }

// x is [outer, given, inner, 1 or 2]; the result [outer, bins, inner, 2], or 1 for the inverse of one side. `length` is
// a scalar.
ValueId transformed(const Formula& f, ValueId x, ValueId length, int parts, Transform t) {
  using K = Unary::Kind;
  const ElementType type = f.build().type(x).type;
  const ValueId half = f.add(floor_div(f, length, 2), f.whole(1));
  const bool to_real = t.inverse && t.onesided;
  const ValueId bins = t.onesided && !t.inverse ? half : length;
  const ValueId taken = f.min(f.scalar(f.extent(x, 1)), to_real ? half : length);
  const ValueId column = f.range(taken);
  const ValueId turns = f.binary(Binary::Kind::mod, f.mul(f.unsqueeze(f.range(bins), {1}), column), length);
  const ValueId angle = f.div(f.scaled(f.cast(turns, kDouble), 2 * std::numbers::pi), f.cast(length, kDouble));
  ValueId cosine = f.unary(K::cos, angle), sine = f.unary(K::sin, angle);
  if (t.inverse) {
    ValueId share = f.unary(K::reciprocal, f.cast(length, kDouble));
    if (to_real) {  // every bin but the first and, of an even length, the last stands for its mirror image too
      const ValueId alone =
          f.binary(Binary::Kind::logical_or, f.equal(column, f.whole(0)), f.equal(f.mul(column, f.whole(2)), length));
      share = f.mul(share, f.where(alone, f.number(kDouble, 1), f.number(kDouble, 2)));
    }
    cosine = f.mul(cosine, share);
    sine = f.mul(sine, share);
  } else {
    sine = f.unary(K::neg, sine);
  }
  cosine = f.cast(cosine, type);
  sine = f.cast(sine, type);
  const auto part = [&](std::int64_t i) {  // [outer, taken, inner]
    return f.squeeze(f.slice_by(f.slice(x, 3, i, i + 1), f.list({0}), f.as_list(taken), {1}), {3});
  };
  const ValueId real = part(0), imaginary = parts == 2 ? part(1) : kNoValue;
  ValueId y_real = f.matmul(cosine, real);
  if (parts == 2) y_real = f.sub(y_real, f.matmul(sine, imaginary));
  if (to_real) return f.unsqueeze(y_real, {3});
  ValueId y_imaginary = f.matmul(sine, real);
  if (parts == 2) y_imaginary = f.add(y_imaginary, f.matmul(cosine, imaginary));
  return f.concat({f.unsqueeze(y_real, {3}), f.unsqueeze(y_imaginary, {3})}, 3);
}

int parts_of(const NodeReader& node) {
  const auto& dims = node.type(0).dims;
  const bool known = dims && !dims->empty() && (dims->back() == 1 || dims->back() == 2);
  check(known || !dims || (!dims->empty() && dims->back() == TensorType::kUnknown), Code::parse,
        "the last extent of {} must be 1 (real) or 2 (complex)", node.type(0).to_string());
  check(known, Code::unsupported, Hint{"give the model's inputs shapes (--shape NAME:1x3x224x224)"},
        "whether the signal is real or complex must be known here, and it is not");
  return static_cast<int>(dims->back());
}

}  // namespace

Values import_dft(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  const Transform t{.inverse = node.flag("inverse", false), .onesided = node.flag("onesided", false)};
  const bool axis_is_input = node.opset() >= 20;
  node.inputs(1, axis_is_input ? 3 : 2);
  if (build.dry()) return {kBroken};
  const int parts = parts_of(node), rank = node.rank(0);
  check(rank >= 2, Code::parse, "a signal has at least 2 dimensions, not {}", rank);
  check(!t.onesided || (t.inverse ? parts == 2 : parts == 1), Code::parse, "one side is for {} signals",
        t.inverse ? "complex" : "real");
  const ValueId x = node.input(0);
  ValueId axis;
  if (!axis_is_input)
    axis = f.list({normalized_axis(node.integer("axis", 1), rank, node.op_type())});
  else if (node.has_input(2))
    axis = f.binary(Binary::Kind::mod, f.whole_list(node.input(2)), f.whole(rank));  // counts from the end too
  else
    axis = f.list({rank - 2});
  // [outer, axis, inner, parts], wherever the axis is.
  const ValueId before = f.slice_by(f.shape(x), f.list({0}), axis, {0});
  const ValueId after = f.slice_by(f.shape(x), f.add(axis, f.whole(1)), f.list({rank - 1}), {0});
  const ValueId given = f.gather(f.shape(x), axis, 0);
  const auto product = [&](ValueId extents) {
    return f.reduce(Reduce::Kind::prod, f.concat({f.list({1}), extents}), {0}, true);
  };
  const ValueId flat = f.reshape(x, f.concat({product(before), given, product(after), f.list({parts})}));
  ValueId length = f.scalar(given);
  if (node.has_input(1))
    length = f.whole_scalar(node.input(1));
  else if (t.inverse && t.onesided)
    length = f.mul(f.sub(length, f.whole(1)), f.whole(2));
  const ValueId y = transformed(f, flat, length, parts, t);
  return {f.reshape(y, f.concat({before, f.extent(y, 1), after, f.extent(y, 3)}))};
}

Values import_stft(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  const Transform t{.inverse = false, .onesided = node.flag("onesided", true)};
  node.inputs(2, 4);
  check(node.has_input(2) || node.has_input(3), Code::parse, "neither a window nor the length of a frame is given");
  if (build.dry()) return {kBroken};
  ValueId signal = node.input(0);
  int parts = 1;
  if (node.rank(0) == 2)
    signal = f.unsqueeze(signal, {2});
  else
    parts = parts_of(node);
  check(!t.onesided || parts == 1, Code::parse, "one side is for real signals");
  const ValueId length = node.has_input(3) ? f.whole_scalar(node.input(3)) : f.scalar(f.extent(node.input(2), 0));
  const ValueId step = f.whole_scalar(node.input(1));
  const ValueId frames = f.add(f.div(f.sub(f.scalar(f.extent(signal, 1)), length), step), f.whole(1));
  const ValueId places = f.add(f.unsqueeze(f.mul(f.range(frames), step), {1}), f.range(length));
  ValueId framed = f.gather(signal, places, 1);  // [batch, frames, length, parts]
  if (node.has_input(2)) framed = f.mul(framed, f.unsqueeze(node.input(2), {1}));
  const ValueId flat = f.reshape(framed, f.concat({f.list({-1}), f.as_list(length), f.list({1, parts})}));
  const ValueId y = transformed(f, flat, length, parts, t);
  return {f.reshape(y, f.concat({f.extents(framed, 0, 2), f.extent(y, 1), f.list({2})}))};
}

// Hann, Hamming and Blackman: a - b cos(w) + c cos(2w).
Values import_window(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  const bool periodic = node.flag("periodic", true);
  const ElementType type = checked_element_type(node.integer("output_datatype", 1), "the wanted type");
  node.inputs(1, 1);
  const std::string& name = node.op_type();
  const double hamming = 25.0 / 46.0;
  const double a = name == "HannWindow" ? 0.5 : name == "HammingWindow" ? hamming : 0.42;
  const double b = name == "HammingWindow" ? 1 - hamming : 0.5;
  const double c = name == "BlackmanWindow" ? 0.08 : 0;
  const ValueId size = f.whole_scalar(node.input(0));
  const ValueId turns =
      f.div(f.cast(f.range(size), kDouble), f.cast(periodic ? size : f.sub(size, f.whole(1)), kDouble));
  const auto cosine = [&](double harmonic) {
    return f.unary(Unary::Kind::cos, f.scaled(turns, 2 * std::numbers::pi * harmonic));
  };
  ValueId y = f.shifted(f.scaled(cosine(1), -b), a);
  if (c != 0) y = f.add(y, f.scaled(cosine(2), c));
  return {f.cast(y, type)};
}

// Triangles over the bins of a spectrum, equally far apart in mels.
Values import_mel_weight_matrix(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  const ElementType type = checked_element_type(node.integer("output_datatype", 1), "the wanted type");
  node.inputs(5, 5);
  const ValueId count = f.whole_scalar(node.input(0)), length = f.whole_scalar(node.input(1)),
                rate = f.cast(f.scalar(node.input(2)), kDouble);
  const auto mels = [&](std::size_t i) {
    const ValueId ratio = f.shifted(f.scaled(f.cast(f.scalar(node.input(i)), kDouble), 1.0 / 700), 1);
    return f.scaled(f.unary(Unary::Kind::log, ratio), 2595 / std::numbers::ln10);
  };
  const ValueId low = mels(3), high = mels(4);
  const ValueId edges = f.add(count, f.whole(2));
  const ValueId step = f.div(f.sub(high, low), f.cast(edges, kDouble));
  const ValueId at = f.add(f.mul(f.cast(f.range(edges), kDouble), step), low);
  const ValueId power = f.binary(Binary::Kind::pow, f.number(kDouble, 10), f.scaled(at, 1.0 / 2595));
  const ValueId hertz = f.scaled(f.shifted(power, -1), 700);
  const ValueId bin =
      f.unary(Unary::Kind::floor, f.div(f.mul(hertz, f.cast(f.add(length, f.whole(1)), kDouble)), rate));
  const auto edge = [&](std::int64_t i) { return f.slice(bin, 0, i, i == 2 ? kToTheEnd : i - 2); };
  const ValueId first = edge(0), middle = edge(1), last = edge(2);
  const ValueId j = f.unsqueeze(f.cast(f.range(f.add(floor_div(f, length, 2), f.whole(1))), kDouble), {1});
  const ValueId one = f.number(kDouble, 1), zero = f.number(kDouble, 0);
  const ValueId rising = f.div(f.sub(j, first), f.max(f.sub(middle, first), one));
  const ValueId falling = f.div(f.sub(last, j), f.max(f.sub(last, middle), one));
  const auto inside = [&](ValueId from, ValueId to) {
    return f.both(f.binary(Binary::Kind::less_equal, from, j), f.less(j, to));
  };
  const ValueId sides = f.where(inside(first, middle), rising, f.where(inside(middle, last), falling, zero));
  return {f.cast(f.where(f.equal(j, middle), one, sides), type)};
}

}  // namespace tessera::onnx
