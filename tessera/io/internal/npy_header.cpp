#include "tessera/io/internal/npy_header.h"

#include "tessera/core/error.h"
#include "tessera/io/internal/bytes.h"

#include <fmt/format.h>

#include <cctype>
#include <limits>
#include <optional>
#include <string>

namespace tessera::io {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
// A header of three keys and 64 extents has less than 2 KiB; NumPy itself refuses more than 10,000 bytes by default.
constexpr std::size_t kMaxHeaderBytes = 1 << 16;

struct Descr {
  ElementType type;
  bool big_endian;
};

std::optional<Descr> parse_descr(std::string_view text) {
  if (text == "bfloat16") return Descr{ElementType::bfloat16, false};
  if (text.size() != 3) return std::nullopt;
  const char order = text[0];
  if (order != '<' && order != '>' && order != '|') return std::nullopt;
  for (ElementType type : all_element_types()) {
    const std::string_view descr = numpy_descr(type);
    if (descr.empty() || descr.substr(1) != text.substr(1)) continue;
    // '|' says that order does not matter: one byte, or the two bytes of a void, which we take as little-endian.
    if (order == '|' && element_bytes(type) > 1 && type != ElementType::bfloat16) return std::nullopt;
    return Descr{type, order == '>' && element_bytes(type) > 1};
  }
  return std::nullopt;
}

// The header is a Python dict literal. This reads exactly the one that the format defines: three keys, each once.
class Parser {
 public:
  Parser(std::string_view text, int major) : text_(text), major_(major) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_descr = false, has_order = false, has_shape = false;
    expect('{');
    while (skip_spaces(), peek() != '}') {
      const std::size_t key_at = at_;
      const std::string_view key = parse_string();
      bool* seen = key == "descr"           ? &has_descr
                   : key == "fortran_order" ? &has_order
                   : key == "shape"         ? &has_shape
                                            : nullptr;
      if (seen == nullptr) fail_at(key_at, fmt::format("unknown key {}", in_quotes(key)));
      if (*seen) fail_at(key_at, fmt::format("key {} occurs twice", in_quotes(key)));
      *seen = true;
      skip_spaces();
      expect(':');
      skip_spaces();
      if (seen == &has_descr)
        parse_type(header);
      else if (seen == &has_order)
        header.fortran_order = parse_bool();
      else
        header.shape = parse_shape();
      skip_spaces();
      if (peek() != '}') expect(',');
    }
    expect('}');
    while (peek() == ' ') ++at_;
    expect('\n');
    if (at_ != text_.size()) fail_at(at_, "something follows the end of the header");
    for (auto [seen, key] : {std::pair(has_descr, "descr"), {has_order, "fortran_order"}, {has_shape, "shape"}})
      check(seen, Code::parse, "npy: the header has no key '{}'", key);
    return header;
  }

 private:
  [[noreturn]] void fail_at(std::size_t at, const std::string& what) const {
    fail(Code::parse, "npy: header, byte {}: {}", at, what);
  }

  // NUL stands for the end: it is legal nowhere in the header.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void expect(char wanted) {
    if (peek() != wanted)
      fail_at(at_, fmt::format("expected {}, found {}", in_quotes({&wanted, 1}),
                               at_ < text_.size() ? in_quotes(text_.substr(at_, 1)) : "the end"));
    ++at_;
  }

  void skip_spaces() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }

  std::string_view parse_string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail_at(at_, "expected a string");
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      if (byte == '\\' || byte < 0x20 || byte > 0x7e) fail_at(at_, "strings here are plain ASCII without escapes");
      ++at_;
    }
    if (at_ == text_.size()) fail_at(begin, "the string does not end");
    return text_.substr(begin, at_++ - begin);
  }

  void parse_type(NpyHeader& header) {
    check(peek() != '[' && peek() != '(', Code::unsupported, Hint{"save each field as an array of its own"},
          "npy: arrays of records are not supported");
    const std::string_view text = parse_string();
    const std::optional<Descr> descr = parse_descr(text);
    check(descr.has_value(), Code::unsupported, Hint{"use f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1, or V2 for bfloat16"},
          "npy: element type {} is not supported", in_quotes(text));
    header.type = descr->type;
    header.big_endian = descr->big_endian;
  }

  bool parse_bool() {
    for (const auto& [word, value] : {std::pair(std::string_view("True"), true), {std::string_view("False"), false}})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    fail_at(at_, "fortran_order must be True or False");
  }

  std::vector<std::int64_t> parse_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    skip_spaces();
    bool comma = true;
    while (peek() != ')') {
      if (!comma) expect(',');  // throws: something other than a comma follows a number
      if (shape.size() == kMaxRank) fail_at(at_, fmt::format("the shape has more than {} extents", kMaxRank));
      shape.push_back(parse_extent());
      skip_spaces();
      comma = peek() == ',';
      if (comma) ++at_;
      skip_spaces();
    }
    // (5) is a number in Python, not a tuple.
    if (shape.size() == 1 && !comma) fail_at(at_, "a shape of one extent is written with a comma, as in (5,)");
    expect(')');
    return shape;
  }

  std::int64_t parse_extent() {
    const std::size_t begin = at_;
    std::int64_t value = 0;
    while (std::isdigit(static_cast<unsigned char>(peek()))) {
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, peek() - '0', &value))
        fail_at(begin, "an extent does not fit 63 bits");
      ++at_;
    }
    if (at_ == begin) fail_at(at_, "an extent must be a non-negative integer");
    if (text_[begin] == '0' && at_ - begin > 1) fail_at(begin, "an extent starts with 0");
    // Python 2 wrote long integers so.
    if (major_ < 3 && peek() == 'L') ++at_;
    return value;
  }

  std::string_view text_;
  int major_;
  std::size_t at_ = 0;
};

}  // namespace

