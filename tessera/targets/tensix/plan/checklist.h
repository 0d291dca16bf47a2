#pragma once

// What guides for tuning networks on these cards ask of a finished configuration, each answered from a plan with what
// it is answered by.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/plan/card_plan.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

enum class CheckVerdict : std::uint8_t {
  pass,
  warn,  // worth a look: the plan has a reason, or something small is left
  fail,
};
TSR_API std::string_view name(CheckVerdict verdict);

struct CheckItem {
  std::string name;  // "hot paths in L1"
  CheckVerdict verdict = CheckVerdict::pass;
  std::string evidence = {};               // in a sentence, with numbers
  std::vector<std::string> findings = {};  // one for each layer or value that it is about
};

// `l1_banks`: cores of the card that hold L1.
TSR_API std::vector<CheckItem> check_plan(const CardPlan& plan, std::int64_t l1_banks);

}  // namespace tessera::tensix
