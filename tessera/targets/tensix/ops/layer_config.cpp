#include "tessera/targets/tensix/ops/layer_config.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace tessera::tensix {
namespace {

using Json = nlohmann::json;

std::string text_of(const Json& value) {
  check(value.is_string(), Code::parse, "{} is no text", value.dump());
  return value.get<std::string>();
}

void read(const Json& value, bool& to) {
  check(value.is_boolean(), Code::parse, "{} is neither true nor false", value.dump());
  to = value.get<bool>();
}
void read(const Json& value, int& to) {
  check(value.is_number_integer() && value.get<std::int64_t>() >= 0 && value.get<std::int64_t>() <= 1 << 24,
        Code::parse, "{} is no whole number from 0 on", value.dump());
  to = value.get<int>();
}
void read(const Json& value, DType& to) {
  const std::optional<DType> dtype = parse_dtype(text_of(value));
  check(dtype.has_value(), Code::parse, Hint{"float32, bfloat16, bfloat8_b, bfloat4_b"}, "there is no dtype {}",
        value.dump());
  to = *dtype;
}
void read(const Json& value, Layout& to) {
  std::string text = text_of(value);
  if (text.ends_with("_LAYOUT")) text.resize(text.size() - 7);
  const std::optional<Layout> layout = parse_layout(text);
  check(layout.has_value(), Code::parse, Hint{"TILE or ROW_MAJOR"}, "there is no layout {}", value.dump());
  to = *layout;
}
void read(const Json& value, TensorMemoryLayout& to) {
  for (const TensorMemoryLayout layout :
       {TensorMemoryLayout::height_sharded, TensorMemoryLayout::width_sharded, TensorMemoryLayout::block_sharded})
    if (name(layout) == text_of(value)) {
      to = layout;
      return;
    }
  fail(Code::parse, Hint{"HEIGHT_SHARDED, WIDTH_SHARDED or BLOCK_SHARDED"}, "there is no shard layout {}",
       value.dump());
}
void read(const Json& value, std::string& to) { to = text_of(value); }
void read(const Json& value, PaddingMode& to) {
  const std::string text = text_of(value);
  check(text == "zeros" || text == "replicate", Code::parse, Hint{"zeros or replicate"},
        "there is no padding mode '{}'", text);
  to = text == "zeros" ? PaddingMode::zeros : PaddingMode::replicate;
}
// [columns, rows] from the first core on, or [[x, y, x, y], ...]: first and last core of each range.
void read(const Json& value, CoreRangeSet& to) {
  const auto number = [&](const Json& n) {
    int out = 0;
    read(n, out);
    return out;
  };
  check(value.is_array() && !value.empty(), Code::parse, "core_grid {} is no list", value.dump());
  if (value[0].is_number()) {
    check(value.size() == 2 && number(value[0]) > 0 && number(value[1]) > 0, Code::parse,
          "core_grid {} is not [columns, rows]", value.dump());
    to = CoreRange({0, 0}, {number(value[0]) - 1, number(value[1]) - 1});
    return;
  }
  std::vector<CoreRange> ranges;
  for (const Json& range : value) {
    check(range.is_array() && range.size() == 4, Code::parse, "core_grid has a range {} that is not [x, y, x, y]",
          range.dump());
    ranges.push_back(CoreRange({number(range[0]), number(range[1])}, {number(range[2]), number(range[3])}));
  }
  to = CoreRangeSet(ranges);
}
template <class T>
void read(const Json& value, std::optional<T>& to) {
  if (value.is_null()) return to.reset();
  T inner{};
  read(value, inner);
  to = inner;
}

using Ordered = nlohmann::ordered_json;

Ordered written(bool value) { return value; }
Ordered written(int value) { return value; }
Ordered written(const std::string& value) { return value; }
Ordered written(DType value) { return name(value); }
Ordered written(Layout value) { return name(value); }
Ordered written(TensorMemoryLayout value) { return name(value); }
Ordered written(PaddingMode value) { return value == PaddingMode::zeros ? "zeros" : "replicate"; }
Ordered written(const CoreRangeSet& value) {
  Ordered ranges = Ordered::array();
  for (const CoreRange& r : value.ranges()) ranges.push_back(Ordered::array({r.start.x, r.start.y, r.end.x, r.end.y}));
  return ranges;
}
// Nothing, where the field is given as "chosen by the operator".
template <class T>
Ordered written(const std::optional<T>& value) {
  return value ? written(*value) : Ordered();
}

struct Field {
  std::string_view name;
  void (*read)(const Json&, Conv2dConfig&);
  Ordered (*write)(const Conv2dConfig&);
  void (*copy)(const Conv2dConfig&, Conv2dConfig&);
};

template <auto Member>
constexpr Field field(std::string_view name) {
  return {name, [](const Json& value, Conv2dConfig& to) { read(value, to.*Member); },
          [](const Conv2dConfig& from) { return written(from.*Member); },
          [](const Conv2dConfig& from, Conv2dConfig& to) { to.*Member = from.*Member; }};
}

constexpr std::array kFields{
    field<&Conv2dConfig::activation>("activation"),
    field<&Conv2dConfig::deallocate_activation>("deallocate_activation"),
    field<&Conv2dConfig::reallocate_halo_output>("reallocate_halo_output"),
    field<&Conv2dConfig::config_tensors_in_dram>("config_tensors_in_dram"),
    field<&Conv2dConfig::act_block_h_override>("act_block_h_override"),
    field<&Conv2dConfig::act_block_w_div>("act_block_w_div"),
    field<&Conv2dConfig::reshard_if_not_optimal>("reshard_if_not_optimal"),
    field<&Conv2dConfig::override_sharding_config>("override_sharding_config"),
    field<&Conv2dConfig::shard_layout>("shard_layout"),
    field<&Conv2dConfig::core_grid>("core_grid"),
    field<&Conv2dConfig::transpose_shards>("transpose_shards"),
    field<&Conv2dConfig::output_layout>("output_layout"),
    field<&Conv2dConfig::enable_act_double_buffer>("enable_act_double_buffer"),
    field<&Conv2dConfig::enable_weights_double_buffer>("enable_weights_double_buffer"),
    field<&Conv2dConfig::full_inner_dim>("full_inner_dim"),
    field<&Conv2dConfig::enable_kernel_stride_folding>("enable_kernel_stride_folding"),
    field<&Conv2dConfig::enable_activation_reuse>("enable_activation_reuse"),
    field<&Conv2dConfig::force_split_reader>("force_split_reader"),
    field<&Conv2dConfig::override_output_sharding_config>("override_output_sharding_config"),
    field<&Conv2dConfig::padding_mode>("padding_mode"),
};

Json parse_document(std::string_view json) {
  try {
    return Json::parse(json);
  } catch (const Json::exception& error) {
    fail(Code::parse, "the configs are no JSON: {}", error.what());
  }
}

void read_slice(const Json& value, LayerConfig& config) {
  check(value.is_object(), Code::parse, "slice {} is no object", value.dump());
  config.height_slices = false;
  for (const auto& [key, v] : value.items()) {
    if (key == "type") {
      const std::string type = text_of(v);
      check(type == "DRAM_HEIGHT" || type == "DRAM_WIDTH", Code::parse, Hint{"DRAM_HEIGHT or DRAM_WIDTH"},
            "there is no slice type '{}'", type);
      config.height_slices = type == "DRAM_HEIGHT";
    } else {
      check(key == "num_slices", Code::parse, Hint{"type, num_slices"}, "a slice has no field '{}'", key);
      int count = 0;
      read(v, count);
      config.slices = count;
    }
  }
}

void read_field(const std::string& key, const Json& value, LayerConfig& config) {
  for (const Field& field : kFields)
    if (field.name == key) {
      field.read(value, config.conv);
      config.conv_fields.push_back(key);
      return;
    }
  if (key == "dtype") return read(value, config.dtype);
  if (key == "weights_dtype") return read(value, config.weights_dtype);
  if (key == "fp32_dest_acc_en") return read(value, config.fp32_dest_acc_en);
  if (key == "packer_l1_acc") return read(value, config.packer_l1_acc);
  if (key == "slice") return read_slice(value, config);
  if (key == "math_fidelity") {
    for (const MathFidelity f : {MathFidelity::lofi, MathFidelity::hifi2, MathFidelity::hifi3, MathFidelity::hifi4})
      if (name(f) == text_of(value)) config.fidelity = f;
    check(config.fidelity.has_value(), Code::parse, Hint{"LoFi, HiFi2, HiFi3, HiFi4"}, "there is no math fidelity {}",
          value.dump());
    return;
  }
  if (key == "memory") {
    const std::string text = text_of(value);
    check(text == "L1" || text == "DRAM", Code::parse, Hint{"L1 or DRAM"}, "there is no memory '{}'", text);
    config.memory = text == "L1" ? BufferType::l1 : BufferType::dram;
    return;
  }
  std::vector<std::string> names{"dtype",         "weights_dtype", "math_fidelity", "fp32_dest_acc_en",
                                 "packer_l1_acc", "slice",         "memory"};
  for (const Field& field : kFields) names.emplace_back(field.name);
  fail(Code::parse, Hint{fmt::format("one of {}", fmt::join(names, ", "))}, "there is no field '{}'{}", key,
       did_you_mean(key, names));
}

}  // namespace

