#include "tests/targets/cuda/processor/machine.h"

#include "tessera/core/float_bits.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace tessera::cuda::processor {
namespace {

constexpr std::size_t kStackBytes = 256 << 10;
constexpr unsigned kWarp = 32, kNamedBarriers = 16, kMostCluster = 16;
constexpr std::uint32_t kWindowMiddle = 1 << 23;  // the anchor's address
constexpr std::uint32_t kRankShift = 24;

struct Barrier {
  std::atomic<unsigned> generation{0};
  unsigned arrived = 0;

  void release() {
    arrived = 0;
    generation.fetch_add(1, std::memory_order_release);
  }
};

struct Warp {
  Barrier barrier;
  unsigned live = 0;
  Given given[2][kWarp];
};

struct Copy {
  void* to;
  const void* from;
  std::size_t bytes, zeros;
};

struct Cluster {
  std::mutex mutex;  // of everything below, and of the barriers in shared memory of its blocks
  std::condition_variable changed;
  std::atomic<unsigned> events{0};  // changes that a block may wait for
  std::atomic<unsigned> generation{0};
  unsigned arrived = 0, live = 0, size = 1;
  std::array<std::byte*, kMostCluster> anchors{};

  // While the mutex is held.
  void tell() {
    events.fetch_add(1, std::memory_order_release);
    if (size > 1) changed.notify_all();
  }
  void release() {
    arrived = 0;
    generation.fetch_add(1, std::memory_order_release);
    tell();
  }
};

struct Thread {
  Index index;
  Warp* warp = nullptr;
  unsigned lane = 0;
  bool started = false, done = true;
  // While *watched is `seen`, there is nothing to do for it.
  const std::atomic<unsigned>* watched = nullptr;
  unsigned seen = 0;
  std::vector<Copy> copies;
  std::vector<std::size_t> groups;  // copies of each, oldest first
  std::size_t uncommitted = 0;
  jmp_buf context;
  ucontext_t first;
  void* stack = nullptr;
};

struct Block {
  Index index, size, grid;
  unsigned rank = 0, live = 0;
  Cluster* cluster = nullptr;
  std::vector<Warp> warps;
  std::array<Barrier, kNamedBarriers> barriers;
  const std::function<void()>* kernel = nullptr;
  const char* name = "";
  jmp_buf scheduler;
};

// The middle of a block's shared memory: what is declared shared lies near it, as both are memory of one thread.
alignas(1024) thread_local std::byte anchor[1024];
thread_local Block* block = nullptr;
thread_local Thread* current = nullptr;

struct Fibers {
  std::vector<std::unique_ptr<Thread>> threads;
  ~Fibers() {
    for (const auto& thread : threads) munmap(thread->stack, kStackBytes);
  }
};
thread_local Fibers fibers;

[[noreturn]] void stop(const char* what) {
  std::fprintf(stderr, "GPU on the processor: %s in %s, block %u, thread %u\n", what, block ? block->name : "?",
               block ? block->index.x : 0, current ? current->index.x : 0);
  std::abort();
}

void release_if_all(Barrier& barrier, unsigned threads) {
  if (barrier.arrived > 0 && barrier.arrived == threads) barrier.release();
}

void arrive_and_wait(Barrier& barrier, unsigned threads) {
  const unsigned generation = barrier.generation.load(std::memory_order_relaxed);
  ++barrier.arrived;
  if (barrier.arrived == threads) {
    barrier.release();
    return;
  }
  Thread& self = *current;
  self.watched = &barrier.generation;
  self.seen = generation;
  while (barrier.generation.load(std::memory_order_acquire) == generation) yield();
  self.watched = nullptr;
}

void finish_thread() {
  Thread& self = *current;
  wait_for_copies(0);
  self.done = true;
  --block->live;
  --self.warp->live;
  release_if_all(self.warp->barrier, self.warp->live);
  release_if_all(block->barriers[0], block->live);
  const std::lock_guard lock(block->cluster->mutex);
  Cluster& cluster = *block->cluster;
  --cluster.live;
  if (cluster.arrived > 0 && cluster.arrived == cluster.live) cluster.release();
}

// A fiber lives on from block to block.
void fiber_main() {
  for (;;) {
    (*block->kernel)();
    finish_thread();
    if (_setjmp(current->context) == 0) _longjmp(block->scheduler, 1);
  }
}

void give_stack(Thread& thread) {
  thread.stack = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (thread.stack == MAP_FAILED) stop("no memory for stacks");
  getcontext(&thread.first);
  thread.first.uc_stack.ss_sp = thread.stack;
  thread.first.uc_stack.ss_size = kStackBytes;
  thread.first.uc_link = nullptr;
  makecontext(&thread.first, fiber_main, 0);
}

[[gnu::noinline]] void switch_to(Thread& thread) {
  current = &thread;
  if (_setjmp(block->scheduler) == 0) {
    if (thread.started) _longjmp(thread.context, 1);
    thread.started = true;
    setcontext(&thread.first);
  }
}

const char* order_seed() {
  static const char* const seed = std::getenv("TESSERA_GPU_THREAD_ORDER");
  return seed;
}

void run_block(Block& own) {
  block = &own;
  const unsigned threads = own.size.x;
  while (fibers.threads.size() < threads) {
    fibers.threads.push_back(std::make_unique<Thread>());
    give_stack(*fibers.threads.back());
  }
  own.warps = std::vector<Warp>((threads + kWarp - 1) / kWarp);
  own.live = threads;
  std::vector<unsigned> order(threads);
  for (unsigned t = 0; t < threads; ++t) {
    Thread& thread = *fibers.threads[t];
    thread.index = {t, 0, 0};
    thread.warp = &own.warps[t / kWarp];
    thread.lane = t % kWarp;
    thread.done = false;
    thread.watched = nullptr;
    ++thread.warp->live;
    order[t] = t;
  }
  if (order_seed() != nullptr) {
    std::mt19937 random(static_cast<unsigned>(std::atoi(order_seed())) + own.index.x);
    std::ranges::shuffle(order, random);
  }
  while (own.live > 0) {
    const unsigned events = own.cluster->events.load(std::memory_order_acquire);
    bool progress = false;
    for (const unsigned t : order) {
      Thread& thread = *fibers.threads[t];
      if (thread.done) continue;
      if (thread.watched != nullptr && thread.watched->load(std::memory_order_acquire) == thread.seen) continue;
      switch_to(thread);
      progress = true;
    }
    if (progress) continue;
    // Only other blocks of the cluster can help now.
    if (own.cluster->size == 1) stop("all threads wait");
    std::unique_lock lock(own.cluster->mutex);
    if (!own.cluster->changed.wait_for(lock, std::chrono::minutes(5), [&] { return own.cluster->events != events; }))
      stop("all threads wait for other blocks");
  }
  block = nullptr;
}

// One thread of the operating system for each block of a cluster but the first, which the caller runs.
class Workers {
 public:
  ~Workers() {
    for (auto& worker : workers_) {
      {
        const std::lock_guard lock(worker->mutex);
        worker->stop = true;
      }
      worker->changed.notify_all();
      worker->thread.join();
    }
  }
  void start(std::size_t which, std::function<void()> job) {
    while (workers_.size() <= which) {
      workers_.push_back(std::make_unique<Worker>());
      Worker* const added = workers_.back().get();
      added->thread = std::thread([added] { serve(*added); });
    }
    Worker& worker = *workers_[which];
    {
      const std::lock_guard lock(worker.mutex);
      worker.job = std::move(job);
      worker.busy = true;
    }
    worker.changed.notify_all();
  }
  void wait(std::size_t which) {
    Worker& worker = *workers_[which];
    std::unique_lock lock(worker.mutex);
    worker.changed.wait(lock, [&] { return !worker.busy; });
  }

