#include "any_tensor.h"
#include "arrays.h"
#include "bind.h"
#include "queue_scope.h"
#include "shape_like.h"

#include "tessera/core/error.h"
#include "tessera/core/tensor_text.h"
#include "tessera/targets/tensix/ops/reshape/reshape.h"
#include "tessera/targets/tensix/ops/slice/slice.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using OptionalDevice = std::optional<std::shared_ptr<tensix::Device>>;

ArrayImport import_of(const std::optional<DataType>& dtype, std::optional<Layout> layout,
                      const std::optional<Tile>& tile, std::optional<float> pad_value) {
  return {plain(dtype), layout, tile.value_or(Tile{}), pad_value.value_or(0.0F)};
}

AnyTensor on_device_or_host(Tensor tensor, const OptionalDevice& device,
                            const std::optional<tensix::MemoryConfig>& config) {
  if (device) return to_device(std::move(tensor), *device, config);
  check(!config, Code::invalid_argument, "a memory_config without a device says nothing: host tensors have no banks");
  return tensor;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return out;
}

std::string tensor_text(const AnyTensor& x) {
  constexpr std::string_view kOpen = "ttnn.Tensor(";
  const bool gone = x.on_device() && !x.device("repr").is_allocated();
  return fmt::format("{}{}, shape=Shape({}), dtype=DataType::{}, layout=Layout::{})", kOpen,
                     gone ? "<deallocated>" : values_text(*x.on_host(), static_cast<int>(kOpen.size())),
                     x.shape().to_string(), upper(name(x.dtype())), name(x.layout()));
}

const tensix::DeviceTensor& allocated(const AnyTensor& x, std::string_view what) {
  const tensix::DeviceTensor& tensor = x.device(what);
  tensor.check_allocated();
  return tensor;
}

// Elements from `begins` on, every `steps`-th, `lengths` of them along each dimension, as a tensor of `shape`.
AnyTensor host_slice(const Tensor& x, const std::vector<std::int64_t>& begins, const std::vector<std::int64_t>& steps,
                     const std::vector<std::int64_t>& lengths, const Shape& shape) {
  const DType element = is_block_float(x.dtype()) ? DType::float32 : x.dtype();
  const auto from = x.to_elements(element);
  const auto width = static_cast<std::size_t>(element_bytes(element));
  const std::vector<std::int64_t>& dims = x.shape().dims();
  std::vector<std::byte> to(static_cast<std::size_t>(shape.volume()) * width);
  std::vector<std::int64_t> at(dims.size(), 0);
  for (std::size_t out = 0; out < to.size(); out += width) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) place = place * dims[d] + begins[d] + at[d] * steps[d];
    std::copy_n(from.begin() + place * static_cast<std::int64_t>(width), width,
                to.begin() + static_cast<std::ptrdiff_t>(out));
    for (std::size_t d = dims.size(); d-- > 0;) {
      if (++at[d] < lengths[d]) break;
      at[d] = 0;
    }
  }
  return Tensor::from_elements(to, element, shape, x.dtype(), x.layout(), x.tile());
}

