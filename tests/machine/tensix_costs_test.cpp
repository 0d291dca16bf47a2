#include "tessera/machine/tensix_costs.h"

#include "tessera/machine/machine_file.h"
#include "tests/error_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace tessera {
namespace {

using for_tests::error_of;
using testing::AllOf;
using testing::HasSubstr;

TEST(TensixCosts, AreTheFiguresOfTheFile) {
  const Machine machine = load_machine("wormhole_n150");
  const TensixCosts costs = tensix_costs(machine);
  for (const CostField& field : kCostFields) EXPECT_GE(costs.*field.value, 0) << field.name;
  EXPECT_GT(costs.launch_cycles, 0);
}

TEST(TensixCosts, MayBeNothingIfTheFileSaysSo) {
  Machine machine = load_machine("wormhole_n150");
  for (Figure& figure : machine.figures)
    if (figure.group == "cost" && figure.key == "launch_cycles") figure.value = 0.0;
  EXPECT_EQ(tensix_costs(machine).launch_cycles, 0);
  std::erase_if(machine.figures,
                [](const Figure& each) { return each.group == "cost" && each.key == "launch_cycles"; });
  EXPECT_THAT(error_of([&] { tensix_costs(machine); }),
              AllOf(HasSubstr("'launch_cycles' is missing from [cost]"), HasSubstr("inherit from a machine")));
}

}  // namespace
}  // namespace tessera
