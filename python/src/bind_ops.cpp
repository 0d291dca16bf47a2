#include "any_tensor.h"
#include "arrays.h"
#include "bind.h"
#include "compute_config.h"
#include "given_output.h"
#include "ops/optional_arguments.h"
#include "queue_scope.h"
#include "shape_like.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/ops/concat/concat.h"
#include "tessera/targets/tensix/ops/elementwise/elementwise.h"
#include "tessera/targets/tensix/ops/interleaved_to_sharded/interleaved_to_sharded.h"
#include "tessera/targets/tensix/ops/move/move.h"
#include "tessera/targets/tensix/ops/pad/pad.h"
#include "tessera/targets/tensix/ops/padding/padding.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/slice/slice.h"
#include "tessera/targets/tensix/ops/tilize/tilize.h"
#include "tessera/targets/tensix/ops/to_memory_config/to_memory_config.h"
#include "tessera/targets/tensix/ops/typecast/typecast.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using OptionalType = std::optional<DataType>;
using DevicePointer = std::shared_ptr<tensix::Device>;
using Pair = std::array<std::uint32_t, 2>;

void bind_placing(nb::module_& module) {
  module.def(
      "to_device",
      [](const AnyTensor& x, const DevicePointer& device, const OptionalConfig& config, OptionalQueue queue) {
        const QueueScope scope(device, queue);
        return to_device(x, device, config);
      },
      "tensor"_a, "device"_a, "memory_config"_a = nb::none(), "cq_id"_a = nb::none(),
      "Copies a host tensor to a device. A tensor that is on one comes back as it is.");
  module.def(
      "from_device",
      [](const AnyTensor& x, bool blocking, OptionalQueue queue) {
        const QueueScope scope(x, queue, blocking);
        return from_device(x);
      },
      "tensor"_a, "blocking"_a = true, "cq_id"_a = nb::none(),
      "Copies a tensor to host memory; the device keeps its own.");
  module.def(
      "copy_host_to_device_tensor",
      [](const AnyTensor& x, AnyTensor& y, OptionalQueue queue) {
        const QueueScope scope(y, queue);
        tensix::copy_host_to_device(x.host("copy_host_to_device_tensor"), y.device("copy_host_to_device_tensor"));
      },
      "host_tensor"_a, "device_tensor"_a, "cq_id"_a = nb::none());
  module.def(
      "allocate_tensor_on_device",
      [](const tensix::TensorSpec& spec, const DevicePointer& device) {
        return AnyTensor(tensix::DeviceTensor::allocate(device, spec));
      },
      "tensor_spec"_a, "mesh_device"_a, "A tensor with whatever the memory held before.");
  module.def(
      "allocate_tensor_on_device",
      [](const ShapeLike& shape, DataType dtype, Layout layout, const DevicePointer& device,
         const OptionalConfig& config) {
        return AnyTensor(tensix::DeviceTensor::allocate(
            device, tensix::TensorSpec(shape, dtype, layout, config.value_or(tensix::MemoryConfig()))));
      },
      "shape"_a, "dtype"_a, "layout"_a, "mesh_device"_a, "memory_config"_a = nb::none());
  module.def("deallocate", &deallocate, "tensor"_a, "force"_a = true,
             "Frees a tensor's memory on its device; without `force` only if no other tensor shares it.");
  module.def(
      "move", [](AnyTensor& x, const OptionalConfig& config) { return AnyTensor(move(x.device("move"), config)); },
      "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none(),
      "Frees a tensor and allocates it anew, so that it may slide into a hole. The input is gone afterwards.");
  module.def(
      "reallocate",
      [](AnyTensor& x, const OptionalConfig& config) { return AnyTensor(move(x.device("reallocate"), config)); },
      "tensor"_a, "memory_config"_a = nb::none());
  module.def(
      "clone",
      [](const AnyTensor& x, const OptionalType& dtype, const OptionalConfig& config,
         const std::optional<KernelConfig>& compute) {
        static_cast<void>(compute);  // a copy computes nothing; another dtype is packed
        return AnyTensor(clone(x.device("clone"), config, plain(dtype)));
      },
      "input"_a, nb::kw_only(), "dtype"_a = nb::none(), "memory_config"_a = nb::none(),
      "compute_kernel_config"_a = nb::none());
}

