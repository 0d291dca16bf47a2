// A time-boxed mutation loop for compilers without libFuzzer.
//
//   npy_fuzz --seconds 60 --seed 1 SEED_FOLDER...   mutates the seeds; repeatable for a given seed and build
//   npy_fuzz --runs 1000000 SEED_FOLDER...          so many inputs, however long that takes
//   npy_fuzz FILE...                                runs these inputs as they are
//
// An input that ends the process is written to <driver>-crash-<seed>-<run>.bin first.

#include "fuzz.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
extern "C" void __sanitizer_set_death_callback(void (*callback)());
#define TSR_FUZZ_SANITIZED 1
#endif

namespace {

using Input = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxInput = 1 << 16;

// What is being run, for the handler: it must not allocate.
const Input* current = nullptr;
bool saved = false;
std::array<char, 512> crash_file{};
std::array<char, 512> driver{};

void write_text(std::string_view text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;
}

void save_current() {
  if (current == nullptr || saved || crash_file[0] == '\0') return;
  saved = true;
  const int fd = ::open(crash_file.data(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0 || ::write(fd, current->data(), current->size()) < 0) return;
  ::close(fd);
  for (std::string_view part : {std::string_view("\nfuzz: to reproduce: "), std::string_view(driver.data()),
                                std::string_view(" "), std::string_view(crash_file.data()), std::string_view("\n")})
    write_text(part);
}

void on_signal(int number) {
  save_current();
  std::signal(number, SIG_DFL);
  std::raise(number);
}

int run(const Input& input) {
  // A copy of exactly this size, so that the address sanitizer sees a read one past the end.
  const Input exact(input.begin(), input.end());
  current = &exact;
  int place = 0;
  try {
    place = fuzz_one(exact);
  } catch (const std::exception& error) {
    write_text("fuzz: an exception escaped: ");
    write_text(error.what());
    write_text("\n");
    std::abort();
  }
  current = nullptr;
  return place;
}

Input read_input(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return {text.begin(), text.end()};
}

class Mutator {
 public:
  Mutator(unsigned seed, std::vector<Input> seeds) : random_(seed), corpus_(std::move(seeds)) {}

  Input next() {
    Input input = corpus_[below(corpus_.size())];
    for (std::size_t i = 0, count = 1 + below(4); i < count; ++i) mutate(input);
    if (input.size() > kMaxInput) input.resize(kMaxInput);
    return input;
  }

  // Keeps the first few inputs that get to each place; whether this was the first.
  bool learn(Input input, int place) {
    const int before = kept_[place]++;
    if (before < 8) corpus_.push_back(std::move(input));
    return before == 0;
  }

  std::size_t places() const { return kept_.size(); }

 private:
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }

  // Somewhere; often near one of the ends, where headers and directories are.
  std::size_t place(std::size_t size) {
    const std::size_t edge = std::min<std::size_t>(size, 160);
    switch (below(4)) {
      case 0: return below(edge);
      case 1: return size - 1 - below(edge);
      default: return below(size);
    }
  }

  void mutate(Input& input) {
    if (input.empty()) input.push_back(0);
    const std::size_t at = place(input.size());
    switch (below(9)) {
      case 0: input[at] ^= static_cast<std::uint8_t>(1u << below(8)); break;
      case 1: input[at] = static_cast<std::uint8_t>(random_()); break;
      case 2: input.resize(at); break;
      case 3: overwrite_integer(input, at); break;
      case 4: replace_number(input); break;
      case 5: {  // repeat a piece
        const Input piece(
            input.begin() + static_cast<std::ptrdiff_t>(at),
            input.begin() + static_cast<std::ptrdiff_t>(at + 1 + below(std::min<std::size_t>(64, input.size() - at))));
        for (std::size_t i = 0, count = 1 + below(8); i < count; ++i)
          input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
        break;
      }
      case 6: {  // cut a piece out
        const std::size_t count = 1 + below(std::min<std::size_t>(32, input.size() - at));
        input.erase(input.begin() + static_cast<std::ptrdiff_t>(at),
                    input.begin() + static_cast<std::ptrdiff_t>(at + count));
        break;
      }
      case 7: {  // go on with another seed
        const Input& other = corpus_[below(corpus_.size())];
        if (other.empty()) break;
        input.resize(at);
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(place(other.size())), other.end());
        break;
      }
      case 8: insert_token(input, at); break;
    }
  }

  void overwrite_integer(Input& input, std::size_t at) {
    static constexpr std::uint64_t kInteresting[] = {
        0,   1,   2,      7,      8,          21,         22,         46,         64,         127,        128,
        255, 256, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 1ull << 32, 1ull << 62, ~0ull >> 1, ~0ull};
    std::uint64_t value = kInteresting[below(std::size(kInteresting))];
    if (below(4) == 0) value = input.size() - value;
    const std::size_t width = std::min<std::size_t>(std::size_t{1} << below(4), input.size() - at);
    std::memcpy(input.data() + at, &value, width);
  }

