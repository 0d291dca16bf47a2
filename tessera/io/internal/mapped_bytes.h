#pragma once

#include "tessera/core/array.h"
#include "tessera/io/internal/mapped_file.h"

#include <cstddef>
#include <memory>
#include <span>

namespace tessera::io {

// An array whose elements lie in a mapped file, at any address. Large ones stay there until they are asked for; small
// ones are copied.
Array mapped_array(ElementType type, Shape shape, const std::shared_ptr<const MappedFile>& file,
                   std::span<const std::byte> bytes);

}  // namespace tessera::io
