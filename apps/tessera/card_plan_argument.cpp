#include "card_plan_argument.h"

#include "arguments.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/graph/zoo/zoo.h"
#include "tessera/machine/machine_file.h"
#include "tessera/targets/tensix/plan/card_plan_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

bool is_zoo_name(const std::string& name) {
  const auto models = zoo();
  return std::any_of(models.begin(), models.end(), [&](const ZooModel& model) { return model.name == name; });
}

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
std::string find_model(const CardPlanArgument& argument) {
  const std::string& model = argument.plan.model;
  if (fs::exists(model) || is_zoo_name(model) || is_layer_there(model)) return model;
  const fs::path folder = fs::path(argument.file).parent_path();
  for (const fs::path& path : {folder / model, folder / fs::path(model).filename()})
    if (fs::exists(path)) return path.string();
  fail(Code::not_found, Hint{"--network FILE says where the network is now"},
       "the plan's network '{}' is neither in the zoo nor a file here or beside {}", model, argument.file);
}

}  // namespace

bool is_plan_file(const std::string& model) { return tensix::looks_like_card_plan(model); }

CardPlanArgument load_card_plan_argument(const std::string& file, const std::string& device) {
  CardPlanArgument out{file, tensix::load_card_plan(file), {}};
  with_context(fmt::format("while following {}", file), [&] {
    out.machine = load_machine(device.empty() ? out.plan.machine : device);
    check_machine(out.plan, out.machine);
  });
  return out;
}

PlannedModel load_planned_model(const CardPlanArgument& argument, ModelArgument given) {
  return with_context(fmt::format("while following {}", argument.file), [&] {
    check(given.batch == 0 || given.batch == argument.plan.batch, Code::invalid_argument,
          Hint{"tessera plan --batch makes another plan"}, "--batch is {}, and the plan is for batches of {}",
          given.batch, argument.plan.batch);
    check(given.shapes.empty() && given.dimensions.empty(), Code::invalid_argument,
          Hint{"tessera plan makes another plan"}, "{} says what the plan has settled: inputs are {}",
          given.shapes.empty() ? "--dim" : "--shape", fmt::join(argument.plan.model_inputs, ", "));
    given.batch = 0;  // which inputs say below, where the network leaves it open
    if (given.model.empty()) given.model = find_model(argument);
    std::vector<PlannedInput> inputs;
    for (const std::string& text : argument.plan.model_inputs) inputs.push_back(parse_input(text));
    if (is_zoo_name(given.model)) {
      if (!inputs.empty() && !inputs[0].extents.empty()) given.batch = argument.plan.batch;
    } else if (!find_layer(given.model)) {
      for (const PlannedInput& input : inputs)
        if (!input.extents.empty())
          given.shapes.push_back(fmt::format("{}:{}", input.name, fmt::join(input.extents, "x")));
    }
    PlannedModel out{load_model(given), {}};
    out.network = tensix::lower(out.model.graph, {.host_fallback = true});
    check_network(argument.plan, out.network);
    return out;
  });
}

std::int64_t l1_banks_of(const tensix::CardPlan& plan) {
  try {
    return tensix_of(load_machine(plan.machine)).cores();
  } catch (const Error&) {
    std::int64_t most = 1;
    for (const tensix::PlannedStep& step : plan.steps) most = std::max(most, step.predicted.cores);
    return most;
  }
}

std::size_t find_planned_step(const tensix::CardPlan& plan, const std::string& node) {
  std::vector<std::string> names;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].node == node || plan.steps[s].makes == node) return s;
    names.push_back(plan.steps[s].node);
  }
  const std::string meant = did_you_mean(node, names);
  constexpr std::size_t kShown = 20;
  const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
  names.resize(names.size() - more);
  fail(Code::not_found, Hint{"a node that was fused is part of the one before it"}, "the plan has no node '{}'{}{}",
       node, meant,
       meant.empty()
           ? fmt::format("; it has {}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "")
           : "");
}

}  // namespace tessera::cli
