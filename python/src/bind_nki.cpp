// tessera.nki: kernels for a simulated NeuronCore. What is written here is what the classes of python/tessera/nki call;
// they add NKI's names and its way of indexing.

#include "arrays.h"
#include "bind.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/report/view_text.h"
#include "tessera/targets/neuron/emit/emit_nki.h"
#include "tessera/targets/neuron/language/kernel.h"
#include "tessera/targets/neuron/plan/tune.h"
#include "tessera/targets/neuron/views/kernel_report.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using neuron::Kernel;
using neuron::View;

template <class Enum>
Enum named(const std::string& word, std::initializer_list<Enum> all, const char* what) {
  for (const Enum each : all)
    if (name(each) == word) return each;
  fail(Code::invalid_argument, "there is no {} '{}'", what, word);
}

ElementType type_named(const std::string& word) {
  using enum ElementType;
  return named(
      word, {float32, float16, bfloat16, float8_e4m3, float8_e5m2, int8, uint8, int16, uint16, int32, uint32, boolean},
      "element type here called");
}

neuron::Engine engine_named(const std::string& word) {
  using neuron::Engine;
  return named(word, {Engine::tensor, Engine::vector, Engine::scalar, Engine::gpsimd}, "engine");
}

neuron::MathOp op_named(const std::string& word) {
  using neuron::MathOp;
  return named(
      word, {MathOp::copy, MathOp::add, MathOp::subtract, MathOp::multiply, MathOp::divide, MathOp::max, MathOp::min},
      "operation");
}

neuron::Function function_named(const std::string& word) {
  using neuron::Function;
  return named(word,
               {Function::identity, Function::relu, Function::exp, Function::tanh, Function::sigmoid, Function::square,
                Function::sqrt, Function::rsqrt, Function::reciprocal, Function::log, Function::abs, Function::silu},
               "function");
}

Format format_named(const std::string& word) {
  const std::optional<Format> format = parse_format(word);
  check(format.has_value(), Code::invalid_argument, "there is no format '{}'; there are table, md, csv and json", word);
  return *format;
}

neuron::Accumulate accumulation_named(const std::string& word) {
  if (word == "add") return neuron::Accumulate::add;
  if (word == "automatic") return neuron::Accumulate::automatic;
  if (word == "where_written") return neuron::Accumulate::where_written;
  return neuron::Accumulate::overwrite;
}

// A kernel keeps its own copy of the machine.
struct NkiKernel {
  NkiKernel(const std::string& device, bool values, bool endless_memory, const std::vector<std::int64_t>& lifetimes)
      : kernel(neuron_of(load_machine(device)),
               {.values = values,
                .time = !endless_memory,
                .endless_memory = endless_memory,
                .lifetimes = lifetimes.empty() ? nullptr : std::make_shared<neuron::Lifetimes>(lifetimes)}) {}
  Kernel kernel;
};

// What a view reaches, as numpy sees it: float32, whatever the tile's type is. The tile lives as long as the array.
nb::object numpy_view(const NkiKernel& k, const View& view) {
  const std::span<float> values = k.kernel.values(view);
  check(!values.empty(), Code::invalid_argument, "'{}' has no values: the run is without them", view.tile_name());
  std::vector<std::size_t> shape;
  std::vector<std::int64_t> strides;
  for (const neuron::Extent& each : view.dims()) {
    shape.push_back(static_cast<std::size_t>(each.size));
    strides.push_back(each.stride);
  }
  auto kept = std::make_unique<View>(view);
  nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<View*>(p); });
  static_cast<void>(kept.release());  // the capsule owns it now
  return nb::cast(
      nb::ndarray<nb::numpy, float>(values.data() + view.offset(), shape.size(), shape.data(), owner, strides.data()));
}

using Scalar = std::variant<float, View>;

}  // namespace

