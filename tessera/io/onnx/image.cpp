// Operators that put pixels elsewhere: crops, grids, columns back into images, pools undone, bent convolutions.

#include "tessera/io/onnx/internal/formula.h"
#include "tessera/io/onnx/internal/registry.h"
#include "tessera/io/onnx/internal/window_attributes.h"

#include <algorithm>

namespace tessera::onnx {
namespace {

const Hint kGiveShapes{"give the model's inputs shapes (--shape NAME:1x3x224x224)"};

// Positions -1 to 1 along an image of `size` pixels (a scalar), at the centres of pixels or from corner to corner.
ValueId spread(const Formula& f, ValueId size, ElementType type, bool align_corners) {
  const ValueId at = f.cast(f.range(size), ElementType::float64);
  const ValueId extent =
      f.cast(align_corners ? f.max(f.sub(size, f.whole(1)), f.whole(1)) : size, ElementType::float64);
  const ValueId doubled = f.shifted(f.scaled(at, 2), align_corners ? 0 : 1);
  return f.cast(f.shifted(f.div(doubled, extent), -1), type);
}

}  // namespace

Values import_center_crop_pad(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(2, 2);
  const int rank = node.rank(0);
  Formula::Dims axes;
  for (const std::int64_t axis : node.integers("axes")) axes.push_back(normalized_axis(axis, rank, node.op_type()));
  if (!node.has("axes"))
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  check(!axes.empty(), Code::parse, "there are no axes to crop or pad");
  Values extents;
  for (const std::int64_t axis : axes) extents.push_back(f.extent(node.input(0), axis));
  const ValueId from = f.concat(extents), to = f.cast(node.input(1), ElementType::int64), zero = f.whole(0);
  const ValueId first = f.div(f.max(f.sub(from, to), zero), f.whole(2));
  const ValueId cropped = f.slice_by(node.input(0), first, f.add(first, f.min(from, to)), axes);
  const ValueId missing = f.max(f.sub(to, from), zero), before = f.div(missing, f.whole(2));
  return {build.add(
      Pad{}, {cropped, f.concat({before, f.sub(missing, before)}), f.number(node.type(0).type, 0), f.list(axes)})};
}

// theta times every position of the grid, each with a 1 behind it.
Values import_affine_grid(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  const bool align_corners = node.flag("align_corners", false);
  node.inputs(2, 2);
  const ElementType type = node.type(0).type;
  const auto& dims = node.type(0).dims;
  const std::int64_t spatial = build.dry() ? 2 : dims && dims->size() == 3 ? (*dims)[1] : 0;
  check(spatial == 2 || spatial == 3, Code::unsupported, kGiveShapes, "theta is {}, not [n, 2, 3] or [n, 3, 4]",
        node.type(0).to_string());
  const ValueId size = f.cast(node.input(1), ElementType::int64);
  const ValueId extents = f.slice(size, 0, 2, kToTheEnd);
  Values columns;  // x first, which is the last extent
  for (std::int64_t i = spatial - 1; i >= 0; --i) {
    const ValueId line = spread(f, f.scalar(f.slice(extents, 0, i, i + 1)), type, align_corners);
    Formula::Dims along(static_cast<std::size_t>(spatial), 1);
    along[static_cast<std::size_t>(i)] = -1;
    columns.push_back(f.reshape(f.expand(f.reshape(line, along), extents), {-1, 1}));
  }
  columns.push_back(f.filled(f.concat({f.extent(columns[0], 0), f.list({1})}), type, 1));
  const ValueId grid = f.matmul(f.concat(columns, 1), f.transpose(node.input(0), {0, 2, 1}));
  return {f.reshape(grid, f.concat({f.slice(size, 0, 0, 1), extents, f.list({spatial})}))};
}

// Adds every element of every block to its pixel; what falls into the padding goes to one pixel more, cut off again.
Values import_col2im(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  node.inputs(3, 3);
  Formula::Dims dilations = node.integers("dilations"), pads = node.integers("pads"),
                strides = node.integers("strides");
  if (build.dry()) return {kBroken};
  const auto& shape_dims = node.type(1).dims;
  check(shape_dims && shape_dims->size() == 1 && shape_dims->front() > 0, Code::unsupported, kGiveShapes,
        "the number of spatial dimensions must be known here, and it is not");
  const auto spatial = static_cast<std::size_t>(shape_dims->front());
  check(spatial <= 3, Code::unsupported, "{} spatial dimensions are more than 3", spatial);
  if (dilations.empty()) dilations.assign(spatial, 1);
  if (strides.empty()) strides.assign(spatial, 1);
  if (pads.empty()) pads.assign(2 * spatial, 0);
  check(dilations.size() == spatial && strides.size() == spatial && pads.size() == 2 * spatial, Code::parse,
        "{} spatial dimensions have {} dilations, {} strides and {} pads", spatial, dilations.size(), strides.size(),
        pads.size());
  check(*std::min_element(strides.begin(), strides.end()) > 0, Code::parse, "a stride is below 1");

  const ValueId image = f.cast(node.input(1), ElementType::int64), block = f.cast(node.input(2), ElementType::int64);
  const ValueId pixels = f.reduce(Reduce::Kind::prod, image, {0}, true);
  const auto of = [&](ValueId list, std::size_t d) {
    return f.scalar(f.slice(list, 0, static_cast<std::int64_t>(d), static_cast<std::int64_t>(d) + 1));
  };
  ValueId places = kNoValue, valid = kNoValue;  // [block..., blocks...]
  for (std::size_t d = 0; d < spatial; ++d) {
    const ValueId extent = of(image, d), width = of(block, d);
    const ValueId reach = f.shifted(f.scaled(f.shifted(width, -1), static_cast<double>(dilations[d])), 1);
    const ValueId room = f.sub(f.shifted(extent, static_cast<double>(pads[d] + pads[spatial + d])), reach);
    const ValueId blocks = f.shifted(f.div(room, f.whole(strides[d])), 1);
    Formula::Dims in_block(2 * spatial, 1), of_blocks(2 * spatial, 1);
    in_block[d] = -1;
    of_blocks[spatial + d] = -1;
    const ValueId at =
        f.shifted(f.add(f.reshape(f.scaled(f.range(width), static_cast<double>(dilations[d])), in_block),
                        f.reshape(f.scaled(f.range(blocks), static_cast<double>(strides[d])), of_blocks)),
                  -static_cast<double>(pads[d]));
    const ValueId inside = f.both(f.binary(Binary::Kind::greater_equal, at, f.whole(0)), f.less(at, extent));
    places = d == 0 ? at : f.add(f.mul(places, extent), at);
    valid = d == 0 ? inside : f.both(valid, inside);
  }
  const ValueId target = f.reshape(f.where(valid, places, f.scalar(pixels)), {1, -1});
  const ValueId x = node.input(0);
  const ValueId batch = f.extent(x, 0),
                channels = f.div(f.extent(x, 1), f.reduce(Reduce::Kind::prod, block, {0}, true));
  const ValueId rows = f.mul(batch, channels);
  const ValueId columns = f.reshape(x, f.concat({rows, f.extent(target, 1)}));
  const ValueId zeros = f.filled(f.concat({rows, f.shifted(pixels, 1)}), node.type(0).type, 0);
  const ValueId sums = build.add(ScatterElements{.axis = 1, .reduction = ScatterND::Reduction::add},
                                 {zeros, f.expand(target, f.shape(columns)), columns});
  const ValueId y = f.slice_by(sums, f.list({0}), pixels, {1});
  return {f.reshape(y, f.concat({batch, channels, image}))};
}

Values import_max_unpool(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  const Window window = read_window(node);
  node.inputs(2, 3);
  const std::size_t spatial = window.kernel.size();
  check(spatial > 0 && (window.strides.empty() || window.strides.size() == spatial) &&
            (window.pads.empty() || window.pads.size() == 2 * spatial),
        Code::parse, "the kernel has {} dimensions, there are {} strides and {} pads", spatial, window.strides.size(),
        window.pads.size());
  const ValueId x = node.input(0);
  Values extents = {f.extents(x, 0, 2)};
  for (std::size_t d = 0; d < spatial; ++d) {
    const double stride = window.strides.empty() ? 1 : static_cast<double>(window.strides[d]);
    const double pads =
        window.pads.empty() ? 0 : static_cast<double>(window.pads[d]) + static_cast<double>(window.pads[spatial + d]);
    const ValueId steps = f.shifted(f.extent(x, static_cast<std::int64_t>(d) + 2), -1);
    extents.push_back(f.shifted(f.scaled(steps, stride), static_cast<double>(window.kernel[d]) - pads));
  }
  const ValueId shape = f.concat(extents);
  const ValueId zeros = f.filled(f.reduce(Reduce::Kind::prod, shape, {0}, true), node.type(0).type, 0);
  const ValueId flat = build.add(ScatterElements{.axis = 0}, {zeros, f.as_list(node.input(1)), f.as_list(x)});
  ValueId y = f.reshape(flat, shape);
  if (node.has_input(2)) {  // larger at the far ends
    const ValueId pads = f.concat({f.list(Formula::Dims(spatial + 2, 0)), f.sub(node.input(2), shape)});
    y = build.add(Pad{}, {y, pads, f.number(node.type(0).type, 0)});
  }
  return {y};
}

// One sample of the image for every element of the kernel, then a 1x1 convolution over all of them.
Values import_deform_conv(NodeReader& node, NodeBuilder& build) {
  const Formula f(build);
  const Window given = read_window(node);
  const std::int64_t groups = node.integer("group", 1), bends = node.integer("offset_group", 1);
  node.inputs(3, 5);
  if (build.dry()) return {kBroken};
  const auto known = [&](std::size_t i) {
    check(node.type(i).is_static() && node.rank(i) == 4, Code::unsupported, kGiveShapes,
          "input {} is {}, a known shape of rank 4 is needed", i, node.type(i).to_string());
    return *node.type(i).dims;
  };
  const Formula::Dims x = known(0), w = known(1);
  Window whole = given;
  whole.kernel = {w[2], w[3]};
  const ResolvedWindow window = resolve(whole, {x[2], x[3]}, false, node.op_type());
  const std::int64_t taps = w[2] * w[3], n = x[0], channels = x[1], oh = window.output[0], ow = window.output[1];
  check(bends > 0 && channels % bends == 0, Code::parse, "{} channels do not share {} offsets", channels, bends);
  check(taps <= 1024 && bends <= 1024 && taps * bends <= 4096, Code::unsupported,
        "{} taps with {} offsets are too many", taps, bends);
  const ElementType type = node.type(0).type;
  const ValueId offsets = f.reshape(node.input(2), {n, bends, taps, 2, oh, ow});
  const ValueId masks = node.has_input(4) ? f.reshape(node.input(4), {n, bends, taps, 1, oh, ow}) : kNoValue;

  // Where a tap looks without an offset, in pixels; then as GridSample counts.
  const auto line = [&](std::size_t d, std::int64_t tap) {
    const ValueId steps = f.cast(f.range(f.whole(window.output[d])), type);
    const ValueId at = f.shifted(f.scaled(steps, static_cast<double>(window.strides[d])),
                                 static_cast<double>(tap * window.dilations[d] - window.begins[d]));
    return f.reshape(at, d == 0 ? Formula::Dims{1, oh, 1} : Formula::Dims{1, 1, ow});
  };
  const auto piece = [&](ValueId all, std::int64_t bend, std::int64_t tap, std::int64_t part) {
    ValueId cut = f.slice(f.slice(all, 1, bend, bend + 1), 2, tap, tap + 1);
    cut = f.slice(cut, 3, part, part + 1);
    return f.reshape(cut, {n, oh, ow});
  };
  const auto coordinate = [&](std::size_t d, std::int64_t tap, ValueId offset) {
    const ValueId pixel = f.add(offset, line(d, tap));
    const double extent = static_cast<double>(x[d + 2]);
    return f.unsqueeze(f.shifted(f.scaled(f.shifted(f.scaled(pixel, 2), 1), 1 / extent), -1), {3});
  };
  Values samples;  // [n, channels / bends, oh, ow] of each bend and tap, stacked to [n, channels * taps, oh, ow]
  for (std::int64_t bend = 0; bend < bends; ++bend) {
    const std::int64_t share = channels / bends;
    const ValueId part = f.slice(node.input(0), 1, bend * share, (bend + 1) * share);
    Values of_taps;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const ValueId grid = f.concat({coordinate(1, tap % w[3], piece(offsets, bend, tap, 1)),
                                     coordinate(0, tap / w[3], piece(offsets, bend, tap, 0))},
                                    3);
      ValueId sample = build.add(GridSample{}, {part, grid});
      if (masks != kNoValue) sample = f.mul(sample, f.unsqueeze(piece(masks, bend, tap, 0), {1}));
      of_taps.push_back(f.unsqueeze(sample, {2}));
    }
    samples.push_back(f.concat(of_taps, 2));
  }
  const ValueId columns = f.reshape(f.concat(samples, 1), {n, channels * taps, oh, ow});
  const ValueId weights = f.reshape(node.input(1), {w[0], w[1] * taps, 1, 1});
  return {build.add(Conv{.window = {}, .groups = groups}, {columns, weights, node.input(3)})};
}

}  // namespace tessera::onnx
