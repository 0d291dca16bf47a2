#include "tessera/targets/neuron/core/core.h"

#include "tessera/core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tessera::neuron {

using sim::TaskId;

Core::Core(const NeuronSpec& machine, KernelOptions chosen)
    : spec(machine),
      options(chosen),
      sbuf_(Memory::sbuf, chosen.endless_memory ? std::int64_t{1} << 50 : machine.sbuf_partition_bytes, 32),
      psum_(Memory::psum, chosen.endless_memory ? std::int64_t{1} << 50 : machine.psum_partition_bytes,
            machine.psum_bank_bytes()) {
  for (const Engine each : {Engine::tensor, Engine::vector, Engine::scalar, Engine::gpsimd})
    engines_[static_cast<std::size_t>(each)] = timeline.add_resource(std::string(name(each)), 1, sim::Order::oldest);
  queue_ = timeline.add_resource("dma queue", 1, sim::Order::oldest);
  std::fill(std::begin(turn_gates_), std::end(turn_gates_), TaskId::none);
  for (int i = 0; i < spec.dma_engines; ++i) dma_.push_back(timeline.add_resource(fmt::format("dma {}", i)));
  if (!spec.vector_and_scalar_share_psum) psum_port_ = timeline.add_buffer("PSUM port of vector and scalar", 1);
  if (!spec.vector_and_gpsimd_share_sbuf) sbuf_port_ = timeline.add_buffer("SBUF port of vector and gpsimd", 1);
}

View Core::make(std::string tile_name, Memory memory, ElementType type, std::vector<std::int64_t> shape,
                std::optional<std::int64_t> address) {
  auto tile = std::make_unique<Tile>();
  tile->name = std::move(tile_name);
  tile->memory = memory;
  tile->type = type;
  tile->shape = std::move(shape);
  check(element_bytes(type) <= 4, Code::unsupported, "'{}' is {}, but a NeuronCore has elements of up to 32 bits",
        tile->name, name(type));
  std::int64_t count = 1;
  for (const std::int64_t each : tile->shape) {
    check(each >= 1 && count <= (std::int64_t{1} << 40) / each, Code::invalid_argument,
          "'{}' cannot have the shape [{}]", tile->name, fmt::join(tile->shape, ", "));
    count *= each;
  }
  if (memory != Memory::hbm) {
    check(!tile->shape.empty(), Code::invalid_argument, "'{}' needs a partition dimension", tile->name);
    check(tile->shape[0] <= spec.partitions, Code::invalid_argument,
          Hint{fmt::format("cut the first dimension into tiles of {}", spec.partitions)},
          "'{}' has {} partitions, {} has {}", tile->name, tile->shape[0], name(memory), spec.partitions);
    tile->free_elements = count / tile->shape[0];
    tile->partition_bytes = tile->free_elements * element_bytes(type);
    std::vector<TaskId> former;
    Space& space = memory == Memory::sbuf ? sbuf_ : psum_;
    tile->serial = static_cast<std::int64_t>(last_uses_.size());
    last_uses_.push_back(-1);
    const auto serial = static_cast<std::size_t>(tile->serial);
    const Lifetimes* known = options.lifetimes.get();
    if (address) {
      const std::int64_t bytes = memory == Memory::sbuf ? spec.sbuf_partition_bytes : spec.psum_partition_bytes;
      check(*address >= 0 && *address + tile->partition_bytes <= bytes, Code::out_of_memory,
            "'{}' is put at byte {} and takes {} bytes of each partition of {}, which has {}", tile->name, *address,
            tile->partition_bytes, memory == Memory::sbuf ? "SBUF" : "PSUM", bytes);
      tile->placed = true;
      tile->address = *address;
      space.count_placed(*address + tile->partition_bytes);
    } else if (known && serial < known->size() && (*known)[serial] < 0 && space.could_hold(*tile)) {
      tile->freed = true;  // nobody uses it
    } else {
      tile->address = space.take(*tile, former);
    }
    if (former.size() == 1) tile->available = former[0];
    if (former.size() > 1) {
      tile->available = timeline.add_task(sim::ResourceId::none, 0, "free");
      for (const TaskId each : former) timeline.after(tile->available, each);
    }
  } else {
    tile->free_elements = count;
    tile->serial = traffic.add(tile->name, count * element_bytes(type));
  }
  if (options.values) tile->values.assign(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN());
  return View(std::shared_ptr<Tile>(tile.release(), [self = weak_from_this()](Tile* last) {
    if (const std::shared_ptr<Core> core = self.lock()) core->release(*last);
    delete last;
  }));
}

