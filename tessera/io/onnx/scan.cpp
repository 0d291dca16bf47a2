// Scan as a loop: the body takes its slices out of the whole inputs, which it is given as captures.

#include "tessera/io/onnx/internal/formula.h"
#include "tessera/io/onnx/internal/registry.h"

#include <algorithm>

namespace tessera::onnx {
namespace {

struct Scanned {
  std::vector<std::int64_t> axes;
  std::vector<bool> reversed;
};

Scanned read_scanned(NodeReader& node, const std::string& axes, const std::string& directions, std::size_t count) {
  Scanned out{node.integers(axes), {}};
  if (out.axes.empty()) out.axes.assign(count, 0);
  check(out.axes.size() == count, Code::parse, "{} has {} entries for {} values", axes, out.axes.size(), count);
  for (const std::int64_t direction : node.integers(directions)) out.reversed.push_back(direction != 0);
  if (out.reversed.empty()) out.reversed.assign(count, false);
  check(out.reversed.size() == count, Code::parse, "{} has {} entries for {} values", directions, out.reversed.size(),
        count);
  return out;
}

// Inputs of `body`: states, slices, captures. Of the result: iteration, condition, states, whole inputs, captures.
std::shared_ptr<const Graph> loop_body(const Graph& body, std::size_t states, const std::vector<TensorType>& whole,
                                       const Scanned& scanned) {
  Graph out = body;
  const std::vector<ValueId> inputs = body.inputs;
  out.inputs.clear();
  out.nodes.clear();
  const ValueId iteration = out.add_input("scan/iteration", TensorType(ElementType::int64, Shape{}));
  const ValueId condition = out.add_input("scan/condition", TensorType(ElementType::boolean, Shape{}));
  out.inputs.insert(out.inputs.end(), inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(states));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    const ValueId all = out.add_input(fmt::format("scan/input{}", i), whole[i]);
    ValueId at = iteration;
    if (scanned.reversed[i]) {
      const ValueId extents = out.add(fmt::format("scan/shape{}", i), ShapeOf{}, {all});
      const ValueId axis =
          out.add_constant(fmt::format("scan/axis{}", i), Array::scalar<std::int64_t>(scanned.axes[i]));
      const ValueId one = out.add_constant(fmt::format("scan/one{}", i), Array::scalar<std::int64_t>(1));
      const ValueId extent = out.add(fmt::format("scan/extent{}", i), Gather{.axis = 0}, {extents, axis});
      const ValueId last = out.add(fmt::format("scan/last{}", i), Binary{Binary::Kind::sub}, {extent, one});
      at = out.add(fmt::format("scan/at{}", i), Binary{Binary::Kind::sub}, {last, iteration});
    }
    // The slice is the value that was an input of the body.
    Node take{fmt::format("scan/slice{}", i), Gather{.axis = scanned.axes[i]}, {all, at}, {inputs[states + i]}, {}, 0};
    out.nodes.push_back(std::move(take));
  }
  out.inputs.insert(out.inputs.end(), inputs.begin() + static_cast<std::ptrdiff_t>(states + whole.size()),
                    inputs.end());
  out.nodes.insert(out.nodes.end(), body.nodes.begin(), body.nodes.end());
  const ValueId go_on = out.add("scan/go_on", Unary{.kind = Unary::Kind::identity}, {condition});
  out.outputs.insert(out.outputs.begin(), go_on);
  return std::make_shared<const Graph>(std::move(out));
}

TensorType slice_type(TensorType whole, std::int64_t axis) {
  if (whole.dims) whole.dims->erase(whole.dims->begin() + axis);
  return whole;
}

struct Parts {
  std::vector<ValueId> states, scans;  // what goes in
  std::size_t outputs = 0;             // of the node
};

Values scan_once(NodeReader& node, NodeBuilder& build, const Parts& parts, Scanned in, Scanned out) {
  const Formula f(build);
  const pb::GraphProto& proto = node.graph("body");
  std::vector<TensorType> types, whole;
  for (const ValueId id : parts.states) {
    types.push_back(build.type(id));
    // A state may change its extents.
    types.back().dims.reset();
  }
  for (std::size_t i = 0; i < parts.scans.size(); ++i) {
    whole.push_back(build.type(parts.scans[i]));
    if (!build.dry() && whole.back().dims) {
      in.axes[i] = normalized_axis(in.axes[i], whole.back().rank(), node.op_type());
    } else {
      check(build.dry() || in.axes[i] >= 0, Code::unsupported, "the rank of scan input {} must be known here", i);
    }
    types.push_back(slice_type(whole.back(), build.dry() ? 0 : in.axes[i]));
  }
  const std::vector<std::string> captures = build.captures({&proto});
  const std::shared_ptr<const Graph> body = build.body(proto, types, captures);
  if (build.dry()) return Values(parts.outputs, kBroken);

  Loop op;
  op.body = loop_body(*body, parts.states.size(), whole, in);
  op.carried = static_cast<int>(parts.states.size());
  op.captures = static_cast<int>(parts.scans.size() + captures.size());
  Values inputs = {f.scalar(f.extent(parts.scans[0], in.axes[0])), kNoValue};
  inputs.insert(inputs.end(), parts.states.begin(), parts.states.end());
  inputs.insert(inputs.end(), parts.scans.begin(), parts.scans.end());
  for (const ValueId id : build.values_of(captures)) inputs.push_back(id);
  Values outputs = build.add(op, inputs, static_cast<int>(parts.outputs));
  for (std::size_t i = parts.states.size(); i < parts.outputs; ++i) {
    const std::size_t at = i - parts.states.size();
    if (out.reversed[at]) outputs[i] = f.slice(outputs[i], 0, -1, std::numeric_limits<std::int64_t>::min() + 1, -1);
    if (out.axes[at] == 0) continue;
    const TensorType type = build.type(outputs[i]);
    check(type.dims.has_value(), Code::unsupported, "the rank of scan output {} must be known here", at);
    const int axis = normalized_axis(out.axes[at], type.rank(), node.op_type());
    Formula::Dims perm;  // the first dimension moves to `axis`
    for (int d = 1; d < type.rank(); ++d) perm.push_back(d);
    perm.insert(perm.begin() + axis, 0);
    outputs[i] = f.transpose(outputs[i], perm);
  }
  return outputs;
}

}  // namespace

