#include "tessera/core/file_system.h"

namespace tessera {

Error as_error(const std::filesystem::filesystem_error& error) {
  return {Code::io, fmt::format("cannot use '{}': {}", error.path1().string(), error.code().message())};
}

void make_folders(const std::filesystem::path& folder) {
  try {
    std::filesystem::create_directories(folder);
  } catch (const std::filesystem::filesystem_error& error) {
    throw as_error(error);
  }
}

}  // namespace tessera
