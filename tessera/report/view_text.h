#pragma once

// A view in one of the forms of a table.

#include "tessera/core/export.h"
#include "tessera/report/table.h"
#include "tessera/target/view.h"

#include <optional>
#include <string>

namespace tessera {

// For people (tables and Markdown): each part's text, its table or what they see instead, and the text behind it;
// `quiet` leaves the texts out. CSV is the table that the view names; JSON its document, or else that table. `width`:
// columns of a terminal; without it tables are as wide as they are.
TSR_API std::string render(const View& view, Format format, bool quiet = false, std::optional<int> width = {});

}  // namespace tessera
