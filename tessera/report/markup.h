#pragma once

// Text inside XML and HTML.

#include "tessera/core/export.h"

#include <string>
#include <string_view>

namespace tessera {

// Safe as content and between quotes of an attribute. Bytes that are no UTF-8, and characters that XML does not allow,
// become U+FFFD.
TSR_API std::string escape_markup(std::string_view text);

// At most `characters` code points, the last an ellipsis if something was cut. Not yet escaped.
TSR_API std::string shortened(std::string_view utf8, std::size_t characters);

}  // namespace tessera