void bind_resharding(nb::module_& module) {
  module.def(
      "to_memory_config",
      [](const AnyTensor& x, const tensix::MemoryConfig& config, const OptionalType& dtype,
         const OptionalTensor& output) {
        return into("to_memory_config", tensix::to_memory_config(x.device("to_memory_config"), config, plain(dtype)),
                    output);
      },
      "tensor"_a, "memory_config"_a, "dtype"_a = nb::none(), "output_tensor"_a = nb::none(),
      "Moves a tensor to another place. One that is there already comes back as it is, whatever the dtype.");
  module.def(
      "reshard",
      [](const AnyTensor& x, const tensix::MemoryConfig& config, const std::optional<AnyTensor>& output) {
        const std::optional<tensix::DeviceTensor> into =
            output ? std::optional(output->device("reshard")) : std::nullopt;
        return AnyTensor(tensix::reshard(x.device("reshard"), config, into));
      },
      "input_tensor"_a, "output_memory_config"_a, "output_tensor"_a = nb::none());
  module.def(
      "interleaved_to_sharded",
      [](const AnyTensor& x, const tensix::MemoryConfig& config, const OptionalType& dtype,
         std::optional<bool> keep_l1_aligned, const OptionalTensor& output) {
        static_cast<void>(keep_l1_aligned);  // pages of shards are aligned for L1 in any case
        return into("interleaved_to_sharded",
                    tensix::interleaved_to_sharded(x.device("interleaved_to_sharded"), config, plain(dtype)), output);
      },
      "input_tensor"_a, "sharded_memory_config"_a, "output_dtype"_a = nb::none(), nb::kw_only(),
      "keep_l1_aligned"_a = nb::none(), "preallocated_output"_a = nb::none());
  module.def(
      "interleaved_to_sharded",
      [](const AnyTensor& x, const tensix::CoreCoord& grid, const Pair& shard, tensix::TensorMemoryLayout scheme,
         tensix::ShardOrientation orientation, const OptionalType& dtype, std::optional<bool> keep_l1_aligned) {
        static_cast<void>(keep_l1_aligned);
        const tensix::DeviceTensor& tensor = x.device("interleaved_to_sharded");
        const tensix::MemoryConfig config = tensix::sharded_config(tensor.spec(), tensix::CoreGrid{grid.y, grid.x},
                                                                   {shard[0], shard[1]}, scheme, orientation);
        return AnyTensor(tensix::interleaved_to_sharded(tensor, config, plain(dtype)));
      },
      "input_tensor"_a, "grid"_a, "shard_shape"_a, "shard_scheme"_a, "shard_orientation"_a,
      "output_dtype"_a = nb::none(), nb::kw_only(), "keep_l1_aligned"_a = nb::none());
  module.def(
      "interleaved_to_sharded",
      [](const AnyTensor& x, const tensix::CoreRangeSet& grid, const Pair& shard, tensix::TensorMemoryLayout scheme,
         tensix::ShardOrientation orientation, const OptionalType& dtype, std::optional<bool> keep_l1_aligned) {
        static_cast<void>(keep_l1_aligned);
        const tensix::MemoryConfig config = tensix::sharded_config(grid, {shard[0], shard[1]}, scheme, orientation);
        return AnyTensor(tensix::interleaved_to_sharded(x.device("interleaved_to_sharded"), config, plain(dtype)));
      },
      "input_tensor"_a, "grid"_a, "shard_shape"_a, "shard_scheme"_a, "shard_orientation"_a,
      "output_dtype"_a = nb::none(), nb::kw_only(), "keep_l1_aligned"_a = nb::none());
  module.def(
      "sharded_to_interleaved",
      [](const AnyTensor& x, const OptionalConfig& config, const OptionalType& dtype) {
        return AnyTensor(tensix::sharded_to_interleaved(x.device("sharded_to_interleaved"),
                                                        config.value_or(tensix::kDramMemoryConfig), plain(dtype)));
      },
      "input_tensor"_a, "memory_config"_a = nb::none(), "output_dtype"_a = nb::none());
}

// typecast, into a given tensor where there is one.
AnyTensor converted(const AnyTensor& x, DataType dtype, const OptionalConfig& config, const OptionalTensor& output,
                    const OptionalCores& cores) {
  check_cores("typecast", cores, x);
  if (!output) return typecast(x, dtype, config);
  check(output->dtype() == dtype, Code::invalid_argument, "typecast: the output tensor is {}, not {}",
        name(output->dtype()), name(dtype));
  const AnyTensor y = typecast(x, dtype, output->memory_config());
  const tensix::VectorFunction same = tensix::vector_function("identity");
  return AnyTensor(tensix::unary("identity", std::span(&same, 1), y.device("typecast"),
                                 {.output = output->device("the output tensor")}));
}

