#include "tessera/target/target.h"

#include <algorithm>

namespace tessera {

std::int64_t batch_of(const Graph& graph) {
  if (graph.inputs.empty()) return 1;
  const Shape shape = graph.value(graph.inputs[0]).type.shape();
  return shape.rank() == 0 ? 1 : std::max<std::int64_t>(1, shape[0]);
}

void Target::refuse(std::string_view what) const {
  fail(Code::unsupported, "{} is not something that machines of the family {} have here", what, family());
}

emit::Script Target::emit(const NetworkPlan&, std::string_view language, const std::string&) const {
  refuse(fmt::format("a plan as {}", language));
}

Emitted Target::emit(const EmitRequest& request) const { refuse(fmt::format("a network as {}", request.language)); }

void Target::check_report(const std::filesystem::path&) const { refuse("a report of a plan"); }

void Target::write_reports(const NetworkPlan&, const Machine&, std::span<const std::filesystem::path>) const {
  refuse("a report of a plan");
}

Target::Checked Target::check_plan(const NetworkPlan&, const std::string&) const { refuse("a checklist for plans"); }

View Target::compare(const std::array<NamedPlan, 2>&) const { refuse("a comparison of two plan files"); }

View Target::compare_arithmetic(LoadedNetwork, const Machine& machine, const ArithmeticRequest&,
                                const SimulateHooks&) const {
  refuse(fmt::format("arithmetic to simulate, as of {},", machine.name));
}

}  // namespace tessera
