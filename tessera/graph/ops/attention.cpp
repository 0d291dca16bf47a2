#include "tessera/graph/ops/attention.h"

#include "tessera/core/error.h"
#include "tessera/graph/ops/internal/expect.h"
#include "tessera/graph/ops/internal/number.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

using Dims = std::vector<std::int64_t>;

// What all extents amount to.
struct Extents {
  std::int64_t batch, queries, keys, heads, depth, width;
};

bool is_packed(bool has_keys) { return !has_keys; }

Extents extents_of(const Attention& op, const Dims& q, const Dims& k, const Dims& v, bool packed) {
  if (packed) return {q[0], q[1], q[1], op.heads, q[2] / 3 / op.heads, q[2] / 3 / op.heads};
  return {q[0], q[1], k[1], op.heads, q[2] / op.heads, v[2] / op.heads};
}

// One operand: rows of one head.
template <class T>
struct Rows {
  const T* data;
  std::int64_t tokens, pitch, offset;

  const T* at(std::int64_t n, std::int64_t token, std::int64_t head, std::int64_t width) const {
    return data + (n * tokens + token) * pitch + offset + head * width;
  }
};

}  // namespace

std::vector<TensorType> infer(const Attention& op, const Knowns& inputs) {
  inputs.expect_count(1, 4);
  internal::expect_floating(inputs, 0, inputs.op());
  check(op.heads >= 1, Code::invalid_argument, "{}: {} heads", inputs.op(), op.heads);
  check(inputs.has(1) == inputs.has(2), Code::invalid_argument, "{}: keys and values come together or not at all",
        inputs.op());
  const bool packed = is_packed(inputs.has(1));
  for (std::size_t i = 0; i < (packed ? 1u : 3u); ++i) {
    inputs.expect_rank(i, 3, 3);
    inputs.expect_same_type(0, i);
  }
  if (inputs.has(3)) {
    inputs.expect_rank(3, 4, 4);
    inputs.expect_same_type(0, 3);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs.has(i) && !inputs[i].is_static()) return {TensorType(inputs[0].type, std::nullopt)};
  const Dims q = *inputs[0].dims, k = packed ? q : *inputs[1].dims, v = packed ? q : *inputs[2].dims;
  const auto divides = [&](std::int64_t extent, std::int64_t by) {
    check(extent % by == 0, Code::invalid_argument, "{}: {} channels do not divide into {}", inputs.op(), extent, by);
  };
  divides(q[2], packed ? 3 * op.heads : op.heads);
  divides(v[2], op.heads);
  check(packed || (k[0] == q[0] && v[0] == q[0] && k[2] == q[2] && v[1] == k[1]), Code::invalid_argument,
        "{}: {}, {} and {} do not fit each other", inputs.op(), inputs[0].to_string(),
        inputs[packed ? 0 : 1].to_string(), inputs[packed ? 0 : 2].to_string());
  const Extents e = extents_of(op, q, k, v, packed);
  if (inputs.has(3)) {
    const Dims& bias = *inputs[3].dims;
    const bool fits = bias[0] > 0 && e.batch % bias[0] == 0 && (bias[1] == 1 || bias[1] == e.heads) &&
                      (bias[2] == 1 || bias[2] == e.queries) && (bias[3] == 1 || bias[3] == e.keys);
    check(fits, Code::invalid_argument, "{}: a bias of {} beside {} samples, {} heads, {} queries and {} keys",
          inputs.op(), inputs[3].to_string(), e.batch, e.heads, e.queries, e.keys);
  }
  return {TensorType(inputs[0].type, Dims{e.batch, e.queries, e.heads * e.width})};
}

Work work(const Attention& op, const Types& inputs, const Types& outputs) {
  Work work = streaming_work(inputs, outputs);
  if (!inputs[0].is_static() || !outputs[0].is_static()) return work;
  const bool packed = inputs.size() < 3 || inputs[1].rank() != 3;  // those left out are seen as empty lists
  const Dims& q = *inputs[0].dims;
  const Dims& k = packed ? q : *inputs[1].dims;
  const Extents e = extents_of(op, q, k, packed ? q : *inputs[2].dims, packed);
  work.flops = static_cast<double>(e.batch * e.heads * e.queries * e.keys) *
               (2.0 * static_cast<double>(e.depth) + 2.0 * static_cast<double>(e.width) + 5.0);
  return work;
}

std::vector<Array> reference(const Attention& op, const Arrays& inputs) {
  const bool packed = is_packed(inputs.has(1));
  const Array& q = inputs[0];
  const Array& k = packed ? q : inputs[1];
  const Array& v = packed ? q : inputs[2];
  const Extents e = extents_of(op, q.shape().dims(), k.shape().dims(), v.shape().dims(), packed);
  Array y(q.type(), Shape{e.batch, e.queries, e.heads * e.width});
  visit_floating_type(q.type(), Attention::kName, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto rows = [&](const Array& from, std::int64_t part) {
      const std::int64_t pitch = from.shape()[2];
      return Rows<T>{from.as<T>().data(), from.shape()[1], pitch, packed ? part * pitch / 3 : 0};
    };
    const Rows<T> qs = rows(q, 0), ks = rows(k, 1), vs = rows(v, 2);
    const T* const bias = inputs.has(3) ? inputs[3].as<T>().data() : nullptr;
    const Dims b = bias ? inputs[3].shape().dims() : Dims{1, 1, 1, 1};
    const auto bias_at = [&](std::int64_t n, std::int64_t h, std::int64_t t, std::int64_t s) {
      if (bias == nullptr) return 0.0;
      const std::int64_t head = b[1] == 1 ? 0 : h, query = b[2] == 1 ? 0 : t, key = b[3] == 1 ? 0 : s;
      return internal::wide(bias[((n % b[0] * b[1] + head) * b[2] + query) * b[3] + key]);
    };
    std::vector<double> scores(static_cast<std::size_t>(e.keys));
    T* to = y.as<T>().data();
    for (std::int64_t n = 0; n < e.batch; ++n)
      for (std::int64_t t = 0; t < e.queries; ++t)
        for (std::int64_t h = 0; h < e.heads; ++h) {
          double most = -std::numeric_limits<double>::infinity(), sum = 0;
          const T* const query = qs.at(n, t, h, e.depth);
          for (std::int64_t s = 0; s < e.keys; ++s) {
            double score = 0;
            const T* const key = ks.at(n, s, h, e.depth);
            for (std::int64_t d = 0; d < e.depth; ++d) score += internal::wide(query[d]) * internal::wide(key[d]);
            score = score * static_cast<double>(op.scale) + bias_at(n, h, t, s);
            scores[static_cast<std::size_t>(s)] = score;
            most = std::fmax(most, score);
          }
          for (double& score : scores) sum += score = std::exp(score - most);
          for (std::int64_t d = 0; d < e.width; ++d) {
            double value = 0;
            for (std::int64_t s = 0; s < e.keys; ++s)
              value += scores[static_cast<std::size_t>(s)] * internal::wide(vs.at(n, s, h, e.width)[d]);
            *to++ = internal::narrow<T>(value / sum);
          }
        }
  });
  return {std::move(y)};
}

}  // namespace tessera
