#include "tessera/targets/tensix/time/core_tracks.h"

#include "tessera/timeline/timeline.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::tensix {
namespace {

using sim::TaskId;

constexpr std::array kTracks{CoreTrack::reader, CoreTrack::compute, CoreTrack::writer, CoreTrack::weights};

class Tracks {
 public:
  Tracks(const TimedProgram& program, int rounds) : p_(program), t_(program.time) {
    rounds_ = static_cast<int>(std::clamp(program.blocks, 1.0, static_cast<double>(std::max(rounds, 1))));
    for (const CoreTrack track : kTracks)
      resources_.push_back(timeline_.add_resource(std::string(name(track)), 1, sim::Order::program));
    activations_ = timeline_.add_buffer("activations", p_.activations_double_buffered ? 2 : 1);
    weights_ = timeline_.add_buffer("weights", p_.weights_double_buffered ? 2 : 1);
  }

  std::vector<CoreSpan> run() {
    for (int i = 0; i < rounds_; ++i) {
      const TaskId read = add(CoreTrack::reader, "read", reading_ns());
      const TaskId sent = add(CoreTrack::weights, "weights", t_.weights_ns);
      const TaskId tilized = add(CoreTrack::compute, "tilize", t_.tilize_ns);
      const TaskId multiplied = add(CoreTrack::compute, "math", t_.math_ns);
      timeline_.acquire(read, activations_);
      timeline_.acquire(sent, weights_);
      timeline_.after(tilized, read);
      timeline_.after(multiplied, sent);
      timeline_.release(multiplied, activations_);
      timeline_.release(multiplied, weights_);
      if (!p_.product) leave(rounds_);
    }
    if (p_.product) leave(1);
    return scaled();
  }

 private:
  // DRAM is behind whichever of them waits for it: the reader, unless results are all that goes there.
  double reading_ns() const {
    const bool reads = t_.reader_ns + t_.multicast_ns > 0;
    return std::max(t_.reader_ns + t_.multicast_ns, reads && t_.bound_by == TimePart::dram ? t_.dram_ns : 0);
  }

  TaskId add(CoreTrack track, std::string_view what, double all_ns, int parts) {
    const auto resource = resources_[static_cast<std::size_t>(track)];
    spans_.push_back({track, what, 0, 0});
    return timeline_.add_task(resource, all_ns / parts, what);
  }
  TaskId add(CoreTrack track, std::string_view what, double all_ns) { return add(track, what, all_ns, rounds_); }

  void leave(int parts) {
    const TaskId packed = add(CoreTrack::compute, "pack", t_.pack_ns, parts);
    const TaskId written = add(CoreTrack::writer, "write", t_.writer_ns, parts);
    timeline_.after(written, packed);
  }

  std::vector<CoreSpan> scaled() {
    const sim::Schedule schedule = simulate(timeline_);
    const double end = schedule.end_ns();
    const double factor = end > 0 ? t_.ns / end : 0;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      spans_[i].begin_ns = sim::ns_of(schedule.tasks[i].start_ps) * factor;
      spans_[i].end_ns = sim::ns_of(schedule.tasks[i].end_ps) * factor;
    }
    std::erase_if(spans_, [](const CoreSpan& span) { return span.end_ns <= span.begin_ns; });
    return std::move(spans_);
  }

  const TimedProgram& p_;
  const StepTime& t_;
  int rounds_ = 1;
  sim::Timeline timeline_;
  std::vector<sim::ResourceId> resources_;
  sim::BufferId activations_, weights_;
  std::vector<CoreSpan> spans_;  // by task
};

}  // namespace

TimedProgram timed_program(std::string op, const ProgramWork& work, const StepTime& time) {
  return {.op = std::move(op),
          .time = time,
          .cores = work.cores,
          .blocks = work.blocks,
          .product = work.matmul_tiles > 0,
          .activations_double_buffered = work.activations_double_buffered,
          .weights_double_buffered = work.weights_double_buffered || work.weight_tiles == 0};
}

std::string_view name(CoreTrack track) {
  switch (track) {
    case CoreTrack::reader: return "busiest core: reader";
    case CoreTrack::compute: return "busiest core: compute";
    case CoreTrack::writer: return "busiest core: writer";
    case CoreTrack::weights: return "sender of weights";
  }
  return "";
}

std::vector<CoreSpan> core_tracks(const TimedProgram& program, int rounds) { return Tracks(program, rounds).run(); }

}  // namespace tessera::tensix