void bind_nki(nb::module_& module) {
  nb::class_<View>(module, "NkiView", "An access pattern over a tile.")
      .def_prop_ro("shape", &View::shape)
      .def_prop_ro("memory", [](const View& v) { return std::string(name(v.memory())); })
      .def_prop_ro("dtype", [](const View& v) { return std::string(name(v.type())); })
      .def_prop_ro("name", &View::tile_name)
      .def_prop_ro("tile", [](const View& v) { return reinterpret_cast<std::uintptr_t>(&v.tile()); })
      .def("slice", &View::slice, "dim"_a, "begin"_a, "count"_a, "step"_a = 1)
      .def("at", &View::at, "dim"_a, "index"_a)
      .def("split", &View::split, "dim"_a, "inner"_a)
      .def("merged", &View::merged, "dim"_a)
      .def("permuted",
           [](const View& v, const std::vector<int>& order) { return v.permuted(std::span<const int>(order)); })
      .def("reshaped",
           [](const View& v, const std::vector<std::int64_t>& shape) {
             return v.reshaped(std::span<const std::int64_t>(shape));
           })
      .def("with_axis", &View::with_axis, "dim"_a)
      .def("broadcast", &View::broadcast, "dim"_a, "size"_a)
      .def(
          "gathered",
          [](const View& v, std::int64_t offset, const std::vector<std::int64_t>& sizes,
             const std::vector<std::int64_t>& strides) { return v.pattern(offset, sizes, strides); },
          "offset"_a, "sizes"_a, "strides"_a)
      .def_prop_ro("strides",
                   [](const View& v) {
                     std::vector<std::int64_t> out;
                     for (const neuron::Extent& each : v.dims()) out.push_back(each.stride);
                     return out;
                   })
      .def("same", [](const View& a, const View& b) {
        return &a.tile() == &b.tile() && a.offset() == b.offset() &&
               std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end());
      });

  nb::class_<NkiKernel>(module, "NkiKernel", "A kernel while it is being written.")
      .def(nb::init<const std::string&, bool, bool, const std::vector<std::int64_t>&>(), "device"_a, "values"_a,
           "endless_memory"_a = false, "lifetimes"_a = std::vector<std::int64_t>())
      .def("lifetimes", [](const NkiKernel& k) { return k.kernel.lifetimes(); })
      .def("input",
           [](NkiKernel& k, const std::string& name, const std::string& type, const nb::object& array) {
             return k.kernel.input(name, type_named(type), import_host_array(array, ElementType::float32));
           })
      .def("shape_input",
           [](NkiKernel& k, const std::string& name, const std::string& type, std::vector<std::int64_t> shape) {
             return k.kernel.input(name, type_named(type), std::move(shape));
           })
      .def("hbm",
           [](NkiKernel& k, const std::string& name, const std::string& type, std::vector<std::int64_t> shape) {
             return k.kernel.output(name, type_named(type), std::move(shape));
           })
      .def("sbuf",
           [](NkiKernel& k, const std::string& name, const std::string& type, std::vector<std::int64_t> shape) {
             return k.kernel.sbuf(name, type_named(type), std::move(shape));
           })
      .def("psum",
           [](NkiKernel& k, const std::string& name, const std::string& type, std::vector<std::int64_t> shape) {
             return k.kernel.psum(name, type_named(type), std::move(shape));
           })
      .def("placed",
           [](NkiKernel& k, const std::string& name, const std::string& memory, const std::string& type,
              std::vector<std::int64_t> shape, std::int64_t address) {
             const neuron::Memory where =
                 named(memory, {neuron::Memory::sbuf, neuron::Memory::psum}, "memory on chip called");
             return k.kernel.placed(name, where, type_named(type), std::move(shape), address);
           })
      .def("pass_", [](NkiKernel& k, const std::string& op, const std::string& engine, const std::vector<View>& results,
                       const std::vector<View>& inputs,
                       int streams) { k.kernel.pass(op, engine_named(engine), results, inputs, streams); })
      .def("transfer",
           [](NkiKernel& k, const View& dst, const View& src, bool read_too) { k.kernel.transfer(dst, src, read_too); })
      .def("array", &numpy_view, "What a view reaches, without a copy.")
      .def("wrote", [](const NkiKernel& k, const View& view) { k.kernel.wrote(view); })
      .def("unwritten", [](const NkiKernel& k, const View& view) { return k.kernel.unwritten(view); })
      .def("limits",
           [](const NkiKernel& k) {
             const NeuronSpec& spec = k.kernel.spec();
             return std::map<std::string, std::int64_t>{{"sbuf_partition_bytes", spec.sbuf_partition_bytes},
                                                        {"psum_partition_bytes", spec.psum_partition_bytes},
                                                        {"psum_bank_bytes", spec.psum_bank_bytes()},
                                                        {"cores", spec.cores}};
           })
      .def("zero", [](NkiKernel& k, const View& v) { k.kernel.zero(v); })
      .def("memset", [](NkiKernel& k, const View& dst, float value,
                        const std::string& engine) { k.kernel.memset(dst, value, engine_named(engine)); })
      .def("dma_copy", [](NkiKernel& k, const View& dst, const View& src) { k.kernel.dma_copy(dst, src); })
      .def("nc_matmul",
           [](NkiKernel& k, const View& dst, const View& stationary, const View& moving, const std::string& how) {
             k.kernel.nc_matmul(dst, stationary, moving, accumulation_named(how));
           })
      .def("nc_transpose", [](NkiKernel& k, const View& dst, const View& src,
                              const std::string& engine) { k.kernel.nc_transpose(dst, src, engine_named(engine)); })
      .def("tensor_copy",
           [](NkiKernel& k, const View& dst, const View& src, const std::string& engine) {
             k.kernel.tensor_copy(dst, src,
                                  engine == "any" ? k.kernel.engine_for_copy(dst, src) : engine_named(engine));
           })
      .def("tensor_tensor",
           [](NkiKernel& k, const View& dst, const View& a, const View& b, const std::string& op,
              const std::string& engine) { k.kernel.tensor_tensor(dst, a, b, op_named(op), engine_named(engine)); })
      .def("tensor_scalar",
           [](NkiKernel& k, const View& dst, const View& a, const std::string& op0, const Scalar& operand0,
              const std::string& op1, const Scalar& operand1, const std::string& engine) {
             k.kernel.tensor_scalar(dst, a, op_named(op0), operand0, op_named(op1), operand1, engine_named(engine));
           })
      .def("tensor_reduce", [](NkiKernel& k, const View& dst, const View& src, const std::string& op,
                               int axes) { k.kernel.tensor_reduce(dst, src, op_named(op), axes); })
      .def("activation",
           [](NkiKernel& k, const View& dst, const std::string& function, const View& src, const Scalar& bias,
              float scale) {
             const View* view = std::get_if<View>(&bias);
             k.kernel.activation(dst, function_named(function), src, view ? *view : View(), scale);
           })
      .def("begin_affine_range", [](NkiKernel& k) { k.kernel.begin_affine_range(); })
      .def("next_turn", [](NkiKernel& k) { k.kernel.next_turn(); })
      .def("end_affine_range", [](NkiKernel& k) { k.kernel.end_affine_range(); })
      .def("run_turns_as_written", [](NkiKernel& k) { k.kernel.run_turns_as_written(); })
      .def("carried", [](const NkiKernel& k) { return k.kernel.carried(); })
      .def("begin_sequential_range", [](NkiKernel& k) { k.kernel.begin_sequential_range(); })
      .def("next_sequential_turn", [](NkiKernel& k) { k.kernel.next_sequential_turn(); })
      .def("end_sequential_range", [](NkiKernel& k) { k.kernel.end_sequential_range(); })
      .def("turn", [](const NkiKernel& k) { return k.kernel.turn(); })
      .def("set_turn", [](NkiKernel& k, std::int64_t turn) { k.kernel.set_turn(turn); })
      .def("set_location", [](NkiKernel& k, const std::string& location) { k.kernel.set_location(location); })
      .def("read", [](const NkiKernel& k, const View& view) { return export_host_array(k.kernel.read(view)); })
      .def("profile",
           [](const NkiKernel& k) {
             std::map<std::string, double> out;
             for (auto& [key, value] : summary(k.kernel.profile())) out[key] = value;
             return out;
           })
      .def(
          "profile_text",
          [](const NkiKernel& k, const std::string& title, const std::string& format) {
            return render(profile_table(kernel_report(k.kernel, title)), format_named(format));
          },
          "title"_a, "format"_a, "What the run came to, as a table in one of the forms that --format has.")
      .def(
          "explanation",
          [](const NkiKernel& k, const std::string& title, const std::string& format, bool quiet, int width) {
            const tessera::View view = explanation(kernel_report(k.kernel, title));
            return render(view, format_named(format), quiet, width > 0 ? std::optional(width) : std::nullopt);
          },
          "title"_a, "format"_a, "quiet"_a = false, "width"_a = 0,
          "The longest chain of the run, the tensors that were moved, and what would make it faster.")
      .def("write_trace", [](const NkiKernel& k, const std::string& title,
                             const std::string& path) { write_kernel_trace(k.kernel, title, path); })
      .def("write_page", [](const NkiKernel& k, const std::string& title, const std::string& path) {
        write_kernel_page(k.kernel, kernel_report(k.kernel, title), path);
      });

  module.def(
      "nki_conv2d_script",
      [](const std::vector<std::int64_t>& x, std::int64_t out_channels, std::int64_t kernel, const std::string& dtype,
         std::int64_t pool, const std::string& device, int api) {
        check(api == 2025 || api == 2026, Code::invalid_argument, "there is no API of {}: there are 2025 and 2026",
              api);
        check(x.size() == 4, Code::invalid_argument, "an image has 4 dimensions, not {}", x.size());
        const Machine machine = load_machine(device);
        neuron::ConvProblem p{x[0], x[1], out_channels, x[2], x[3], kernel, pool, type_named(dtype)};
        neuron::ConvTuning tuning;
        {
          const nb::gil_scoped_release release;
          tuning = tune_conv(neuron_of(machine), p);
        }
        return std::make_pair(
            nki_script(p, tuning.winner().schedule, api == 2026 ? neuron::NkiApi::nki2026 : neuron::NkiApi::nki2025),
            tuning.winner().profile->total_us());
      },
      "x_shape"_a, "out_channels"_a, "kernel"_a, "dtype"_a, "pool"_a, "device"_a, "api"_a = 2025,
      "The fastest schedule of a fused convolution as an NKI script, and its simulated microseconds.");
}

}  // namespace tessera::python
