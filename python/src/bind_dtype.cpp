#include "bind.h"

#include "tessera/core/dtype.h"
#include "tessera/core/error.h"

#include <nanobind/stl/string_view.h>

#include <string>
#include <string_view>

namespace nb = nanobind;

namespace tessera::python {
namespace {

DType parse(std::string_view text) {
  if (const auto dtype = parse_dtype(text)) return *dtype;
  std::string known;
  for (const DType dtype : all_dtypes()) known += (known.empty() ? "" : ", ") + std::string(name(dtype));
  fail(Code::invalid_argument, Hint{"one of: " + known}, "'{}' is not a dtype", text);
}

}  // namespace

void bind_dtype(nb::module_& module) {
  nb::enum_<DType> dtype(module, "DType", "Element types. The two block floats exist only in tiles.");
  for (const DType value : all_dtypes()) dtype.value(std::string(name(value)).c_str(), value);
  dtype.def_prop_ro(
      "element_bytes", [](DType self) { return element_bytes(self); }, "Bytes of one element; 0 for block floats.");
  dtype.def_prop_ro("is_block_float", [](DType self) { return is_block_float(self); });
  dtype.def_prop_ro("is_integer", [](DType self) { return is_integer(self); });

  module.def("parse_dtype", &parse, nb::arg("text"),
             "The DType of a name such as 'bfloat8_b' or its short form 'bfp8'.");
}

}  // namespace tessera::python
