#include "tessera/core/refusal.h"
#include "tessera/targets/neuron/core/core.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tessera::neuron {

// First gap of that many bytes that begins in [from, to), or -1.
std::int64_t Space::find(std::int64_t bytes, std::int64_t from, std::int64_t to) const {
  std::int64_t begin = from;
  auto next = live_.upper_bound(from);
  if (next != live_.begin()) {
    const auto before = std::prev(next);
    begin = std::max(begin, before->first + rounded(before->second->partition_bytes));
  }
  while (begin < to) {
    const std::int64_t end = next == live_.end() ? bytes_ : next->first;
    if (begin + bytes <= end) return begin;
    if (next == live_.end()) break;
    begin = next->first + rounded(next->second->partition_bytes);
    ++next;
  }
  return -1;
}

std::int64_t Space::find_round(std::int64_t bytes) const {
  const std::int64_t address = find(bytes, cursor_, bytes_);
  return address >= 0 ? address : find(bytes, 0, cursor_);
}

void Space::pack() {
  std::map<std::int64_t, Tile*> packed;
  std::int64_t end = 0;
  for (const auto& [address, tile] : live_) {
    tile->address = end;
    packed[end] = tile;
    end += rounded(tile->partition_bytes);
  }
  live_ = std::move(packed);
  Former all{bytes_, {}};
  for (auto& [address, each] : former_) all.last.insert(all.last.end(), each.last.begin(), each.last.end());
  std::sort(all.last.begin(), all.last.end());
  all.last.erase(std::unique(all.last.begin(), all.last.end()), all.last.end());
  former_.clear();
  if (!all.last.empty() && end < bytes_) former_[end] = std::move(all);
  cursor_ = end < bytes_ ? end : 0;
}

std::int64_t Space::take(Tile& tile, std::vector<sim::TaskId>& former) {
  const std::int64_t bytes = rounded(tile.partition_bytes);
  std::int64_t address = find_round(bytes);
  if (address < 0 && used_ + bytes <= bytes_) {
    pack();
    address = find_round(bytes);
  }
  if (address < 0) fail_full(tile, bytes);
  cursor_ = address + bytes == bytes_ ? 0 : address + bytes;
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  live_[address] = &tile;
  leave(address, bytes, former);
  return address;
}

bool Space::exchange(std::int64_t partition_bytes, sim::TaskId last, std::vector<sim::TaskId>& former) {
  const std::int64_t bytes = rounded(partition_bytes), address = find_round(bytes);
  if (address < 0) return false;
  cursor_ = address + bytes == bytes_ ? 0 : address + bytes;
  leave(address, bytes, former);
  former_[address] = {address + bytes, {last}};
  return true;
}

// Who was there before, in whole or in part.
void Space::leave(std::int64_t address, std::int64_t bytes, std::vector<sim::TaskId>& former) {
  auto each = former_.upper_bound(address);
  if (each != former_.begin() && std::prev(each)->second.end > address) --each;
  while (each != former_.end() && each->first < address + bytes) {
    const std::int64_t begin = each->first;
    const Former was = each->second;
    former.insert(former.end(), was.last.begin(), was.last.end());
    each = former_.erase(each);
    if (begin < address) former_[begin] = {address, was.last};
    if (was.end > address + bytes) {
      former_[address + bytes] = was;
      break;
    }
  }
}

void Space::give_back(const Tile& tile, sim::TaskId last) {
  const std::int64_t bytes = rounded(tile.partition_bytes);
  live_.erase(tile.address);
  used_ -= bytes;
  if (last != sim::TaskId::none) former_[tile.address] = {tile.address + bytes, {last}};
}

void Space::fail_full(const Tile& tile, std::int64_t bytes) const {
  std::map<std::string, std::int64_t> by_name;
  for (const auto& [address, each] : live_) by_name[each->name] += rounded(each->partition_bytes);
  std::vector<std::pair<std::string, std::int64_t>> largest(by_name.begin(), by_name.end());
  std::stable_sort(largest.begin(), largest.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> shown;
  for (const auto& [name, size] : largest)
    if (shown.size() < 4) shown.push_back(fmt::format("'{}' {}", name, size));
  const std::string unit = memory_ == Memory::psum ? fmt::format(", in {} banks of {}", bytes_ / grain_, grain_) : "";
  std::int64_t largest_free_bytes = 0, end = 0;
  for (const auto& [address, each] : live_) {
    largest_free_bytes = std::max(largest_free_bytes, address - end);
    end = address + rounded(each->partition_bytes);
  }
  const bool psum = memory_ == Memory::psum;
  raise({.message = fmt::format("tile '{}' takes {} bytes of each partition of {}, which has {}{}; {} are taken: {}",
                                tile.name, bytes, psum ? "PSUM" : "SBUF", bytes_, unit, used_, fmt::join(shown, ", ")),
         .hint = fmt::format("{} bytes of a partition are free: use smaller tiles, or let go of those no longer needed",
                             bytes_ - used_),
         .code = Code::out_of_memory,
         .shortage = psum ? Shortage::psum : Shortage::sbuf,
         .requested_bytes = bytes,
         .free_bytes = bytes_ - used_,
         .largest_free_bytes = std::max(largest_free_bytes, bytes_ - end)});
}

}  // namespace tessera::neuron
