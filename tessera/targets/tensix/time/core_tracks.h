#pragma once

// What the processors of a program's cores do while it runs. The time model knows how long each is busy, and how blocks
// go from one to the next; the event engine lays that out.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/time/program_time.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

// A program with what is needed to draw it.
struct TimedProgram {
  std::string op = {};
  StepTime time = {};
  std::int64_t cores = 0;
  double blocks = 1;
  bool product = false;  // results leave when all blocks have been multiplied
  bool activations_double_buffered = true, weights_double_buffered = true;
};
TSR_API TimedProgram timed_program(std::string op, const ProgramWork& work, const StepTime& time);

// Two kinds of cores: the busiest one, and the one that reads weights for others.
enum class CoreTrack : std::uint8_t { reader, compute, writer, weights };
TSR_API std::string_view name(CoreTrack track);  // "busiest core: reader", "sender of weights"

struct CoreSpan {
  CoreTrack track = CoreTrack::reader;
  std::string_view what;            // "read", "tilize", "math", "pack", "write", "weights"
  double begin_ns = 0, end_ns = 0;  // from the start of the program
};

// At most `rounds` of its blocks, each as long as several of them where there are more. Lengths are scaled so that the
// last one ends with the program.
TSR_API std::vector<CoreSpan> core_tracks(const TimedProgram& program, int rounds = 4);

}  // namespace tessera::tensix
