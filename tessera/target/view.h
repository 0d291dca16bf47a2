#pragma once

// What a target has to show, as data: words, tables, and the same as JSON. A command or a page renders it and knows
// nothing of what it is about.

#include "tessera/core/table.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct View {
  struct Part {
    std::string text = {};            // for people, before the table
    std::optional<Table> table = {};  // every row and no pictures
    // What people see of the table instead: pictures made of characters, or fewer rows. Without rows it is left out.
    std::optional<Table> people = {};
    std::string after = {};  // for people, after the table
  };
  std::vector<Part> parts = {};
  std::size_t csv = 0;    // the part whose table is the CSV form
  std::string json = {};  // a whole document; empty: the table of the CSV form
};

}  // namespace tessera
