#pragma once

// One bind_<stem>.cpp for each part of the library; module.cpp calls them in this order.

#include <nanobind/nanobind.h>

namespace tessera::python {

void bind_error(nanobind::module_& module);
void bind_dtype(nanobind::module_& module);

}  // namespace tessera::python
