#include "tessera/core/error.h"
#include "tessera/timeline/internal/simulation.h"

#include <algorithm>
#include <string>

namespace tessera::sim {
namespace {

// One reason why a task does not start, and the task that would have to move first.
struct Obstacle {
  std::string text;
  std::uint32_t task = kNone;
};

std::string quoted(const Timeline& timeline, std::uint32_t task) {
  return fmt::format("'{}' (task {})", timeline.label(static_cast<TaskId>(task)), task);
}

Obstacle obstacle_of(const Simulation& simulation, std::uint32_t task) {
  const Timeline& timeline = simulation.timeline();
  for (const Timeline::Dependency& d : timeline.dependencies()) {
    const auto earlier = static_cast<std::uint32_t>(d.earlier);
    if (index(d.task) == task && !simulation.ended(earlier))
      return {fmt::format("waits for {}", quoted(timeline, earlier)), earlier};
  }
  const std::uint32_t head = simulation.head_of(task);
  if (head != kNone && head != task)
    return {fmt::format("is behind {} on '{}'", quoted(timeline, head),
                        timeline.resource(timeline.tasks()[task].resource).name),
            head};
  const std::uint32_t buffer = simulation.waits_for_buffer(task);
  if (buffer == kNone) return {"waits", kNone};
  const std::string slots =
      fmt::format("waits for slots of buffer '{}' ({} of {} free)", timeline.buffers()[buffer].name,
                  simulation.free_slots(buffer), timeline.buffers()[buffer].slots);
  for (const Timeline::Slots& release : timeline.released()) {
    const auto other = static_cast<std::uint32_t>(release.task);
    if (index(release.buffer) == buffer && !simulation.ended(other))
      return {fmt::format("{}, which {} gives back", slots, quoted(timeline, other)), other};
  }
  return {slots + ", which no task that is left gives back", kNone};
}

}  // namespace

void fail_with_deadlock(const Simulation& simulation, std::uint32_t left) {
  const Timeline& timeline = simulation.timeline();
  std::uint32_t task = 0;
  while (simulation.ended(task)) ++task;
  // Everybody has one obstacle, so following them leads into a circle or to somebody whom nobody can help.
  std::vector<std::uint32_t> chain;
  std::vector<std::string> reasons;
  std::size_t circle = 0;
  while (task != kNone) {
    const auto seen = std::find(chain.begin(), chain.end(), task);
    circle = static_cast<std::size_t>(seen - chain.begin());
    if (seen != chain.end()) break;
    const Obstacle obstacle = obstacle_of(simulation, task);
    chain.push_back(task);
    reasons.push_back(fmt::format("{} {}", quoted(timeline, task), obstacle.text));
    circle = reasons.size() - 1;  // a chain that ends: only its last link is of interest
    task = obstacle.task;
  }
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = circle; i < reasons.size() && i < circle + kShown; ++i)
    text += (i == circle ? "" : "; ") + reasons[i];
  if (reasons.size() > circle + kShown) text += fmt::format("; and {} more", reasons.size() - circle - kShown);
  fail(Code::invalid_argument,
       Hint{"one of them has to be able to go first: drop a dependency or give a buffer more slots"},
       "deadlock: {} of {} tasks never start. {}", left, timeline.tasks().size(), text);
}

}  // namespace tessera::sim
