#include "tessera/core/error.h"
#include "tessera/ncp/tasks/task.h"

#include <cmath>
#include <numbers>

namespace tessera::ncp {

Task sine_task(int steps) {
  check(steps >= 2, Code::invalid_argument, "a sine of {} steps: at least 2", steps);
  Task task{.name = "sine"};
  task.training = {.samples = 1, .steps = steps, .inputs = 2};
  for (int i = 0; i < steps; ++i) {
    const double at = 3 * std::numbers::pi * i / (steps - 1);
    task.training.input.push_back(static_cast<float>(std::sin(at)));
    task.training.input.push_back(static_cast<float>(std::cos(at)));
    task.training.targets.push_back(static_cast<float>(std::sin(2 * at)));
  }
  task.test = task.training;
  return task;
}

}  // namespace tessera::ncp
