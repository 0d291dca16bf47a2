#include "tessera/targets/tensix/ops/card_layer.h"

#include <cstring>

namespace tessera::tensix {

Constant repeated(const Constant& given, std::int64_t times) {
  if (!given) return given;
  std::vector<std::int64_t> dims = given->shape().dims();
  if (dims.empty()) dims.push_back(1);
  dims[0] *= times;
  auto out = std::make_shared<Array>(given->type(), Shape(dims));
  const auto from = given->bytes();
  for (std::int64_t i = 0; i < times; ++i)
    std::memcpy(out->bytes().data() + static_cast<std::size_t>(i) * from.size(), from.data(), from.size());
  return out;
}

}  // namespace tessera::tensix