// x[...]: a slice, and a reshape without the dimensions that an integer picked from.
AnyTensor item_at(const AnyTensor& x, const nb::object& index) {
  const Shape& shape = x.shape();
  const nb::tuple indices = nb::isinstance<nb::tuple>(index) ? nb::tuple(index) : nb::make_tuple(index);
  std::size_t given = 0;
  for (nb::handle i : indices) given += i.is(Py_Ellipsis) ? 0 : 1;
  check(given <= static_cast<std::size_t>(shape.rank()), Code::invalid_argument,
        "{} indices are too many for a tensor of shape {}", given, shape.to_string());
  std::vector<std::int64_t> begins, ends, steps, kept;
  const auto take = [&](std::int64_t begin, std::int64_t end, std::int64_t step) {
    begins.push_back(begin);
    ends.push_back(end);
    steps.push_back(step);
  };
  std::vector<bool> dropped;
  bool seen_ellipsis = false;
  const auto whole = [&] {
    take(0, shape[static_cast<int>(begins.size())], 1);
    dropped.push_back(false);
  };
  for (nb::handle i : indices) {
    if (i.is(Py_Ellipsis)) {
      if (seen_ellipsis) throw nb::index_error("an index can have one '...'");
      seen_ellipsis = true;
      for (std::size_t n = static_cast<std::size_t>(shape.rank()) - given; n > 0; --n) whole();
      continue;
    }
    const std::int64_t extent = shape[static_cast<int>(begins.size())];
    if (nb::isinstance<nb::slice>(i)) {
      const auto [begin, end, step, length] = nb::borrow<nb::slice>(i).compute(static_cast<std::size_t>(extent));
      take(begin, end, step);
      dropped.push_back(false);
    } else {
      std::int64_t at = nb::cast<std::int64_t>(i);
      if (at < -extent || at >= extent)
        throw nb::index_error(fmt::format("index {} is out of range for {}", at, extent).c_str());
      if (at < 0) at += extent;
      take(at, at + 1, 1);
      dropped.push_back(true);
    }
  }
  while (begins.size() < static_cast<std::size_t>(shape.rank())) whole();
  const auto keep = [&](const Shape& all) {
    for (std::size_t d = 0; d < dropped.size(); ++d)
      if (!dropped[d]) kept.push_back(all.dims()[d]);
  };
  if (!x.on_device()) {
    std::vector<std::int64_t> lengths;
    for (std::size_t d = 0; d < begins.size(); ++d) {
      check(steps[d] > 0, Code::invalid_argument, "indexing: a step of {} is not positive", steps[d]);
      lengths.push_back(std::max<std::int64_t>(0, (ends[d] - begins[d] + steps[d] - 1) / steps[d]));
    }
    keep(Shape(lengths));
    return host_slice(x.host("indexing"), begins, steps, lengths, Shape(std::move(kept)));
  }
  const tensix::DeviceTensor cut = slice(x.device("indexing"), begins, ends, steps);
  keep(cut.spec().logical_shape());
  return reshape(cut, Shape(std::move(kept)));
}

AnyTensor reshaped(const AnyTensor& x, const std::vector<std::int64_t>& dims) {
  const Shape shape = tensix::resolve_shape(dims, x.shape().volume());
  if (x.on_device()) return reshape(x.device("reshape"), shape);
  const Tensor& host = x.host("reshape");
  check(shape.volume() == host.shape().volume(), Code::invalid_argument, "reshape: {} has {} elements, {} has {}",
        host.shape().to_string(), host.shape().volume(), shape.to_string(), shape.volume());
  const DType element = is_block_float(host.dtype()) ? DType::float32 : host.dtype();
  return Tensor::from_elements(host.to_elements(element), element, shape, host.dtype(), host.layout(), host.tile());
}

// The same tiles as a tensor of their whole size.
Tensor with_padding(const Tensor& x) {
  Tensor all(x.padded_shape(), x.dtype(), x.layout(), x.tile());
  std::ranges::copy(x.bytes(), all.bytes().begin());
  return all;
}

nb::object to_numpy_array(const AnyTensor& x, const nb::object& dtype, std::optional<bool> copy) {
  if (!copy.value_or(true)) throw nb::value_error("an array of a ttnn.Tensor is always a copy");
  nb::object array = export_numpy(*x.on_host());
  return dtype.is_none() ? array : nb::object(array.attr("astype")(dtype));
}

