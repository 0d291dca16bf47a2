#include "tessera/scale/training_agreement.h"

#include "tessera/core/sha256.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>

namespace tessera {
namespace {

std::string digest_of(const ncp::Dataset& data) {
  std::string text = fmt::format("{} sequences of {} steps", data.samples, data.steps);
  const auto add = [&](const auto& values) { text += ' ' + sha256_hex(std::as_bytes(std::span(values)), 12); };
  add(data.input);
  add(data.timespans);
  add(data.lengths);
  if (!data.begins.empty()) add(data.begins);
  add(data.targets);
  return text;
}

}  // namespace

std::array<NamedDataset, 3> datasets_of(const ncp::Task& task) {
  return {NamedDataset{"the data to train on", &task.training},
          NamedDataset{"the data to validate with", &task.validation},
          NamedDataset{"the data to test with", &task.test}};
}

std::string data_digest(std::span<const NamedDataset> data) {
  std::string text;
  for (const NamedDataset& one : data) {
    if (!text.empty()) text += "; ";
    text += fmt::format("{}: {}", one.what, one.data ? digest_of(*one.data) : "none");
  }
  return text;
}

void must_agree_to_train(Communicator& world, const ncp::Layer& layer, const ncp::TrainingOptions& options,
                         std::span<const NamedDataset> data) {
  if (world.size() == 1) return;
  must_agree(world, "the layer", ncp::layer_to_json(layer));
  const auto fields = nlohmann::ordered_json::parse(ncp::training_options_to_json(options));
  for (const auto& [key, value] : fields.items()) must_agree(world, fmt::format("'{}'", key), value.dump());
  for (const NamedDataset& one : data) must_agree(world, one.what, one.data ? digest_of(*one.data) : "none");
}

}  // namespace tessera
