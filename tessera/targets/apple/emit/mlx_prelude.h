#pragma once

// The parts of emitted MLX scripts that are the same for every network.

#include <string_view>

namespace tessera::apple {

extern const std::string_view kMlxHead;    // imports, weights
extern const std::string_view kMlxImages;  // what convolutional networks are made of
extern const std::string_view kMlxCfc;     // liquid cells
extern const std::string_view kMlxLtc;
extern const std::string_view kMlxLiquid;  // over sequences
extern const std::string_view kMlxTail;    // main()

}  // namespace tessera::apple
