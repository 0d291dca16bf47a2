#pragma once

// Operators of the card whose binding is a file of its own in src/ops: each adds itself here, and the package exports
// all of them.

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace tessera::python {

// Binds one operator, or all lines of a table, and says what they are called in Python.
using CardOperatorBinding = std::vector<std::string> (*)(nanobind::module_& module);

// For the initialiser of a constant.
bool add_card_operators(CardOperatorBinding binding);

// Binds all, and `card_operators`, the list of their names.
void bind_card_operators(nanobind::module_& module);

}  // namespace tessera::python
