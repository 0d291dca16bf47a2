#pragma once

// Operators of the card whose binding is a file of its own in src/ops: each adds itself here, and the package exports
// all of them.

#include <nanobind/nanobind.h>

#include <vector>

namespace tessera::python {

struct CardOperatorBinding {
  const char* name;  // in Python
  void (*bind)(nanobind::module_& module);
};

// For the initialiser of a constant.
bool add_card_operator(CardOperatorBinding binding);

// Binds all, and `card_operators`, the list of their names.
void bind_card_operators(nanobind::module_& module);

}  // namespace tessera::python