void Core::release(Tile& tile) {
  if (tile.memory == Memory::hbm || tile.placed || tile.freed) return;
  free(tile);
}

void Core::free(Tile& tile) {
  tile.freed = true;
  std::vector<TaskId> users;
  for (const Access& each : tile.reads) users.push_back(each.done);
  for (const Access& each : tile.writes) users.push_back(each.done);
  TaskId last = tile.available;
  if (users.size() == 1) last = users[0];
  if (users.size() > 1) {
    last = timeline.add_task(sim::ResourceId::none, 0, "last use");
    for (const TaskId each : users) timeline.after(last, each);
  }
  (tile.memory == Memory::sbuf ? sbuf_ : psum_).give_back(tile, last);
}

void Core::mark_used(std::span<const View> views) {
  for (const View& each : views) {
    Tile& tile = const_cast<View&>(each).tile();
    if (tile.memory == Memory::hbm) continue;
    last_uses_[static_cast<std::size_t>(tile.serial)] = instructions_;
    const Lifetimes* known = options.lifetimes.get();
    if (!known || tile.placed || tile.freed || static_cast<std::size_t>(tile.serial) >= known->size()) continue;
    if ((*known)[static_cast<std::size_t>(tile.serial)] == instructions_) free(tile);
  }
}

// A later instruction of the same engine sees what an earlier one wrote as soon as that has left the engine.
void Core::depend(TaskId task, Engine engine, const View& view, bool write) {
  const Access mine = reach(view);
  const Tile& tile = view.tile();
  const auto wait = [&](const Access& other) {
    if (!mine.overlaps(other)) return;
    const bool same = other.engine == engine && engine != Engine::dma;
    if (!same) ++totals.semaphore_waits;
    timeline.after(task, same ? other.busy : other.done);
  };
  for (const Access& each : tile.writes) wait(each);
  if (!write) return;
  for (const Access& each : tile.reads) wait(each);
  if (tile.available != TaskId::none) timeline.after(task, tile.available);
}

// Writes of the same elements before this one, and reads that may be of them.
void Core::wait_in_hbm(TaskId task, const View& dst) {
  const Access mine = reach(dst);
  const Tile& tile = dst.tile();
  for (const Access& each : tile.reads)
    if (mine.overlaps(each)) timeline.after(task, each.done);
  const Pattern pattern(dst);
  if (tile.elements.count(pattern) == 0) return;
  for (std::size_t i = tile.touches.size(); i-- > 0;) {
    const Touch& each = tile.touches[i];
    if (each.use == Use::read || each.box.done == TaskId::none || !mine.overlaps(each.box)) continue;
    const std::int64_t common = common_elements(pattern, each.pattern);
    if (common > 0) timeline.after(task, each.box.done);
    if (common == dst.count()) return;
  }
}

void Core::note(const View& view, Access access, bool write) {
  const Access where = reach(view);
  access.partition_begin = where.partition_begin;
  access.partition_end = where.partition_end;
  access.free_begin = where.free_begin;
  access.free_end = where.free_end;
  Tile& tile = const_cast<View&>(view).tile();
  if (!write) {
    tile.reads.push_back(access);
    return;
  }
  tile.written = true;
  // Rows of different channels lie between each other in HBM, so a box around them says nothing: who reads a tensor
  // that was written waits for all of it.
  if (tile.memory == Memory::hbm) access.free_begin = 0, access.free_end = tile.free_elements;
  const auto covered = [&](const Access& each) { return access.covers(each); };
  if (tile.memory != Memory::hbm) {
    std::erase_if(tile.reads, covered);
    std::erase_if(tile.writes, covered);
  }
  tile.writes.push_back(access);
}

