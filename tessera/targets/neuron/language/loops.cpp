// Loops whose turns have no order among themselves, and what they may not do; loops whose turns stay in order.

#include "tessera/core/error.h"
#include "tessera/targets/neuron/core/core.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace tessera::neuron {
namespace {

// The outermost loop of which these are different turns.
const LoopTurn* different_turn(const std::vector<LoopTurn>& mine, const std::vector<LoopTurn>& others) {
  for (std::size_t i = 0; i < std::min(mine.size(), others.size()); ++i) {
    if (mine[i].loop != others[i].loop) return nullptr;
    if (mine[i].turn != others[i].turn) return &others[i];
  }
  return nullptr;
}

std::string_view verb(Use use, bool past) {
  if (use == Use::read) return past ? "read" : "reads";
  if (use == Use::add) return past ? "added to" : "adds to";
  return past ? "wrote" : "writes";
}

}  // namespace

void Core::begin_loop(std::string line) {
  loops_.push_back({static_cast<std::uint32_t>(loop_lines_.size()), -1});
  loop_lines_.push_back(std::move(line));
}

void Core::next_turn() {
  check(!loops_.empty(), Code::invalid_argument, "a turn of a loop outside of any");
  ++loops_.back().turn;
  enter_turn();
}

void Core::end_loop() {
  check(!loops_.empty(), Code::invalid_argument, "the end of a loop that was never begun");
  loops_.pop_back();
  enter_turn();
}

void Core::enter_turn() {
  turns_ = loops_.empty() ? nullptr : std::make_shared<const std::vector<LoopTurn>>(loops_);
  past_turns_.push_back(turns_);
}

void Core::set_turn(std::int64_t turn) {
  check(turn >= 0 && turn < static_cast<std::int64_t>(past_turns_.size()), Code::invalid_argument,
        "there was no turn {}", turn);
  turns_ = past_turns_[static_cast<std::size_t>(turn)];
}

void Core::keep_turn_order(sim::TaskId task, Engine engine) {
  if (ordered_loops_ == 0) return;
  const auto at = static_cast<std::size_t>(engine);
  if (turn_gates_[at] != sim::TaskId::none) timeline.after(task, turn_gates_[at]);
  turn_tasks_[at].push_back(task);
}

void Core::close_ordered_turn() {
  for (std::size_t at = 0; at < std::size(turn_tasks_); ++at) {
    std::vector<sim::TaskId>& tasks = turn_tasks_[at];
    if (tasks.empty()) continue;
    // An engine without instructions in a turn waits for the turn before that.
    turn_gates_[at] = tasks[0];
    if (tasks.size() > 1) {
      turn_gates_[at] = timeline.add_task(sim::ResourceId::none, 0, "turn");
      for (const sim::TaskId each : tasks) timeline.after(turn_gates_[at], each);
    }
    tasks.clear();
  }
}

void Core::begin_ordered_loop() {
  if (options.time) close_ordered_turn();
  ++ordered_loops_;
}

void Core::next_ordered_turn() {
  check(ordered_loops_ > 0, Code::invalid_argument, "a turn of a loop outside of any");
  if (options.time) close_ordered_turn();
}

void Core::end_ordered_loop() {
  check(ordered_loops_ > 0, Code::invalid_argument, "the end of a loop that was never begun");
  if (options.time) close_ordered_turn();
  if (--ordered_loops_ == 0) std::fill(std::begin(turn_gates_), std::end(turn_gates_), sim::TaskId::none);
}

void Core::touch(std::string_view op, const View& view, Use use) {
  Tile& tile = const_cast<View&>(view).tile();
  const bool hbm = tile.memory == Memory::hbm;
  if (hbm && use == Use::read && tile.complete) return;
  if (tile.placed) return;  // where the kernel put a tile by itself, turns share memory by its own leave
  if (!turns_ && !(hbm && use != Use::read)) return;
  Touch mine{Pattern(view), reach(view), use, turns_, line()};
  // In HBM a box around rows says little: bits tell whether there is anything to be found.
  const bool alone = hbm && use != Use::read && !tile.touched_by_read && tile.elements.count(mine.pattern) == 0;
  if (turns_ && !alone)
    for (const Touch& each : tile.touches) {
      if (!each.turns || each.turns == turns_ || (use == each.use && use != Use::write)) continue;
      const LoopTurn* other = different_turn(*turns_, *each.turns);
      if (!other || !mine.box.overlaps(each.box)) continue;
      const std::int64_t common = common_elements(mine.pattern, each.pattern);
      if (common == 0) continue;
      const auto depth = static_cast<std::size_t>(other - each.turns->data());
      const std::string found = fmt::format(
          "{} {} {} in turn {} of the affine_range at {}, and turn {} {} {} bytes of the same ('{}', in {}) at {}", op,
          verb(use, false), view.text(), (*turns_)[depth].turn, loop_lines_[other->loop], other->turn,
          verb(each.use, true), common * element_bytes(tile.type), tile.name, name(tile.memory), each.line);
      check(turns_as_written, Code::invalid_argument,
            Hint{"index the tile by the loop's variable, make it inside of the loop, or use sequential_range; only "
                 "products may be added up in PSUM"},
            "{}: its turns have no order", found);
      if (carried.empty()) carried = found;
      break;
    }
  tile.touched_by_read = tile.touched_by_read || use == Use::read;
  tile.touches.push_back(std::move(mine));
}

}  // namespace tessera::neuron
