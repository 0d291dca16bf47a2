#include "tessera/targets/tensix/card/page_copy.h"

#include "tessera/core/error.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tessera::tensix {
namespace {

// Sums up moves of pieces, bank by bank.
class Counter {
 public:
  Counter(MemoryKind from, MemoryKind to, int banks)
      : transfer_{.from = from, .to = to}, by_bank_(static_cast<std::size_t>(banks)) {}

  void add(int bank, std::int64_t bytes, bool local, std::int64_t pieces = 1) {
    transfer_.bytes += bytes;
    transfer_.pieces += pieces;
    if (local) transfer_.local_bytes += bytes;
    by_bank_[static_cast<std::size_t>(bank)] += bytes;
  }

  Transfer total() const {
    Transfer t = transfer_;
    if (!by_bank_.empty()) t.busiest_bank_bytes = *std::max_element(by_bank_.begin(), by_bank_.end());
    return t;
  }

 private:
  Transfer transfer_;
  std::vector<std::int64_t> by_bank_;
};

int bank_count(const DeviceTensor& x) { return x.device()->banks(x.spec().memory_config().buffer_type()).count(); }

// How rows of a ROW_MAJOR tensor are cut: every page holds `page_width` elements, `per_row` of them make a row.
struct RowCut {
  std::int64_t rows, width, page_width, per_row;
  explicit RowCut(const TensorSpec& spec)
      : rows(spec.page_dims().empty() ? 0 : spec.physical().height),
        width(spec.logical_shape().rank() == 0 ? 1 : spec.logical_shape()[-1]),
        page_width(spec.page_bytes() / element_bytes(spec.dtype())),
        per_row(spec.physical().height == 0 ? 0 : spec.num_pages() / spec.physical().height) {}
};

void count_pages(const DeviceTensor& x, Counter& counter) {
  const std::vector<std::int64_t> pages = x.pages().pages_by_bank();
  for (std::size_t bank = 0; bank < pages.size(); ++bank)
    counter.add(static_cast<int>(bank), pages[bank] * x.page_bytes(), false, pages[bank]);
}

}  // namespace

MemoryKind memory_kind(BufferType type) {
  return type == BufferType::dram || type == BufferType::trace ? MemoryKind::dram : MemoryKind::l1;
}

Transfer host_transfer(const DeviceTensor& y) {
  Counter counter(MemoryKind::host, memory_kind(y.spec().memory_config().buffer_type()), bank_count(y));
  count_pages(y, counter);
  return counter.total();
}

Transfer write_pages(const Tensor& x, DeviceTensor& y) {
  if (!y.device()->options().values) return host_transfer(y);
  const TensorSpec& spec = y.spec();
  Counter counter(MemoryKind::host, memory_kind(spec.memory_config().buffer_type()), bank_count(y));
  const std::byte* from = x.bytes().data();
  if (spec.num_pages() == 0) {
    // nothing to write
  } else if (spec.layout() == Layout::tile) {
    for (std::int64_t i = 0; i < spec.num_pages(); ++i) {
      std::memcpy(y.page(i), from + i * spec.page_bytes(), static_cast<std::size_t>(spec.page_bytes()));
      counter.add(y.pages().place(i).bank, spec.page_bytes(), false);
    }
  } else {
    const RowCut cut(spec);
    const std::int64_t size = element_bytes(spec.dtype());
    for (std::int64_t row = 0; row < cut.rows; ++row)
      for (std::int64_t k = 0; k < cut.per_row; ++k) {
        const std::int64_t page = row * cut.per_row + k;
        const std::int64_t begin = std::min(k * cut.page_width, cut.width),
                           end = std::min(begin + cut.page_width, cut.width);
        std::byte* to = y.page(page);
        if (end > begin)
          std::memcpy(to, from + (row * cut.width + begin) * size, static_cast<std::size_t>((end - begin) * size));
        std::memset(to + (end - begin) * size, 0, static_cast<std::size_t>((cut.page_width - (end - begin)) * size));
        counter.add(y.pages().place(page).bank, spec.page_bytes(), false);
      }
  }
  return counter.total();
}

