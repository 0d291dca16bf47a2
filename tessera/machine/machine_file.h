#pragma once

// Machine files: TOML with a [sources] table and one table for each group of fields (machine.h names them all).
//
//   name   = "wormhole_n150"            # the stem of the file
//   title  = "Tenstorrent Wormhole n150"
//   family = "tensix"
//
//   [sources]
//   sheet = { kind = "published", text = "product page, 2026" }
//
//   [chip]
//   source = "sheet"                    # of every value in this group that names no other
//   grid_x = 8
//   clock_hz = { value = 1e9, source = "sheet", kind = "derived", note = "rounded" }
//
// A what-if machine is a few lines: `inherits = "wormhole_n150"`, then only what differs.

#include "tessera/core/export.h"
#include "tessera/machine/machine.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// Everything that is wrong with the file, and with those it inherits from, is in one Error of Code::parse: a line
// "path:line:column: what" for each problem.
TSR_API Machine load_machine_file(const std::filesystem::path& path);

// A path (it has a '/' or ends in .toml) or a name that one of machine_directories() has.
TSR_API Machine load_machine(std::string_view name_or_path);

// The names that load_machine knows, sorted.
TSR_API std::vector<std::string> machine_names();

// Where names are looked up, first hit wins: $TESSERA_MACHINES (directories separated by ':'), share/tessera/machines
// of the installation that this library belongs to, the source tree it was built from, the prefix it was built for.
TSR_API std::vector<std::filesystem::path> machine_directories();

}  // namespace tessera
