#include "tessera/graph/digest.h"

#include "tessera/core/sha256.h"
#include "tessera/graph/graph.h"

#include <fmt/format.h>

#include <memory>
#include <span>

namespace tessera {
namespace {

constexpr std::size_t kDigits = 16;

std::string digits_of(const std::string& text) { return sha256_hex(std::as_bytes(std::span(text)), kDigits); }

template <class Each>
void for_each_body(const Node& node, Each each) {
  const auto one = [&](const std::shared_ptr<const Graph>& body) {
    if (body != nullptr) each(*body);
  };
  if (const auto* choice = std::get_if<If>(&node.op)) {
    one(choice->then_branch);
    one(choice->else_branch);
  } else if (const auto* loop = std::get_if<Loop>(&node.op)) {
    one(loop->body);
  }
}

void describe(const Graph& graph, std::string& text) {
  const auto add = [&](char mark, const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) text += fmt::format(" {}{}", mark, id == kNoValue ? "" : graph.value(id).name);
  };
  add('<', graph.inputs);
  add('>', graph.outputs);
  text += '\n';
  for (const Node& node : graph.nodes) {
    text += fmt::format("{} {}", node.name, name(node.op));
    add('<', node.inputs);
    add('>', node.outputs);
    text += '\n';
    for_each_body(node, [&](const Graph& body) { describe(body, text); });
  }
}

void describe_weights(const Graph& graph, std::string& text) {
  for (const Value& value : graph.values)
    if (value.constant)
      text += fmt::format("{} {} {}\n", value.name, value.constant->to_string(),
                          sha256_hex(value.constant->bytes(), kDigits));
  for (const Node& node : graph.nodes) for_each_body(node, [&](const Graph& body) { describe_weights(body, text); });
}

}  // namespace

std::string network_digest(const Graph& graph) {
  std::string text;
  describe(graph, text);
  return digits_of(text);
}

std::string weights_digest(const Graph& graph) {
  std::string text;
  describe_weights(graph, text);
  return digits_of(text);
}

}  // namespace tessera