void bind_conversions(nb::class_<AnyTensor>& tensor) {
  tensor
      .def(
          "to",
          [](const AnyTensor& x, const std::shared_ptr<tensix::Device>& device,
             const std::optional<tensix::MemoryConfig>& config, OptionalQueue queue) {
            const QueueScope scope(device, queue);
            return to_device(x, device, config);
          },
          "device"_a, "mem_config"_a = nb::none(), "cq_id"_a = nb::none())
      .def(
          "to", [](const AnyTensor& x, Layout layout) { return to_layout(x, layout, std::nullopt, std::nullopt); },
          "target_layout"_a)
      .def(
          "cpu",
          [](const AnyTensor& x, bool blocking, OptionalQueue queue) {
            const QueueScope scope(x, queue, blocking);
            return from_device(x);
          },
          "blocking"_a = true, "cq_id"_a = nb::none())
      .def(
          "to_list", [](const AnyTensor& x) { return export_list(*x.on_host()); },
          nb::sig("def to_list(self) -> typing.Any"))
      .def(
          "item", [](const AnyTensor& x) { return export_item(*x.on_host()); }, nb::sig("def item(self) -> typing.Any"))
      .def(
          "to_numpy", [](const AnyTensor& x) { return export_numpy(*x.on_host()); },
          nb::sig("def to_numpy(self) -> typing.Any"),
          "The values without padding. bfloat16 and block floats come as float32: numpy has neither.")
      .def(
          "to_torch",
          [](const AnyTensor& x) {
            return nb::module_::import_("torch").attr("from_dlpack")(export_dlpack(*x.on_host()));
          },
          nb::sig("def to_torch(self) -> typing.Any"), "The values without padding, bfloat16 as such. Needs PyTorch.")
      .def(
          "to_torch_with_padded_shape",
          [](const AnyTensor& x) {
            return nb::module_::import_("torch").attr("from_dlpack")(export_dlpack(with_padding(*x.on_host())));
          },
          nb::sig("def to_torch_with_padded_shape(self) -> typing.Any"),
          "All that its tiles hold, what fills them up included.")
      .def("__array__", &to_numpy_array, "dtype"_a = nb::none(), nb::kw_only(), "copy"_a = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, *, copy: bool | None = None) -> typing.Any"))
      .def(
          "__dlpack__",
          [](const AnyTensor& x, const nb::kwargs& options) {
            return export_dlpack(x.host("__dlpack__")).attr("__dlpack__")(**options);
          },
          nb::sig("def __dlpack__(self, **options: typing.Any) -> typing.Any"))
      .def(
          "__dlpack_device__",
          [](const AnyTensor& x) {
            x.host("__dlpack_device__");
            return nb::make_tuple(1, 0);  // kDLCPU
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"));
}

}  // namespace

void bind_tensor(nb::module_& module) {
  nb::class_<AnyTensor> tensor(module, "Tensor", nb::is_weak_referenceable(),
                               "A tensor, in host memory or on a device.");
  tensor
      .def(
          "__init__",
          [](AnyTensor* self, const nb::typed<nb::list, nb::any>& values, const ShapeLike& shape, DataType dtype,
             Layout layout, const OptionalDevice& device, const std::optional<tensix::MemoryConfig>& config,
             const std::optional<Tile>& tile, std::optional<float> pad_value) {
            new (self) AnyTensor(on_device_or_host(
                import_list(values, shape, import_of(dtype, layout, tile, pad_value)), device, config));
          },
          "data"_a, "shape"_a, "data_type"_a, "layout"_a, "device"_a = nb::none(), "memory_config"_a = nb::none(),
          "tile"_a = nb::none(), "pad_value"_a = nb::none())
      .def(
          "__init__",
          [](AnyTensor* self, const nb::object& array, const std::optional<DataType>& dtype,
             const OptionalDevice& device, std::optional<Layout> layout,
             const std::optional<tensix::MemoryConfig>& config, const std::optional<Tile>& tile, OptionalQueue queue,
             std::optional<float> pad_value, const nb::object& mapper) {
            check(mapper.is_none(), Code::unsupported, Hint{"use ttnn.from_torch"},
                  "Tensor: a mesh_mapper makes one tensor for each chip");
            const QueueScope scope(device.value_or(nullptr), device ? queue : std::nullopt);
            new (self) AnyTensor(
                on_device_or_host(import_array(array, import_of(dtype, layout, tile, pad_value)), device, config));
          },
          "tensor"_a, "data_type"_a = nb::none(), "device"_a = nb::none(), "layout"_a = nb::none(),
          "mem_config"_a = nb::none(), "tile"_a = nb::none(), "cq_id"_a = nb::none(), "pad_value"_a = nb::none(),
          "mesh_mapper"_a = nb::none())
      .def_prop_ro("shape", [](const AnyTensor& x) { return x.shape(); })
      .def_prop_ro("padded_shape", &AnyTensor::padded_shape)
      .def_prop_ro("dtype", [](const AnyTensor& x) { return DataType{x.dtype()}; })
      .def_prop_ro("layout", &AnyTensor::layout)
      .def_prop_ro("tile", &AnyTensor::tile)
      .def_prop_ro("spec", &AnyTensor::spec)
      .def("get_dtype", [](const AnyTensor& x) { return DataType{x.dtype()}; })
      .def("get_layout", &AnyTensor::layout)
      .def("get_tile", &AnyTensor::tile)
      .def("memory_config", &AnyTensor::memory_config)
      .def("storage_type",
           [](const AnyTensor& x) { return x.on_device() ? TtnnStorageType::DEVICE : TtnnStorageType::HOST; })
      .def("is_allocated", [](const AnyTensor& x) { return !x.on_device() || x.device("is_allocated").is_allocated(); })
      .def("is_sharded", [](const AnyTensor& x) { return x.memory_config().is_sharded(); })
      .def(
          "volume", [](const AnyTensor& x) { return x.padded_shape().volume(); }, "Elements, padding included.")
      .def(
          "logical_volume", [](const AnyTensor& x) { return x.shape().volume(); }, "Elements.")
      .def(
          "element_size", [](const AnyTensor& x) { return element_bytes(x.dtype()); },
          "Bytes of one element; 0 for block floats.")
      .def("buffer_address", [](const AnyTensor& x) { return allocated(x, "buffer_address").address(); })
      .def("buffer_page_size", [](const AnyTensor& x) { return allocated(x, "buffer_page_size").page_bytes(); })
      .def("buffer_aligned_page_size",
           [](const AnyTensor& x) { return allocated(x, "buffer_aligned_page_size").aligned_page_bytes(); })
      .def("buffer_num_pages", [](const AnyTensor& x) { return allocated(x, "buffer_num_pages").num_pages(); })
      .def(
          "device", [](const AnyTensor& x) { return x.on_device() ? x.device("device").device() : nullptr; },
          nb::sig("def device(self) -> Device | None"))
      .def("devices", [](const AnyTensor& x) { return std::vector{x.device("devices").device()}; })
      .def(
          "deallocate", [](AnyTensor& x, bool force) { deallocate(x, force); }, "force"_a = false)
      .def("reshape", &reshaped, "shape"_a)
      .def("reshape", [](const AnyTensor& x, std::int64_t a, std::int64_t b, std::int64_t c,
                         std::int64_t d) { return reshaped(x, {a, b, c, d}); })
      .def(
          "pad_to_tile",
          [](const AnyTensor& x, float value) {
            const Tensor& host = x.host("pad_to_tile");
            return AnyTensor(
                import_array(export_numpy(host), import_of(DataType{host.dtype()}, Layout::tile, std::nullopt, value)));
          },
          "value"_a, "In tiles, which are filled up with a number.")
      .def(
          "unpad_from_tile",
          [](const AnyTensor& x, const ShapeLike& shape) {
            const Tensor& host = x.host("unpad_from_tile");
            check(host.shape() == Shape(shape.dims), Code::invalid_argument,
                  "unpad_from_tile: the tensor is {}, not {}", host.shape().to_string(), Shape(shape.dims).to_string());
            return to_layout(x, Layout::row_major, std::nullopt, std::nullopt);
          },
          "shape"_a, "Rows without what filled up their tiles.")
      .def("__getitem__", &item_at, "index"_a)
      .def("__repr__", &tensor_text);
  bind_conversions(tensor);
}

}  // namespace tessera::python
