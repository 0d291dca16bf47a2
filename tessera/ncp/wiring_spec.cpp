#include "tessera/ncp/wiring_spec.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/ncp/internal/spec_fields.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <span>
#include <type_traits>

namespace tessera::ncp {

WiringSpec default_spec(std::string_view type) {
  const std::vector<WiringSpec> all{NcpSpec{},    AutoNcpSpec{}, FullyConnectedSpec{},
                                    RandomSpec{}, LayeredSpec{}, ExplicitSpec{}};
  std::vector<std::string> names;
  for (const WiringSpec& spec : all) {
    names.emplace_back(std::visit([](const auto& s) { return type_name(s); }, spec));
    if (names.back() == type) return spec;
  }
  fail(Code::invalid_argument, "there is no wiring '{}': the kinds are {}{}", type, fmt::join(names, ", "),
       did_you_mean(type, names));
}

namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

template <class T>
T parse_number(std::string_view text, std::string_view what) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc() && end == text.data() + text.size(), Code::parse, "{} is '{}', which is no {}", what, text,
        std::is_floating_point_v<T> ? "number"
        : std::is_signed_v<T>       ? "whole number"
                                    : "number from 0 up");
  return value;
}

void parse_value(std::string_view text, std::string_view what, std::optional<int>& out) {
  out.reset();
  if (text != "None" && text != "null") out = parse_number<int>(text, what);
}
void parse_value(std::string_view text, std::string_view what, bool& out) {
  const bool yes = text == "True" || text == "true" || text == "1";
  check(yes || text == "False" || text == "false" || text == "0", Code::parse, "{} is '{}': true or false", what, text);
  out = yes;
}
template <class T>
  requires std::integral<T> || std::floating_point<T>
void parse_value(std::string_view text, std::string_view what, T& out) {
  out = parse_number<T>(text, what);
}

struct Argument {
  std::string_view key;  // empty: by position
  std::string_view value;
};

std::vector<Argument> split_arguments(std::string_view inside) {
  std::vector<Argument> out;
  while (!trimmed(inside).empty()) {
    const auto comma = std::min(inside.find(','), inside.size());
    const std::string_view item = trimmed(inside.substr(0, comma));
    check(!item.empty(), Code::parse, "there is nothing between two commas");
    const auto equals = item.find('=');
    check(equals != std::string_view::npos || out.empty() || out.back().key.empty(), Code::parse,
          "'{}' has no name, but follows an argument that has one", item);
    out.push_back(equals == std::string_view::npos
                      ? Argument{{}, item}
                      : Argument{trimmed(item.substr(0, equals)), trimmed(item.substr(equals + 1))});
    inside.remove_prefix(std::min(comma + 1, inside.size()));
  }
  return out;
}

template <class Spec>
void assign(Spec& spec, std::span<const Argument> arguments) {
  std::vector<std::string> names;
  std::vector<bool> used(arguments.size());
  visit_fields(spec, [&](std::string_view name, std::string_view alias, auto& value) {
    bool given = false;
    for (std::size_t a = 0; a < arguments.size(); ++a) {
      const auto& [key, text] = arguments[a];
      if (key.empty() ? a != names.size() : key != name && (alias.empty() || key != alias)) continue;
      check(!given, Code::parse, "{} is given twice", name);
      parse_value(text, name, value);
      used[a] = given = true;
    }
    names.emplace_back(name);
  });
  for (std::size_t a = 0; a < arguments.size(); ++a) {
    if (used[a]) continue;
    if (arguments[a].key.empty())
      fail(Code::parse, "{} takes {} arguments ({}), {} were given", type_name(spec), names.size(),
           fmt::join(names, ", "), arguments.size());
    fail(Code::parse, "{} has no argument '{}': it takes {}{}", type_name(spec), arguments[a].key,
         fmt::join(names, ", "), did_you_mean(arguments[a].key, names));
  }
}

