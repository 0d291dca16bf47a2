#pragma once

// What the engines refuse.

#include "tessera/machine/machine.h"
#include "tessera/targets/neuron/core/engine.h"
#include "tessera/targets/neuron/core/view.h"

#include <span>
#include <string_view>

namespace tessera::neuron {

// An operand of an engine: on chip, partitions first, where such an access may begin, not larger than one goes.
void check_operand(const NeuronSpec& spec, std::string_view op, std::string_view role, const View& view);
// Something wrote it.
void check_written(std::string_view op, std::string_view role, const View& view);
// Where the result lies upon an operand, it must be the same elements in the same order.
void check_overlap(std::string_view op, const View& dst, std::span<const View> inputs);
void check_same_shape(std::string_view op, const View& dst, const View& src);
void check_engine(std::string_view op, Engine engine, std::span<const Engine> able);
void check_matmul(const NeuronSpec& spec, const View& dst, const View& stationary, const View& moving);
void check_transpose(const NeuronSpec& spec, Engine engine, const View& dst, const View& src);

}  // namespace tessera::neuron