 private:
  struct Worker {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> job;
    bool busy = false, stop = false;
    std::thread thread;
  };
  static void serve(Worker& worker) {
    std::unique_lock lock(worker.mutex);
    for (;;) {
      worker.changed.wait(lock, [&] { return worker.busy || worker.stop; });
      if (worker.stop) return;
      lock.unlock();
      worker.job();
      lock.lock();
      worker.busy = false;
      worker.changed.notify_all();
    }
  }
  std::vector<std::unique_ptr<Worker>> workers_;
};

// --- barriers with byte counts --------------------------------------------------------------------------------------

struct CountingBarrier {
  std::uint16_t expected, pending_and_phase;  // the phase is the highest bit
  std::int32_t bytes;
};
static_assert(sizeof(CountingBarrier) == 8);

CountingBarrier read_barrier(std::uint32_t at) {
  CountingBarrier barrier;
  std::memcpy(&barrier, shared_pointer(at), sizeof barrier);
  return barrier;
}

void change_barrier(std::uint32_t at, int arrivals, std::int32_t bytes) {
  const std::lock_guard lock(block->cluster->mutex);
  CountingBarrier barrier = read_barrier(at);
  const unsigned phase = barrier.pending_and_phase >> 15;
  int pending = (barrier.pending_and_phase & 0x7FFF) - arrivals;
  if (pending < 0) stop("more arrivals at a barrier than it expects");
  barrier.bytes += bytes;
  if (pending == 0 && barrier.bytes == 0) {
    pending = barrier.expected;
    barrier.pending_and_phase = static_cast<std::uint16_t>(pending | (phase ^ 1) << 15);
  } else {
    barrier.pending_and_phase = static_cast<std::uint16_t>(pending | static_cast<int>(phase) << 15);
  }
  std::memcpy(shared_pointer(at), &barrier, 8);
  block->cluster->tell();
}

}  // namespace

