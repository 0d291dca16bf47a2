#pragma once

// A NeuronCore while a kernel is written for it: its memories, what touched them, and the timeline.

#include "tessera/core/error.h"
#include "tessera/machine/machine.h"
#include "tessera/targets/neuron/core/cost.h"
#include "tessera/targets/neuron/core/instruction.h"
#include "tessera/targets/neuron/core/profile.h"
#include "tessera/targets/neuron/core/script_lines.h"
#include "tessera/targets/neuron/core/tile.h"
#include "tessera/targets/neuron/core/traffic.h"
#include "tessera/timeline/timeline.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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

  // The address, and the tasks that the memory's former users end with. Where holes are too small but large enough
  // together, live tiles are packed: a compiler that knows the whole program would have put them so.
  std::int64_t take(Tile& tile, std::vector<sim::TaskId>& former);
  void give_back(const Tile& tile, sim::TaskId last);
  // Other memory of that size in exchange for memory that is used until `last`; false where there is none.
  bool exchange(std::int64_t bytes, sim::TaskId last, std::vector<sim::TaskId>& former);
  std::int64_t peak_bytes() const { return peak_; }
  bool could_hold(const Tile& tile) const { return rounded(tile.partition_bytes) <= bytes_; }
  void count_placed(std::int64_t end) { peak_ = std::max(peak_, end); }

 private:
  struct Former {
    std::int64_t end;
    std::vector<sim::TaskId> last;
  };
  std::int64_t find_round(std::int64_t bytes) const;
  void leave(std::int64_t address, std::int64_t bytes, std::vector<sim::TaskId>& former);
  void pack();
  std::int64_t rounded(std::int64_t bytes) const { return (bytes + grain_ - 1) / grain_ * grain_; }
  std::int64_t find(std::int64_t bytes, std::int64_t from, std::int64_t to) const;
  [[noreturn]] void fail_full(const Tile& tile, std::int64_t bytes) const;

  Memory memory_;
  std::int64_t bytes_, grain_, cursor_ = 0, used_ = 0, peak_ = 0;
  std::map<std::int64_t, Tile*> live_;
  std::map<std::int64_t, Former> former_;
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  Core(const NeuronSpec& machine, KernelOptions chosen);

  // `address`: where the kernel puts the tile by itself, in every partition; such tiles may share memory.
  View make(std::string name, Memory memory, ElementType type, std::vector<std::int64_t> shape,
            std::optional<std::int64_t> address = {});
  // `any_order`: whichever of several writes comes first, the result is the same.
  void record(Engine engine, std::string_view label, const Cost& cost, View& dst, std::span<const View> inputs,
              Use use = Use::write, bool any_order = false);
  // With several results: what the instruction writes besides the first.
  void record(Engine engine, std::string_view label, const Cost& cost, std::span<View> results,
              std::span<const View> inputs, Use use = Use::write, bool any_order = false);
  void record_dma(const DmaCost& cost, View& dst, const View& src);
  // Keeps what an instruction does to a tile; an Error if another turn of a loop without order does the same elsewhere.
  void touch(std::string_view op, const View& view, Use use);
  Profile profile() const;

  // How long an engine's instructions so far take it, whenever they run.
  double work_ns(Engine engine) const { return work_ns_[static_cast<std::size_t>(engine)]; }

  void begin_loop(std::string line);
  void next_turn();
  void end_loop();
  // Where the kernel is in its loops, to come back to.
  std::int64_t turn() const { return static_cast<std::int64_t>(past_turns_.size()) - 1; }
  void set_turn(std::int64_t turn);

  // A loop whose turns stay in order: no engine, and not the queue of copies, takes an instruction of a later turn
  // before those of an earlier one.
  void begin_ordered_loop();
  void next_ordered_turn();
  void end_ordered_loop();

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

  const Lifetimes& lifetimes() const { return last_uses_; }

  // Whether turns of loops without order are run as they are written all the same, and then what the first one was that
  // met another one.
  bool turns_as_written = false;
  std::string carried;

  const NeuronSpec spec;
  const KernelOptions options;
  std::string location;
  sim::Timeline timeline;
  Profile totals;            // all but times
  ScriptLines script_lines;  // of the tasks
  Traffic traffic;           // of the tensors in HBM

 private:
  void release(Tile& tile);
  void free(Tile& tile);
  void mark_used(std::span<const View> views);  // by the instruction that is being recorded
  void depend(sim::TaskId task, Engine engine, const View& view, bool write);
  void note(const View& view, Access access, bool write);
  // A new version of a tile's part gets memory of its own where there is some, as compilers rename what is overwritten:
  // `task` then waits for the former users of that memory and not for the readers of the old version.
  void rename(sim::TaskId task, View& dst, std::span<const View> inputs);
  void count_bytes(const View& view, bool write);

  void enter_turn();
  void keep_turn_order(sim::TaskId task, Engine engine);
  void close_ordered_turn();
  void keep_line();  // the tasks since the last call belong to the kernel's line
  void wait_in_hbm(sim::TaskId task, const View& dst);

  const std::source_location* here_ = nullptr;
  std::vector<LoopTurn> loops_;
  std::vector<std::string> loop_lines_;  // by LoopTurn::loop
  LoopTurns turns_;
  std::vector<LoopTurns> past_turns_{nullptr};  // the last one is where the kernel is
  // Of loops whose turns stay in order: how many are open, what an engine's instructions wait for, and what it has been
  // given in this turn.
  int ordered_loops_ = 0;
  sim::TaskId turn_gates_[5];
  std::vector<sim::TaskId> turn_tasks_[5];
  Space sbuf_, psum_;
  Lifetimes last_uses_;
  std::int64_t instructions_ = 0;
  double work_ns_[4]{};
  sim::ResourceId engines_[4]{}, queue_{};
  std::vector<sim::ResourceId> dma_;
  sim::BufferId psum_port_ = sim::BufferId::none, sbuf_port_ = sim::BufferId::none;
};

}  // namespace tessera::neuron
