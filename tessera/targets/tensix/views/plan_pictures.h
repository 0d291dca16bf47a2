#pragma once

// The pictures of a plan's page. Colours come from classes that the page's style defines: p-H, p-W, p-B, p-I, p-D for
// places, b-<part> for what binds a step. Whatever stands for a step carries data-step, its number from 0 on.

#include "tessera/targets/tensix/views/plan_report.h"

#include <string>

namespace tessera::tensix {

// The network in the order it runs: a row for each input, move and step, lines for the values between them.
std::string plan_graph_html(const PlanReport& report);

// L1 of a core by address over all programs, with the moment of the peak.
std::string plan_l1_svg(const PlanReport& report);

// Operations against bytes of DRAM, below the roofs of the fidelities in use. Empty if nothing can be drawn.
std::string plan_roofline_svg(const PlanReport& report);

// Two bars to one scale: every step and gap on the device, and the parts of end-to-end time.
std::string plan_time_html(const PlanReport& report);

}  // namespace tessera::tensix
