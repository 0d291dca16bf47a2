#include "tessera/machine/fleet_spec.h"

#include "tessera/machine/internal/fleet_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <variant>

namespace tessera {
namespace {

constexpr std::string_view kFleetGroup = "fleet";

template <class T>
void take_number(const Figure& figure, T& out) {
  std::visit(
      [&](const auto& value) {
        using V = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<V, std::int64_t> || std::is_same_v<V, double>) {
          if constexpr (std::is_same_v<T, int>)
            out = static_cast<int>(value);
          else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::optional<std::int64_t>>)
            out = static_cast<std::int64_t>(value);
          else
            out = static_cast<double>(value);
        }
      },
      figure.value);
}

}  // namespace

namespace internal {

void read_fleet_fields(FieldReader& in, int chips) {
  in.group(kFleetGroup);
  if (!in.has_group()) return;
  FleetSpec s;
  visit_fleet_fields(s, [&](std::string_view key, auto& field, std::string_view unit, Rule rule) {
    in.value(key, field, unit, rule);
  });
  constexpr std::int64_t kMaxCards = 10'000'000;
  const bool countable = s.hosts.value_or(1) <= kMaxCards / std::max(s.cards_per_host, 1);
  in.require(countable, {"hosts", "cards_per_host"},
             fmt::format("'hosts' is {}, which with {} cards each is more than the {} that can be simulated",
                         s.hosts.value_or(1), s.cards_per_host, kMaxCards));
  if (s.hosts && countable)
    in.require(s.spares < *s.hosts * s.cards_per_host, {"spares", "hosts", "cards_per_host"},
               fmt::format("'spares' is {}, which leaves no card at work: there are {} hosts of {}", s.spares,
                           s.hosts.value_or(1), s.cards_per_host));
  in.require(chips <= 1 || s.card_ethernet_bytes_per_s.has_value(), {"cards_per_host"},
             fmt::format("[fleet] needs 'card_ethernet_bytes_per_s': a card has {} chips, and all but one are reached "
                         "through it",
                         chips));
}

}  // namespace internal

std::optional<FleetSpec> fleet_of(const Machine& machine) {
  FleetSpec spec;
  bool found = false;
  for (const Figure& figure : machine.figures) {
    if (figure.group != kFleetGroup) continue;
    found = true;
    internal::visit_fleet_fields(spec, [&](std::string_view key, auto& field, std::string_view, internal::Rule) {
      if (key == figure.key) take_number(figure, field);
    });
  }
  return found ? std::optional(spec) : std::nullopt;
}

}  // namespace tessera
