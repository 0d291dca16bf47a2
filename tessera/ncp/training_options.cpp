// Options of training as JSON: checkpoints hold them, so that a run is continued as it was begun.

#include "tessera/core/error.h"
#include "tessera/ncp/json_fields.h"
#include "tessera/ncp/trainer.h"

namespace tessera::ncp {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
void read(const Json& json, std::string_view key, T& out) {
  if (json.contains(key)) from_json(json[std::string(key)], key, out);
}

template <class T, class Parse>
void read_word(const Json& json, std::string_view key, const Parse& parse, T& out) {
  if (!json.contains(key)) return;
  std::string text;
  from_json(json[std::string(key)], key, text);
  const std::optional<T> found = parse(text);
  check(found.has_value(), Code::parse, "'{}' is '{}', which does not exist", key, text);
  out = *found;
}

std::optional<Readout> parse_readout(std::string_view text) {
  if (text == "every_step") return Readout::every_step;
  if (text == "last_step") return Readout::last_step;
  return std::nullopt;
}

}  // namespace

std::string training_options_to_json(const TrainingOptions& o) {
  const Json json{{"epochs", o.epochs},
                  {"batch", o.batch},
                  {"learning_rate", o.learning_rate},
                  {"optimizer", name(o.optimizer.kind)},
                  {"momentum", o.optimizer.momentum},
                  {"beta1", o.optimizer.beta1},
                  {"beta2", o.optimizer.beta2},
                  {"smoothing", o.optimizer.smoothing},
                  {"epsilon", o.optimizer.epsilon},
                  {"weight_decay", o.optimizer.weight_decay},
                  {"schedule", name(o.schedule.kind)},
                  {"decay", o.schedule.decay},
                  {"every", o.schedule.every},
                  {"floor", o.schedule.floor},
                  {"clip_value", o.clipping.value},
                  {"clip_norm_each", o.clipping.norm_each},
                  {"clip_norm", o.clipping.norm},
                  {"loss", name(o.loss)},
                  {"readout", o.readout == Readout::every_step ? "every_step" : "last_step"},
                  {"precision", name(o.precision)},
                  {"seed", o.seed},
                  {"patience", o.patience}};
  return json.dump();
}

TrainingOptions training_options_from_json(std::string_view text) {
  const Json json = parse_object(text, "options of training");
  check_keys(json,
             std::vector<std::string>{"epochs",  "batch",     "learning_rate", "optimizer",      "momentum",  "beta1",
                                      "beta2",   "smoothing", "epsilon",       "weight_decay",   "schedule",  "decay",
                                      "every",   "floor",     "clip_value",    "clip_norm_each", "clip_norm", "loss",
                                      "readout", "precision", "seed",          "patience"});
  TrainingOptions o;
  read(json, "epochs", o.epochs);
  read(json, "batch", o.batch);
  read(json, "learning_rate", o.learning_rate);
  read_word(json, "optimizer", parse_optimizer, o.optimizer.kind);
  read(json, "momentum", o.optimizer.momentum);
  read(json, "beta1", o.optimizer.beta1);
  read(json, "beta2", o.optimizer.beta2);
  read(json, "smoothing", o.optimizer.smoothing);
  read(json, "epsilon", o.optimizer.epsilon);
  read(json, "weight_decay", o.optimizer.weight_decay);
  read_word(json, "schedule", parse_schedule, o.schedule.kind);
  read(json, "decay", o.schedule.decay);
  read(json, "every", o.schedule.every);
  read(json, "floor", o.schedule.floor);
  read(json, "clip_value", o.clipping.value);
  read(json, "clip_norm_each", o.clipping.norm_each);
  read(json, "clip_norm", o.clipping.norm);
  read_word(json, "loss", parse_loss, o.loss);
  read_word(json, "readout", parse_readout, o.readout);
  read_word(json, "precision", parse_precision, o.precision);
  read(json, "seed", o.seed);
  read(json, "patience", o.patience);
  return o;
}

}  // namespace tessera::ncp
