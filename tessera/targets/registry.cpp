#include "tessera/targets/registry.h"

#include "tessera/core/error.h"
#include "tessera/io/plan_document.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/apple/contract/apple_target.h"
#include "tessera/targets/cpu/plan/cpu_target.h"
#if TESSERA_HAS_CUDA
#include "tessera/targets/cuda/plan/cuda_target.h"
#endif
#include "tessera/targets/neuron/contract/neuron_target.h"
#include "tessera/targets/tensix/contract/card_target.h"

#include <fmt/ranges.h>

namespace tessera {

std::span<const Target* const> targets() {
  static const std::vector<const Target*> all = {&cpu::target(),
#if TESSERA_HAS_CUDA
                                                 &cuda::target(),
#endif
                                                 &tensix::target(), &apple::target(), &neuron::target()};
  return all;
}

const Target& target_of_family(std::string_view family) {
  std::vector<std::string_view> families;
  for (const Target* target : targets()) {
    if (target->family() == family) return *target;
    families.push_back(target->family());
  }
  fail(Code::unsupported, "machines of the family {} are not planned for yet; {} are", family,
       fmt::join(families, ", "));
}

const Target& target_of(const Machine& machine) {
  return with_context(fmt::format("while looking for the target of '{}'", machine.name),
                      [&]() -> const Target& { return target_of_family(machine.family); });
}

Machine find_machine(std::string_view device) {
  if (device == "cpu") return cpu::host_machine();
#if TESSERA_HAS_CUDA
  if (device == "cuda") return cuda::device_machine();
#else
  check(device != "cuda", Code::unsupported, Hint{"build with a CUDA toolkit, and -DTESSERA_CUDA=ON"},
        "this build has no kernels for GPUs");
#endif
  return load_machine(device);
}

EmittedLanguage find_language(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Target* target : targets())
    for (const Language& language : target->languages()) {
      if (language.name == name) return {*target, language};
      names.push_back(language.name);
    }
  const std::string_view last = names.back();
  names.pop_back();
  fail(Code::invalid_argument, "--emit {}: it is {} or {}", name, fmt::join(names, ", "), last);
}

ReadPlan read_plan(const std::filesystem::path& file) {
  return with_context(fmt::format("while reading {}", file.string()), [&]() -> ReadPlan {
    const PlanDocument document = load_plan_document(file);
    const Target& target = target_of_family(document.target);
    return {target, target.read(document.body)};
  });
}

}  // namespace tessera
