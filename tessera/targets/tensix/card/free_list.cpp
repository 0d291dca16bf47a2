#include "tessera/targets/tensix/card/free_list.h"

#include "tessera/core/error.h"
#include "tessera/core/shape.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace tessera::tensix {
namespace {

// The largest class starts at 128 MiB and holds everything above.
constexpr int kFewestClasses = 2;
constexpr int kMostClasses = 18;

int bit_length(std::int64_t value) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))); }

}  // namespace

FreeList::FreeList(std::int64_t size_bytes, std::int64_t alignment_bytes)
    : size_bytes_(size_bytes), alignment_bytes_(alignment_bytes) {
  assert(size_bytes >= 0 && alignment_bytes > 0 && size_bytes % alignment_bytes == 0);
  clear();
}

void FreeList::clear() {
  const int classes = std::clamp(bit_length(size_bytes_ / kSmallestClassBytes), kFewestClasses, kMostClasses);
  blocks_.clear();
  unused_ids_.clear();
  allocated_.clear();
  classes_.assign(static_cast<std::size_t>(classes), {});
  allocated_bytes_ = 0;
  file_free_block(new_block({.address = 0, .size_bytes = size_bytes_}));  // also when it is empty: reports show it
}

int FreeList::size_class(std::int64_t size_bytes) const {
  if (size_bytes < kSmallestClassBytes) return 0;
  return std::min(bit_length(size_bytes / kSmallestClassBytes) - 1, static_cast<int>(classes_.size()) - 1);
}

std::optional<std::int64_t> FreeList::allocate(std::int64_t size_bytes, bool bottom_up) {
  const std::int64_t wanted = round_up(std::max<std::int64_t>(size_bytes, 1), alignment_bytes_);
  int found = kNoBlock;
  // Smaller classes hold nothing large enough; within a class blocks are ordered by address.
  for (std::size_t c = static_cast<std::size_t>(size_class(wanted)); c < classes_.size(); ++c) {
    const std::vector<int>& ids = classes_[c];
    const auto fits = [&](int id) { return blocks_[id].size_bytes >= wanted; };
    int candidate = kNoBlock;
    if (bottom_up) {
      const auto it = std::find_if(ids.begin(), ids.end(), fits);
      if (it != ids.end()) candidate = *it;
    } else {
      const auto it = std::find_if(ids.rbegin(), ids.rend(), fits);
      if (it != ids.rend()) candidate = *it;
    }
    if (candidate == kNoBlock) continue;
    const auto is_better = [&] {
      return bottom_up ? blocks_[candidate].address < blocks_[found].address
                       : blocks_[candidate].address > blocks_[found].address;
    };
    if (found == kNoBlock || is_better()) found = candidate;
  }
  if (found == kNoBlock) return std::nullopt;

  unfile_free_block(found);
  const std::int64_t rest = blocks_[found].size_bytes - wanted;
  if (rest > 0) {
    // The found block keeps its id and becomes the allocation; what is left over is a new block beside it.
    Block left_over{.size_bytes = rest};
    if (bottom_up) {
      left_over.address = blocks_[found].address + wanted;
      left_over.previous = found;
      left_over.next = blocks_[found].next;
      const int id = new_block(left_over);
      if (left_over.next != kNoBlock) blocks_[left_over.next].previous = id;
      blocks_[found].next = id;
      file_free_block(id);
    } else {
      left_over.address = blocks_[found].address;
      left_over.previous = blocks_[found].previous;
      left_over.next = found;
      blocks_[found].address += rest;
      const int id = new_block(left_over);
      if (left_over.previous != kNoBlock) blocks_[left_over.previous].next = id;
      blocks_[found].previous = id;
      file_free_block(id);
    }
    blocks_[found].size_bytes = wanted;
  }
  blocks_[found].allocated = true;
  allocated_.emplace(blocks_[found].address, found);
  allocated_bytes_ += wanted;
  return blocks_[found].address;
}

void FreeList::deallocate(std::int64_t address) {
  const auto it = allocated_.find(address);
  check(it != allocated_.end(), Code::internal, "address {} was not allocated", address);
  int id = it->second;
  allocated_.erase(it);
  allocated_bytes_ -= blocks_[id].size_bytes;
  blocks_[id].allocated = false;

  const int previous = blocks_[id].previous;
  const int next = blocks_[id].next;
  if (previous != kNoBlock && !blocks_[previous].allocated) {
    unfile_free_block(previous);
    blocks_[previous].size_bytes += blocks_[id].size_bytes;
    blocks_[previous].next = next;
    if (next != kNoBlock) blocks_[next].previous = previous;
    retire_block(id);
    id = previous;
  }
  if (next != kNoBlock && !blocks_[next].allocated) {
    unfile_free_block(next);
    blocks_[id].size_bytes += blocks_[next].size_bytes;
    blocks_[id].next = blocks_[next].next;
    if (blocks_[id].next != kNoBlock) blocks_[blocks_[id].next].previous = id;
    retire_block(next);
  }
  file_free_block(id);
}

std::int64_t FreeList::largest_free_block_bytes() const {
  for (auto ids = classes_.rbegin(); ids != classes_.rend(); ++ids) {
    std::int64_t largest = 0;
    for (int id : *ids) largest = std::max(largest, blocks_[id].size_bytes);
    if (largest > 0) return largest;
  }
  return 0;
}

std::optional<std::int64_t> FreeList::lowest_allocated_address() const {
  if (allocated_.empty()) return std::nullopt;
  return allocated_.begin()->first;
}

int FreeList::new_block(const Block& block) {
  if (unused_ids_.empty()) {
    blocks_.push_back(block);
    return static_cast<int>(blocks_.size()) - 1;
  }
  const int id = unused_ids_.back();
  unused_ids_.pop_back();
  blocks_[id] = block;
  return id;
}

void FreeList::retire_block(int id) {
  blocks_[id].in_use = false;
  unused_ids_.push_back(id);
}

void FreeList::file_free_block(int id) {
  std::vector<int>& ids = classes_[size_class(blocks_[id].size_bytes)];
  const auto later = [&](std::int64_t address, int other) { return address < blocks_[other].address; };
  ids.insert(std::upper_bound(ids.begin(), ids.end(), blocks_[id].address, later), id);
}

void FreeList::unfile_free_block(int id) {
  std::vector<int>& ids = classes_[size_class(blocks_[id].size_bytes)];
  ids.erase(std::find(ids.begin(), ids.end(), id));
}

}  // namespace tessera::tensix
