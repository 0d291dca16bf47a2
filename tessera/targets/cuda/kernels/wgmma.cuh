#pragma once

// Matrix products of a warpgroup (wgmma): 64 rows of A times N columns of B, 32 bytes deep, sums in float32 registers.
// Both operands lie in shared memory with 128 bytes of the depth in a row, swizzled by 128 bytes. Of float32 operands
// the first 10 bits behind the point count (tf32).
//
// Thread t of the warpgroup holds rows t/32*16 + t%32/4 and 8 further; d[4*j .. 4*j+1] are columns 8*j + t%4*2 and the
// next of the first row, d[4*j+2 .. 4*j+3] those of the second.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace tessera::cuda::wgmma {

// Groups of 8 rows start `group_bytes` apart. The address may point at any row and at any 32 bytes of it: the swizzle
// is a function of the address alone, for the copy engine that wrote the rows as for the reader.
__device__ __forceinline__ std::uint64_t descriptor(std::uint32_t address, std::uint32_t group_bytes) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return kSwizzle128 | (std::uint64_t{group_bytes >> 4} << 32) | (std::uint64_t{1} << 16) | ((address & 0x3FFFF) >> 4);
}

__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int kPending>
__device__ __forceinline__ void wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// d = a b, or d + a b where `add` is not 0.
template <class T, int N>
struct Multiply;

#define TSR_D8(i)                                                                                             \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define TSR_D32(i) TSR_D8(i), TSR_D8(i + 8), TSR_D8(i + 16), TSR_D8(i + 24)
#define TSR_D64(i) TSR_D32(i), TSR_D32(i + 32)
#define TSR_D128(i) TSR_D64(i), TSR_D64(i + 64)

// clang-format off
#define TSR_REGISTERS_32 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define TSR_REGISTERS_64 TSR_REGISTERS_32 ", " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define TSR_REGISTERS_128 TSR_REGISTERS_64 ", " \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define TSR_MULTIPLY(T, TEXT, N, HALF, A, B, P)                                                                      \
  template <>                                                                                                       \
  struct Multiply<T, N> {                                                                                           \
    static __device__ __forceinline__ void run(float (&d)[HALF], std::uint64_t a, std::uint64_t b, int add) {       \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" P ", 0;\n"                                                  \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TEXT "." TEXT                                   \
                   " {" TSR_REGISTERS_##HALF "}, %" A ", %" B ", p, 1, 1, 0, 0;\n}"                                 \
                   : TSR_D##HALF(0)                                                                                 \
                   : "l"(a), "l"(b), "r"(add));                                                                     \
    }                                                                                                               \
  };
TSR_MULTIPLY(__half, "f16", 64, 32, "32", "33", "34")
TSR_MULTIPLY(__half, "f16", 128, 64, "64", "65", "66")
TSR_MULTIPLY(__half, "f16", 256, 128, "128", "129", "130")
TSR_MULTIPLY(__nv_bfloat16, "bf16", 64, 32, "32", "33", "34")
TSR_MULTIPLY(__nv_bfloat16, "bf16", 128, 64, "64", "65", "66")
TSR_MULTIPLY(__nv_bfloat16, "bf16", 256, 128, "128", "129", "130")
#define TSR_MULTIPLY_TF32(N, HALF, A, B, P)                                                                          \
  template <>                                                                                                       \
  struct Multiply<float, N> {                                                                                       \
    static __device__ __forceinline__ void run(float (&d)[HALF], std::uint64_t a, std::uint64_t b, int add) {       \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" P ", 0;\n"                                                  \
                   "wgmma.mma_async.sync.aligned.m64n" #N "k8.f32.tf32.tf32"                                        \
                   " {" TSR_REGISTERS_##HALF "}, %" A ", %" B ", p, 1, 1;\n}"                                       \
                   : TSR_D##HALF(0)                                                                                 \
                   : "l"(a), "l"(b), "r"(add));                                                                     \
    }                                                                                                               \
  };
TSR_MULTIPLY_TF32(64, 32, "32", "33", "34")
TSR_MULTIPLY_TF32(128, 64, "64", "65", "66")
TSR_MULTIPLY_TF32(256, 128, "128", "129", "130")
// clang-format on

#undef TSR_MULTIPLY_TF32
#undef TSR_MULTIPLY
#undef TSR_REGISTERS_128
#undef TSR_REGISTERS_64
#undef TSR_REGISTERS_32
#undef TSR_D128
#undef TSR_D64
#undef TSR_D32
#undef TSR_D8

}  // namespace tessera::cuda::wgmma
