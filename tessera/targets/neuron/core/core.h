#pragma once

// A NeuronCore while a kernel is written for it: its memories, what touched them, and the timeline.

#include "tessera/core/error.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/neuron/core/cost.h"
#include "tessera/targets/neuron/core/instruction.h"
#include "tessera/targets/neuron/core/profile.h"
#include "tessera/targets/neuron/core/tile.h"
#include "tessera/timeline/timeline.h"

#include <cstdint>
#include <map>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::neuron {

// One memory's addresses in a partition. Given out round and round, so that memory just freed is used again last:
// that is as many buffers as fit, without anybody counting them.
class Space {
 public:
  Space(Memory memory, std::int64_t bytes, std::int64_t grain) : memory_(memory), bytes_(bytes), grain_(grain) {}

  // The address, and the tasks that the memory's former users end with.
  std::int64_t take(Tile& tile, std::vector<sim::TaskId>& former);
  void give_back(const Tile& tile, sim::TaskId last);
  std::int64_t peak_bytes() const { return peak_; }

 private:
  struct Former {
    std::int64_t end;
    sim::TaskId last;
  };
  std::int64_t rounded(std::int64_t bytes) const { return (bytes + grain_ - 1) / grain_ * grain_; }
  std::int64_t find(std::int64_t bytes, std::int64_t from, std::int64_t to) const;
  [[noreturn]] void fail_full(const Tile& tile, std::int64_t bytes) const;

  Memory memory_;
  std::int64_t bytes_, grain_, cursor_ = 0, used_ = 0, peak_ = 0;
  std::map<std::int64_t, const Tile*> live_;
  std::map<std::int64_t, Former> former_;
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(const NeuronSpec& machine, KernelOptions chosen);

  View make(std::string name, Memory memory, ElementType type, std::vector<std::int64_t> shape);
  // `any_order`: whichever of several writes comes first, the result is the same.
  void record(Engine engine, std::string_view label, const Cost& cost, View& dst, std::span<const View> inputs,
              Use use = Use::write, bool any_order = false);
  void record_dma(const DmaCost& cost, View& dst, const View& src);
  // Keeps what an instruction does to a tile; an Error if another turn of a loop without order does the same elsewhere.
  void touch(std::string_view op, const View& view, Use use);
  Profile profile() const;

  void begin_loop(std::string line);
  void next_turn();
  void end_loop();
  // Where the kernel is in its loops, to come back to.
  std::int64_t turn() const { return static_cast<std::int64_t>(past_turns_.size()) - 1; }
  void set_turn(std::int64_t turn);

  // Runs body; an Error of it tells the line of the kernel.
  template <class Body>
  void at(const std::source_location& where, Body&& body) {
    here_ = &where;
    try {
      body();
    } catch (Error& error) {
      error.add_context(fmt::format("in the kernel, {}", line()));
      throw;
    }
  }
  // Where the kernel is, while `at` runs.
  std::string line() const {
    return location.empty() ? fmt::format("{}:{}", here_->file_name(), here_->line()) : location;
  }

  const NeuronSpec spec;
  const KernelOptions options;
  std::string location;
  sim::Timeline timeline;
  Profile totals;  // all but times

 private:
  void release(Tile& tile);
  void depend(sim::TaskId task, Engine engine, const View& view, bool write);
  void note(const View& view, Access access, bool write);
  void count_bytes(const View& view, bool write);

  void enter_turn();
  void wait_in_hbm(sim::TaskId task, const View& dst);

  const std::source_location* here_ = nullptr;
  std::vector<LoopTurn> loops_;
  std::vector<std::string> loop_lines_;  // by LoopTurn::loop
  LoopTurns turns_;
  std::vector<LoopTurns> past_turns_{nullptr};  // the last one is where the kernel is
  Space sbuf_, psum_;
  sim::ResourceId engines_[4]{}, queue_{};
  std::vector<sim::ResourceId> dma_;
  sim::BufferId psum_port_ = sim::BufferId::none, sbuf_port_ = sim::BufferId::none;
};

}  // namespace tessera::neuron
