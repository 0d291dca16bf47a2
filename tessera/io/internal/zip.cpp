#include "tessera/io/internal/zip.h"

#include "tessera/core/error.h"
#include "tessera/io/internal/bytes.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_set>

namespace tessera::io {
namespace {

constexpr std::uint32_t kLocalSignature = 0x04034b50;
constexpr std::uint32_t kCentralSignature = 0x02014b50;
constexpr std::uint32_t kEndSignature = 0x06054b50;
constexpr std::uint32_t kEnd64Signature = 0x06064b50;
constexpr std::uint32_t kLocator64Signature = 0x07064b50;
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kLocator64Bytes = 20;

constexpr std::uint16_t kFlagEncrypted = 1 << 0;
constexpr std::uint16_t kFlagDescriptor = 1 << 3;  // sizes and CRC follow the data instead of being in the local header
constexpr std::uint16_t kFlagUtf8 = 1 << 11;
constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;
constexpr std::uint32_t kIn64 = 0xffffffff;  // the real value is in the 64-bit extension

// One deflate code of 2 bits yields at most 258 bytes, so no stream grows more than this.
constexpr std::uint64_t kMaxInflation = 1032;

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t members = 0;
};

struct Record {
  ZipMember member;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t offset = 0;  // of the local header
  std::uint64_t end = 0;     // of the data
};

std::uint16_t u16(std::span<const std::byte> bytes, std::size_t at) {
  return read_little_endian<std::uint16_t>(bytes, at);
}
std::uint32_t u32(std::span<const std::byte> bytes, std::size_t at) {
  return read_little_endian<std::uint32_t>(bytes, at);
}
std::uint64_t u64(std::span<const std::byte> bytes, std::size_t at) {
  return read_little_endian<std::uint64_t>(bytes, at);
}

bool fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t limit) {
  return offset <= limit && bytes <= limit - offset;
}

// The end record is the last thing in the file but for a comment, whose length it holds.
std::size_t find_end(std::span<const std::byte> file) {
  check(file.size() >= kEndBytes, Code::parse, "npz: {} bytes are too few for a zip file", file.size());
  const std::size_t furthest = std::min<std::size_t>(file.size() - kEndBytes, 0xffff);
  for (std::size_t comment = 0; comment <= furthest; ++comment) {
    const std::size_t at = file.size() - kEndBytes - comment;
    if (u32(file, at) == kEndSignature && u16(file, at + 20) == comment) return at;
  }
  fail(Code::parse, "npz: no zip directory found; the file is no zip file, or its end is missing");
}

Directory find_directory(std::span<const std::byte> file) {
  std::size_t end = find_end(file);
  Directory directory{u32(file, end + 16), u32(file, end + 12), u16(file, end + 10)};
  check(u16(file, end + 4) == 0 && u16(file, end + 6) == 0 && u16(file, end + 8) == directory.members,
        Code::unsupported, "npz: the archive is split over several files");
  if (end >= kLocator64Bytes && u32(file, end - kLocator64Bytes) == kLocator64Signature) {
    const std::uint64_t at = u64(file, end - kLocator64Bytes + 8);
    check(fits(at, kEnd64Bytes, end - kLocator64Bytes) && u32(file, at) == kEnd64Signature, Code::parse,
          "npz: the 64-bit end record is not at byte {}, where its locator says", at);
    check(u32(file, at + 16) == 0 && u32(file, at + 20) == 0 && u64(file, at + 24) == u64(file, at + 32),
          Code::unsupported, "npz: the archive is split over several files");
    const Directory wide{u64(file, at + 48), u64(file, at + 40), u64(file, at + 32)};
    check((directory.offset == kIn64 || directory.offset == wide.offset) &&
              (directory.bytes == kIn64 || directory.bytes == wide.bytes) &&
              (directory.members == 0xffff || directory.members == wide.members),
          Code::parse, "npz: the two end records contradict each other");
    directory = wide;
    end = at;
  }
  check(fits(directory.offset, directory.bytes, end) && directory.offset + directory.bytes == end, Code::parse,
        "npz: the directory of {} bytes at byte {} does not end where the end record starts, at byte {}",
        directory.bytes, directory.offset, end);
  check(directory.members <= directory.bytes / kCentralBytes, Code::parse,
        "npz: a directory of {} bytes cannot list {} members", directory.bytes, directory.members);
  return directory;
}

