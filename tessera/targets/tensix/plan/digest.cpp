#include "tessera/targets/tensix/plan/digest.h"

#include "tessera/core/sha256.h"

#include <fmt/format.h>

#include <span>
#include <variant>

namespace tessera::tensix {
namespace {

constexpr std::size_t kDigits = 16;

std::string text_of(const tensix::Window& w) {
  return fmt::format("k{}x{} s{}x{} d{}x{} p{},{},{},{}", w.kernel_h, w.kernel_w, w.stride_h, w.stride_w, w.dilation_h,
                     w.dilation_w, w.top, w.bottom, w.left, w.right);
}

struct LayerText {
  std::string operator()(const tensix::ConvLayer& c) const {
    const tensix::Conv2dProblem& p = c.problem;
    return fmt::format("{}x{}x{}x{} to {} g{} {}{}{}{}", p.batch, p.height, p.width, p.in_channels, p.out_channels,
                       p.groups, text_of(p.window), c.bias ? " bias" : "", c.activation ? " " + *c.activation : "",
                       c.transposed ? fmt::format(" transposed +{},{}", c.output_pad_h, c.output_pad_w) : "");
  }
  std::string operator()(const tensix::PoolLayer& p) const {
    return fmt::format("{}x{}x{}x{} {}{}{}", p.pool.batch, p.pool.height, p.pool.width, p.pool.channels,
                       text_of(p.pool.window), p.pool.ceil_mode ? " ceil" : "",
                       p.pool.count_include_pad ? " with padding" : "");
  }
  std::string operator()(const tensix::LinearLayer& l) const {
    return fmt::format("{} pixels {}{}", l.pixels, l.weights->shape().to_string(), l.bias ? " bias" : "");
  }
  std::string operator()(const tensix::BinaryLayer& b) const {
    return fmt::format("{}{}{}", b.activation ? b.activation->name : "",
                       b.constant ? fmt::format(" constant {}", b.constant->count()) : "",
                       b.constant_first ? " first" : "");
  }
  std::string operator()(const tensix::UnaryLayer& u) const { return u.function.name; }
  std::string operator()(const tensix::ConcatLayer& c) const {
    return c.groups > 1 ? fmt::format("channels of {} groups", c.groups) : c.channels ? "channels" : "rows";
  }
  std::string operator()(const tensix::SliceLayer& s) const { return fmt::format("{}..{}", s.begin, s.end); }
  std::string operator()(const tensix::UpsampleLayer& u) const {
    return fmt::format("{}x{}x{}x{} by {}x{} {}", u.batch, u.height, u.width, u.channels, u.scale_h, u.scale_w,
                       static_cast<int>(u.mode));
  }
  std::string operator()(const tensix::SoftmaxLayer&) const { return ""; }
  std::string operator()(const tensix::ViewLayer&) const { return "view"; }
  std::string operator()(const tensix::FlattenLayer& f) const { return fmt::format("{} pixels", f.pixels); }
  std::string operator()(const tensix::HostLayer& h) const { return fmt::format("host {}", h.node); }
};

std::string digits_of(const std::string& text) { return sha256_hex(std::as_bytes(std::span(text)), kDigits); }

}  // namespace

std::string layer_text(const tensix::LoweredGraph& network, const tensix::LoweredNode& node) {
  std::string text = fmt::format("{} {}", node.op, std::visit(LayerText{}, node.layer));
  for (const std::vector<ValueId>* ids : {&node.inputs, &node.outputs}) {
    text += ids == &node.inputs ? " of" : " to";
    for (const ValueId id : *ids) text += " " + network.graph.value(id).type.to_string();
  }
  return text;
}

std::string network_digest(const tensix::LoweredGraph& network) {
  std::string text;
  for (const tensix::LoweredNode& node : network.nodes) {
    text += layer_text(network, node);
    for (const ValueId id : node.inputs) text += fmt::format(" <{}", id);
    for (const ValueId id : node.outputs) text += fmt::format(" >{}", id);
    text += "\n";
  }
  return digits_of(text);
}

std::string machine_digest(const Machine& machine) {
  std::string text = machine.name + "\n";
  for (const Figure& figure : machine.figures) {
    if (figure.group == "fleet") continue;  // what is around cards is no part of a plan for one
    text += fmt::format("{}.{} ", figure.group, figure.key);
    std::visit([&](const auto& value) { text += fmt::format("{}", value); }, figure.value);
    text += "\n";
  }
  return digits_of(text);
}

}  // namespace tessera::tensix
