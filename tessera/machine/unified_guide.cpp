#include "tessera/machine/unified_guide.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <string_view>
#include <type_traits>

namespace tessera {
namespace {

const Figure* find(const Machine& machine, std::string_view key) {
  const auto found = std::find_if(machine.figures.begin(), machine.figures.end(),
                                  [&](const Figure& figure) { return figure.key == key; });
  return found == machine.figures.end() ? nullptr : &*found;
}

const Figure::Value& value_of(const Machine& machine, std::string_view key) {
  const Figure* found = find(machine, key);
  check(found != nullptr, Code::internal, "'{}' has no figure '{}'", machine.name, key);
  return found->value;
}

// Whole numbers are figures of either kind, as the file writes them.
template <class Number>
void read(const Machine& machine, std::string_view key, Number& out) {
  std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, Number>)
          out = value;
        else if constexpr (std::is_arithmetic_v<Number> && std::is_arithmetic_v<Value>)
          out = static_cast<Number>(value);
        else
          fail(Code::internal, "figure '{}' of '{}' is of another kind than its field", key, machine.name);
      },
      value_of(machine, key));
}

}  // namespace

UnifiedGuide unified_guide_of(const Machine& machine) {
  check(machine.unified.has_value(), Code::invalid_argument,
        "'{}' is of the family '{}': the guide is about machines of the family 'unified'", machine.name,
        machine.family);
  UnifiedGuide out;
  read(machine, "special_flop", out.special_flop);
  if (find(machine, "guide_bytes_per_s") != nullptr)
    read(machine, "guide_bytes_per_s", out.guide_bytes_per_s.emplace());
  read(machine, "hidden_limit", out.hidden_limit);
  read(machine, "target_utilization", out.target_utilization);
  read(machine, "learning_rate", out.learning_rate);
  read(machine, "backbone_dropout", out.backbone_dropout);
  read(machine, "advice", out.advice);
  out.has_tiers = find(machine, "class_target_bytes_per_s") != nullptr;
  if (!out.has_tiers) return out;
  read(machine, "class_target_bytes_per_s", out.class_target_bytes_per_s);
  read(machine, "high_target_flop_per_s", out.high_target_flop_per_s);
  read(machine, "high_target_bytes_per_s", out.high_target_bytes_per_s);
  read(machine, "high_memory_bytes", out.high_memory_bytes);
  read(machine, "small_batch", out.small_batch);
  read(machine, "small_backbone_units", out.small_backbone_units);
  return out;
}

}  // namespace tessera