// Takes the values that did not fit 32 bits from the extension, which holds only those, in this order.
void read_extension64(std::span<const std::byte> extra, Record& record) {
  const bool wanted = record.member.bytes == kIn64 || record.packed_bytes == kIn64 || record.offset == kIn64;
  for (std::size_t at = 0; wanted && fits(at, 4, extra.size());) {
    const std::uint16_t id = u16(extra, at), size = u16(extra, at + 2);
    check(fits(at + 4, size, extra.size()), Code::parse, "npz: member {}: an extra field leaves its record",
          in_quotes(record.member.name));
    if (id == 1) {
      std::size_t from = at + 4;
      for (std::uint64_t* value : {&record.member.bytes, &record.packed_bytes, &record.offset}) {
        if (*value != kIn64) continue;
        check(fits(from, 8, at + 4 + size), Code::parse, "npz: member {}: the 64-bit extension is too short",
              in_quotes(record.member.name));
        *value = u64(extra, from);
        from += 8;
      }
      return;
    }
    at += 4 + std::size_t{size};
  }
}

void check_name(const Record& record) {
  const std::string& name = record.member.name;
  const bool ascii = std::all_of(name.begin(), name.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
  check(ascii || (record.flags & kFlagUtf8) != 0, Code::unsupported, "npz: member {}: the name is not marked as UTF-8",
        in_quotes(name));
  check(is_utf8(name) && name.find('\0') == std::string::npos, Code::parse,
        "npz: member {}: the name is not UTF-8 text", in_quotes(name));
}

// Reads one record of the directory; `at` moves behind it.
Record read_central(std::span<const std::byte> directory, std::size_t& at) {
  check(fits(at, kCentralBytes, directory.size()) && u32(directory, at) == kCentralSignature, Code::parse,
        "npz: no member record at byte {} of the directory", at);
  const std::size_t name_bytes = u16(directory, at + 28), extra_bytes = u16(directory, at + 30);
  const std::size_t length = kCentralBytes + name_bytes + extra_bytes + u16(directory, at + 32);
  check(fits(at, length, directory.size()), Code::parse, "npz: a member record at byte {} leaves the directory", at);

  Record record;
  record.flags = u16(directory, at + 8);
  record.method = u16(directory, at + 10);
  record.member.crc = u32(directory, at + 16);
  record.packed_bytes = u32(directory, at + 20);
  record.member.bytes = u32(directory, at + 24);
  record.offset = u32(directory, at + 42);
  record.member.name = as_text(directory.subspan(at + kCentralBytes, name_bytes));
  check_name(record);
  read_extension64(directory.subspan(at + kCentralBytes + name_bytes, extra_bytes), record);

  const std::string label = in_quotes(record.member.name);
  check(u16(directory, at + 34) == 0, Code::unsupported, "npz: member {}: the archive is split over several files",
        label);
  check((record.flags & kFlagEncrypted) == 0, Code::unsupported, "npz: member {} is encrypted", label);
  check(record.method == kStored || record.method == kDeflated, Code::unsupported,
        "npz: member {}: compression method {} is not supported (0 stored and 8 deflated are)", label, record.method);
  record.member.deflated = record.method == kDeflated;
  if (record.method == kStored)
    check(record.member.bytes == record.packed_bytes, Code::parse,
          "npz: member {} is stored as it is, yet has {} bytes in the file and {} outside", label, record.packed_bytes,
          record.member.bytes);
  else
    check(record.member.bytes / kMaxInflation <= record.packed_bytes, Code::parse,
          "npz: member {} claims {} bytes out of {}; deflate cannot yield more than {} for 1", label,
          record.member.bytes, record.packed_bytes, kMaxInflation);
  at += length;
  return record;
}

// Finds the data of a member behind its local header, which must tell the same as the directory. `members_end` is where
// the directory starts.
void read_local(std::span<const std::byte> file, std::uint64_t members_end, Record& record) {
  const std::string label = in_quotes(record.member.name);
  const std::uint64_t at = record.offset;
  check(fits(at, kLocalBytes, members_end) && u32(file, at) == kLocalSignature, Code::parse,
        "npz: member {} does not start at byte {}, where the directory says", label, at);
  const std::size_t name_bytes = u16(file, at + 26), extra_bytes = u16(file, at + 28);
  const std::uint64_t data = at + kLocalBytes + name_bytes + extra_bytes;
  check(fits(data, record.packed_bytes, members_end), Code::parse,
        "npz: member {} of {} bytes at byte {} leaves the archive, whose members end at byte {}", label,
        record.packed_bytes, at, members_end);
  const std::uint32_t packed_bytes = u32(file, at + 18), bytes = u32(file, at + 22);
  bool same =
      as_text(file.subspan(at + kLocalBytes, name_bytes)) == record.member.name && u16(file, at + 8) == record.method;
  if ((u16(file, at + 6) & kFlagDescriptor) == 0)
    same = same && u32(file, at + 14) == record.member.crc &&
           (packed_bytes == kIn64 || packed_bytes == record.packed_bytes) &&
           (bytes == kIn64 || bytes == record.member.bytes);
  check(same, Code::parse, "npz: member {}: the header at byte {} contradicts the directory", label, at);
  record.member.packed = file.subspan(data, record.packed_bytes);
  record.end = data + record.packed_bytes;
}

// Overlapping members let a small file unpack to any size.
void check_overlap(std::vector<Record>& records) {
  std::vector<const Record*> order;
  for (const Record& record : records) order.push_back(&record);
  std::sort(order.begin(), order.end(), [](const Record* a, const Record* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->offset < order[i - 1]->end)
      fail(Code::parse, "npz: members {} and {} overlap", in_quotes(order[i - 1]->member.name),
           in_quotes(order[i]->member.name));
}

// Inflates into `out`, which grows with what really comes out, up to `bytes`; false if the stream is damaged.
bool inflate_all(std::span<const std::byte> packed, std::uint64_t bytes, std::vector<std::byte>& out) {
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  struct End {
    z_stream* stream;
    ~End() { ::inflateEnd(stream); }
  } const end{&stream};

  constexpr std::uint64_t kStep = 1u << 30;  // zlib counts in 32 bits
  out.clear();
  std::uint64_t read = 0, written = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    if (written == out.size() && out.size() < bytes) {
      const std::uint64_t guess = out.empty() ? std::max<std::uint64_t>(4 * packed.size(), 1 << 16) : 2 * out.size();
      out.resize(std::min(bytes, guess));
    }
    std::byte none;  // with all bytes out, the stream may still hold its end mark
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(std::min<std::uint64_t>(packed.size() - read, kStep));
    stream.next_out = reinterpret_cast<Bytef*>(written < out.size() ? out.data() + written : &none);
    const uInt room = static_cast<uInt>(std::min<std::uint64_t>(out.size() - written, kStep));
    stream.avail_out = room == 0 ? 1 : room;
    const uInt offered_in = stream.avail_in, offered_out = stream.avail_out;
    status = ::inflate(&stream, Z_NO_FLUSH);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && status != Z_STREAM_END) return false;
    const uInt produced = offered_out - stream.avail_out;
    if (produced > room) return false;  // more than declared
    read += offered_in - stream.avail_in;
    written += produced;
  }
  return written == bytes && read == packed.size();
}

