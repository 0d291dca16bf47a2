#pragma once

// The parts of a page that needs no more than headings, words, pictures and tables: one HTML file, no scripts, light or
// dark as the reader's system is.

#include "tessera/core/export.h"
#include "tessera/core/table.h"

#include <string>
#include <string_view>

namespace tessera {

TSR_API std::string table_html(const Table& table);

// A whole page. `body` is markup; the title is escaped here. `style`: rules besides those that every such page has.
TSR_API std::string plain_page(std::string_view title, std::string_view body, std::string_view style = {});

}  // namespace tessera
