#include "tessera/io/internal/mapped_bytes.h"

#include "tessera/core/parallel_for.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace tessera::io {
namespace {

constexpr std::size_t kLeastMapped = 64 << 10;

class MappedBytes : public DeferredBytes {
 public:
  MappedBytes(std::shared_ptr<const MappedFile> file, std::span<const std::byte> bytes)
      : DeferredBytes(bytes.size()), file_(std::move(file)), bytes_(bytes) {}

  void write(std::byte* to) const override {
    const std::byte* from = where();
    constexpr std::int64_t kGrain = 1 << 18;
    parallel_for(static_cast<std::int64_t>(size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
  }

  const std::byte* where() const override {
    file_->check_unchanged();
    return bytes_.data();
  }

  // Clean pages of a file: they are read again when someone looks.
  void forget() const override {
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto first = reinterpret_cast<std::uintptr_t>(bytes_.data()) / page * page;
    const auto last = reinterpret_cast<std::uintptr_t>(bytes_.data() + bytes_.size());
    static_cast<void>(::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED));
  }

 private:
  std::shared_ptr<const MappedFile> file_;
  std::span<const std::byte> bytes_;
};

}  // namespace

Array mapped_array(ElementType type, Shape shape, const std::shared_ptr<const MappedFile>& file,
                   std::span<const std::byte> bytes) {
  if (bytes.size() < kLeastMapped)
    return Array(type, std::move(shape), std::vector<std::byte>(bytes.begin(), bytes.end()));
  return Array(type, std::move(shape), std::make_shared<const MappedBytes>(file, bytes));
}

}  // namespace tessera::io