void bind_layouts(nb::module_& module) {
  module.def(
      "to_layout",
      [](const AnyTensor& x, Layout layout, const OptionalType& dtype, const OptionalConfig& config, float pad_value,
         const OptionalCores& cores) {
        if (x.on_device()) check_cores("to_layout", cores, x);
        check(pad_value == 0, Code::unsupported, "to_layout: tiles are filled up with 0, not with {}", pad_value);
        return to_layout(x, layout, plain(dtype), config);
      },
      "tensor"_a, "layout"_a, "dtype"_a = nb::none(), "memory_config"_a = nb::none(), nb::kw_only(),
      "pad_value"_a = 0.0F, "sub_core_grids"_a = nb::none());
  module.def(
      "tilize",
      [](const AnyTensor& x, const OptionalConfig& config, const OptionalType& dtype, bool, bool,
         const std::optional<Tile>& tile, const OptionalCores& cores) {
        check_cores("tilize", cores, x);
        check(!tile || *tile == Tile{}, Code::unsupported, "tilize: only tiles of 32 x 32 are made");
        return AnyTensor(tensix::tilize(x.device("tilize"), config, plain(dtype)));
      },
      "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none(), "dtype"_a = nb::none(), "use_multicore"_a = true,
      "use_low_perf"_a = false, "tile"_a = nb::none(), "sub_core_grids"_a = nb::none());
  module.def(
      "untilize",
      [](const AnyTensor& x, const OptionalConfig& config, bool, const OptionalCores& cores) {
        check_cores("untilize", cores, x);
        return AnyTensor(tensix::untilize(x.device("untilize"), config));
      },
      "input_tensor"_a, nb::kw_only(), "memory_config"_a = nb::none(), "use_multicore"_a = true,
      "sub_core_grids"_a = nb::none());
  module.def(
      "typecast",
      [](const AnyTensor& x, DataType dtype, const OptionalConfig& config, const OptionalTensor& output,
         const OptionalCores& cores) { return converted(x, dtype, config, output, cores); },
      "input_tensor"_a, "dtype"_a, nb::kw_only(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(),
      "sub_core_grids"_a = nb::none());
  module.def(
      "typecast",
      [](const AnyTensor& x, DataType from, DataType to, const OptionalConfig& config, const OptionalTensor& output,
         const OptionalCores& cores) {
        check(x.dtype() == from, Code::invalid_argument, "typecast: the input is {}, not {}", name(x.dtype()),
              name(from));
        return converted(x, to, config, output, cores);
      },
      "input_tensor"_a, "input_dtype"_a, "output_dtype"_a, nb::kw_only(), "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none(), "sub_core_grids"_a = nb::none());
  module.def(
      "bitcast",
      [](const AnyTensor& x, DataType dtype, const OptionalConfig& config, const OptionalTensor& output,
         const OptionalCores& cores) {
        check_cores("bitcast", cores, x);
        return into("bitcast", tensix::bitcast(x.device("bitcast"), dtype, config), output);
      },
      "input_tensor"_a, "dtype"_a, nb::kw_only(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(),
      "sub_core_grids"_a = nb::none(), "The same bits as another dtype of the same size.");
  module.def(
      "to_dtype", [](const AnyTensor& x, DataType dtype) { return AnyTensor(typecast(x.host("to_dtype"), dtype)); },
      "tensor"_a, "dtype"_a, "Converts a host tensor; typecast does it on a device.");
}

AnyTensor reshaped(const AnyTensor& x, const Shape& shape, const OptionalConfig& config, std::optional<float> pad_value,
                   const OptionalCores& cores) {
  if (!x.on_device()) {
    check(!config && !cores && !pad_value, Code::invalid_argument,
          "reshape: a host tensor has no memory_config, cores or padding to fill");
    return nb::cast<AnyTensor>(nb::cast(x).attr("reshape")(nb::cast(shape.dims())));
  }
  check_cores("reshape", cores, x);
  const tensix::DeviceTensor y = reshape(x.device("reshape"), shape, config);
  if (pad_value.value_or(0) == 0 || y.spec().layout() == Layout::row_major) return AnyTensor(y);
  return AnyTensor(tensix::fill_padding(y, static_cast<double>(*pad_value)));
}

// A slice whose tiles are filled up with `pad_value`, over `output` where that is given.
AnyTensor cut(const tensix::DeviceTensor& y, const OptionalTensor& output, std::optional<float> pad_value) {
  const bool fills = pad_value.value_or(0) != 0 && y.spec().layout() == Layout::tile;
  return into("slice", fills ? tensix::fill_padding(y, static_cast<double>(*pad_value)) : y, output);
}

void bind_shapes(nb::module_& module) {
  module.def(
      "concat",
      [](const std::vector<AnyTensor>& tensors, int dim, const OptionalConfig& config, const OptionalTensor& output,
         int groups, const OptionalCores& cores) {
        std::vector<tensix::DeviceTensor> inputs;
        for (const AnyTensor& x : tensors) {
          check_cores("concat", cores, x);
          inputs.push_back(x.device("concat"));
        }
        return into("concat", concat(inputs, dim, output && !config ? output->memory_config() : config, groups),
                    output);
      },
      "tensors"_a, "dim"_a = 0, nb::kw_only(), "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(),
      "groups"_a = 1, "sub_core_grids"_a = nb::none());
  module.def(
      "slice",
      [](const AnyTensor& x, const std::vector<std::int64_t>& begins, const std::vector<std::int64_t>& ends,
         const std::optional<std::vector<std::int64_t>>& steps, const OptionalConfig& config,
         const OptionalTensor& output, std::optional<float> pad_value, const OptionalCores& cores) {
        check_cores("slice", cores, x);
        return cut(
            slice(x.device("slice"), begins, ends, steps.value_or(std::vector<std::int64_t>(begins.size(), 1)), config),
            output, pad_value);
      },
      "input_tensor"_a, "slice_start"_a, "slice_end"_a, "slice_step"_a = nb::none(), nb::kw_only(),
      "memory_config"_a = nb::none(), "output_tensor"_a = nb::none(), "pad_value"_a = nb::none(),
      "sub_core_grids"_a = nb::none());
  module.def(
      "slice",
      [](const AnyTensor& x, const std::vector<std::int64_t>& begins, const std::vector<std::int64_t>& ends,
         const std::vector<std::int64_t>& steps, const OptionalConfig& config, const OptionalTensor& output,
         std::optional<float> pad_value, const OptionalCores& cores) {
        check_cores("slice", cores, x);
        return cut(slice(x.device("slice"), begins, ends, steps, config), output, pad_value);
      },
      "input_tensor"_a, "starts"_a, "ends"_a, "steps"_a, nb::kw_only(), "memory_config"_a = nb::none(),
      "output_tensor"_a = nb::none(), "pad_value"_a = nb::none(), "sub_core_grids"_a = nb::none());
  module.def(
      "pad",
      [](const AnyTensor& x, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& padding, float value, bool,
         const OptionalConfig& config, const OptionalCores& cores) {
        check_cores("pad", cores, x);
        const std::vector<std::pair<std::int64_t, std::int64_t>> amounts(padding.begin(), padding.end());
        return AnyTensor(pad(x.device("pad"), amounts, value, config));
      },
      "input_tensor"_a, "padding"_a, "value"_a, nb::kw_only(), "use_multicore"_a = true, "memory_config"_a = nb::none(),
      "sub_core_grids"_a = nb::none());
  module.def(
      "pad",
      [](const AnyTensor& x, const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& start,
         float value, bool, const OptionalConfig& config, const OptionalCores& cores) {
        check_cores("pad", cores, x);
        const std::vector<std::int64_t>& from = x.shape().dims();
        check(shape.size() == from.size() && start.size() == from.size(), Code::invalid_argument,
              "pad: a shape of {} dimensions and a start of {} do not go with a tensor of {}", shape.size(),
              start.size(), from.size());
        std::vector<std::pair<std::int64_t, std::int64_t>> amounts;
        for (std::size_t d = 0; d < from.size(); ++d) {
          check(start[d] >= 0 && start[d] + from[d] <= shape[d], Code::invalid_argument,
                "pad: {} elements from {} on do not fit into {}", from[d], start[d], shape[d]);
          amounts.emplace_back(start[d], shape[d] - start[d] - from[d]);
        }
        return AnyTensor(pad(x.device("pad"), amounts, value, config));
      },
      "input_tensor"_a, "output_padded_shape"_a, "input_tensor_start"_a, "value"_a, nb::kw_only(),
      "use_multicore"_a = true, "memory_config"_a = nb::none(), "sub_core_grids"_a = nb::none());
  module.def(
      "reshape",
      [](const AnyTensor& x, const std::vector<std::int64_t>& dims, const OptionalConfig& config,
         std::optional<float> pad_value, const OptionalCores& cores) {
        return reshaped(x, tensix::resolve_shape(dims, x.shape().volume()), config, pad_value, cores);
      },
      "input_tensor"_a, "shape"_a, nb::kw_only(), "memory_config"_a = nb::none(), "pad_value"_a = nb::none(),
      "sub_core_grids"_a = nb::none());
  module.def("reshape", &reshaped, "input_tensor"_a, "shape"_a, nb::kw_only(), "memory_config"_a = nb::none(),
             "pad_value"_a = nb::none(), "sub_core_grids"_a = nb::none());
  module.def(
      "reshape",
      [](const AnyTensor& x, const Shape& shape, const Shape& padded, const OptionalConfig& config,
         std::optional<float> pad_value, const OptionalCores& cores) {
        const AnyTensor y = reshaped(x, shape, config, pad_value, cores);
        check(y.padded_shape() == padded, Code::unsupported,
              "reshape: a tensor {} has the padded shape {} here, no other ({})", shape.to_string(),
              y.padded_shape().to_string(), padded.to_string());
        return y;
      },
      "input_tensor"_a, "logical_shape"_a, "padded_shape"_a, nb::kw_only(), "memory_config"_a = nb::none(),
      "pad_value"_a = nb::none(), "sub_core_grids"_a = nb::none());
}

Tensor filled(const Shape& shape, double value, DType dtype, Layout layout) {
  const std::vector<double> values(static_cast<std::size_t>(shape.volume()), value);
  return tensor_from_array(std::as_bytes(std::span(values)), ElementType::float64, shape, {dtype, layout, {}, 0});
}

AnyTensor placed(Tensor tensor, const std::optional<DevicePointer>& device, const OptionalConfig& config) {
  return device ? to_device(std::move(tensor), *device, config) : AnyTensor(std::move(tensor));
}

void bind_creation(nb::module_& module) {
  constexpr DataType kDefault{DType::bfloat16};
  module.def(
      "full",
      [](const ShapeLike& shape, double value, DataType dtype, Layout layout,
         const std::optional<DevicePointer>& device, const OptionalConfig& config, const OptionalTensor& output) {
        if (!output) return placed(filled(shape, value, dtype, layout), device, config);
        AnyTensor y = *output;  // says all the rest
        check(static_cast<const Shape&>(shape) == y.shape(), Code::invalid_argument,
              "full: the optional tensor is {}, the shape {}", y.shape().to_string(),
              static_cast<const Shape&>(shape).to_string());
        tensix::copy_host_to_device(filled(shape, value, y.dtype(), y.layout()), y.device("full"));
        return y;
      },
      "shape"_a, "fill_value"_a, "dtype"_a = kDefault, "layout"_a = Layout::row_major, "device"_a = nb::none(),
      "memory_config"_a = nb::none(), "optional_tensor"_a = nb::none());
  for (const auto& [name, value] : {std::pair{"zeros", 0.0}, std::pair{"ones", 1.0}})
    module.def(
        name,
        [value](const ShapeLike& shape, DataType dtype, Layout layout, const std::optional<DevicePointer>& device,
                const OptionalConfig& config) { return placed(filled(shape, value, dtype, layout), device, config); },
        "shape"_a, "dtype"_a = kDefault, "layout"_a = Layout::row_major, "device"_a = nb::none(),
        "memory_config"_a = nb::none());
  module.def(
      "empty",
      [](const ShapeLike& shape, DataType dtype, Layout layout, const std::optional<DevicePointer>& device,
         const OptionalConfig& config) {
        if (!device) return AnyTensor(Tensor(shape, dtype, layout));
        return AnyTensor(tensix::DeviceTensor::allocate(
            *device, tensix::TensorSpec(shape, dtype, layout, config.value_or(tensix::MemoryConfig()))));
      },
      "shape"_a, "dtype"_a = kDefault, "layout"_a = Layout::row_major, "device"_a = nb::none(),
      "memory_config"_a = nb::none(), "On a device: with whatever the memory held before.");
}

}  // namespace

void bind_ops(nb::module_& module) {
  bind_placing(module);
  bind_resharding(module);
  bind_layouts(module);
  bind_shapes(module);
  bind_creation(module);
}

}  // namespace tessera::python
