#include "world.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace tessera::cli {
namespace {

std::unique_ptr<Communicator>& instance() {
  static std::unique_ptr<Communicator> world;
  return world;
}

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return otherwise;
  int value = otherwise;
  const std::string_view view(text);
  std::from_chars(view.data(), view.data() + view.size(), value);
  return value;
}

}  // namespace

bool first_to_speak() {
  static std::atomic_flag spoken;
  return !spoken.test_and_set();
}

int launched_size() { return number_in("OMPI_COMM_WORLD_SIZE", 1); }
bool in_a_world() { return launched_size() > 1; }
int launched_rank() { return number_in("OMPI_COMM_WORLD_RANK", 0); }

Communicator& world() {
  std::unique_ptr<Communicator>& held = instance();
  if (!held) held = launched_world();
  return *held;
}

bool world_began() { return instance() != nullptr; }

}  // namespace tessera::cli
