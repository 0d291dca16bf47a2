#pragma once

// What commands do with plans for cards.

#include "command.h"

#include <string>
#include <vector>

namespace tessera::cli {

// tessera explain PLAN NODE
void explain_planned_step(const std::string& file, const std::string& node, const Context& context);
// tessera plan --check PLAN; an Error if something fails.
void check_planned(const std::string& file, const Context& context);
// tessera compare --plans A B
void compare_planned(const std::vector<std::string>& files, const Context& context);

}  // namespace tessera::cli
