#pragma once

// The texts of assets/memory_page.css and .js; the build puts them into a source file.

#include <string_view>

namespace tessera::tensix {

extern const std::string_view kMemoryPageCss;
extern const std::string_view kMemoryPageJs;

}  // namespace tessera::tensix
