#include "plan_argument.h"

#include "arguments.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/io/named_networks.h"
#include "tessera/io/plan_document.h"
#include "tessera/targets/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

bool is_layer_there(const std::string& model) {
  try {
    return find_layer(model).has_value();
  } catch (const Error&) {
    return false;  // its file has gone, or has it no more
  }
}

// "x float32[16, 3, 224, 224]": its name and extents.
struct PlannedInput {
  std::string name;
  std::vector<std::string> extents;
};

PlannedInput parse_input(const std::string& text) {
  const std::size_t bracket = text.rfind('['), space = text.rfind(' ', bracket);
  check(bracket != std::string::npos && space != std::string::npos && text.ends_with(']'), Code::parse,
        "the plan has an input '{}', which is not NAME TYPE[EXTENTS]", text);
  PlannedInput out{text.substr(0, space), {}};
  std::string extent;
  for (std::size_t i = bracket + 1; i < text.size(); ++i) {
    if (text[i] >= '0' && text[i] <= '9')
      extent += text[i];
    else if (!extent.empty())
      out.extents.push_back(std::exchange(extent, {}));
  }
  return out;
}

// As the plan names it, or beside the plan.
std::string find_model(const PlanFileArgument& argument) {
  const std::string& model = argument.plan->model();
  if (fs::exists(model) || is_network_name(model) || is_layer_there(model)) return model;
  const fs::path folder = fs::path(argument.file).parent_path();
  for (const fs::path& path : {folder / model, folder / fs::path(model).filename()})
    if (fs::exists(path)) return path.string();
  fail(Code::not_found, Hint{"use --network FILE to name its present place"},
       "the plan's network '{}' was found neither in the zoo, nor here, nor beside {}", model, argument.file);
}

}  // namespace

bool is_plan_file(const std::string& model) { return looks_like_plan(model); }

PlanFileArgument load_plan_file_argument(const std::string& file, const std::string& device) {
  auto [target, plan] = read_plan(file);
  return with_context(fmt::format("while following {}", file), [&, &target = target, &plan = plan] {
    Machine machine = find_machine(device.empty() ? plan->machine() : device);
    target.check_machine(*plan, machine);
    return PlanFileArgument{file, target, std::move(plan), std::move(machine)};
  });
}

LoadedNetwork load_planned_network(const PlanFileArgument& argument, ModelArgument given) {
  return with_context(fmt::format("while following {}", argument.file), [&] {
    NetworkPlan& plan = *argument.plan;
    check(given.batch == 0 || given.batch == plan.batch(), Code::invalid_argument,
          Hint{"use `tessera plan --batch` to make another plan"}, "--batch is {}, but the plan is for batches of {}",
          given.batch, plan.batch());
    check(given.shapes.empty() && given.dimensions.empty(), Code::invalid_argument,
          Hint{"tessera plan makes another plan"}, "{} conflicts with the plan, whose inputs are {}",
          given.shapes.empty() ? "--dim" : "--shape", fmt::join(plan.model_inputs(), ", "));
    given.batch = 0;  // which inputs say below, where the network leaves it open
    if (given.model.empty()) given.model = find_model(argument);
    std::vector<PlannedInput> inputs;
    for (const std::string& text : plan.model_inputs()) inputs.push_back(parse_input(text));
    if (is_network_name(given.model)) {
      if (!inputs.empty() && !inputs[0].extents.empty()) given.batch = plan.batch();
    } else if (!find_layer(given.model)) {
      for (const PlannedInput& input : inputs)
        if (!input.extents.empty())
          given.shapes.push_back(fmt::format("{}:{}", input.name, fmt::join(input.extents, "x")));
    }
    LoadedNetwork network = load_network(given);
    plan.attach(network.graph, network.name);
    return network;
  });
}

LoadedNetwork load_network(const ModelArgument& argument) {
  Model model = load_model(argument);
  return {.model = argument.model,
          .name = std::move(model.name),
          .graph = std::move(model.graph),
          .inputs = std::move(model.inputs)};
}

}  // namespace tessera::cli
