#include "tessera/core/installed_data.h"

#include <dlfcn.h>

#include <string_view>
#include <system_error>

namespace tessera {

namespace fs = std::filesystem;

std::optional<fs::path> installed_data_folder(std::string_view folder) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&installed_data_folder), &info) == 0 || !info.dli_fname) return std::nullopt;
  std::error_code error;
  fs::path file = fs::canonical(info.dli_fname, error);
  // The name of the main program is what it was started as, which says nothing when it came from $PATH: whatever has
  // that name here is something else.
  if (error || std::string_view(info.dli_fname).find('/') == std::string_view::npos)
    file = fs::canonical("/proc/self/exe", error);
  if (error) return std::nullopt;
  // bin/tessera, lib/libtessera.so, lib/<triplet>/libtessera.so and a Python package with its own share/.
  fs::path directory = file.parent_path();
  for (int level = 0; level < 3 && directory.has_relative_path(); ++level, directory = directory.parent_path())
    if (fs::path candidate = directory / "share" / "tessera" / folder; fs::is_directory(candidate, error))
      return candidate;
  return std::nullopt;
}

}  // namespace tessera