void run(const Grid& grid, const std::function<void()>& kernel, void (*fill_dynamic)(std::size_t), const char* name) {
  static std::mutex one_at_a_time;
  static Workers workers;
  const std::lock_guard lock(one_at_a_time);
  if (grid.threads == 0 || grid.threads > 1024 || grid.cluster == 0 || grid.cluster > kMostCluster ||
      grid.blocks % grid.cluster != 0)
    stop("an impossible launch");
  for (unsigned first = 0; first < grid.blocks; first += grid.cluster) {
    Cluster cluster;
    cluster.size = grid.cluster;
    cluster.live = grid.cluster * grid.threads;
    std::vector<Block> blocks(grid.cluster);
    // Anchors are all there before anyone uses them.
    std::atomic<unsigned> ready{0};
    const auto run_one = [&](unsigned rank) {
      Block& own = blocks[rank];
      own.index = {first + rank, 0, 0};
      own.size = {grid.threads, 1, 1};
      own.grid = {grid.blocks, 1, 1};
      own.rank = rank;
      own.cluster = &cluster;
      own.kernel = &kernel;
      own.name = name;
      cluster.anchors[rank] = anchor;
      ++ready;
      while (ready < grid.cluster) std::this_thread::yield();
      fill_dynamic(grid.shared_bytes);
      run_block(own);
    };
    for (unsigned rank = 1; rank < grid.cluster; ++rank) workers.start(rank - 1, [&, rank] { run_one(rank); });
    run_one(0);
    for (unsigned rank = 1; rank < grid.cluster; ++rank) workers.wait(rank - 1);
  }
}

const Index& thread_index() { return current->index; }
const Index& block_index() { return block->index; }
const Index& block_size() { return block->size; }
const Index& grid_size() { return block->grid; }
unsigned cluster_rank() { return block->rank; }

[[gnu::noinline]] void yield() {
  if (_setjmp(current->context) == 0) _longjmp(block->scheduler, 1);
}

void sync_block() { arrive_and_wait(block->barriers[0], block->live); }
void sync_some(unsigned barrier, unsigned threads) { arrive_and_wait(block->barriers.at(barrier), threads); }
void sync_warp() { arrive_and_wait(current->warp->barrier, current->warp->live); }

void sync_cluster() {
  Cluster& cluster = *block->cluster;
  unsigned generation = 0;
  {
    const std::lock_guard lock(cluster.mutex);
    generation = cluster.generation;
    if (++cluster.arrived == cluster.live) {
      cluster.release();
      return;
    }
  }
  Thread& self = *current;
  self.watched = &cluster.generation;
  self.seen = generation;
  while (cluster.generation.load(std::memory_order_acquire) == generation) yield();
  self.watched = nullptr;
}