Values import_scan(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  const bool batched = node.opset() < 9;  // opset 8: lengths first, a batch in front of everything
  const pb::GraphProto& proto = node.graph("body");
  const std::int64_t scans = node.integer("num_scan_inputs");
  const auto given = static_cast<std::int64_t>(node.node().input_size()) - (batched ? 1 : 0);
  check(scans > 0 && scans <= given, Code::parse, "{} of {} inputs are to be scanned", scans, given);
  const auto states = static_cast<std::size_t>(given - scans);
  check(proto.input_size() == given, Code::parse, "the body takes {} inputs instead of {}", proto.input_size(), given);
  check(proto.output_size() == node.output_count() && proto.output_size() >= static_cast<int>(states), Code::parse,
        "the body gives {} outputs, {} of them states; the node has {}", proto.output_size(), states,
        node.output_count());
  const auto outputs = static_cast<std::size_t>(node.output_count());
  Scanned in = batched
                   ? read_scanned(node, "", "directions", static_cast<std::size_t>(scans))
                   : read_scanned(node, "scan_input_axes", "scan_input_directions", static_cast<std::size_t>(scans));
  Scanned out = batched ? Scanned{std::vector<std::int64_t>(outputs - states, 0), std::vector<bool>(outputs - states)}
                        : read_scanned(node, "scan_output_axes", "scan_output_directions", outputs - states);
  const std::size_t first = batched ? 1 : 0;
  const auto parts_from = [&](const auto& value_of) {
    Parts parts;
    parts.outputs = outputs;
    for (std::size_t i = 0; i < static_cast<std::size_t>(given); ++i) {
      check(node.has_input(first + i), Code::parse, "input {} is missing", first + i);
      (i < states ? parts.states : parts.scans).push_back(value_of(node.input(first + i)));
    }
    return parts;
  };
  if (!batched) return scan_once(node, build, parts_from([](ValueId id) { return id; }), in, out);

  check(!node.has_input(0), Code::unsupported, "sequences of different lengths are not known");
  const auto& dims = node.type(first).dims;
  const std::int64_t batch = build.dry() ? 1 : dims && !dims->empty() ? dims->front() : TensorType::kUnknown;
  check(batch >= 1 && batch <= 1024, Code::unsupported, "a batch of {} must be known and 1 to 1024", batch);
  std::vector<Values> all(outputs);
  for (std::int64_t b = 0; b < batch; ++b) {
    const Values one = scan_once(
        node, build, parts_from([&](ValueId id) { return f.squeeze(f.slice(id, 0, b, b + 1), {0}); }), in, out);
    for (std::size_t i = 0; i < outputs; ++i) all[i].push_back(build.dry() ? kBroken : f.unsqueeze(one[i], {0}));
  }
  Values joined;
  for (const Values& parts : all) joined.push_back(f.concat(parts, 0));
  return joined;
}

}  // namespace tessera::onnx
