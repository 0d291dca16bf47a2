#pragma once

// What is behind a view. Only the core changes it.

#include "tessera/targets/neuron/core/pattern.h"
#include "tessera/targets/neuron/core/view.h"
#include "tessera/timeline/schedule.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tessera::neuron {

enum class Engine : std::uint8_t;

// An instruction that touched part of a tile: partitions and free elements, each as [begin, end).
struct Access {
  std::int64_t partition_begin = 0, partition_end = 0;
  std::int64_t free_begin = 0, free_end = 0;
  sim::TaskId busy = sim::TaskId::none;  // while the engine is taken
  sim::TaskId done = sim::TaskId::none;  // until others see what it wrote
  Engine engine{};

  bool overlaps(const Access& other) const {
    return partition_begin < other.partition_end && other.partition_begin < partition_end &&
           free_begin < other.free_end && other.free_begin < free_end;
  }
  bool covers(const Access& other) const {
    return partition_begin <= other.partition_begin && partition_end >= other.partition_end &&
           free_begin <= other.free_begin && free_end >= other.free_end;
  }
};

// One turn of a loop whose turns have no order.
struct LoopTurn {
  std::uint32_t loop = 0;  // every time that a loop is begun it is another one
  std::int64_t turn = 0;
};
using LoopTurns = std::shared_ptr<const std::vector<LoopTurn>>;  // outermost first; nothing outside of such loops

enum class Use : std::uint8_t { read, write, add };

// What an instruction did to a tile, kept where that may meet what another one does without order.
struct Touch {
  Pattern pattern;
  Access box;
  Use use = Use::read;
  LoopTurns turns;
  std::string line;  // of the kernel
};

struct Tile {
  std::string name;
  Memory memory = Memory::hbm;
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  std::int64_t address = 0;          // in every partition; on chip
  std::int64_t partition_bytes = 0;  // on chip
  std::int64_t free_elements = 1;    // of a partition
  std::int64_t serial = -1;          // how many were made before: of all on chip, or of all in HBM
  bool freed = false;                // its memory is somebody else's already
  bool placed = false;               // the kernel chose the address: no memory is given out for it
  bool written = false;
  std::vector<float> values;  // rounded to `type`; empty in a run without values
  std::vector<Access> reads, writes;
  std::vector<Access> sums;                   // parts of a PSUM tile that products were put into
  std::vector<Touch> touches;                 // in loops without order; in HBM also writes outside of them
  bool touched_by_read = false;               // one of those is a read
  bool complete = false;                      // every element was there from the start
  ElementBits elements;                       // of a tensor in HBM: those that were written
  sim::TaskId available = sim::TaskId::none;  // when those who had the memory before are through
};

// The part of its tile that a view reaches: the smallest box around it.
Access reach(const View& view);

}  // namespace tessera::neuron
