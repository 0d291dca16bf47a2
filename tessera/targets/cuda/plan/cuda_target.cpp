#include "tessera/targets/cuda/plan/cuda_target.h"

#include "tessera/core/error.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/cuda/plan/cuda_plan.h"
#include "tessera/targets/cuda/plan/lower.h"
#include "tessera/targets/cuda/program/gpu.h"

#include <memory>
#include <utility>

namespace tessera::cuda {
namespace {

const CudaPlan& own(const NetworkPlan& plan) {
  const auto* own = dynamic_cast<const CudaPlan*>(&plan);
  if (own == nullptr) fail(Code::internal, "a plan of the {} target was given to the gpu target", plan.family());
  return *own;
}

class CudaTarget : public Target {
 public:
  std::string_view family() const override { return "gpu"; }

  void check_request(const Machine& machine, const PlanRequest& request) const override {
    check(machine.gpu.has_value(), Code::internal, "'{}' is no GPU", machine.name);
    check(machine.gpu->arch == "sm_90a", Code::unsupported,
          "the kernels are for architecture sm_90a (Hopper); '{}' is {}", machine.name, machine.gpu->arch);
    check_fields(request,
                 {PlanField::storage, PlanField::exact, PlanField::passes_off, PlanField::kernels_off,
                  PlanField::kernels, PlanField::memory_limit},
                 "is not for GPUs");
    const ElementType storage = request.storage.value_or(kDefaultStorage);
    check(storage == ElementType::float16 || storage == ElementType::bfloat16 || storage == ElementType::float32,
          Code::unsupported, "values can be stored as float16, bfloat16 or float32, not as {}", name(storage));
  }

  std::unique_ptr<NetworkPlan> plan(LoadedNetwork network, const Machine& machine, const PlanRequest& request,
                                    const PlanHooks&) const override {
    check_request(machine, request);
    return std::make_unique<CudaPlan>(std::move(network), machine, request);
  }

  std::unique_ptr<NetworkPlan> read(std::string_view) const override {
    fail(Code::unsupported, Hint{"tessera run MODEL --device cuda plans it again"},
         "a plan for a GPU is made from its network, not read back");
  }

  void check_machine(const NetworkPlan&, const Machine&) const override {}

  RunResult run(const NetworkPlan& plan, const Machine&, const std::vector<Array>& inputs,
                const OnProgress&) const override {
    return own(plan).run(inputs);
  }

  std::unique_ptr<SimulatedRun> simulate(const LoadedNetwork&, const NetworkPlan*, const Machine& machine,
                                         const SimulateRequest&, const SimulateHooks&) const override {
    fail(Code::unsupported, Hint{"tessera run MODEL --device cuda runs a network on the GPU of this machine"},
         "'{}' is a machine of the family {}: it has no memory banks that could be simulated", machine.name,
         machine.family);
  }
};

// "NVIDIA H200" has a file of its own; others of the architecture are what they say they are.
Machine machine_of(const DeviceProperties& found) {
  for (const auto& [part, file] : {std::pair{"H200", "nvidia_h200"}, std::pair{"H100", "nvidia_h100"}})
    if (found.name.find(part) != std::string::npos) return load_machine(file);
  Machine machine = load_machine("nvidia_h100");
  machine.name = "cuda";
  machine.title = found.name;
  machine.path.clear();
  machine.figures.clear();
  return machine;
}

}  // namespace

Machine device_machine() {
  const DeviceProperties& found = gpu().context.properties();
  Machine machine = machine_of(found);
  machine.gpu->multiprocessors = found.multiprocessors;
  machine.gpu->l2_bytes = found.l2_bytes;
  machine.gpu->clock_hz = found.clock_khz * 1e3;
  return machine;
}

const Target& target() {
  static const CudaTarget target;
  return target;
}

}  // namespace tessera::cuda
