#include "tessera/core/temporary_directory.h"

#include "tessera/core/error.h"

#include <stdlib.h>  // mkdtemp

#include <cerrno>
#include <string>
#include <system_error>

namespace tessera {

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "tessera-XXXXXX").string();
  check(::mkdtemp(name.data()) != nullptr, Code::io, "cannot make a temporary directory '{}': {}", name,
        std::generic_category().message(errno));
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace tessera
