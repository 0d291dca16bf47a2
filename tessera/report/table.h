#pragma once

// The four forms of a table: aligned text for a terminal, Markdown, CSV and JSON.

#include "tessera/core/export.h"
#include "tessera/core/table.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tessera {

enum class Format : std::uint8_t { table, markdown, csv, json };

TSR_API std::string_view name(Format format);  // "table", "md", "csv", "json": the words of --format
TSR_API std::optional<Format> parse_format(std::string_view text);
TSR_API std::span<const Format> all_formats();

// Every form ends with a newline. JSON is {"schema": 1, "rows": [{key: value, ...}, ...]}; the number rises when the
// meaning of a field changes.
TSR_API std::string render(const Table& table, Format format);
TSR_API std::string render_text(const Table& table);
// In so many columns of a terminal, if it can: long texts are wrapped, then columns are left out (Column::detail, never
// the first) and named below the table.
TSR_API std::string render_text(const Table& table, int width);
TSR_API std::string render_markdown(const Table& table);
TSR_API std::string render_csv(const Table& table);  // RFC 4180
TSR_API std::string render_json(const Table& table);

// Columns of a terminal that UTF-8 text takes: wide characters count two, combining marks none.
TSR_API int display_width(std::string_view utf8);

}  // namespace tessera
