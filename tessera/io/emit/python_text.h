#pragma once

// Python literals.

#include "tessera/core/shape.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::emit {

std::string py(std::string_view text);  // in double quotes, escaped
inline std::string py(const char* text) { return py(std::string_view(text)); }
inline std::string py(const std::string& text) { return py(std::string_view(text)); }
std::string py(bool value);
std::string py(std::int64_t value);
std::string py(double value);  // as short as a float32 needs; infinities as float("inf")
std::string py_tuple(std::span<const std::int64_t> values);
std::string py_list(std::span<const std::int64_t> values);
std::string py_list(const Shape& shape);
// Text for a comment or a docstring: one line, nothing that could end it.
std::string py_comment(std::string_view text);

// "    name(first, second, ...)" over as many lines of 120 columns as it takes; each argument stays whole.
std::string py_call(int indent, std::string_view head, const std::vector<std::string>& arguments,
                    std::string_view tail = ")");

// A function read_safetensors(path): float32 arrays by name. Needs json and numpy as np.
extern const std::string_view kReadSafetensors;

}  // namespace tessera::emit