namespace {

// The header, and where the data begins.
std::pair<NpyHeader, std::size_t> parse_head(std::span<const std::byte> file, std::uint64_t file_bytes) {
  constexpr std::size_t kVersionEnd = kMagic.size() + 2;
  check(file.size() >= kVersionEnd, Code::parse, "npy: {} bytes are too few for an .npy file", file.size());
  check(as_text(file.first(kMagic.size())) == kMagic, Code::parse, "npy: the file does not start with \\x93NUMPY");
  const int major = std::to_integer<int>(file[kMagic.size()]);
  const int minor = std::to_integer<int>(file[kMagic.size() + 1]);
  check(major >= 1 && major <= 3 && minor == 0, Code::unsupported,
        "npy: format version {}.{} is not supported (1.0, 2.0 and 3.0 are)", major, minor);

  const std::size_t length_bytes = major == 1 ? 2 : 4;
  check(file.size() >= kVersionEnd + length_bytes, Code::parse, "npy: the file ends inside the header length");
  const std::size_t header_bytes = major == 1 ? read_little_endian<std::uint16_t>(file, kVersionEnd)
                                              : read_little_endian<std::uint32_t>(file, kVersionEnd);
  const std::span<const std::byte> rest = file.subspan(kVersionEnd + length_bytes);
  check(header_bytes <= rest.size(), Code::parse, "npy: the header should have {} bytes, but the file ends after {}",
        header_bytes, rest.size());
  check(header_bytes <= kMaxHeaderBytes, Code::parse, "npy: a header of {} bytes is more than {}", header_bytes,
        kMaxHeaderBytes);

  NpyHeader header = Parser(as_text(rest.first(header_bytes)), major).parse();
  const std::size_t begin = kVersionEnd + length_bytes + header_bytes;
  const std::uint64_t data_bytes = file_bytes - begin;
  const std::optional<std::int64_t> needed = tensor_bytes(header.type, header.shape);
  if (!needed)
    fail(Code::parse, "npy: shape {} of {} has more bytes than 63 bits can count", shape_text(header.shape),
         name(header.type));
  if (static_cast<std::uint64_t>(*needed) != data_bytes)
    fail(Code::parse, "npy: shape {} of {} needs {} bytes of data, the file has {}", shape_text(header.shape),
         name(header.type), *needed, data_bytes);
  return {std::move(header), begin};
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> file) {
  auto [header, begin] = parse_head(file, file.size());
  header.data = file.subspan(begin);
  return header;
}

NpyHeader parse_npy_head(std::span<const std::byte> begin, std::uint64_t file_bytes) {
  return parse_head(begin, file_bytes).first;
}

std::vector<std::byte> encode_npy_header(const NpyView& array) {
  check_tensor("npy", array.type, array.shape, array.data.size());
  const std::string_view descr = numpy_descr(array.type);
  check(!descr.empty(), Code::unsupported, Hint{"write a safetensors file"}, "npy: {} has no NumPy type",
        name(array.type));

  std::string shape;
  for (std::int64_t extent : array.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
  if (array.shape.size() == 1) shape += ',';
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  // As NumPy pads: room for the first extent to grow to 21 digits in place, then up to a multiple of 64 with '\n' last.
  if (!array.shape.empty()) text.append(21 - fmt::formatted_size("{}", array.shape[0]), ' ');
  constexpr std::size_t kPrefix = kMagic.size() + 4;
  text.append(64 - (kPrefix + text.size() + 1) % 64, ' ');
  text += '\n';

  std::vector<std::byte> out;
  append_text(out, kMagic);
  append_little_endian<std::uint16_t>(out, 1);  // version 1.0: major, then minor
  append_little_endian<std::uint16_t>(out, static_cast<std::uint16_t>(text.size()));
  append_text(out, text);
  return out;
}

}  // namespace tessera::io
