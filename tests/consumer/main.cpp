#include <tessera/core/error.h>
#include <tessera/core/tile.h>

#include <cstdio>

int main() {
  try {
    tessera::check_tile({31, 32});
  } catch (const tessera::Error& error) {
    std::printf("%s\n", error.what());
    return tessera::tile_bytes({32, 32}, tessera::DType::bfloat8_b) == 1088 ? 0 : 1;
  }
  return 1;
}
