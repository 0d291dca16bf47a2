#include "tessera/io/emit/python_text.h"

#include <fmt/format.h>

#include <cmath>

namespace tessera::emit {
namespace {

constexpr std::size_t kColumns = 120;

std::string joined(std::span<const std::int64_t> values) { return fmt::format("{}", fmt::join(values, ", ")); }

}  // namespace

std::string py(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}
std::string py(bool value) { return value ? "True" : "False"; }
std::string py(std::int64_t value) { return fmt::format("{}", value); }
std::string py(double value) {
  if (std::isnan(value)) return "float(\"nan\")";
  if (std::isinf(value)) return value > 0 ? "float(\"inf\")" : "-float(\"inf\")";
  std::string text = fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}
std::string py_tuple(std::span<const std::int64_t> values) {
  return fmt::format("({}{})", joined(values), values.size() == 1 ? "," : "");
}
std::string py_list(std::span<const std::int64_t> values) { return fmt::format("[{}]", joined(values)); }
std::string py_list(const Shape& shape) {
  std::vector<std::int64_t> extents;
  for (int d = 0; d < shape.rank(); ++d) extents.push_back(shape[d]);
  return py_list(extents);
}

std::string py_comment(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' ? ' ' : c;
  return out;
}

std::string py_call(int indent, std::string_view head, const std::vector<std::string>& arguments,
                    std::string_view tail) {
  const std::string pad(static_cast<std::size_t>(indent), ' ');
  const std::string one = fmt::format("{}{}{}{}\n", pad, head, fmt::join(arguments, ", "), tail);
  if (one.size() <= kColumns + 1) return one;
  std::string text = fmt::format("{}{}\n", pad, head);
  std::string line;
  for (const std::string& argument : arguments) {
    if (!line.empty() && pad.size() + 4 + line.size() + argument.size() + 2 > kColumns) {
      text += fmt::format("{}    {}\n", pad, line);
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += argument + ',';
  }
  return text + fmt::format("{}    {}\n{}{}\n", pad, line, pad, tail);
}

const std::string_view kReadSafetensors = R"py(def read_safetensors(path):
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    found = {}
    for name, each in header.items():
        first, last = each["data_offsets"]
        found[name] = np.frombuffer(data[first:last], np.float32).reshape(each["shape"]).copy()
    return found
)py";

}  // namespace tessera::emit
