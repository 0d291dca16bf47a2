#pragma once

// The hardware guide's advice as functions: what to change in a model for a device, the settings it recommends, and
// its ways of running one.

#include "tessera/core/export.h"
#include "tessera/ncp/runner.h"
#include "tessera/ncp/work.h"
#include "tessera/targets/apple/verdicts/device_profile.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace tessera::apple {

enum class Severity { advice, warning, error };
TSR_API std::string_view name(Severity severity);

struct Finding {
  Severity severity = Severity::advice;
  std::string rule{};     // "power-of-two", "range", "limit", "alignment", "memory", "backbone", "fusion", "device"
  std::string subject{};  // "units", "backbone[1]", "batch"
  std::string message{};
};

// Sizes that are no powers of two, outside of what the device's profile recommends, over its limit, or rows that do not
// fill whole cache lines; memory over the budget; and the guide's words for the device, which
// it says of every model there.
TSR_API std::vector<Finding> lint(const ncp::Layer& layer, const DeviceProfile& device, std::int64_t batch = 0,
                                  std::int64_t steps = 16);

// "batch_size", "learning_rate", "backbone_dropout" as the guide has them, and the mixed precision it only names.
struct TrainingSettings {
  int batch_size = 0;
  double learning_rate = 0;
  double backbone_dropout = 0;
  std::string parameter_type = "float32";
  std::string compute_type{};  // "float16" on a GPU of Apple's, "bfloat16" on the host
  bool loss_scaling = false;   // float16 needs it, bfloat16 does not
  bool operator==(const TrainingSettings&) const = default;
};
// The guide has one learning rate and one dropout for every chip and model; batch sizes are the chip's.
TSR_API TrainingSettings configure_training(const DeviceProfile& device);
// For this layer: the largest recommended batch with which training on sequences of so many steps fits the memory
// budget, no dropout where there is nothing that drops, and a type that the layer can be computed in.
TSR_API TrainingSettings configure_training(const DeviceProfile& device, const ncp::Layer& layer,
                                            std::int64_t steps = 16);

// A CfC layer with the device's largest recommended sizes. With a wiring there is no backbone, as upstream has it.
TSR_API ncp::CfcLayer create_optimized_model(const DeviceProfile& device, int inputs);

// Kernels of one step before and after fusing.
struct FusionReport {
  ncp::LayerWork none{};
  ncp::LayerWork elementwise{};
  ncp::LayerWork full{};
};
TSR_API FusionReport fusion_report(const ncp::Layer& layer, std::int64_t batch, std::int64_t steps);

// Values in the order of rows: those given where their strides (in elements) say so, else a copy.
struct Contiguous {
  std::span<const float> values{};
  std::vector<float> copy{};  // what `values` points to if it was needed
  bool copied = false;
};
TSR_API Contiguous contiguous(const float* data, std::span<const std::int64_t> shape,
                              std::span<const std::int64_t> strides);

// Slices of at most `batch_size` samples one after the other, put together again: the same bits as in one call, with
// memory for one slice at a time besides the result. Any batch, 0 too.
TSR_API ncp::SequenceResult<float> process_in_batches(const ncp::Runner& runner, const ncp::Sequence<float>& sequence,
                                                      std::int64_t batch_size,
                                                      ncp::KeepStates keep = ncp::KeepStates::no);

// A layer whose calls are planned once for each shape and set of flags: sizes checked, work counted, memory for results
// there. Results are the runner's own. One thread at a time.
class TSR_API CompiledLayer {
 public:
  // The runner has to stay.
  explicit CompiledLayer(const ncp::Runner& runner) : runner_(runner) {}

  struct Key {
    std::int64_t batch = 0;
    std::int64_t steps = 0;
    bool training = false;  // dropout takes effect; needs a seed in the sequence
    bool keep_states = false;
    auto operator<=>(const Key&) const = default;
  };
  struct Plan {
    ncp::LayerWork work{};
    ncp::SequenceResult<float> result{};
    std::int64_t calls = 0;
  };

  // Valid until the next call with the same key.
  const ncp::SequenceResult<float>& operator()(const ncp::Sequence<float>& sequence, bool training = false,
                                               ncp::KeepStates keep = ncp::KeepStates::no);

  const std::map<Key, Plan>& plans() const { return plans_; }

 private:
  const ncp::Runner& runner_;
  std::map<Key, Plan> plans_{};
};

}  // namespace tessera::apple
