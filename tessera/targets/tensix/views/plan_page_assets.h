#pragma once

// The texts of assets/plan_page.css and .js; the build puts them into a source file.

#include <string_view>

namespace tessera::tensix {

extern const std::string_view kPlanPageCss;
extern const std::string_view kPlanPageJs;

}  // namespace tessera::tensix
