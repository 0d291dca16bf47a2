#include "tessera/core/tile.h"

#include "tessera/core/error.h"

#include <array>

namespace tessera {
namespace {

constexpr std::array kTiles{Tile{32, 32}, Tile{16, 32}, Tile{8, 32}, Tile{4, 32}, Tile{2, 32}, Tile{1, 32},
                            Tile{32, 16}, Tile{16, 16}, Tile{8, 16}, Tile{4, 16}, Tile{2, 16}, Tile{1, 16}};

}  // namespace

std::string Tile::to_string() const { return fmt::format("{{{}, {}}}", height, width); }

std::span<const Tile> all_tiles() { return kTiles; }

void check_tile(const Tile& tile) {
  check(std::find(kTiles.begin(), kTiles.end(), tile) != kTiles.end(), Code::invalid_argument,
        Hint{"use a height of 32, 16, 8, 4, 2 or 1 and a width of 32 or 16"}, "a tile of {}x{} does not exist",
        tile.height, tile.width);
}

}  // namespace tessera
