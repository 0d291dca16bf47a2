#pragma once

// Builds the steps of one convolution: how its input gets where it is read (conv2d_input_steps.cpp), its programs
// (conv2d_steps.cpp), and where its output goes (conv2d_output_steps.cpp).

#include "tessera/targets/tensix/card/operand_facts.h"
#include "tessera/targets/tensix/card/page_copy.h"
#include "tessera/targets/tensix/ops/conv2d/conv2d_steps.h"
#include "tessera/targets/tensix/ops/halo/halo.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tensix {

AllocationRequest on_each(std::int64_t bytes, std::int64_t cores);
Transfer transfer(MemoryKind from, MemoryKind to, std::int64_t bytes, std::int64_t pieces, std::int64_t busiest,
                  std::int64_t local = 0);
std::string window_key(const Conv2dProblem& p);
std::string shards_key(const Parallel& cores, Extent2d shard);
// All that a program of a convolution depends on.
std::string conv_key(const Conv2dPlan& plan);
// As useful bytes: what tensors hold, padding of shards left out.
std::int64_t matrix_bytes(std::int64_t rows, std::int64_t columns, DType dtype, Layout layout);

class ConvolutionSteps {
 public:
  ConvolutionSteps(MemorySteps& steps, const Conv2dPlan& plan, const Conv2dProblem& problem, const Conv2dStepsInput& in,
                   const Device& device);

  Conv2dSlots build();

 private:
  std::int64_t in_rows() const {
    return p_.batch * ((p_.height - 1) / in_.spread_h + 1) * ((p_.width - 1) / in_.spread_w + 1);
  }
  HaloProblem halo_problem() const;
  std::int64_t out_rows() const { return p_.batch * p_.out_h() * p_.out_w(); }
  std::int64_t in_bytes() const { return matrix_bytes(in_rows(), p_.in_channels, p_.input_dtype, layout_); }
  std::int64_t out_bytes() const { return matrix_bytes(out_rows(), p_.out_channels, p_.output_dtype, out_layout()); }
  // A product leaves tiles, whatever was asked for.
  Layout out_layout() const { return plan_.as_matmul ? Layout::tile : p_.config.output_layout; }
  // An input that is no longer needed: one in DRAM stays.
  bool frees_input() const { return p_.config.deallocate_activation && in_.input->spec().memory_config().is_l1(); }
  MemoryKind kind() const { return memory_kind(memory_.buffer_type()); }
  void free(MemorySteps::Slot slot) {
    if (folded_ == slot) folded_.reset();
    steps_.free(slot);
  }

  using Work = std::shared_ptr<const ProgramWork>;
  void run(ProgramKind kind, const std::string& key, std::string detail, std::vector<Transfer> transfers, Work work,
           std::vector<MemorySteps::KeptList> lists = {}, std::vector<CircularBuffer> buffers = {}) {
    steps_.run({key,
                std::move(lists),
                std::move(buffers),
                false,
                {kind, std::move(detail), std::move(transfers), std::move(work)}});
  }

  // What programs work on: the input as it is by now, in a place that is there or will be, and the output.
  OperandFacts input_facts() const { return input_facts(layout_, memory_); }
  OperandFacts input_facts(Layout layout, const MemoryConfig& place) const {
    return facts_of({in_rows(), p_.in_channels}, p_.input_dtype, layout, place);
  }
  OperandFacts output_facts(Layout layout, const MemoryConfig& place) const {
    return facts_of({out_rows(), p_.out_channels}, p_.output_dtype, layout, place);
  }

  // --- conv2d_input_steps.cpp ---
  // The pixels of a step of the window become channels. A tiled input is made row-major on the way.
  void fold();
  void move_input();
  void cut_input(const MemoryConfig& target);
  void bring_input(const std::string& key, const MemoryConfig& target, const Conv2dPlan& plan);
  // What has been read goes, and what was made of it moves up into its place.
  void replace(MemorySteps::Slot before, const std::string& key, const MemoryConfig& place);
  // Shards may be wider than the tensor: channels padded to what a core reads at once.
  MemorySteps::Slot allocate_shards(const MemoryConfig& target, std::string label) {
    return allocate_shards(target, std::move(label), plan_);
  }
  MemorySteps::Slot allocate_shards(const MemoryConfig& target, std::string label, const Conv2dPlan& plan);
  // Cores that rows or channels are left for.
  std::int64_t used_cores(const ShardSpec& shards, const Conv2dPlan& plan) const;
  void tilize(const MemoryConfig& place);

  // --- conv2d_steps.cpp ---
  void prepare();
  std::vector<Transfer> weight_transfers() const;
  void multiply();
  Work product() const;
  void convolve();
  void gather();
  MemorySteps::KeptList kept(std::string label, std::int64_t bytes) const;
  CoreRangeSet conv_cores() const { return plan_.input.cores.merged_with(plan_.output.cores).bounding_box(); }
  static std::vector<CircularBuffer> on_cores(const std::vector<PlannedBuffer>& buffers, const CoreRangeSet& cores) {
    std::vector<CircularBuffer> out;
    for (const PlannedBuffer& buffer : buffers) out.push_back({buffer.name, cores, buffer.bytes});
    return out;
  }
  std::string describe() const;

  // --- conv2d_output_steps.cpp ---
  void allocate_output();
  void move_output();
  // A slice is computed in tiles; row by row, it is untilized before it is written.
  void write_slice();

  MemorySteps& steps_;
  const Conv2dPlan& plan_;
  const Conv2dProblem& p_;
  const Conv2dProblem& asked_;
  const Conv2dStepsInput& in_;
  const Device& device_;
  Conv2dSlots slots_;
  MemorySteps::Slot work_ = 0;  // what the next program reads
  MemoryConfig memory_;         // where that is
  Layout layout_ = Layout::row_major;
  std::optional<MemorySteps::Slot> folded_;
};

}  // namespace tessera::tensix
