#pragma once

// The instruction set that the including file is compiled for, as a name: TSR_ISA. The vector library lives in
// simd::TSR_ISA, and so does what is written over it in the namespaces of its users (cpu::TSR_ISA, ncp::TSR_ISA): one
// source, <stem>_simd.cpp, is compiled once for each set (cmake/TesseraTarget.cmake), and each copy has names of its
// own.
//
// Files compiled for an instruction set must not make code that others could share: no std:: containers, algorithms or
// functions, no fmt, no inline functions of ours outside TSR_ISA. The linker keeps one copy of each inline function,
// and it might be the one with instructions that the CPU lacks.

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// TSR_AVX512: vectors have 512 bits. With TSR_HALF_VECTORS (the set avx512_half), AVX-512 comes with vectors of 256:
// as fast on CPUs with units of that width, and there are 32 registers for them.
#if defined(__AMX_BF16__)
#define TSR_ISA amx
#define TSR_IS_amx ~, 1
#define TSR_AVX512
#elif defined(__AVX512BF16__)
#define TSR_ISA avx512_bf16
#define TSR_IS_avx512_bf16 ~, 1
#define TSR_AVX512
#elif defined(__AVX512VNNI__)
#define TSR_ISA avx512_vnni
#define TSR_IS_avx512_vnni ~, 1
#define TSR_AVX512
#elif defined(__AVX512F__) && !defined(TSR_HALF_VECTORS)
#define TSR_ISA avx512
#define TSR_IS_avx512 ~, 1
#define TSR_AVX512
#elif defined(__AVX512F__)
#define TSR_ISA avx512_half
#define TSR_IS_avx512_half ~, 1
#elif defined(__AVX2__)
#define TSR_ISA avx2
#define TSR_IS_avx2 ~, 1
#else
#define TSR_ISA portable
#define TSR_IS_portable ~, 1
#endif

#define TSR_INLINE inline __attribute__((always_inline))

// TSR_IF_ISA(avx2, text): the text where the file is compiled for that set, else nothing. For tables with a set in each
// row. Only the names of the set at hand are macros with a second part, which the probe finds.
#define TSR_SECOND(first, second, ...) second
#define TSR_PROBE(...) TSR_SECOND(__VA_ARGS__, 0, 0)
#define TSR_TEXT_0(...)
#define TSR_TEXT_1(...) __VA_ARGS__
#define TSR_TEXT_OF(found) TSR_TEXT_##found
#define TSR_TEXT(found) TSR_TEXT_OF(found)
#define TSR_IF_ISA(isa, ...) TSR_TEXT(TSR_PROBE(TSR_IS_##isa))(__VA_ARGS__)

// TSR_ISA as a string.
#define TSR_STRING_OF(text) #text
#define TSR_STRING(text) TSR_STRING_OF(text)