Tensor read_pages(const DeviceTensor& x, Transfer* moved) {
  const TensorSpec& spec = x.spec();
  Tensor out(spec.logical_shape(), spec.dtype(), spec.layout(), spec.tile());
  Counter counter(memory_kind(spec.memory_config().buffer_type()), MemoryKind::host, bank_count(x));
  std::byte* to = out.bytes().data();
  if (spec.num_pages() == 0) {
    // nothing to read
  } else if (!x.device()->options().values) {
    count_pages(x, counter);
  } else if (spec.layout() == Layout::tile) {
    assert(static_cast<std::int64_t>(out.bytes().size()) == spec.num_pages() * spec.page_bytes());
    for (std::int64_t i = 0; i < spec.num_pages(); ++i) {
      std::memcpy(to + i * spec.page_bytes(), x.page(i), static_cast<std::size_t>(spec.page_bytes()));
      counter.add(x.pages().place(i).bank, spec.page_bytes(), false);
    }
  } else {
    const RowCut cut(spec);
    const std::int64_t size = element_bytes(spec.dtype());
    for (std::int64_t row = 0; row < cut.rows; ++row)
      for (std::int64_t k = 0; k < cut.per_row; ++k) {
        const std::int64_t page = row * cut.per_row + k;
        const std::int64_t begin = std::min(k * cut.page_width, cut.width),
                           end = std::min(begin + cut.page_width, cut.width);
        if (end > begin)
          std::memcpy(to + (row * cut.width + begin) * size, x.page(page),
                      static_cast<std::size_t>((end - begin) * size));
        counter.add(x.pages().place(page).bank, spec.page_bytes(), false);
      }
  }
  if (moved != nullptr) *moved = counter.total();
  return out;
}

Transfer copy_pages(const DeviceTensor& x, DeviceTensor& y) {
  const TensorSpec &from = x.spec(), &to = y.spec();
  assert(from.logical_shape() == to.logical_shape() && from.dtype() == to.dtype() && from.layout() == to.layout() &&
         from.tile() == to.tile());
  const MemoryKind from_kind = memory_kind(from.memory_config().buffer_type());
  const MemoryKind to_kind = memory_kind(to.memory_config().buffer_type());
  const bool both_l1 = from_kind == MemoryKind::l1 && to_kind == MemoryKind::l1;
  const bool values = y.device()->options().values;
  Counter counter(from_kind, to_kind, bank_count(y));
  if (from.num_pages() == 0) return counter.total();

  if (from.layout() == Layout::tile) {
    for (std::int64_t i = 0; i < to.num_pages(); ++i) {
      if (values) std::memmove(y.page(i), x.page(i), static_cast<std::size_t>(to.page_bytes()));
      const int bank = y.pages().place(i).bank;
      counter.add(bank, to.page_bytes(), both_l1 && x.pages().place(i).bank == bank);
    }
    return counter.total();
  }
  const RowCut a(from), b(to);
  const std::int64_t size = element_bytes(to.dtype());
  for (std::int64_t row = 0; row < b.rows; ++row) {
    // Padding beyond the last element of a row reads as zero, so that equal tensors have equal bytes.
    for (std::int64_t column = 0; column < b.per_row * b.page_width;) {
      const std::int64_t to_page = row * b.per_row + column / b.page_width;
      const std::int64_t to_end = (column / b.page_width + 1) * b.page_width;
      std::byte* target = values ? y.page(to_page) + (column % b.page_width) * size : nullptr;
      if (column >= b.width) {
        if (values) std::memset(target, 0, static_cast<std::size_t>((to_end - column) * size));
        column = to_end;
        continue;
      }
      const std::int64_t from_page = row * a.per_row + column / a.page_width;
      const std::int64_t end = std::min({to_end, (column / a.page_width + 1) * a.page_width, b.width});
      if (values)
        std::memmove(target, x.page(from_page) + (column % a.page_width) * size,
                     static_cast<std::size_t>((end - column) * size));
      const int bank = y.pages().place(to_page).bank;
      counter.add(bank, (end - column) * size, both_l1 && x.pages().place(from_page).bank == bank);
      column = end;
    }
  }
  return counter.total();
}

std::vector<Transfer> stream_transfers(const DeviceTensor& x, const DeviceTensor& y) {
  Counter reads(memory_kind(x.spec().memory_config().buffer_type()), MemoryKind::l1, bank_count(x));
  count_pages(x, reads);
  Counter writes(MemoryKind::l1, memory_kind(y.spec().memory_config().buffer_type()), bank_count(y));
  count_pages(y, writes);
  return {reads.total(), writes.total()};
}

}  // namespace tessera::tensix
