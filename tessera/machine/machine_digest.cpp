#include "tessera/machine/machine_digest.h"

#include "tessera/core/error.h"
#include "tessera/core/sha256.h"

#include <fmt/format.h>

#include <span>
#include <variant>

namespace tessera {
namespace {

constexpr std::size_t kDigits = 16;

}  // namespace

std::string machine_digest(const Machine& machine) {
  std::string text = machine.name + "\n";
  for (const Figure& figure : machine.figures) {
    if (figure.group == "fleet") continue;
    text += fmt::format("{}.{} ", figure.group, figure.key);
    std::visit([&](const auto& value) { text += fmt::format("{}", value); }, figure.value);
    text += "\n";
  }
  return sha256_hex(std::as_bytes(std::span(text)), kDigits);
}

void check_planned_machine(const std::string& name, const std::string& digest, const Machine& machine) {
  check(name == machine.name, Code::invalid_argument, "the plan is for {}, this machine is {} ({})", name, machine.name,
        machine.path);
  const std::string now = machine_digest(machine);
  check(
      digest == now, Code::invalid_argument,
      Hint{fmt::format("plan again, or put back the file that the plan was made with; it asked for --device {}", name)},
      "the numbers of machine {} have changed since it was planned: {} has digest {}, the plan was made with {}",
      machine.name, machine.path, now, digest);
}

}  // namespace tessera
