// Attention over heads, and the rotation that tells it positions.

#include "tessera/io/onnx/internal/formula.h"
#include "tessera/io/onnx/internal/registry.h"

#include <cmath>

namespace tessera::onnx {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// [batch, length, heads * size] as [batch, heads, length, size].
ValueId split_heads(const Formula& f, ValueId x, std::int64_t heads) {
  return f.transpose(f.reshape(x, {0, 0, heads, -1}), {0, 2, 1, 3});
}

std::int64_t known_extent(const NodeBuilder& build, ValueId x, std::size_t axis, const char* what) {
  const TensorType type = build.type(x);
  const bool known = build.dry() || (type.dims && axis < type.dims->size() && (*type.dims)[axis] >= 0);
  check(known, Code::unsupported, Hint{"give the model's inputs shapes (--shape NAME:1x3x224x224)"},
        "{} must be known here, and it is not", what);
  return build.dry() ? 1 : (*type.dims)[axis];
}

// Every head `times` times in a row.
ValueId repeat_heads(const Formula& f, ValueId x, std::int64_t times, std::int64_t heads) {
  const ValueId spread = f.expand(f.unsqueeze(x, {2}), f.list({1, 1, times, 1, 1}));
  return f.reshape(spread, f.concat({f.extent(x, 0), f.list({heads}), f.extents(x, 2, 4)}));
}

// The mask as something to add, as long as the keys.
ValueId mask_bias(const Formula& f, const NodeReader& node, ValueId keys, ElementType type) {
  ValueId mask = node.input(3);
  const TensorType& given = node.type(3);
  const bool logical = given.type == ElementType::boolean;
  if (logical) mask = f.where(mask, f.number(type, 0), f.number(type, kMinusInfinity));
  const TensorType k = f.build().type(keys);
  const bool same = given.dims && k.dims && k.dims->size() == 4 && !given.dims->empty() && given.dims->back() >= 0 &&
                    given.dims->back() == (*k.dims)[2];
  if (same) return mask;
  const int rank = node.rank(3);
  check(rank > 0, Code::parse, "the mask has no dimensions");
  const ValueId missing = f.max(f.sub(f.extent(keys, 2), f.extent(mask, -1)), f.whole(0));
  const ValueId pads = f.concat({f.list(Formula::Dims(static_cast<std::size_t>(2 * rank - 1), 0)), missing});
  return f.build().add(Pad{}, {mask, pads, f.number(type, kMinusInfinity)});
}

}  // namespace

Values import_attention(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(3, 7);
  const bool flat = node.rank(0) == 3;
  check(flat || node.rank(0) == 4, Code::parse, "the query has rank {} instead of 3 or 4", node.rank(0));
  const ElementType type = node.type(0).type;
  ValueId q = node.input(0), k = node.input(1), v = node.input(2);
  std::int64_t q_heads = node.integer("q_num_heads", 0), kv_heads = node.integer("kv_num_heads", 0);
  if (flat) {
    check(q_heads > 0 && kv_heads > 0, Code::parse, "inputs of rank 3 need q_num_heads and kv_num_heads, not {} and {}",
          q_heads, kv_heads);
    q = split_heads(f, q, q_heads);
    k = split_heads(f, k, kv_heads);
    v = split_heads(f, v, kv_heads);
  } else {
    q_heads = known_extent(build, q, 1, "the number of heads of the query");
    kv_heads = known_extent(build, k, 1, "the number of heads of the keys");
  }
  if (node.has_input(4)) k = f.concat({node.input(4), k}, 2);
  if (node.has_input(5)) v = f.concat({node.input(5), v}, 2);
  const Values present = {k, v};
  if (q_heads != kv_heads) {
    check(kv_heads > 0 && q_heads % kv_heads == 0, Code::parse, "{} heads of queries do not share {} heads of keys",
          q_heads, kv_heads);
    k = repeat_heads(f, k, q_heads / kv_heads, q_heads);
    v = repeat_heads(f, v, q_heads / kv_heads, q_heads);
  }

  // Half of the scale on either side keeps 16-bit products in range.
  const auto given_scale = node.maybe_real("scale");
  const double scale = given_scale
                           ? static_cast<double>(*given_scale)
                           : 1.0 / std::sqrt(static_cast<double>(known_extent(build, q, 3, "the size of a head")));
  const ValueId product =
      f.matmul(f.scaled(q, std::sqrt(scale)), f.scaled(f.transpose(k, {0, 1, 3, 2}), std::sqrt(scale)));
  ValueId capped = product;
  if (const float cap = node.real("softcap", 0); cap > 0)
    capped = f.scaled(f.unary(Unary::Kind::tanh, f.scaled(product, 1.0 / static_cast<double>(cap))),
                      static_cast<double>(cap));

  ValueId biased = capped;
  if (node.has_input(3)) biased = f.add(biased, mask_bias(f, node, k, type));
  const ValueId zero = f.number(type, 0), never = f.number(type, kMinusInfinity);
  const auto places = [&] { return f.range(f.scalar(f.extent(k, 2))); };
  if (node.flag("is_causal", false)) {
    ValueId row = f.unsqueeze(f.range(f.scalar(f.extent(q, 2))), {1});
    if (node.has_input(4)) row = f.add(row, f.extent(node.input(4), 2));
    biased = f.add(biased, f.where(f.less(row, places()), never, zero));
  }
  if (node.has_input(6))
    biased = f.add(biased, f.where(f.less(places(), f.unsqueeze(node.input(6), {1, 2, 3})), zero, never));

  ValueId weights = biased;
  if (const auto precision = node.maybe_integer("softmax_precision"))
    if (*precision == pb::TensorProto::DOUBLE) weights = f.cast(weights, ElementType::float64);
  weights = f.cast(build.add(Softmax{.axis = -1, .log = false, .flatten = false}, {weights}), type);
  ValueId y = f.matmul(f.cast(weights, node.type(2).type), v);
  if (flat) y = f.reshape(f.transpose(y, {0, 2, 1, 3}), {0, 0, -1});

  const std::int64_t mode = node.integer("qk_matmul_output_mode", 0);
  check(mode >= 0 && mode <= 3, Code::parse, "qk_matmul_output_mode is {}, not 0 to 3", mode);
  const ValueId shown = mode == 0 ? product : mode == 1 ? capped : mode == 2 ? biased : weights;
  return {f.cast(y, type), present[0], present[1], shown};
}

