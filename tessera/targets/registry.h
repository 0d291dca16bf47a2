#pragma once

// Every target, by the family of a machine, by a plan file and by the languages it writes. The only file that names
// them all is registry.cpp.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"
#include "tessera/target/target.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

TSR_API std::span<const Target* const> targets();

// An Error says what the machine is, where nothing is planned for its family yet.
TSR_API const Target& target_of(const Machine& machine);
TSR_API const Target& target_of_family(std::string_view family);

// "cpu" is the processor that this process runs on, "cuda" the first GPU of this machine; others are names of machine
// files, or files.
TSR_API Machine find_machine(std::string_view device);

struct EmittedLanguage {
  const Target& target;
  const Language& language;
};
// An Error that lists all there are for a name that is none.
TSR_API EmittedLanguage find_language(std::string_view name);

struct ReadPlan {
  const Target& target;
  std::unique_ptr<NetworkPlan> plan;
};
// A plan file of any target, and those that earlier versions have written.
TSR_API ReadPlan read_plan(const std::filesystem::path& file);

}  // namespace tessera
