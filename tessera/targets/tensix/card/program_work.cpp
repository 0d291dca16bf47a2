#include "tessera/targets/tensix/card/program_work.h"

#include <array>

namespace tessera::tensix {
namespace {

struct NamedKind {
  ProgramKind kind;
  std::string_view name;
};

constexpr std::array kNamedKinds{
    NamedKind{ProgramKind::to_device, "to_device"},
    NamedKind{ProgramKind::from_device, "from_device"},
    NamedKind{ProgramKind::copy_host_to_device, "copy_host_to_device"},
#define CARD_OP(op) NamedKind{ProgramKind::op, #op},
#include "tessera/targets/tensix/card/card_ops.def"
#undef CARD_OP
};

}  // namespace

std::string_view name(ProgramKind kind) { return kNamedKinds[static_cast<std::size_t>(kind)].name; }

std::optional<ProgramKind> program_kind(std::string_view name) {
  for (const NamedKind& row : kNamedKinds)
    if (row.name == name) return row.kind;
  return std::nullopt;
}

}  // namespace tessera::tensix
