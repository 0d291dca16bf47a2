#include "tessera/core/isa.h"

#include "tessera/core/error.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tessera {
namespace {

constexpr std::array kIsas{Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx};

#if defined(__x86_64__)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

constexpr bool has(unsigned word, std::initializer_list<int> bits) {
  for (int bit : bits)
    if (!((word >> bit) & 1u)) return false;
  return true;
}

// The register states that the operating system saves when it switches threads.
std::uint64_t enabled_states() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

// Linux hands out the large tile state only to processes that ask; threads inherit the permission.
bool may_use_tile_data() {
#if defined(__linux__)
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

Isa detect() {
  constexpr std::uint64_t kYmm = 0x6, kZmm = 0xE6, kTiles = 0x60000;
  const Registers one = cpuid(1, 0), seven = cpuid(7, 0), seven_one = cpuid(7, 1);
  if (!has(one.ecx, {12 /* fma */, 27 /* osxsave */, 28 /* avx */, 29 /* f16c */})) return Isa::portable;
  const std::uint64_t states = enabled_states();
  if ((states & kYmm) != kYmm || !has(seven.ebx, {5 /* avx2 */, 8 /* bmi2 */})) return Isa::portable;
  if ((states & kZmm) != kZmm || !has(seven.ebx, {16 /* f */, 17 /* dq */, 28 /* cd */, 30 /* bw */, 31 /* vl */}))
    return Isa::avx2;
  if (!has(seven.ecx, {11 /* avx512_vnni */})) return Isa::avx512;
  if (!has(seven_one.eax, {5 /* avx512_bf16 */})) return Isa::avx512_vnni;
  const bool amx = has(seven.edx, {22 /* bf16 */, 24 /* tile */, 25 /* int8 */});
  if ((states & kTiles) != kTiles || !amx || !may_use_tile_data()) return Isa::avx512_bf16;
  return Isa::amx;
}

#else
Isa detect() { return Isa::portable; }
#endif

void check_usable(Isa isa, std::string_view who) {
  check(isa <= host_isa(), Code::unsupported, Hint{"use a lower one or leave it out"},
        "{} asks for the instruction set '{}', but this machine has no more than '{}'", who, name(isa),
        name(host_isa()));
}

Isa isa_from_environment() {
  const char* text = std::getenv("TESSERA_ISA");
  if (text == nullptr || *text == '\0') return host_isa();
  const std::optional<Isa> isa = parse_isa(text);
  check(isa.has_value(), Code::invalid_argument, Hint{"use portable, avx2, avx512, avx512_vnni, avx512_bf16 or amx"},
        "TESSERA_ISA='{}' names no instruction set (this machine has '{}')", text, name(host_isa()));
  check_usable(*isa, "TESSERA_ISA");
  return *isa;
}

constexpr int kUnset = -1;
std::atomic<int> g_active{kUnset};

}  // namespace

std::string_view name(Isa isa) {
  switch (isa) {
    case Isa::portable: return "portable";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::avx512_vnni: return "avx512_vnni";
    case Isa::avx512_bf16: return "avx512_bf16";
    case Isa::amx: return "amx";
  }
  return "unknown";
}

std::optional<Isa> parse_isa(std::string_view text) {
  for (Isa isa : kIsas)
    if (name(isa) == text) return isa;
  return std::nullopt;
}

Isa host_isa() {
  static const Isa isa = detect();
  return isa;
}

std::span<const Isa> usable_isas() { return std::span(kIsas).first(static_cast<std::size_t>(host_isa()) + 1); }

Isa active_isa() {
  int active = g_active.load(std::memory_order_relaxed);
  if (active == kUnset) {
    active = static_cast<int>(isa_from_environment());
    g_active.store(active, std::memory_order_relaxed);
  }
  return static_cast<Isa>(active);
}

void set_active_isa(std::optional<Isa> isa) {
  if (isa) check_usable(*isa, "set_active_isa");
  g_active.store(static_cast<int>(isa ? *isa : isa_from_environment()), std::memory_order_relaxed);
}

}  // namespace tessera
