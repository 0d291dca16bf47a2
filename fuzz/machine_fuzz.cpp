#include "fuzz.h"

#include "tessera/machine/machine_file.h"

#include <filesystem>
#include <fstream>
#include <string>

namespace {

// The loader takes paths, and checks that a machine has the name of its file.
class Folder {
 public:
  Folder() {
    std::string pattern = "/dev/shm/tessera-fuzz-XXXXXX";
    if (!std::filesystem::is_directory("/dev/shm"))
      pattern = (std::filesystem::temp_directory_path() / "tessera-fuzz-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }

  std::filesystem::path file() const { return path_ / "wormhole_n150.toml"; }

 private:
  std::filesystem::path path_;
};

}  // namespace

int fuzz_one(std::span<const std::uint8_t> input) {
  static const Folder folder;
  std::ofstream(folder.file(), std::ios::binary)
      .write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
  try {
    tessera::load_machine_file(folder.file());
  } catch (const tessera::Error& error) {
    return tessera::fuzz::refused(error);
  }
  return 0;
}
