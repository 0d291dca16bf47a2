// tessera::Error in Python: the same text, and its parts as attributes. Error is a RuntimeError; what is wrong with an
// argument is an InvalidArgument, which is a ValueError as well.

#include "bind.h"

#include "tessera/core/error.h"
#include "tessera/core/file_system.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <filesystem>
#include <string>

namespace nb = nanobind;

namespace tessera::python {
namespace {

struct ErrorTypes {
  PyObject* error;
  PyObject* invalid_argument;
};

nb::object make_type(nb::module_& module, const char* name, const char* doc, const nb::tuple& bases) {
  const std::string full_name = nb::cast<std::string>(module.attr("__name__")) + "." + name;
  PyObject* type = PyErr_NewExceptionWithDoc(full_name.c_str(), doc, bases.ptr(), nullptr);
  if (type == nullptr) throw nb::python_error();
  nb::object owned = nb::steal(type);
  module.attr(name) = owned;
  return owned;
}

void raise(const ErrorTypes& types, const Error& error) {
  const nb::handle type(error.code() == Code::invalid_argument ? types.invalid_argument : types.error);
  const nb::object instance = type(error.what());
  const std::string_view code = name(error.code());
  instance.attr("code") = nb::str(code.data(), code.size());
  instance.attr("message") = error.message();
  instance.attr("context") = error.context();
  instance.attr("hint") = error.hint();
  PyErr_SetObject(type.ptr(), instance.ptr());
}

}  // namespace

void bind_error(nb::module_& module) {
  const nb::object error =
      make_type(module, "Error",
                "Everything that a user, a model or a file can get wrong. `code` names the kind, `message` says what\n"
                "happened, `context` lists what was being done (innermost first), `hint` says what to do about it.",
                nb::make_tuple(nb::handle(PyExc_RuntimeError)));
  const nb::object invalid_argument =
      make_type(module, "InvalidArgument", "A value that makes no sense, alone or together with others.",
                nb::make_tuple(error, nb::handle(PyExc_ValueError)));

  // The translator lives as long as the process, and so must the types it raises.
  static ErrorTypes types;
  types = {error.inc_ref().ptr(), invalid_argument.inc_ref().ptr()};
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* payload) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Error& e) {
          raise(*static_cast<const ErrorTypes*>(payload), e);
        } catch (const std::filesystem::filesystem_error& e) {
          raise(*static_cast<const ErrorTypes*>(payload), as_error(e));
        }
      },
      &types);
}

}  // namespace tessera::python
