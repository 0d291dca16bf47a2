// Liquid layers over memory that others own: what the modules of tessera.ncps.torch compute with. Addresses come as
// numbers, 0 for none; the callers have checked types, sizes and devices.

#include "bind.h"
#include "ncp_function.h"

#include "tessera/core/error.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

namespace tessera::python {
namespace {

using Address = std::uintptr_t;

template <class T>
T* at(Address address) {
  return reinterpret_cast<T*>(address);
}

template <class T>
std::vector<T*> all_at(const std::vector<Address>& addresses) {
  std::vector<T*> out;
  out.reserve(addresses.size());
  for (const Address address : addresses) out.push_back(at<T>(address));
  return out;
}

void check_count(const NcpFunction& function, std::size_t found) {
  check(found == function.parameters().size(), Code::invalid_argument, "{} parameters of {}", found,
        function.parameters().size());
}

// Everything about one call, of either type.
struct Addresses {
  std::int64_t batch, steps;
  Address input, state, memory, timespans;
  std::int64_t timespan_count;
  std::vector<Address> parameters;
  std::optional<std::uint64_t> dropout_seed;
  bool differentiate_timespans;

  template <class Real>
  FunctionArguments<Real> as() const {
    return {.batch = batch,
            .steps = steps,
            .input = at<const Real>(input),
            .timespans = at<const Real>(timespans),
            .timespan_count = timespan_count,
            .state = at<const Real>(state),
            .memory = at<const Real>(memory),
            .parameters = all_at<const Real>(parameters),
            .dropout_seed = dropout_seed,
            .differentiate_timespans = differentiate_timespans};
  }
};

struct ResultAddresses {
  Address output, state, memory;

  template <class Real>
  FunctionResults<Real> as() const {
    return {at<Real>(output), at<Real>(state), at<Real>(memory)};
  }
};

// Of one type, whichever.
class NcpCall {
 public:
  template <class Real>
  explicit NcpCall(std::unique_ptr<FunctionCall<Real>> call) {
    std::get<std::unique_ptr<FunctionCall<Real>>>(calls_) = std::move(call);
  }
  void backward(Address d_output, Address d_state, Address d_memory, Address d_input, Address d_initial_state,
                Address d_initial_memory, Address d_timespans, const std::vector<Address>& d_parameters) {
    const auto go = [&]<class Real>(FunctionCall<Real>& call) {
      const nb::gil_scoped_release release;
      call.backward({at<const Real>(d_output), at<const Real>(d_state), at<const Real>(d_memory)},
                    {at<Real>(d_input), at<Real>(d_timespans), at<Real>(d_initial_state), at<Real>(d_initial_memory),
                     all_at<Real>(d_parameters)});
    };
    if (auto& single = std::get<0>(calls_))
      go(*single);
    else
      go(*std::get<1>(calls_));
  }

 private:
  std::pair<std::unique_ptr<FunctionCall<float>>, std::unique_ptr<FunctionCall<double>>> calls_;
};

std::optional<NcpCall> call(const NcpFunction& self, bool is_double, bool keep, std::int64_t batch, std::int64_t steps,
                            Address input, Address state, Address memory, Address timespans,
                            std::int64_t timespan_count, std::vector<Address> parameters, Address output,
                            Address new_state, Address new_memory, std::optional<std::uint64_t> dropout_seed,
                            bool differentiate_timespans) {
  check_count(self, parameters.size());
  const Addresses given{batch,          steps,
                        input,          state,
                        memory,         timespans,
                        timespan_count, std::move(parameters),
                        dropout_seed,   differentiate_timespans};
  const ResultAddresses to{output, new_state, new_memory};
  const auto go = [&]<class Real>(Real) -> std::optional<NcpCall> {
    const nb::gil_scoped_release release;
    if (keep) return NcpCall(self.call(given.as<Real>(), to.as<Real>()));
    self.run(given.as<Real>(), to.as<Real>());
    return std::nullopt;
  };
  return is_double ? go(double{}) : go(float{});
}

nb::list parameter_list(const NcpFunction& self) {
  nb::list out;
  for (const ncp::ParameterInfo& info : self.parameters()) {
    nb::list shape;
    for (const std::int64_t extent : info.shape) shape.append(extent);
    out.append(nb::make_tuple(info.name, nb::tuple(shape), info.trainable));
  }
  return out;
}

}  // namespace

void bind_ncp_function(nb::module_& module) {
  nb::class_<NcpCall>(module, "NcpCall", "A call of an NcpFunction that can be gone back over.")
      .def("backward", &NcpCall::backward, "d_output"_a, "d_state"_a, "d_memory"_a, "d_input"_a, "d_initial_state"_a,
           "d_initial_memory"_a, "d_timespans"_a, "d_parameters"_a,
           "From addresses of gradients of the results (0: zeros) to those of what was given (0: not wanted).");
  nb::class_<NcpFunction>(module, "NcpFunction", "A liquid layer over memory that others own, by addresses.")
      .def(
          "__init__",
          [](NcpFunction* self, const std::string& json) {
            // PyTorch frees graphs, and so calls, after the interpreter's end: these are no leaks to warn of.
            nb::set_leak_warnings(false);
            new (self) NcpFunction(ncp::layer_from_json(json));
          },
          "description"_a)
      .def_prop_ro("inputs", [](const NcpFunction& self) { return self.sizes().inputs; })
      .def_prop_ro("state_size", [](const NcpFunction& self) { return self.sizes().state; })
      .def_prop_ro("outputs", [](const NcpFunction& self) { return self.sizes().outputs; })
      .def_prop_ro("return_sequences", [](const NcpFunction& self) { return self.sizes().return_sequences; })
      .def_prop_ro("batch_first", [](const NcpFunction& self) { return self.sizes().batch_first; })
      .def("parameter_list", parameter_list,
           nb::sig("def parameter_list(self) -> list[tuple[str, tuple[int, ...], bool]]"),
           "Names, shapes and whether they are trained.")
      .def("call", call, "is_double"_a, "keep"_a, "batch"_a, "steps"_a, "input"_a, "state"_a, "memory"_a, "timespans"_a,
           "timespan_count"_a, "parameters"_a, "output"_a, "new_state"_a, "new_memory"_a, "dropout_seed"_a = nb::none(),
           "differentiate_timespans"_a = false,
           "Writes the results; with `keep` returns what goes back over the call while its arguments stay in place.");
}

}  // namespace tessera::python