// name:neurons x fanout [+ recurrent]
LayeredSpec::Hidden parse_layer(std::string_view text) {
  const auto colon = text.find(':');
  const auto times = text.find('x', colon == std::string_view::npos ? 0 : colon);
  check(colon != std::string_view::npos && times != std::string_view::npos, Code::parse,
        "'{}' is no layer: write name:neurons x fanout, as in command:6x4+4", text);
  const auto plus = std::min(text.find('+', times), text.size());
  LayeredSpec::Hidden layer;
  layer.name = trimmed(text.substr(0, colon));
  layer.neurons = parse_number<int>(trimmed(text.substr(colon + 1, times - colon - 1)), "the number of neurons");
  layer.fanout = parse_number<int>(trimmed(text.substr(times + 1, plus - times - 1)), "the fanout");
  if (plus < text.size())
    layer.recurrent_synapses = parse_number<int>(trimmed(text.substr(plus + 1)), "the number of recurrent synapses");
  return layer;
}

void assign(LayeredSpec& spec, std::span<const Argument> arguments) {
  for (const auto& [key, value] : arguments) {
    if (key.empty()) {
      spec.hidden.push_back(parse_layer(value));
    } else {
      check(key == "seed", Code::parse, "Layered has no argument '{}': it takes layers and seed", key);
      parse_value(value, key, spec.seed);
    }
  }
  check(spec.hidden.size() >= 2, Code::parse, "Layered needs a layer and the motor neurons, as in {}",
        "Layered(inter:12x6,motor:1x6)");
  const LayeredSpec::Hidden motor = spec.hidden.back();
  check(motor.name == "motor" && motor.recurrent_synapses == 0, Code::parse,
        "the last layer is motor:neurons x fanin, not {}:{}x{}+{}", motor.name, motor.neurons, motor.fanout,
        motor.recurrent_synapses);
  spec.hidden.pop_back();
  spec.motor_neurons = motor.neurons;
  spec.motor_fanin = motor.fanout;
}

void assign(ExplicitSpec&, std::span<const Argument>) {
  fail(Code::parse, Hint{"name a JSON file"}, "an explicit wiring cannot be written as one line of text");
}

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, std::optional<int>>)
    return value ? fmt::format("{}", *value) : "None";
  else
    return fmt::format("{}", value);
}

template <class Spec>
std::string text(const Spec& spec) {
  const Spec defaults{};
  std::vector<std::string> usual;
  visit_fields(defaults, [&](auto, auto, const auto& value) { usual.push_back(text_of(value)); });
  std::vector<std::string> parts;
  std::size_t i = 0;
  visit_fields(spec, [&](std::string_view name, auto, const auto& value) {
    std::string shown = text_of(value);
    const bool plain = parts.size() == i;
    // Sizes have no defaults that make sense, so they are always shown.
    if (constexpr bool size = std::is_same_v<std::remove_cvref_t<decltype(value)>, int>; size || shown != usual[i])
      parts.push_back(plain ? std::move(shown) : fmt::format("{}={}", name, shown));
    ++i;
  });
  return fmt::format("{}({})", type_name(spec), fmt::join(parts, ","));
}

std::string text(const LayeredSpec& spec) {
  std::string out = "Layered(";
  for (const LayeredSpec::Hidden& layer : spec.hidden) {
    out += fmt::format("{}:{}x{}", layer.name, layer.neurons, layer.fanout);
    if (layer.recurrent_synapses != 0) out += fmt::format("+{}", layer.recurrent_synapses);
    out += ',';
  }
  out += fmt::format("motor:{}x{}", spec.motor_neurons, spec.motor_fanin);
  if (spec.seed != LayeredSpec{}.seed) out += fmt::format(",seed={}", spec.seed);
  return out + ')';
}

std::string text(const ExplicitSpec& spec) {
  return fmt::format("Explicit({} units, {} synapses)", spec.units,
                     spec.synapses.size() + spec.sensory_synapses.size());
}

}  // namespace

WiringSpec parse_wiring_spec(std::string_view text) {
  const std::string_view all = trimmed(text);
  const auto open = all.find('(');
  check(open != std::string_view::npos && all.back() == ')', Code::parse,
        "'{}' is no wiring: write a kind and its arguments, as in AutoNCP(16,4)", text);
  WiringSpec spec = default_spec(trimmed(all.substr(0, open)));
  with_context(fmt::format("while reading the wiring '{}'", text), [&] {
    const std::vector<Argument> arguments = split_arguments(all.substr(open + 1, all.size() - open - 2));
    std::visit([&](auto& s) { assign(s, arguments); }, spec);
  });
  return spec;
}

std::string to_string(const WiringSpec& spec) {
  return std::visit([](const auto& s) { return text(s); }, spec);
}

}  // namespace tessera::ncp
