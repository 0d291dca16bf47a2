// The extension module tessera._tessera. It only translates: what it does is in the C++ library.

#include "bind.h"

NB_MODULE(_tessera, module) {
  module.doc() = "The C++ part of tessera.";
  module.attr("__version__") = TESSERA_VERSION;
  tessera::python::bind_error(module);
  tessera::python::bind_dtype(module);
}
