#pragma once

// The rows of a table as JSON, to stand in a larger document.

#include "tessera/report/table.h"

#include <nlohmann/json.hpp>

namespace tessera {

// As render_json() has them: one object a row. nlohmann::ordered_json keeps the order of columns.
template <class Json = nlohmann::json>
Json table_rows(const Table& table) {
  return Json::parse(render_json(table)).at("rows");
}

}  // namespace tessera
