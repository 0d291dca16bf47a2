#include "tessera/core/memory_budget.h"

#include "tessera/core/error.h"

#include <utility>

namespace tessera {
namespace {

thread_local std::shared_ptr<MemoryBudget> current;

}  // namespace

void MemoryBudget::check_room(std::int64_t bytes) const {
  const std::int64_t taken = taken_bytes_;
  check(bytes <= limit_bytes_ && taken <= limit_bytes_ - bytes, Code::out_of_memory,
        Hint{"a smaller input needs less; --memory-limit, or memory_limit_bytes, allows more"},
        "{} B more are needed for values, {} B are taken already, and the limit is {} B", bytes, taken, limit_bytes_);
}

void MemoryBudget::take(std::int64_t bytes) {
  check_room(bytes);
  taken_bytes_ += bytes;
}

BudgetScope::BudgetScope(std::shared_ptr<MemoryBudget> budget) : before_(std::exchange(current, std::move(budget))) {}
BudgetScope::BudgetScope(std::int64_t limit_bytes) : BudgetScope(std::make_shared<MemoryBudget>(limit_bytes)) {}
BudgetScope::~BudgetScope() { current = std::move(before_); }

bool BudgetScope::active() { return current != nullptr; }
void BudgetScope::check_room(std::int64_t bytes) {
  if (current != nullptr) current->check_room(bytes);
}

BudgetShare::BudgetShare(std::int64_t bytes) : bytes_(bytes) {
  if (current == nullptr || bytes == 0) return;
  current->take(bytes);
  budget_ = current;
}

BudgetShare::BudgetShare(BudgetShare&& other) noexcept
    : bytes_(std::exchange(other.bytes_, 0)), budget_(std::move(other.budget_)) {}

BudgetShare& BudgetShare::operator=(BudgetShare&& other) noexcept {
  leave();
  bytes_ = std::exchange(other.bytes_, 0);
  budget_ = std::move(other.budget_);
  return *this;
}

void BudgetShare::leave() noexcept {
  if (budget_) budget_->give_back(bytes_);
  budget_.reset();
}

}  // namespace tessera
