#include "tessera/vision/video.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/temporary_directory.h"
#include "tessera/core/text.h"
#include "tessera/vision/internal/codecs.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

extern char** environ;

namespace tessera {
namespace {

namespace fs = std::filesystem;

// A child that writes pictures into a pipe. It is ended with the object.
class Ffmpeg {
 public:
  explicit Ffmpeg(const fs::path& video) : messages_(folder_.path() / "messages") {
    // Nothing but this file is opened, whatever its contents ask for.
    std::vector<std::string> words = {"ffmpeg",
                                      "-nostdin",
                                      "-v",
                                      "error",
                                      "-protocol_whitelist",
                                      "file",
                                      "-i",
                                      "file:" + fs::absolute(video).string(),
                                      "-f",
                                      "image2pipe",
                                      "-c:v",
                                      "ppm",
                                      "-"};
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::array<int, 2> ends{};
    check(::pipe2(ends.data(), O_CLOEXEC) == 0, Code::io, "cannot make a pipe: {}",
          std::generic_category().message(errno));
    out_ = ends[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, messages_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int error = posix_spawnp(&child_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error == 0) return;
    ::close(out_);
    fail(Code::not_found, Hint{"install ffmpeg (Debian: apt-get install ffmpeg), or hand over a folder of pictures"},
         "videos are read by the program ffmpeg, which cannot be run: {}", std::generic_category().message(error));
  }
  ~Ffmpeg() {
    ::close(out_);
    if (child_ == 0) return;
    ::kill(child_, SIGKILL);
    wait();
  }
  Ffmpeg(const Ffmpeg&) = delete;
  Ffmpeg& operator=(const Ffmpeg&) = delete;

  // Fewer bytes than asked for only at the end.
  std::size_t read(std::uint8_t* to, std::size_t count) {
    std::size_t got = 0;
    while (got < count) {
      const ssize_t some = ::read(out_, to + got, count - got);
      if (some < 0 && errno == EINTR) continue;
      check(some >= 0, Code::io, "cannot read from ffmpeg: {}", std::generic_category().message(errno));
      if (some == 0) break;
      got += static_cast<std::size_t>(some);
    }
    return got;
  }

  // After the last byte: an Error unless it ended well.
  void finish() {
    const int status = wait();
    child_ = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    std::string said = printable(read_text_file(messages_), true);
    while (said.ends_with('\n')) said.pop_back();
    fail(Code::parse, "ffmpeg cannot read the video: {}", said.empty() ? "it does not say why" : said);
  }

 private:
  int wait() const {
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
  }

  TemporaryDirectory folder_;
  fs::path messages_;
  pid_t child_ = 0;
  int out_ = -1;
};

// A number of a PPM header and the one blank after it.
std::int64_t header_number(Ffmpeg& from) {
  std::int64_t value = 0;
  for (std::uint8_t c = 0; from.read(&c, 1) == 1;) {
    if (std::isspace(c) != 0) return value;
    check(std::isdigit(c) != 0 && value < 1'000'000, Code::parse, "what ffmpeg writes is no PPM picture");
    value = value * 10 + (c - '0');
  }
  fail(Code::parse, "what ffmpeg writes ends within the header of a picture");
}

// False at the end.
bool read_frame(Ffmpeg& from, Image& frame) {
  std::array<std::uint8_t, 3> mark{};
  const std::size_t got = from.read(mark.data(), mark.size());
  if (got == 0) return false;
  check(got == 3 && mark[0] == 'P' && mark[1] == '6', Code::parse, "what ffmpeg writes is no PPM picture");
  const std::int64_t width = header_number(from), height = header_number(from), most = header_number(from);
  check(most == 255, Code::parse, "ffmpeg writes pictures whose white is {}, not 255", most);
  vision::check_extents(width, height, {});
  frame = Image(width, height);
  check(from.read(frame.rgb.data(), frame.rgb.size()) == frame.rgb.size(), Code::parse,
        "what ffmpeg writes ends within a picture");
  return true;
}

}  // namespace

bool has_video_name(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  constexpr std::array kEndings{".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v"};
  return std::find(kEndings.begin(), kEndings.end(), ending) != kEndings.end();
}

void for_each_frame(const fs::path& video, std::int64_t every,
                    const std::function<bool(std::int64_t number, Image frame)>& frame) {
  check(every >= 1, Code::invalid_argument, "every {}th frame cannot be had", every);
  check(fs::exists(video), Code::not_found, "there is no file '{}'", video.string());
  with_context(fmt::format("while reading the video '{}'", video.string()), [&] {
    Ffmpeg ffmpeg(video);
    Image picture;
    std::int64_t number = 0;
    for (; read_frame(ffmpeg, picture); ++number)
      if (number % every == 0 && !frame(number, std::move(picture))) return;
    ffmpeg.finish();
    check(number > 0, Code::parse, "there is no frame in it");
  });
}

}  // namespace tessera
