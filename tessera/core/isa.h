#pragma once

#include "tessera/core/export.h"

#include <optional>
#include <span>
#include <string_view>

namespace tessera {

// Instruction sets that kernels are written for, each including the ones before it.
enum class Isa {
  portable,     // plain C++
  avx2,         // AVX2, FMA, F16C, BMI2
  avx512,       // AVX-512 F, BW, DQ, VL, CD
  avx512_vnni,  // and products of int8 summed four by four
  avx512_bf16,  // and products of bfloat16 summed two by two
  amx,          // and AMX tiles of bf16 and int8
};

TSR_API std::string_view name(Isa isa);
TSR_API std::optional<Isa> parse_isa(std::string_view text);

// The most that this CPU and this operating system can run. Asks Linux for the use of AMX's tile data, once.
TSR_API Isa host_isa();
// Every set up to host_isa(), lowest first.
TSR_API std::span<const Isa> usable_isas();

// What kernels are chosen for: host_isa(), or the lower one that the environment variable TESSERA_ISA names. A name
// that does not exist, or more than the host has, is an Error. The variable is read at the first call.
TSR_API Isa active_isa();
// For tests and benchmarks: chooses a set (an Error when the host lacks it); nullopt reads TESSERA_ISA again.
TSR_API void set_active_isa(std::optional<Isa> isa);

}  // namespace tessera