bool LayerConfig::gives(std::string_view field) const {
  return std::find(conv_fields.begin(), conv_fields.end(), field) != conv_fields.end();
}

void LayerConfig::apply_to(Conv2dConfig& config) const {
  for (const Field& field : kFields)
    if (gives(field.name)) field.copy(conv, config);
  if (gives("override_sharding_config") && !gives("reshard_if_not_optimal"))
    config.reshard_if_not_optimal = config.reshard_if_not_optimal && !config.override_sharding_config;
}

void LayerConfig::apply_to(ComputeConfig& compute) const {
  compute.fidelity = fidelity.value_or(compute.fidelity);
  compute.fp32_dest_acc_en = fp32_dest_acc_en.value_or(compute.fp32_dest_acc_en);
  compute.packer_l1_acc = packer_l1_acc.value_or(compute.packer_l1_acc);
}

LayerConfigs parse_layer_configs(std::string_view json) {
  const Json document = parse_document(json);
  check(document.is_object(), Code::parse, "the configs are no object with a member for each node");
  LayerConfigs configs;
  for (const auto& [node, fields] : document.items()) {
    check(fields.is_object(), Code::parse, "the config of '{}' is no object: {}", node, fields.dump());
    for (const auto& [key, value] : fields.items())
      with_context(fmt::format("while reading '{}' of node '{}'", key, node),
                   [&, &k = key, &v = value] { read_field(k, v, configs[node]); });
    configs[node];
  }
  return configs;
}

