#include "card_operators.h"

namespace nb = nanobind;

namespace tessera::python {
namespace {

// Built when the first asks for it: constants of other files may be made before those of this one.
std::vector<CardOperatorBinding>& card_operator_bindings() {
  static std::vector<CardOperatorBinding> bindings;
  return bindings;
}

}  // namespace

bool add_card_operators(CardOperatorBinding binding) {
  card_operator_bindings().push_back(binding);
  return true;
}

void bind_card_operators(nb::module_& module) {
  nb::list names;
  for (const CardOperatorBinding bind : card_operator_bindings())
    for (const std::string& name : bind(module)) names.append(name);
  module.attr("card_operators") = names;
}

}  // namespace tessera::python
