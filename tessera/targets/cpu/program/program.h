#pragma once

// A plan made ready to run: every kernel chosen, every weight packed, every address known.

#include "tessera/core/bytes.h"
#include "tessera/core/export.h"
#include "tessera/kernel_plan/plan.h"
#include "tessera/targets/cpu/kernels/kernel.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace tessera::cpu {

TSR_API std::int64_t now_ns();  // on the steady clock

// When a step ran, by now_ns().
struct StepInterval {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

class Memory;

class TSR_API Program {
 public:
  // Packs the weights that `weights` does not hold yet.
  Program(Plan plan, WeightCache& weights);

  const Plan& plan() const { return plan_; }

  // Reads inputs and writes outputs, row_major, in the graph's order, which may not overlap; allocates nothing, if no
  // step is a "reference". Safe from several threads, each with its own memory. `times`, unless empty, gets one entry
  // for each step; `after`, if given, is called with each step and its operands when it has run.
  void run(std::span<const std::byte* const> inputs, std::span<std::byte* const> outputs, Memory& memory,
           std::span<StepInterval> times = {},
           const std::function<void(std::size_t step, const StepArgs&)>& after = {}) const;

 private:
  friend class Memory;

  const std::byte* constant(int buffer) const;

  Plan plan_;
  std::vector<Runner> runners_;
  std::vector<Bytes> converted_;  // constants in another order, by buffer
};

// What one run needs beside the program: the arena and the addresses in it.
class TSR_API Memory {
 public:
  explicit Memory(const Program& program);  // an Error with the bytes needed, if the system has not got them

 private:
  friend class Program;
  struct FromCaller {
    std::size_t slot;   // in inputs_
    std::size_t input;  // of the graph
  };

  PackedWeights arena_;
  std::vector<const std::byte*> inputs_;  // of all steps, one after the other
  std::vector<std::byte*> outputs_;
  std::vector<std::size_t> first_input_, first_output_;  // of each step
  std::vector<std::byte*> scratch_;
  std::vector<const std::byte*> results_;  // of the graph
  std::vector<FromCaller> from_caller_, results_from_caller_;
  std::vector<FromCaller> outputs_from_caller_;  // slots in outputs_: views of inputs, which their steps do not write

  // A result that no one else needs in the arena is made in the caller's memory, if that is aligned as outputs are.
  struct InPlace {
    std::size_t result;
    std::byte* in_arena;
    std::vector<std::size_t> inputs, outputs;  // slots of the steps that make and read it
  };
  std::vector<InPlace> in_place_;
};

}  // namespace tessera::cpu