const Given* exchange(const Given& own) {
  Warp& warp = *current->warp;
  // Nobody writes here again before all lanes have come to the exchange after this one.
  Given* const slots = warp.given[warp.barrier.generation.load(std::memory_order_relaxed) % 2];
  slots[current->lane] = own;
  sync_warp();
  return slots;
}

std::uint32_t shared_address(const void* pointer) {
  const std::ptrdiff_t off = static_cast<const std::byte*>(pointer) - anchor;
  if (off < -static_cast<std::ptrdiff_t>(kWindowMiddle) || off >= static_cast<std::ptrdiff_t>(kWindowMiddle))
    stop("an address that is not in shared memory");
  return static_cast<std::uint32_t>(static_cast<std::ptrdiff_t>(kWindowMiddle) + off);
}

std::uint32_t shared_address_in(std::uint32_t address, unsigned rank) {
  return (address & ((1u << kRankShift) - 1)) | (rank + 1) << kRankShift;
}

std::byte* shared_pointer(std::uint32_t address) {
  const unsigned rank = address >> kRankShift;
  std::byte* const middle = rank == 0 ? anchor : block->cluster->anchors.at(rank - 1);
  return middle +
         (static_cast<std::ptrdiff_t>(address & ((1u << kRankShift) - 1)) - static_cast<std::ptrdiff_t>(kWindowMiddle));
}

void copy_later(void* to, const void* from, std::size_t bytes, std::size_t zeros) {
  current->copies.push_back({to, from, bytes, zeros});
  ++current->uncommitted;
}

void commit_copies() { current->groups.push_back(std::exchange(current->uncommitted, 0)); }

void wait_for_copies(unsigned pending_groups) {
  Thread& self = *current;
  std::size_t copies = pending_groups == 0 ? self.copies.size() : 0;
  const std::size_t ended = self.groups.size() > pending_groups ? self.groups.size() - pending_groups : 0;
  if (pending_groups > 0)
    for (std::size_t g = 0; g < ended; ++g) copies += self.groups[g];
  for (std::size_t i = 0; i < copies; ++i) {
    const Copy& copy = self.copies[i];
    if (copy.bytes > 0) std::memcpy(copy.to, copy.from, copy.bytes);
    std::memset(static_cast<std::byte*>(copy.to) + copy.bytes, 0, copy.zeros);
  }
  self.copies.erase(self.copies.begin(), self.copies.begin() + static_cast<std::ptrdiff_t>(copies));
  self.groups.erase(self.groups.begin(), self.groups.begin() + static_cast<std::ptrdiff_t>(ended));
  if (pending_groups == 0) self.uncommitted = 0;
}

void barrier_init(std::uint32_t barrier, unsigned arrivals) {
  const CountingBarrier fresh{static_cast<std::uint16_t>(arrivals), static_cast<std::uint16_t>(arrivals), 0};
  std::memcpy(shared_pointer(barrier), &fresh, 8);
}
void barrier_arrive(std::uint32_t barrier) { change_barrier(barrier, 1, 0); }
void barrier_expect(std::uint32_t barrier, std::int32_t bytes) { change_barrier(barrier, 1, bytes); }
void barrier_complete(std::uint32_t barrier, std::int32_t bytes) { change_barrier(barrier, 0, -bytes); }
void barrier_wait(std::uint32_t barrier, unsigned parity) {
  Thread& self = *current;
  for (;;) {
    self.seen = block->cluster->events.load(std::memory_order_acquire);
    {
      const std::lock_guard lock(block->cluster->mutex);
      if (read_barrier(barrier).pending_and_phase >> 15 != parity) break;
    }
    self.watched = &block->cluster->events;
    yield();
  }
  self.watched = nullptr;
}

float float_of_half(std::uint16_t bits) {
  static const std::vector<float> all = [] {
    std::vector<float> table(1 << 16);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = float_from_float16(static_cast<std::uint16_t>(i));
    return table;
  }();
  return all[bits];
}
std::uint16_t half_of_float(float x) { return float16_from_float(x); }
float float_of_bfloat(std::uint16_t bits) { return float_from_bfloat16(bits); }
std::uint16_t bfloat_of_float(float x) { return bfloat16_from_float_host(x); }

}  // namespace tessera::cuda::processor
