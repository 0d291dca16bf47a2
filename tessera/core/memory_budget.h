#pragma once

// Bytes that one run may take for values. A run says how many; who keeps values for it (an engine, a loop, a reference)
// has a share of them, and no array is made that would not fit into what is left.

#include "tessera/core/export.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace tessera {

class TSR_API MemoryBudget {
 public:
  explicit MemoryBudget(std::int64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  void check_room(std::int64_t bytes) const;  // an Error where there are not so many left
  void take(std::int64_t bytes);              // likewise
  void give_back(std::int64_t bytes) noexcept { taken_bytes_ -= bytes; }

 private:
  const std::int64_t limit_bytes_;
  std::atomic<std::int64_t> taken_bytes_{0};
};

// While it lives, this budget is that of the thread, and no other.
class TSR_API BudgetScope {
 public:
  explicit BudgetScope(std::shared_ptr<MemoryBudget> budget);  // null: nothing counts
  explicit BudgetScope(std::int64_t limit_bytes);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

  static bool active();                        // on this thread
  static void check_room(std::int64_t bytes);  // in the budget of this thread, if it has one

 private:
  std::shared_ptr<MemoryBudget> before_;
};

// What someone has of the budget of the thread that asked, if it has one.
class TSR_API BudgetShare {
 public:
  BudgetShare() = default;
  explicit BudgetShare(std::int64_t bytes);
  BudgetShare(BudgetShare&& other) noexcept;
  BudgetShare& operator=(BudgetShare&& other) noexcept;
  ~BudgetShare() { leave(); }

  void leave() noexcept;  // the bytes are someone else's from now on

 private:
  std::int64_t bytes_ = 0;
  std::shared_ptr<MemoryBudget> budget_;
};

}  // namespace tessera
