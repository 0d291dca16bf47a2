#include "tessera/targets/apple/contract/apple_target.h"

#include "tessera/core/error.h"
#include "tessera/io/emit/script.h"
#include "tessera/io/ncp_file.h"
#include "tessera/machine/machine_digest.h"
#include "tessera/targets/apple/emit/mlx.h"
#include "tessera/targets/apple/plan/apple_plan.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <utility>

namespace tessera::apple {
namespace {

constexpr std::array kLanguages = {Language{.name = "mlx"}};

const AppleNetworkPlan& own(const NetworkPlan& plan) {
  const auto* own = dynamic_cast<const AppleNetworkPlan*>(&plan);
  if (own == nullptr) fail(Code::internal, "a plan of the {} target was given to the unified target", plan.family());
  return *own;
}

class AppleTarget : public Target {
 public:
  std::string_view family() const override { return "unified"; }
  std::span<const Language> languages() const override { return kLanguages; }

  void check_request(const Machine&, const PlanRequest& request) const override {
    check_fields(request, {}, "does not apply: MLX chooses its own kernels, in float32");
  }

  std::unique_ptr<NetworkPlan> plan(LoadedNetwork network, const Machine& machine, const PlanRequest& request,
                                    const PlanHooks&) const override {
    check_request(machine, request);
    return std::make_unique<AppleNetworkPlan>(plan_for_mlx(network, machine));
  }
  std::unique_ptr<NetworkPlan> read(std::string_view body) const override {
    return std::make_unique<AppleNetworkPlan>(parse_apple_plan(body));
  }
  void check_machine(const NetworkPlan& plan, const Machine& machine) const override {
    check_planned_machine(own(plan).machine(), own(plan).machine_digest(), machine);
  }

  RunResult run(const NetworkPlan& plan, const Machine&, const std::vector<Array>&, const OnProgress&) const override {
    fail(Code::unsupported, Hint{fmt::format("tessera plan {} --emit mlx FILE.py writes it for MLX", plan.model())},
         "a plan for {} runs on that chip alone", plan.machine());
  }
  std::unique_ptr<SimulatedRun> simulate(const LoadedNetwork& network, const NetworkPlan*, const Machine& machine,
                                         const SimulateRequest&, const SimulateHooks&) const override {
    fail(Code::unsupported, Hint{fmt::format("tessera plan {} --device {}", network.model, machine.name)},
         "networks on '{}' are planned by a roofline, not simulated: MLX computes in the same float32 as this machine",
         machine.name);
  }

  using Target::emit;
  // Of a liquid layer's weights, or of a network.
  Emitted emit(const EmitRequest& request) const override {
    const std::string weights = emit::weights_file_of(request.script);
    const std::filesystem::path path(request.model);
    if (path.extension() != ".safetensors") {
      LoadedNetwork network = request.load();
      return {.script = mlx_script(std::move(network.graph), network.name, weights)};
    }
    check(std::filesystem::weakly_canonical(path.parent_path() / path.filename()) !=
              std::filesystem::weakly_canonical(request.script.parent_path() / weights),
          Code::invalid_argument, Hint{"give the script another name"},
          "the script's weights would overwrite '{}', which they come from", request.model);
    const NcpFile layer = load_ncp_file(path);
    return {.script = mlx_script(layer.layer, layer.parameters, path.stem().string(), weights)};
  }
};

}  // namespace

const Target& target() {
  static const AppleTarget target;
  return target;
}

}  // namespace tessera::apple