std::uint32_t crc_of(std::span<const std::byte> bytes, std::uint32_t crc = 0) {
  if (bytes.empty()) return crc;
  return static_cast<std::uint32_t>(::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::vector<ZipMember> read_zip_directory(std::span<const std::byte> file) {
  const Directory directory = find_directory(file);
  const std::span<const std::byte> bytes = file.subspan(directory.offset, directory.bytes);
  std::vector<Record> records;
  std::unordered_set<std::string> names;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < directory.members; ++i) {
    Record record = read_central(bytes, at);
    read_local(file, directory.offset, record);
    check(names.insert(record.member.name).second, Code::parse, "npz: two members are called {}",
          in_quotes(record.member.name));
    records.push_back(std::move(record));
  }
  check(at == bytes.size(), Code::parse, "npz: the directory has {} bytes, its {} members need {}", bytes.size(),
        directory.members, at);
  check_overlap(records);
  std::vector<ZipMember> members;
  for (Record& record : records) members.push_back(std::move(record.member));
  return members;
}

std::span<const std::byte> extract(const ZipMember& member, std::vector<std::byte>& buffer) {
  std::span<const std::byte> bytes = member.packed;
  if (member.deflated) {
    check(inflate_all(member.packed, member.bytes, buffer), Code::parse,
          "npz: member {} is damaged: its {} bytes do not inflate to the {} declared", in_quotes(member.name),
          member.packed.size(), member.bytes);
    bytes = buffer;
  }
  const std::uint32_t crc = crc_of(bytes);
  check(crc == member.crc, Code::parse, "npz: member {} is damaged: its CRC-32 is {:08x}, the directory says {:08x}",
        in_quotes(member.name), crc, member.crc);
  return bytes;
}

std::vector<std::byte> extract_begin(const ZipMember& member, std::size_t most) {
  if (!member.deflated) {
    const auto begin = member.packed.first(std::min(most, member.packed.size()));
    return {begin.begin(), begin.end()};
  }
  std::vector<std::byte> out(static_cast<std::size_t>(std::min<std::uint64_t>(most, member.bytes)));
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(member.packed.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(member.packed.size(), std::numeric_limits<uInt>::max()));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = ::inflate(&stream, Z_SYNC_FLUSH);
  out.resize(out.size() - stream.avail_out);
  ::inflateEnd(&stream);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  check(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, Code::parse,
        "npz: member {} is damaged: its beginning does not inflate", in_quotes(member.name));
  return out;
}

ZipOutput layout_zip(std::span<const ZipInput> members) {
  constexpr std::uint64_t kLimit = 0xffffffff;
  const Hint hint{"write several files, or a safetensors file"};
  check(members.size() < 0xffff, Code::unsupported, hint, "npz: {} members are more than 65534", members.size());
  std::uint64_t total_bytes = kEndBytes;
  for (const ZipInput& member : members) {
    total_bytes += kLocalBytes + kCentralBytes + 2 * member.name.size();
    for (const auto& piece : member.pieces) total_bytes += piece.size();
  }
  check(total_bytes < kLimit, Code::unsupported, hint,
        "npz: {} bytes are more than a zip file without the 64-bit extension can hold (4 GiB)", total_bytes);

  ZipOutput out;
  std::vector<std::byte> directory;
  std::unordered_set<std::string_view> names;
  std::uint64_t offset = 0;
  for (const ZipInput& member : members) {
    check(is_utf8(member.name) && member.name.find('\0') == std::string::npos, Code::invalid_argument,
          "npz: the name {} is not UTF-8 text", in_quotes(member.name));
    check(member.name.size() <= 0xffff, Code::invalid_argument, "npz: the name {} has {} bytes, more than 65535",
          in_quotes(member.name), member.name.size());
    check(names.insert(member.name).second, Code::invalid_argument, "npz: two members are called {}",
          in_quotes(member.name));
    std::uint64_t bytes = 0;
    std::uint32_t crc = 0;
    for (const auto& piece : member.pieces) bytes += piece.size();
    for (const auto& piece : member.pieces) crc = crc_of(piece, crc);

    // Both headers hold these, in this order: version needed, flags, method, time, date (1 January 1980), CRC, sizes.
    const auto append_common = [&](std::vector<std::byte>& record) {
      append_little_endian<std::uint16_t>(record, 20);
      append_little_endian<std::uint16_t>(record, kFlagUtf8);
      append_little_endian<std::uint16_t>(record, kStored);
      append_little_endian<std::uint16_t>(record, 0);
      append_little_endian<std::uint16_t>(record, 0x21);
      append_little_endian<std::uint32_t>(record, crc);
      append_little_endian<std::uint32_t>(record, static_cast<std::uint32_t>(bytes));
      append_little_endian<std::uint32_t>(record, static_cast<std::uint32_t>(bytes));
      append_little_endian<std::uint16_t>(record, static_cast<std::uint16_t>(member.name.size()));
      append_little_endian<std::uint16_t>(record, 0);  // extra
    };
    std::vector<std::byte>& local = out.records.emplace_back();
    append_little_endian(local, kLocalSignature);
    append_common(local);
    append_text(local, member.name);

    append_little_endian(directory, kCentralSignature);
    append_little_endian<std::uint16_t>(directory, 20 | 3 << 8);  // made by: version 2.0, Unix
    append_common(directory);
    append_little_endian<std::uint16_t>(directory, 0);            // comment
    append_little_endian<std::uint16_t>(directory, 0);            // disk
    append_little_endian<std::uint16_t>(directory, 0);            // internal attributes
    append_little_endian<std::uint32_t>(directory, 0600u << 16);  // Unix mode
    append_little_endian<std::uint32_t>(directory, static_cast<std::uint32_t>(offset));
    append_text(directory, member.name);
    offset += local.size() + bytes;
  }
  const auto directory_bytes = static_cast<std::uint32_t>(directory.size());
  append_little_endian(directory, kEndSignature);
  append_little_endian<std::uint32_t>(directory, 0);  // disks
  append_little_endian<std::uint16_t>(directory, static_cast<std::uint16_t>(members.size()));
  append_little_endian<std::uint16_t>(directory, static_cast<std::uint16_t>(members.size()));
  append_little_endian(directory, directory_bytes);
  append_little_endian<std::uint32_t>(directory, static_cast<std::uint32_t>(offset));
  append_little_endian<std::uint16_t>(directory, 0);  // comment
  out.records.push_back(std::move(directory));

  for (std::size_t i = 0; i < members.size(); ++i) {
    out.pieces.push_back(out.records[i]);
    out.pieces.insert(out.pieces.end(), members[i].pieces.begin(), members[i].pieces.end());
  }
  out.pieces.push_back(out.records.back());
  return out;
}

}  // namespace tessera::io
