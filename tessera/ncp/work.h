#pragma once

// What a layer costs before anyone runs it: operations, bytes and kernels of a sequence, kernel by kernel.
//
// Operations: a multiplication, an addition, a division, an absolute value and a comparison count one each; a
// multiply-add is two, and a bias is the first term of its sum. An exponential, tanh, sigmoid, erf or softplus counts
// one, whatever it takes inside, and is counted apart as well. `flops` are those of synapses that exist; a kernel that
// multiplies by the zeros of a mask executes more.
//
// Bytes are logical: each kernel reads every operand and every weight once and writes every result once, as float32.
// What caches save is not known here.

#include "tessera/core/export.h"
#include "tessera/ncp/layer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::ncp {

enum class Fusion {
  none,         // a kernel for each operation of the cell's formulas, as an array framework runs them eagerly
  elementwise,  // operations without a product or a sum between them are one kernel, as a tracing compiler makes it
  full,         // a product and what follows it are one kernel, heads are one product: what Tessera runs
};
TSR_API std::string_view name(Fusion fusion);
TSR_API std::optional<Fusion> parse_fusion(std::string_view text);

struct KernelWork {
  std::string name{};
  std::int64_t launches = 0;  // in the whole sequence
  // Of all launches together.
  double flops = 0;
  double executed_flops = 0;
  double specials = 0;  // of those executed; each is one of the operations above
  double bytes = 0;
};

struct TSR_API LayerWork {
  std::int64_t batch = 0;
  std::int64_t steps = 0;
  std::vector<KernelWork> kernels{};

  // Sums over the kernels.
  KernelWork total() const;
  double per_step(double KernelWork::* what) const { return total().*what / static_cast<double>(steps); }
};

struct WorkOptions {
  Fusion fusion = Fusion::full;
  bool skips_absent_synapses = false;  // of an LTC: its kernel goes through the list of synapses
};

// One call with `batch` sequences of `steps` steps.
TSR_API LayerWork forward_work(const Layer& layer, std::int64_t batch, std::int64_t steps,
                               const WorkOptions& options = {});

// Forward and backward: every product has two more of its size behind it (by its inputs and by its weights), every
// other operation two. An estimate, not a count.
TSR_API LayerWork training_work(const Layer& layer, std::int64_t batch, std::int64_t steps,
                                const WorkOptions& options = {});

struct MemoryNeed {
  std::int64_t parameter_bytes = 0;   // all of them, masks too
  std::int64_t activation_bytes = 0;  // inputs, outputs, states, and the widest values between two kernels
  std::int64_t total() const { return parameter_bytes + activation_bytes; }
};
// With training: gradients and two moments for each parameter, and every state of every step.
TSR_API MemoryNeed memory_need(const Layer& layer, std::int64_t batch, std::int64_t steps, bool training = false);

}  // namespace tessera::ncp
