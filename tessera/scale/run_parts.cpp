#include "tessera/scale/run_parts.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestPart = std::uint64_t{4} << 30;
// What is finished is written so often, or when it has grown to so much: that is all a run can lose.
constexpr std::chrono::milliseconds kBetweenWrites{1000};
constexpr std::size_t kMostWaiting = 8 << 20;
constexpr std::string_view kNote = "run.txt", kEnding = ".part";

// A part: the SHA-256 of the run's identity; entries of number, length, bytes; then the SHA-256 of all that.
constexpr std::size_t kDigestBytes = 32;
void put(Payload& to, std::span<const std::byte> bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }
void put(Payload& to, std::int64_t number) { put(to, std::as_bytes(std::span(&number, 1))); }

std::int64_t number_at(std::span<const std::byte> bytes) {
  std::int64_t out = 0;
  std::memcpy(&out, bytes.data(), sizeof(out));
  return out;
}

std::array<std::byte, kDigestBytes> digest_of(const std::string& identity) {
  return sha256(std::as_bytes(std::span(identity)));
}

void read_part(const fs::path& path, const std::string& identity, std::map<std::int64_t, Payload>& to) {
  const Payload file = read_file(path, kLargestPart);
  const auto broken = [&] {
    fail(Code::parse, Hint{"remove it: what it held is computed again"}, "{} is damaged", path.string());
  };
  if (file.size() < 2 * kDigestBytes) broken();
  std::span<const std::byte> rest = std::span(file).first(file.size() - kDigestBytes);
  const auto digest = sha256(rest);
  if (!std::equal(digest.begin(), digest.end(), file.end() - kDigestBytes)) broken();
  check(std::ranges::equal(digest_of(identity), rest.first(kDigestBytes)), Code::invalid_argument,
        Hint{"remove it: what it held is computed again"}, "{} was written by another run", path.string());
  rest = rest.subspan(kDigestBytes);
  while (!rest.empty()) {
    if (rest.size() < 16) broken();
    const std::int64_t number = number_at(rest), length = number_at(rest.subspan(8));
    rest = rest.subspan(16);
    if (length < 0 || static_cast<std::uint64_t>(length) > rest.size()) broken();
    const auto bytes = rest.first(static_cast<std::size_t>(length));
    to.insert_or_assign(number, Payload(bytes.begin(), bytes.end()));
    rest = rest.subspan(bytes.size());
  }
}

std::vector<fs::path> parts_in(const fs::path& folder) {
  std::vector<fs::path> out;
  if (!fs::exists(folder)) return out;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == kEnding) out.push_back(entry.path());
  return out;
}

// What a process that was killed while it wrote has left.
void remove_unwritten(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".tmp") fs::remove(entry.path(), ignored);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The lines that only one of them has.
std::string difference(const std::string& there, const std::string& here) {
  const std::vector<std::string> before = lines_of(there), now = lines_of(here);
  std::string text;
  const auto add = [&](std::string_view mark, const std::vector<std::string>& some,
                       const std::vector<std::string>& others) {
    for (const std::string& line : some)
      if (std::ranges::find(others, line) == others.end()) text += fmt::format("\n  {}: {}", mark, line);
  };
  add("it was begun with", before, now);
  add("this one has", now, before);
  return text;
}

}  // namespace

RunParts::RunParts(fs::path folder, std::string identity, bool resume)
    : folder_(std::move(folder)),
      identity_(std::move(identity)),
      lock_(folder_, "wait until that run has ended, or give this one an --output of its own") {
  const std::vector<fs::path> parts = parts_in(folder_);
  const fs::path note = folder_ / kNote;
  remove_unwritten(folder_);
  if (!parts.empty()) {
    check(resume, Code::invalid_argument, Hint{"--resume goes on from it; remove the folder to begin anew"},
          "{} holds what an earlier run has finished", folder_.string());
    const std::string found = fs::exists(note) ? read_text_file(note) : "";
    check(found == identity_, Code::invalid_argument,
          Hint{"go on with the model, inputs and options it was begun with, or remove the folder"},
          "{} belongs to another run:{}", folder_.string(), difference(found, identity_));
    for (const fs::path& part : parts) read_part(part, identity_, there_);
    return;
  }
  write_file_atomically(note, identity_, Directories::create);
}

void RunParts::add(std::int64_t number, const Payload& bytes) {
  if (waiting_.insert_or_assign(number, bytes).second) waiting_bytes_ += bytes.size();
  if (waiting_bytes_ >= kMostWaiting || std::chrono::steady_clock::now() - written_ >= kBetweenWrites) flush();
}

void RunParts::flush() {
  if (waiting_.empty()) return;
  Payload file;
  put(file, digest_of(identity_));
  for (const auto& [number, bytes] : waiting_) {
    put(file, number);
    put(file, static_cast<std::int64_t>(bytes.size()));
    put(file, bytes);
  }
  const auto digest = sha256(file);
  put(file, digest);
  write_file_atomically(folder_ / fmt::format("{:09}{}", waiting_.begin()->first, kEnding), file);
  waiting_.clear();
  waiting_bytes_ = 0;
  written_ = std::chrono::steady_clock::now();
}

void remove_parts(const fs::path& folder) {
  remove_unwritten(folder);
  std::error_code ignored;  // what stays behind is refused next time, with its name
  for (const fs::path& part : parts_in(folder)) fs::remove(part, ignored);
  fs::remove(folder / kNote, ignored);
  fs::remove(folder / FolderLock::kFile, ignored);
  fs::remove(folder, ignored);
}

}  // namespace tessera
