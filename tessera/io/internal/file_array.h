#pragma once

#include "tessera/core/array.h"
#include "tessera/io/internal/loaded_file.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera::io {

// An array whose elements lie in a file from `offset` on. Large ones stay there until they are asked for; small ones
// are read now.
Array file_array(ElementType type, Shape shape, const std::shared_ptr<const OpenFile>& file, std::uint64_t offset,
                 std::size_t bytes);

}  // namespace tessera::io
