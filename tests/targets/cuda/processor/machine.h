#pragma once

// A GPU's threads on the processor: what kernels need to run where there is no GPU. Every thread of a block is a fiber
// that runs until it waits; the blocks of a cluster are threads of the operating system, each with shared memory of its
// own. Order is the same in every run, or shuffled by TESSERA_GPU_THREAD_ORDER=<seed>, which shows missing barriers.

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tessera::cuda::processor {

struct Index {
  unsigned x = 0, y = 0, z = 0;
};

struct Grid {
  unsigned blocks = 1, threads = 1, cluster = 1, shared_bytes = 0;
};

// Runs all blocks, one cluster after the other. `fill_dynamic` is called before each block, for its dynamic shared
// memory.
void run(const Grid& grid, const std::function<void()>& kernel, void (*fill_dynamic)(std::size_t), const char* name);

// --- for the thread that runs
// -----------------------------------------------------------------------------------------

const Index& thread_index();
const Index& block_index();
const Index& block_size();
const Index& grid_size();
unsigned cluster_rank();

void sync_block();
void sync_some(unsigned barrier, unsigned threads);  // so many threads of the block
void sync_warp();
void sync_cluster();
void yield();  // others may run

// What every lane of the warp gave, once all have; it stays until the lane calls this again.
struct Given {
  std::uint64_t words[4];
};
const Given* exchange(const Given& own);

// Shared memory of the block: addresses as kernels see them, in 24 bits, and the rank of another block above those.
std::uint32_t shared_address(const void* pointer);
std::uint32_t shared_address_in(std::uint32_t address, unsigned rank);
std::byte* shared_pointer(std::uint32_t address);

// Copies that are done when they are waited for, as late as they may be.
void copy_later(void* to, const void* from, std::size_t bytes, std::size_t zeros);
void commit_copies();
void wait_for_copies(unsigned pending_groups);

// Barriers that count arrivals and bytes (mbarrier), in shared memory.
void barrier_init(std::uint32_t barrier, unsigned arrivals);
void barrier_arrive(std::uint32_t barrier);
void barrier_expect(std::uint32_t barrier, std::int32_t bytes);  // and arrives
void barrier_complete(std::uint32_t barrier, std::int32_t bytes);
void barrier_wait(std::uint32_t barrier, unsigned parity);

// --- numbers
// ------------------------------------------------------------------------------------------------------------

float float_of_half(std::uint16_t bits);
std::uint16_t half_of_float(float x);  // to the nearest, ties to even
float float_of_bfloat(std::uint16_t bits);
std::uint16_t bfloat_of_float(float x);

}  // namespace tessera::cuda::processor