void Core::count_bytes(const View& view, bool write) {
  std::int64_t* counts[3][2] = {{&totals.hbm_read_bytes, &totals.hbm_write_bytes},
                                {&totals.sbuf_read_bytes, &totals.sbuf_write_bytes},
                                {&totals.psum_read_bytes, &totals.psum_write_bytes}};
  *counts[static_cast<std::size_t>(view.memory())][write ? 1 : 0] += view.bytes();
}

void Core::rename(TaskId task, View& dst, std::span<const View> inputs) {
  Tile& tile = dst.tile();
  if (tile.memory == Memory::hbm || tile.placed || tile.freed || tile.reads.empty()) return;
  for (const View& each : inputs)
    if (&each.tile() == &tile) return;
  const Access mine = reach(dst);
  const std::int64_t row = mine.free_end - mine.free_begin;
  if (row * (mine.partition_end - mine.partition_begin) != dst.count()) return;
  std::vector<TaskId> users;
  for (const std::vector<Access>* all : {&tile.reads, &tile.writes})
    for (const Access& each : *all) {
      if (!mine.overlaps(each)) continue;
      if (!mine.covers(each)) return;
      users.push_back(each.done);
    }
  if (users.empty()) return;
  TaskId last = users[0];
  if (users.size() > 1) {
    last = timeline.add_task(sim::ResourceId::none, 0, "last use");
    for (const TaskId each : users) timeline.after(last, each);
  }
  std::vector<TaskId> former;
  Space& space = tile.memory == Memory::sbuf ? sbuf_ : psum_;
  if (!space.exchange(row * element_bytes(tile.type), last, former)) return;
  for (const TaskId each : former) timeline.after(task, each);
  const auto covered = [&](const Access& each) { return mine.covers(each); };
  std::erase_if(tile.reads, covered);
  std::erase_if(tile.writes, covered);
}

void Core::keep_line() {
  if (location.empty())
    script_lines.put(timeline.tasks().size(), here_->file_name(), here_->line());
  else
    script_lines.put(timeline.tasks().size(), location);
}

void Core::record(Engine engine, std::string_view label, const Cost& cost, View& dst, std::span<const View> inputs,
                  Use use, bool any_order) {
  record(engine, label, cost, std::span(&dst, 1), inputs, use, any_order);
}

void Core::record(Engine engine, std::string_view label, const Cost& cost, std::span<View> results,
                  std::span<const View> inputs, Use use, bool any_order) {
  for (const View& each : inputs) touch(label, each, Use::read);
  for (const View& each : results) touch(label, each, any_order ? Use::add : use);
  for (const View& each : inputs) count_bytes(each, false);
  for (const View& each : results) {
    if (use == Use::add) count_bytes(each, false);
    count_bytes(each, true);
  }
  EngineUse* uses[] = {&totals.tensor, &totals.vector, &totals.scalar, &totals.gpsimd};
  ++uses[static_cast<std::size_t>(engine)]->instructions;
  work_ns_[static_cast<std::size_t>(engine)] += cost.busy_ns;
  ++instructions_;
  if (!options.time) {
    for (View& each : results) each.tile().written = true;
    mark_used(inputs);
    mark_used(results);
    return;
  }
  Access access;
  access.engine = engine;
  access.busy = timeline.add_task(engines_[static_cast<std::size_t>(engine)], cost.busy_ns, label);
  keep_turn_order(access.busy, engine);
  for (const View& each : inputs) depend(access.busy, engine, each, false);
  bool psum = false, sbuf = false;
  for (View& each : results) {
    if (use == Use::write && !any_order) rename(access.busy, each, inputs);
    depend(access.busy, engine, each, true);
    psum = psum || each.memory() == Memory::psum;
    sbuf = sbuf || each.memory() == Memory::sbuf;
  }
  for (const View& each : inputs) {
    psum = psum || each.memory() == Memory::psum;
    sbuf = sbuf || each.memory() == Memory::sbuf;
  }
  const auto through = [&](sim::BufferId port) {
    timeline.acquire(access.busy, port);
    timeline.release(access.busy, port);
  };
  if (psum && psum_port_ != sim::BufferId::none && (engine == Engine::vector || engine == Engine::scalar))
    through(psum_port_);
  if (sbuf && sbuf_port_ != sim::BufferId::none && (engine == Engine::vector || engine == Engine::gpsimd))
    through(sbuf_port_);
  access.done = access.busy;
  if (cost.latency_ns > 0) {
    access.done = timeline.add_task(sim::ResourceId::none, cost.latency_ns, "latency");
    timeline.after(access.done, access.busy);
  }
  for (const View& each : inputs) note(each, access, false);
  for (const View& each : results) note(each, access, true);
  keep_line();
  mark_used(inputs);
  mark_used(results);
}

