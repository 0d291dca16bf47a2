#include "tessera/io/ncp_checkpoint.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/internal/ncp_keys.h"
#include "tessera/io/safetensors.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

using internal::kNcpLayerKey;
constexpr std::string_view kOptionsKey = "tessera.ncp.training", kStateKey = "tessera.ncp.state",
                           kNotesKey = "tessera.ncp.notes";
constexpr std::string_view kBest = "best.";
constexpr std::uint64_t kLargestCheckpoint = std::uint64_t{64} << 30;

std::string optimizer_prefix(std::size_t moment) { return fmt::format("optimizer.{}.", moment); }

void add(std::vector<SafetensorsTensor>& tensors, const std::string& prefix, const ncp::ParameterSet<float>& set) {
  for (const ncp::Parameter<float>& item : set.items)
    tensors.push_back(
        {prefix + item.info.name, ElementType::float32, item.info.shape, std::as_bytes(std::span(item.values))});
}

const SafetensorsTensor& tensor_of(const Safetensors& file, const std::string& name) {
  const auto found = std::ranges::find(file.tensors, name, &SafetensorsTensor::name);
  check(found != file.tensors.end(), Code::not_found, "the checkpoint has no tensor '{}'", name);
  return *found;
}

ncp::ParameterSet<float> take(const Safetensors& file, const ncp::Layer& layer, std::string_view prefix) {
  ncp::ParameterSet<float> out = ncp::zeros<float>(parameter_list(layer));
  for (ncp::Parameter<float>& item : out.items) {
    const SafetensorsTensor& tensor = tensor_of(file, std::string(prefix) + item.info.name);
    check(tensor.type == ElementType::float32 && tensor.shape == item.info.shape, Code::parse,
          "'{}' is not the float32 tensor that the layer has under this name", tensor.name);
    std::memcpy(item.values.data(), tensor.bytes.data(), tensor.bytes.size());
  }
  return out;
}

Json sums_json(const ncp::LossSums& sums) {
  return {{"loss", sums.loss}, {"rows", sums.rows}, {"correct", sums.correct}};
}

Json state_json(const ncp::TrainingState& state) {
  return {{"epoch", state.epoch},
          {"batch", state.batch},
          {"optimizer_steps", state.optimizer.steps},
          {"optimizer_moments", state.optimizer.moments.size()},
          {"loss_scale", state.loss_scale.scale},
          {"good_steps", state.loss_scale.good_steps},
          {"best_loss", state.best_loss},
          {"best_epoch", state.best_epoch},
          {"partial",
           {{"training", sums_json(state.partial.training)},
            {"gradient_norm", state.partial.gradient_norm},
            {"seconds", state.partial.seconds},
            {"samples", state.partial.samples},
            {"steps_left_out", state.partial.steps_left_out}}}};
}

const std::string& entry(const Safetensors& file, std::string_view key) {
  const auto found = file.metadata.find(std::string(key));
  check(found != file.metadata.end(), Code::parse, "the file has no '{}': it is no checkpoint of training", key);
  return found->second;
}

Json parsed(const std::string& text, std::string_view key) {
  Json json = Json::parse(text, nullptr, false);
  check(json.is_object(), Code::parse, "'{}' is no JSON object", key);
  return json;
}

template <class T>
T at(const Json& json, const char* key) {
  check(json.is_object() && json.contains(key) && json[key].is_number(), Code::parse, "the state has no number '{}'",
        key);
  return json[key].get<T>();
}

}  // namespace

void save_ncp_checkpoint(const std::filesystem::path& path, const NcpCheckpoint& checkpoint) {
  const ncp::TrainingState& state = checkpoint.state;
  std::vector<SafetensorsTensor> tensors;
  add(tensors, "", state.parameters);
  for (std::size_t m = 0; m < state.optimizer.moments.size(); ++m)
    add(tensors, optimizer_prefix(m), state.optimizer.moments[m]);
  if (state.best_epoch > 0) add(tensors, std::string(kBest), state.best_parameters);
  save_safetensors(path, tensors,
                   {{std::string(kNcpLayerKey), ncp::layer_to_json(checkpoint.layer)},
                    {std::string(kOptionsKey), ncp::training_options_to_json(checkpoint.options)},
                    {std::string(kStateKey), state_json(state).dump()},
                    {std::string(kNotesKey), Json(checkpoint.notes).dump()}});
}

NcpCheckpoint parse_ncp_checkpoint(std::span<const std::byte> bytes) {
  const Safetensors file = parse_safetensors(bytes);
  NcpCheckpoint out{ncp::layer_from_json(entry(file, kNcpLayerKey)),
                    ncp::training_options_from_json(entry(file, kOptionsKey)),
                    {},
                    {}};
  const Json notes = parsed(entry(file, kNotesKey), kNotesKey);
  for (const auto& [key, value] : notes.items())
    if (value.is_string()) out.notes[key] = value.get<std::string>();
  const Json json = parsed(entry(file, kStateKey), kStateKey);
  ncp::TrainingState& state = out.state;
  state.parameters = take(file, out.layer, "");
  const auto moments = at<std::int64_t>(json, "optimizer_moments");
  check(0 <= moments && moments <= 2, Code::parse, "an optimiser has {} numbers for each parameter", moments);
  for (std::size_t m = 0; m < static_cast<std::size_t>(moments); ++m)
    state.optimizer.moments.push_back(take(file, out.layer, optimizer_prefix(m)));
  state.optimizer.steps = at<std::int64_t>(json, "optimizer_steps");
  state.loss_scale = {at<double>(json, "loss_scale"), at<std::int64_t>(json, "good_steps")};
  state.epoch = at<std::int64_t>(json, "epoch");
  state.batch = at<std::int64_t>(json, "batch");
  check(state.epoch >= 0 && state.batch >= 0, Code::parse, "training cannot be at epoch {}, batch {}", state.epoch,
        state.batch);
  state.best_loss = at<double>(json, "best_loss");
  state.best_epoch = at<std::int64_t>(json, "best_epoch");
  if (state.best_epoch > 0) state.best_parameters = take(file, out.layer, kBest);
  const Json& partial = json.contains("partial") ? json["partial"] : json;
  check(partial.contains("training"), Code::parse, "the state has no sums of the epoch");
  state.partial.training = {at<double>(partial["training"], "loss"), at<std::int64_t>(partial["training"], "rows"),
                            at<double>(partial["training"], "correct")};
  state.partial.gradient_norm = at<double>(partial, "gradient_norm");
  state.partial.seconds = at<double>(partial, "seconds");
  state.partial.samples = at<std::int64_t>(partial, "samples");
  state.partial.steps_left_out = at<std::int64_t>(partial, "steps_left_out");
  return out;
}

NcpCheckpoint load_ncp_checkpoint(const std::filesystem::path& path) {
  return with_context("while reading the checkpoint " + path.string(),
                      [&] { return parse_ncp_checkpoint(read_file(path, kLargestCheckpoint)); });
}

}  // namespace tessera
