#include "tessera/targets/apple/verdicts/device_profile.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/machine/machine_file.h"
#include "tessera/machine/unified_guide.h"
#include "tessera/ncp/json_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace tessera::apple {
namespace {

constexpr std::string_view kHost = "host";
constexpr std::string_view kVendor = "apple_";

std::vector<int> whole(const std::vector<double>& values) {
  std::vector<int> out;
  for (const double value : values) out.push_back(static_cast<int>(value));
  return out;
}

// Powers of two from low to high, and high itself.
std::vector<int> sizes_between(int low, int high) {
  std::vector<int> out;
  for (int size = low; size < high; size *= 2) out.push_back(size);
  out.push_back(high);
  return out;
}

std::vector<std::string> sentences(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    if (const std::size_t first = item.find_first_not_of(' '); first != std::string_view::npos)
      out.emplace_back(item.substr(first));
  }
  return out;
}

std::string source_of(const Machine& machine, std::string_view key) {
  for (const Figure& figure : machine.figures)
    if (figure.key == key) return figure.source;
  return {};
}

// "M1 Max", "m1-max" and "apple_m1_max" are the same.
std::string normalized(std::string_view name) {
  std::string out;
  for (const char c : name)
    out += c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

DeviceProfile device_profile(const Machine& machine) {
  check(machine.unified.has_value(), Code::invalid_argument,
        Hint{fmt::format("the devices are {}", fmt::join(device_profile_names(), ", "))},
        "'{}' is of the family '{}': profiles for liquid networks are made from machines of the family 'unified'",
        machine.name, machine.family);
  const UnifiedSpec& s = *machine.unified;
  const UnifiedGuide guide = unified_guide_of(machine);
  DeviceProfile out{.name = machine.name, .title = machine.title, .unit = "GPU"};
  out.peak_flop_per_s = s.gpu_flop_per_s;
  out.peak_bytes_per_s = s.memory_bytes_per_s;
  out.launch_ns = s.launch_ns;
  out.special_flop = guide.special_flop;
  out.neural_engine_cores = s.neural_engine_cores;
  out.neural_engine_op_per_s = s.neural_engine_op_per_s;
  out.memory_bytes = s.memory_bytes;
  out.memory_min_bytes = s.memory_min_bytes;
  out.memory_budget_bytes = s.memory_budget_bytes;
  out.batch_sizes = sizes_between(s.batch_min, s.batch_max);
  out.hidden_sizes = sizes_between(s.hidden_min, s.hidden_max);
  out.hidden_limit = guide.hidden_limit;
  out.backbone_units = whole(s.backbone_units);
  out.target_utilization = guide.target_utilization;
  out.learning_rate = guide.learning_rate;
  out.backbone_dropout = guide.backbone_dropout;
  out.advice = sentences(guide.advice);
  out.tiers = {{"guide", s.target_flop_per_s, s.target_bytes_per_s, s.memory_budget_bytes,
                source_of(machine, "target_flop_per_s")}};
  if (guide.has_tiers) {
    out.tiers.push_back(
        {"class", 0, guide.class_target_bytes_per_s, 0, source_of(machine, "class_target_bytes_per_s")});
    out.tiers.push_back({"high", guide.high_target_flop_per_s, guide.high_target_bytes_per_s, guide.high_memory_bytes,
                         source_of(machine, "high_target_flop_per_s")});
  }
  out.origin = machine.path.substr(machine.path.find_last_of('/') + 1);
  return out;
}

std::vector<std::string> device_profile_names() {
  std::vector<std::string> names = {std::string(kHost)};
  for (const std::string& name : machine_names()) {
    try {
      if (load_machine(name).unified) names.push_back(name);
    } catch (const Error&) {  // a broken file of a user is no reason to know no device; asking for it by name says why
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

DeviceProfile device_profile(std::string_view name) {
  if (name.find('/') != std::string_view::npos || name.ends_with(".toml")) return device_profile(load_machine(name));
  const std::string plain = normalized(name);
  if (plain == kHost) return host_profile();
  const std::vector<std::string> names = device_profile_names();
  for (const std::string& known : names)
    if (known == plain || known == std::string(kVendor) + plain) return device_profile(load_machine(known));
  fail(Code::not_found, Hint{fmt::format("the devices are {}", fmt::join(names, ", "))},
       "there is no device profile '{}'{}", name, did_you_mean(plain, names));
}

std::string profile_name_of_processor(std::string_view brand) {
  const std::string plain = normalized(brand);
  if (!plain.starts_with(kVendor)) return {};
  for (const std::string& known : device_profile_names())
    if (known == plain) return known;
  return {};
}

DeviceProfile detect_device() {
#if defined(__APPLE__)
  char brand[256] = {};
  std::size_t size = sizeof brand - 1;
  if (sysctlbyname("machdep.cpu.brand_string", brand, &size, nullptr, 0) == 0)
    if (const std::string name = profile_name_of_processor(brand); !name.empty()) return device_profile(name);
#endif
  return host_profile();
}

namespace {

// One list for both directions.
template <class Profile, class Visit>
void visit_fields(Profile& p, Visit&& visit) {
  visit("name", p.name);
  visit("title", p.title);
  visit("unit", p.unit);
  visit("measured", p.measured);
  visit("peak_flop_per_s", p.peak_flop_per_s);
  visit("peak_bytes_per_s", p.peak_bytes_per_s);
  visit("launch_ns", p.launch_ns);
  visit("special_flop", p.special_flop);
  visit("neural_engine_cores", p.neural_engine_cores);
  visit("neural_engine_op_per_s", p.neural_engine_op_per_s);
  visit("memory_bytes", p.memory_bytes);
  visit("memory_min_bytes", p.memory_min_bytes);
  visit("memory_budget_bytes", p.memory_budget_bytes);
  visit("threads", p.threads);
  visit("l1d_bytes", p.l1d_bytes);
  visit("l2_bytes", p.l2_bytes);
  visit("l3_bytes", p.l3_bytes);
  visit("batch_sizes", p.batch_sizes);
  visit("hidden_sizes", p.hidden_sizes);
  visit("hidden_limit", p.hidden_limit);
  visit("backbone_units", p.backbone_units);
  visit("target_utilization", p.target_utilization);
  visit("learning_rate", p.learning_rate);
  visit("backbone_dropout", p.backbone_dropout);
  visit("advice", p.advice);
  visit("origin", p.origin);
}

template <class Tier, class Visit>
void visit_tier(Tier& t, Visit&& visit) {
  visit("name", t.name);
  visit("flop_per_s", t.flop_per_s);
  visit("bytes_per_s", t.bytes_per_s);
  visit("memory_bytes", t.memory_bytes);
  visit("source", t.source);
}

struct Reader {
  const nlohmann::ordered_json& json;
  template <class Value>
  void operator()(const char* key, Value& value) const {
    try {
      value = ncp::member(json, key).get<Value>();
    } catch (const nlohmann::json::exception& error) {
      fail(Code::parse, "device profile: '{}' is {}, which is nothing of its kind", key, ncp::member(json, key).dump());
    }
  }
};

}  // namespace

std::string device_profile_to_json(const DeviceProfile& profile) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  visit_fields(profile, [&](const char* key, const auto& value) { json[key] = value; });
  json["tiers"] = nlohmann::ordered_json::array();
  for (const TargetTier& tier : profile.tiers) {
    nlohmann::ordered_json item;
    visit_tier(tier, [&](const char* key, const auto& value) { item[key] = value; });
    json["tiers"].push_back(std::move(item));
  }
  return json.dump(1) + "\n";
}

DeviceProfile device_profile_from_json(std::string_view text) {
  const nlohmann::ordered_json json = ncp::parse_object(text, "device profile");
  DeviceProfile out;
  visit_fields(out, Reader{json});
  const nlohmann::ordered_json& tiers = ncp::member(json, "tiers");
  check(tiers.is_array() && !tiers.empty(), Code::parse, "device profile: 'tiers' has to be a list of at least one");
  for (const nlohmann::ordered_json& item : tiers) visit_tier(out.tiers.emplace_back(), Reader{item});
  const auto positive = [](const std::vector<int>& sizes) {
    return !sizes.empty() && std::all_of(sizes.begin(), sizes.end(), [](int size) { return size > 0; });
  };
  check(positive(out.batch_sizes) && positive(out.hidden_sizes), Code::parse,
        "device profile: 'batch_sizes' and 'hidden_sizes' have to be lists of sizes");
  check(out.peak_flop_per_s > 0 && out.peak_bytes_per_s > 0, Code::parse,
        "device profile: peaks of {} FLOP/s and {} B/s are no peaks", out.peak_flop_per_s, out.peak_bytes_per_s);
  return out;
}

}  // namespace tessera::apple