Values import_rotary_embedding(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(3, 4);
  const bool flat = node.rank(0) == 3;
  check(flat || node.rank(0) == 4, Code::parse, "the input has rank {} instead of 3 or 4", node.rank(0));
  const std::int64_t heads = node.integer("num_heads", 0);
  check(!flat || heads > 0, Code::parse, "an input of rank 3 needs num_heads, not {}", heads);
  const bool interleaved = node.flag("interleaved", false);
  std::int64_t turned = node.integer("rotary_embedding_dim", 0);

  // [batch, length, heads, size]
  const ValueId x = flat ? f.reshape(node.input(0), {0, 0, heads, -1}) : f.transpose(node.input(0), {0, 2, 1, 3});
  if (turned == 0) turned = known_extent(build, x, 3, "the size of a head");
  check(turned > 0 && turned % 2 == 0, Code::parse, "{} elements of a head cannot be turned in pairs", turned);
  const auto angles = [&](std::size_t i) {
    ValueId cache = node.input(i);
    if (node.has_input(3)) cache = f.gather(cache, node.input(3), 0);
    return f.unsqueeze(f.slice(cache, -1, 0, turned / 2), {2});
  };
  const ValueId cosine = angles(1), sine = angles(2);
  const ValueId turning = f.slice(x, 3, 0, turned);
  const ValueId a = interleaved ? f.slice(turning, 3, 0, kToTheEnd, 2) : f.slice(turning, 3, 0, turned / 2);
  const ValueId b = interleaved ? f.slice(turning, 3, 1, kToTheEnd, 2) : f.slice(turning, 3, turned / 2, turned);
  const ValueId real = f.sub(f.mul(cosine, a), f.mul(sine, b)), imaginary = f.add(f.mul(sine, a), f.mul(cosine, b));
  const ValueId both =
      interleaved ? f.reshape(f.concat({f.unsqueeze(real, {4}), f.unsqueeze(imaginary, {4})}, 4), {0, 0, 0, -1})
                  : f.concat({real, imaginary}, 3);
  const ValueId y = f.concat({both, f.slice(x, 3, turned, kToTheEnd)}, 3);
  return {flat ? f.reshape(y, {0, 0, -1}) : f.transpose(y, {0, 2, 1, 3})};
}

// A depthwise convolution over what was and what is; the last of both is what was for the next call.
Values import_causal_conv(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(2, 4);
  const std::int64_t width = known_extent(build, node.input(1), 2, "the width of the weights");
  const std::int64_t channels = known_extent(build, node.input(1), 0, "the number of channels");
  const bool silu =
      node.choice<bool>("activation", "none", {{"none", false}, {"", false}, {"silu", true}, {"swish", true}});
  const ElementType type = node.type(0).type;
  const ValueId past = node.has_input(3)
                           ? node.input(3)
                           : f.filled(f.concat({f.extents(node.input(0), 0, 2), f.list({width - 1})}), type, 0);
  const ValueId all = f.concat({past, node.input(0)}, 2);
  ValueId y = build.add(Conv{.window = {}, .groups = channels}, {all, node.input(1), node.input(2)});
  if (silu) y = f.unary(Unary::Kind::silu, y);
  const ValueId first = f.sub(f.extent(all, 2), f.list({width - 1}));
  return {y, f.slice_by(all, first, f.list({kToTheEnd}), {2})};
}

}  // namespace tessera::onnx