std::string layer_config_json(const LayerConfig& config) {
  Ordered out = Ordered::object();
  for (const Field& field : kFields)
    if (config.gives(field.name)) out[std::string(field.name)] = field.write(config.conv);
  if (config.dtype) out["dtype"] = written(*config.dtype);
  if (config.weights_dtype) out["weights_dtype"] = written(*config.weights_dtype);
  if (config.fidelity) out["math_fidelity"] = name(*config.fidelity);
  if (config.fp32_dest_acc_en) out["fp32_dest_acc_en"] = *config.fp32_dest_acc_en;
  if (config.packer_l1_acc) out["packer_l1_acc"] = *config.packer_l1_acc;
  if (config.height_slices)
    out["slice"] = {{"type", *config.height_slices ? "DRAM_HEIGHT" : "DRAM_WIDTH"}, {"num_slices", config.slices}};
  if (config.memory) out["memory"] = *config.memory == BufferType::l1 ? "L1" : "DRAM";
  return out.dump(-1, ' ', false, Ordered::error_handler_t::replace);
}

LayerConfig parse_layer_config(std::string_view json) {
  const Json document = parse_document(json);
  check(document.is_object(), Code::parse, "the config is no object: {}", document.dump());
  LayerConfig config;
  for (const auto& [key, value] : document.items())
    with_context(fmt::format("while reading '{}'", key), [&, &k = key, &v = value] { read_field(k, v, config); });
  return config;
}

LayerConfig config_of(const LayerConfigs& configs, const std::string& node) {
  const auto all = configs.find("*"), own = configs.find(node);
  if (own == configs.end()) return all == configs.end() ? LayerConfig{} : all->second;
  LayerConfig out = own->second;
  if (all == configs.end()) return out;
  const LayerConfig& base = all->second;
  out.conv = base.conv;
  out.conv_fields = base.conv_fields;
  for (const Field& field : kFields)
    if (own->second.gives(field.name)) field.copy(own->second.conv, out.conv);
  out.conv_fields.insert(out.conv_fields.end(), own->second.conv_fields.begin(), own->second.conv_fields.end());
  const auto otherwise = [](auto& value, const auto& fallback) {
    if (!value) value = fallback;
  };
  otherwise(out.dtype, base.dtype);
  otherwise(out.weights_dtype, base.weights_dtype);
  otherwise(out.fidelity, base.fidelity);
  otherwise(out.fp32_dest_acc_en, base.fp32_dest_acc_en);
  otherwise(out.packer_l1_acc, base.packer_l1_acc);
  otherwise(out.memory, base.memory);
  if (!out.height_slices) {
    out.height_slices = base.height_slices;
    out.slices = base.slices;
  }
  return out;
}

}  // namespace tessera::tensix
