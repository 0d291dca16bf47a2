#include "tessera/kernel_plan/parts.h"

#include <cstdint>
#include <vector>

namespace tessera {
namespace {

// Where a buffer lies: in the widest one that it is a part of (itself, if of none), from this channel on.
struct Place {
  int whole = -1;
  std::int64_t channel = 0;
  bool operator==(const Place&) const = default;
};

class Parts {
 public:
  explicit Parts(Plan& plan) : plan_(plan), uses_(plan.buffers.size()) {
    for (std::size_t b = 0; b < plan.buffers.size(); ++b)
      if (const int of = plan.buffers[b].view_of; of >= 0) uses_[b].views = uses_[index(of)].views = true;
    for (const int b : plan.output_buffers) uses_[index(b)].goes_out = true;
    for (const Step& step : plan.steps) {
      const bool node = step.node != Step::kConversion && step.offer.view_of < 0;
      for (std::size_t i = 0; i < step.inputs.size(); ++i)
        if (step.inputs[i] >= 0 && !(node && step.offer.takes_wide(i))) uses_[index(step.inputs[i])].narrow = true;
      for (const int b : step.outputs) {
        if (b < 0) continue;
        uses_[index(b)].made = true;
        if (!node || !step.offer.wide_outputs) uses_[index(b)].narrow = true;
      }
    }
  }

  void run() {
    for (const Step& step : plan_.steps)
      if (step.offer.side_by_side && !joins(step)) split(step);
    for (const Step& step : plan_.steps)
      if (step.offer.side_by_side && joins(step)) concat(step);
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b)
      if (plan_.buffers[b].part_of >= 0) plan_.buffers[b].pixel = channels(locate(static_cast<int>(b)).whole);
    for (Step& step : plan_.steps)
      if (step.offer.side_by_side) leave_copies(step);
  }

 private:
  struct Uses {
    bool made = false;      // by a step
    bool narrow = false;    // someone makes or reads it who needs its pixels side by side
    bool views = false;     // is one or has one
    bool goes_out = false;  // to the caller
  };

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  const Node& node_of(const Step& step) const { return plan_.graph.nodes[index(step.node)]; }
  bool joins(const Step& step) const { return std::holds_alternative<Concat>(node_of(step).op); }
  PlanBuffer& at(int buffer) { return plan_.buffers[index(buffer)]; }
  std::int64_t channels(int buffer) { return plan_.graph.value(at(buffer).value).type.shape()[1]; }

  Place locate(int buffer) {
    Place place{buffer, 0};
    for (; at(place.whole).part_of >= 0; place.whole = at(place.whole).part_of)
      place.channel += at(place.whole).channel;
    return place;
  }

  bool is_last(int buffer) {
    return at(buffer).place == PlanBuffer::Place::arena && at(buffer).order == Order::channels_last &&
           at(buffer).bytes > 0;
  }
  bool can_be_part(int buffer) {
    const Uses& uses = uses_[index(buffer)];
    return is_last(buffer) && at(buffer).part_of < 0 && uses.made && !uses.narrow && !uses.views && !uses.goes_out;
  }
  bool can_be_whole(int buffer) { return is_last(buffer) && at(buffer).view_of < 0; }

  void split(const Step& step) {
    const int whole = step.inputs[0];
    if (!can_be_whole(whole)) return;
    for_each_part(step, [&](int part, std::int64_t channel) {
      if (!can_be_part(part)) return;
      at(part).part_of = whole;
      at(part).channel = channel;
    });
  }

  // An input that is a part already (of what was split, or of a Concat before) takes all that it is a part of along:
  // into a place where this Concat wants just that, part by part.
  void concat(const Step& step) {
    const int whole = step.outputs[0];
    if (!can_be_whole(whole)) return;
    for_each_part(step, [&](int part, std::int64_t channel) {
      const Place place = locate(part);
      if (place.whole == whole || !can_be_part(place.whole)) return;
      const std::int64_t begin = channel - place.channel, end = begin + channels(place.whole);
      bool fits = begin >= 0 && end <= channels(whole);
      for_each_part(step, [&](int other, std::int64_t first) {
        if (first + channels(other) <= begin || first >= end || channels(other) == 0) return;
        fits = fits && locate(other) == Place{place.whole, first - begin};
      });
      if (!fits) return;
      at(place.whole).part_of = whole;
      at(place.whole).channel = begin;
    });
  }

  // visit(buffer, the first of its channels in the whole), for all that lies side by side.
  template <class Visit>
  void for_each_part(const Step& step, Visit visit) {
    std::int64_t channel = 0;
    if (joins(step)) {
      for (const int buffer : step.inputs) {
        visit(buffer, channel);
        channel += channels(buffer);
      }
      return;
    }
    const NodeTypes types = infer_node(plan_.graph, node_of(step));
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      if (step.outputs[i] >= 0) visit(step.outputs[i], channel);
      channel += types.outputs[i].shape()[1];
    }
  }

  void leave_copies(Step& step) {
    const Place place = locate(joins(step) ? step.outputs[0] : step.inputs[0]);
    std::int64_t copied = 0, all = 0;
    for_each_part(step, [&](int part, std::int64_t channel) {
      all += at(part).bytes;
      if (locate(part) != Place{place.whole, place.channel + channel}) copied += at(part).bytes;
    });
    if (copied == all) return;
    step.in_place = copied == 0;
    const double share = static_cast<double>(copied) / static_cast<double>(all);
    step.work.read_bytes *= share;
    step.work.write_bytes *= share;
    step.offer.estimate.seconds *= share;
  }

  Plan& plan_;
  std::vector<Uses> uses_;
};

}  // namespace

int root_of(const Plan& plan, int buffer) {
  for (;;) {
    const PlanBuffer& b = plan.buffers[static_cast<std::size_t>(buffer)];
    if (b.view_of < 0 && b.part_of < 0) return buffer;
    buffer = b.view_of >= 0 ? b.view_of : b.part_of;
  }
}

void place_parts(Plan& plan) { Parts(plan).run(); }

}  // namespace tessera
