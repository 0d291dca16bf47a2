#include "tessera/targets/tensix/network/concat_parts.h"
#include "tessera/targets/tensix/network/simulation_run.h"
#include "tessera/targets/tensix/ops/concat/concat.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include <algorithm>

namespace tessera::tensix {
namespace {

// What is to be joined in one layout and type. Copies take the place of what nobody else reads.
std::vector<DeviceTensor> converted(SimulationRun& run, const LoweredNode& node, const JoinedParts& joined) {
  std::vector<DeviceTensor> parts;
  for (const ValueId id : node.inputs) {
    const TensorSpec& spec = run.values.at(id).spec();
    if (spec.layout() == joined.layout && spec.dtype() == joined.dtype) continue;
    const bool consumes = run.strict && run.values.may_consume(id);
    DeviceTensor copy = joined.layout == Layout::row_major ? to_layout(run.values.at(id), Layout::row_major)
                        : is_tiled(run.values.at(id))      ? typecast(run.values.at(id), joined.dtype)
                                                           : to_layout(run.values.at(id), Layout::tile, joined.dtype);
    if (consumes)
      run.values.put(id, std::move(copy));
    else
      parts.push_back(std::move(copy));
  }
  std::vector<DeviceTensor> out;
  std::size_t made = 0;
  for (const ValueId id : node.inputs) {
    const TensorSpec& spec = run.values.at(id).spec();
    const bool fits = spec.layout() == joined.layout && spec.dtype() == joined.dtype;
    out.push_back(fits ? run.values.at(id) : parts[made++]);
  }
  return out;
}

}  // namespace

DeviceTensor run_concat(SimulationRun& run, const LoweredNode& node, const ConcatLayer& layer) {
  const LayerConfig own = config_of(run.options.layers, node.name);
  const DType dtype = own.dtype.value_or(run.options.dtype);
  std::vector<TensorSpec> specs;
  for (const ValueId id : node.inputs) specs.push_back(run.values.at(id).spec());
  const std::optional<JoinedParts> joined = join_in_shards(specs, layer, own);
  const int dim = layer.channels ? 3 : 2;
  const auto far = [&] {
    check(layer.groups == 1, Code::unsupported, Hint{"move both into height shards on the same cores first"},
          "concat: groups of channels are joined where two tensors lie in like height shards");
    std::vector<DeviceTensor> parts, copies;
    for (const ValueId id : node.inputs) parts.push_back(run.values.at(id));
    const bool rows = std::any_of(parts.begin(), parts.end(), [](const DeviceTensor& x) { return !is_tiled(x); });
    for (const DeviceTensor& x : parts) {
      DeviceTensor copy = in_dram(x);
      if (rows) copy = in_rows(copy);
      if (!rows && copy.spec().dtype() != dtype) copy = typecast(copy, dtype);
      copies.push_back(copy);
    }
    const DeviceTensor y = concat(copies, dim);
    return rows && is_block_float(dtype) ? to_layout(y, Layout::tile, dtype) : y;
  };
  if (!joined) {
    check(!run.strict || !own.gives("output_layout"), Code::unsupported,
          "concat: the tensors do not lie in like height shards");
    run.note("tensors in different shards are joined in DRAM");
    return run.fit({}, far);
  }
  return run.near_or_far(
      node.inputs,
      [&] { return concat(converted(run, node, *joined), dim, joined->memory, static_cast<int>(layer.groups)); }, far);
}

}  // namespace tessera::tensix
