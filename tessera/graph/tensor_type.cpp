#include "tessera/graph/tensor_type.h"

#include "tessera/core/error.h"

#include <algorithm>

namespace tessera {

bool TensorType::is_static() const { return dims && std::find(dims->begin(), dims->end(), kUnknown) == dims->end(); }

Shape TensorType::shape() const {
  if (!is_static()) fail(Code::invalid_argument, "the shape of {} is not known yet", to_string());
  return Shape(*dims);
}

int TensorType::rank() const {
  if (!dims) fail(Code::invalid_argument, "the rank of {} is not known yet", to_string());
  return static_cast<int>(dims->size());
}

std::string TensorType::to_string() const {
  std::string text = std::string(name(type)) + "[";
  if (!dims) return text + "...]";
  for (std::size_t i = 0; i < dims->size(); ++i) {
    if (i > 0) text += ", ";
    text += (*dims)[i] == kUnknown ? "?" : std::to_string((*dims)[i]);
  }
  return text + "]";
}

}  // namespace tessera