  // Another number where the text has one: shapes, offsets, type sizes.
  void replace_number(Input& input) {
    static constexpr std::string_view kNumbers[] = {"0",
                                                    "1",
                                                    "2",
                                                    "3",
                                                    "4",
                                                    "8",
                                                    "24",
                                                    "00",
                                                    "-1",
                                                    "1.0",
                                                    "1e3",
                                                    "4294967296",
                                                    "9223372036854775807",
                                                    "9223372036854775808",
                                                    "18446744073709551616"};
    const auto digit = [](std::uint8_t c) { return c >= '0' && c <= '9'; };
    const auto from = input.begin() + static_cast<std::ptrdiff_t>(below(input.size()));
    const auto begin = std::find_if(from, input.end(), digit);
    const auto end = std::find_if_not(begin, input.end(), digit);
    if (begin == end) return;
    const std::string_view number = kNumbers[below(std::size(kNumbers))];
    const auto at = input.erase(begin, end);
    input.insert(at, number.begin(), number.end());
  }

  void insert_token(Input& input, std::size_t at) {
    static constexpr std::string_view kTokens[] = {"{",
                                                   "}",
                                                   "[",
                                                   "]",
                                                   "(",
                                                   ")",
                                                   ",",
                                                   ":",
                                                   "'",
                                                   "\"",
                                                   " ",
                                                   "\n",
                                                   "\\u0000",
                                                   "null",
                                                   "true",
                                                   "True",
                                                   "False",
                                                   "(1,)",
                                                   "'descr'",
                                                   "'<f4'",
                                                   "'>V2'",
                                                   "'fortran_order'",
                                                   "'shape'",
                                                   "\"dtype\"",
                                                   "\"shape\"",
                                                   "\"data_offsets\"",
                                                   "\"__metadata__\":{\"a\":\"b\"},",
                                                   "\"F8_E5M2\"",
                                                   "[0,0]",
                                                   ".npy",
                                                   "PK\1\2",
                                                   "PK\3\4",
                                                   "PK\5\6",
                                                   "PK\6\6",
                                                   "PK\6\7",
                                                   "[[",
                                                   "]]",
                                                   "=",
                                                   "#",
                                                   "\"\"\"",
                                                   "inf",
                                                   "nan",
                                                   "0x"};
    const std::string_view token = kTokens[below(std::size(kTokens))];
    input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), token.begin(), token.end());
  }

  std::mt19937_64 random_;
  std::vector<Input> corpus_;
  std::map<int, int> kept_;
};

[[noreturn]] void usage() {
  write_text("usage: DRIVER [--seconds N | --runs N] [--seed S] SEED_FOLDER_OR_FILE...\n");
  std::exit(2);
}

unsigned parse_number(const char* text) {
  unsigned value = 0;
  const char* end = text == nullptr ? nullptr : text + std::strlen(text);
  if (text == nullptr || std::from_chars(text, end, value).ptr != end || text == end) usage();
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned seconds = 0, least_runs = 0, seed = 1;
  std::vector<Input> seeds;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--seconds") {
      seconds = parse_number(argv[++i]);
    } else if (argument == "--runs") {
      least_runs = parse_number(argv[++i]);
    } else if (argument == "--seed") {
      seed = parse_number(argv[++i]);
    } else if (std::filesystem::is_directory(argument)) {
      std::vector<std::filesystem::path> files;
      for (const auto& file : std::filesystem::directory_iterator(argument)) files.push_back(file.path());
      std::sort(files.begin(), files.end());  // the same order everywhere, so that a seed repeats
      for (const auto& file : files)
        if (std::filesystem::is_regular_file(file)) seeds.push_back(read_input(file));
    } else if (std::filesystem::is_regular_file(argument)) {
      seeds.push_back(read_input(argument));
    } else {
      usage();
    }
  }
  if (seeds.empty()) usage();

  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(number, on_signal);
#ifdef TSR_FUZZ_SANITIZED
  __sanitizer_set_death_callback(save_current);
#endif
  const std::string stem = std::filesystem::path(argv[0]).filename();
  std::snprintf(driver.data(), driver.size(), "%s", argv[0]);
  const auto name_crash = [&](unsigned long long count) {
    if (seconds == 0 && least_runs == 0) return;  // the inputs are files already
    std::snprintf(crash_file.data(), crash_file.size(), "%s-crash-%u-%llu.bin", stem.c_str(), seed, count);
  };

  unsigned long long runs = 0, newest = 0;  // the last input that came to a place where none had been
  for (const Input& input : seeds) name_crash(runs++), run(input);
  Mutator mutator(seed, std::move(seeds));
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  while (runs < least_runs || Clock::now() < end) {
    name_crash(runs++);
    Input input = mutator.next();
    const int place = run(input);
    if (mutator.learn(std::move(input), place)) newest = runs;
  }
  std::printf("%s: %llu inputs to %zu places, the last new one by input %llu, seed %u, nothing found\n", stem.c_str(),
              runs, mutator.places(), newest, seed);
  return 0;
}