void Core::record_dma(const DmaCost& cost, View& dst, const View& src) {
  touch("dma_copy", src, Use::read);
  count_bytes(src, false);
  count_bytes(dst, true);
  traffic.count(src, dst);
  ++totals.dma_transfer_count;
  totals.dma_transfer_total_bytes += dst.bytes();
  const bool to_hbm = dst.memory() == Memory::hbm;
  ++instructions_;
  const View both[] = {src, dst};
  if (!options.time) {
    touch("dma_copy", dst, Use::write);
    if (to_hbm) dst.tile().elements.set(Pattern(dst));
    dst.tile().written = true;
    mark_used(both);
    return;
  }
  Access access;
  access.engine = Engine::dma;
  const TaskId issue = timeline.add_task(queue_, cost.issue_ns, "issue");
  keep_turn_order(issue, Engine::dma);
  depend(issue, Engine::dma, src, false);
  if (to_hbm) {
    wait_in_hbm(issue, dst);
  } else {
    rename(issue, dst, std::span(&src, 1));
    depend(issue, Engine::dma, dst, true);
  }
  touch("dma_copy", dst, Use::write);
  access.done = timeline.add_task(sim::ResourceId::none, spec.dma_latency_ns, "dma latency");
  const std::string_view label = src.memory() == Memory::hbm ? "load" : dst.memory() == Memory::hbm ? "store" : "move";
  for (std::size_t i = 0; i < cost.engine_ns.size(); ++i) {
    if (cost.engine_ns[i] <= 0) continue;
    const TaskId part = timeline.add_task(dma_[i], cost.engine_ns[i], label);
    timeline.after(part, issue);
    timeline.after(access.done, part);
  }
  access.busy = access.done;
  note(src, access, false);
  note(dst, access, true);
  keep_line();
  mark_used(both);
  if (!to_hbm) return;
  dst.tile().touches.back().box.done = access.done;
  dst.tile().elements.set(Pattern(dst));
}

Profile Core::profile() const {
  Profile out = totals;
  out.sbuf_peak_bytes = sbuf_.peak_bytes();
  out.psum_peak_banks = static_cast<int>(psum_.peak_bytes() / spec.psum_bank_bytes());
  out.hbm_bytes_per_s = spec.core_hbm_bytes_per_s.value_or(spec.hbm_bytes_per_s / spec.cores);
  if (!options.time) return out;
  const sim::Schedule schedule = sim::simulate(timeline);
  const auto busy = [&](sim::ResourceId id) { return sim::ns_of(schedule.resources[sim::index(id)].busy_ps); };
  out.total_ns = schedule.end_ns() + spec.kernel_overhead_ns;
  EngineUse* uses[] = {&out.tensor, &out.vector, &out.scalar, &out.gpsimd};
  for (std::size_t i = 0; i < 4; ++i) uses[i]->active_ns = busy(engines_[i]);
  for (const sim::ResourceId each : dma_) out.dma_active_ns = std::max(out.dma_active_ns, busy(each));
  out.dma_issue_ns = busy(queue_);
  return out;
}

}  // namespace tessera::neuron
