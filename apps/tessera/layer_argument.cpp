#include "layer_argument.h"

#include "tessera/core/error.h"
#include "tessera/core/text.h"
#include "tessera/io/layer_file.h"

#include <vector>

namespace tessera::cli {

bool is_layer_file(std::string_view word) { return word.ends_with(".txt"); }

std::optional<ConvLayer> find_layer(const std::string& word) {
  constexpr std::string_view kEnd = ".txt:";
  const std::size_t at = word.find(kEnd);
  if (at == std::string::npos) return std::nullopt;
  const std::string file = word.substr(0, at + kEnd.size() - 1), wanted = word.substr(at + kEnd.size());
  std::vector<std::string> names;
  for (ConvLayer& layer : load_layers(file)) {
    if (layer.name == wanted) return std::move(layer);
    names.push_back(layer.name);
  }
  fail(Code::not_found, Hint{"`tessera bench FILE.txt` shows the layers of a file"}, "{} has no layer '{}'{}", file,
       wanted, did_you_mean(wanted, names));
}

}  // namespace tessera::cli
