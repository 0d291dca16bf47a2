#pragma once

// A network's first convolution, where its window steps by more than a pixel over an image of few channels: the host
// hands the image over with the pixels of a step side by side in one pixel's channels, and the convolution steps by
// one. Seven by seven windows of stride two over three channels become four by four ones over twelve: as many products,
// in far fewer reads.

#include "tessera/core/export.h"
#include "tessera/targets/tensix/network/lower.h"

#include <string>
#include <vector>

namespace tessera::tensix {

// Convolutions that could have it, by their names.
TSR_API std::vector<std::string> foldable_inputs(const LoweredGraph& network);

// The network with the inputs of these convolutions folded, and their weights to match. Refuses others.
TSR_API LoweredGraph fold_inputs(LoweredGraph network, const std::vector<std::string>& nodes);

// The image, N C H W, as rows of pixels for the card.
TSR_API std::vector<float> folded_rows(const Array& image, const InputFold& fold);

}  // namespace tessera::tensix
