#include "tessera/io/internal/file_array.h"

#include "tessera/core/parallel_for.h"

namespace tessera::io {
namespace {

constexpr std::size_t kLeastDeferred = 64 << 10;

class FileBytes : public DeferredBytes {
 public:
  FileBytes(std::shared_ptr<const OpenFile> file, std::uint64_t offset, std::size_t bytes)
      : DeferredBytes(bytes), file_(std::move(file)), offset_(offset) {}

  void write(std::byte* to) const override {
    constexpr std::int64_t kGrain = 1 << 20;
    parallel_for(static_cast<std::int64_t>(size()), kGrain, [&](std::int64_t begin, std::int64_t end) {
      file_->read(offset_ + static_cast<std::uint64_t>(begin), {to + begin, static_cast<std::size_t>(end - begin)});
    });
  }

 private:
  std::shared_ptr<const OpenFile> file_;
  std::uint64_t offset_;
};

}  // namespace

Array file_array(ElementType type, Shape shape, const std::shared_ptr<const OpenFile>& file, std::uint64_t offset,
                 std::size_t bytes) {
  if (bytes >= kLeastDeferred)
    return Array(type, std::move(shape), std::make_shared<const FileBytes>(file, offset, bytes));
  std::vector<std::byte> now(bytes);
  file->read(offset, now);
  return Array(type, std::move(shape), std::move(now));
}

}  // namespace tessera::io
