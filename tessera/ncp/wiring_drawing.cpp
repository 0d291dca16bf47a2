#include "tessera/ncp/wiring_drawing.h"

#include "tessera/core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <numbers>
#include <utility>

namespace tessera::ncp {
namespace {

constexpr double kRadius = 13;   // of a neuron
constexpr double kSpacing = 36;  // between neighbours in a column or on a ring
constexpr double kColumn = 150;
constexpr double kMargin = 36;
constexpr double kLegend = 28;  // height

struct Node {
  std::string name;
  std::string type;
  std::string color;
  double x = 0;
  double y = 0;
};

struct Edge {
  std::size_t source = 0;
  std::size_t destination = 0;
  bool excites = false;
  std::string color;
};

struct Graph {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;  // nodes, from the sensory side
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

std::string color_of(std::string_view role, const WiringStyle& style) {
  const auto given = style.colors.find(std::string(role));
  if (given != style.colors.end()) {
    const std::string& text = given->second;
    const bool hex = text.size() == 7 && text[0] == '#' &&
                     std::all_of(text.begin() + 1, text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
    check(hex, Code::invalid_argument, "the colour '{}' of '{}' is not of the form #rrggbb", text, role);
    return text;
  }
  if (role == "motor") return "#ff7f0e";
  if (role == "sensory") return "#bcbd22";
  if (role == "excitatory") return "#2ca02c";
  if (role == "inhibitory") return "#d62728";
  return "#1f77b4";
}

Graph graph_of(const Wiring& wiring, const WiringStyle& style) {
  Graph graph;
  for (int i = 0; i < wiring.units; ++i) {
    const std::string type(neuron_type(wiring, i));
    graph.nodes.push_back({fmt::format("neuron_{}", i), type, color_of(type, style)});
  }
  const auto add_edge = [&](std::size_t source, int destination, int polarity) {
    if (polarity != 0)
      graph.edges.push_back({source, static_cast<std::size_t>(destination), polarity > 0,
                             color_of(polarity > 0 ? "excitatory" : "inhibitory", style)});
  };
  if (style.sensory_neurons) {
    graph.groups.emplace_back("sensory", std::vector<std::size_t>{});
    for (int i = 0; i < wiring.inputs; ++i) {
      graph.groups.back().second.push_back(graph.nodes.size());
      for (int d = 0; d < wiring.units; ++d) add_edge(graph.nodes.size(), d, wiring.sensory_polarity(i, d));
      graph.nodes.push_back({fmt::format("sensory_{}", i), "sensory", color_of("sensory", style)});
    }
  }
  for (const WiringLayer& layer : wiring.layers) {
    // Outputs of a wiring without layers get a group of their own, for what they are is worth seeing.
    std::vector<std::size_t> inner, motor;
    for (const int n : layer.neurons) (n < wiring.outputs ? motor : inner).push_back(static_cast<std::size_t>(n));
    if (!inner.empty()) graph.groups.emplace_back(layer.name, std::move(inner));
    if (!motor.empty()) graph.groups.emplace_back("motor", std::move(motor));
  }
  for (int s = 0; s < wiring.units; ++s)
    for (int d = 0; d < wiring.units; ++d) add_edge(static_cast<std::size_t>(s), d, wiring.polarity(s, d));
  return graph;
}

void place_on_ring(Graph& graph, const std::vector<std::size_t>& members, double radius) {
  for (std::size_t i = 0; i < members.size(); ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(members.size());
    graph.nodes[members[i]].x = radius * std::cos(angle);
    graph.nodes[members[i]].y = radius * std::sin(angle);
  }
}

double ring_radius(std::size_t members) { return static_cast<double>(members) * kSpacing / (2 * std::numbers::pi); }

void place(Graph& graph, WiringLayout layout) {
  if (layout == WiringLayout::layers) {
    for (std::size_t g = 0; g < graph.groups.size(); ++g) {
      const auto& members = graph.groups[g].second;
      for (std::size_t i = 0; i < members.size(); ++i) {
        Node& node = graph.nodes[members[i]];
        // Every second neuron stands aside, so that synapses within a layer do not hide behind the column.
        node.x = static_cast<double>(g) * kColumn + (i % 2 == 0 ? 0 : kSpacing);
        node.y = (static_cast<double>(i) - static_cast<double>(members.size() - 1) / 2) * kSpacing;
      }
    }
    return;
  }
  if (layout == WiringLayout::circular) {
    std::vector<std::size_t> all;
    for (const auto& [name, members] : graph.groups) all.insert(all.end(), members.begin(), members.end());
    return place_on_ring(graph, all, ring_radius(all.size()));
  }
  double radius = 0;
  for (auto group = graph.groups.rbegin(); group != graph.groups.rend(); ++group) {
    const auto& members = group->second;
    radius = members.size() == 1 && radius == 0 ? 0 : std::max(radius + 2 * kSpacing, ring_radius(members.size()));
    place_on_ring(graph, members, radius);
  }
}

void place(Graph& graph, const Wiring& wiring, const std::vector<WiringPoint>& positions) {
  check(std::ssize(positions) == wiring.units + wiring.inputs, Code::invalid_argument,
        "{} positions for {} neurons and {} inputs", positions.size(), wiring.units, wiring.inputs);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    check(std::isfinite(positions[i].x) && std::isfinite(positions[i].y), Code::invalid_argument,
          "the position of {} is ({}, {})", graph.nodes[i].name, positions[i].x, positions[i].y);
    graph.nodes[i].x = positions[i].x * kSpacing;
    graph.nodes[i].y = positions[i].y * kSpacing;
  }
}

void draw_edge(std::string& out, const Edge& edge, const Graph& graph) {
  const Node& a = graph.nodes[edge.source];
  const Node& b = graph.nodes[edge.destination];
  const auto head = edge.excites ? "excites" : "inhibits";
  auto to = std::back_inserter(out);
  if (edge.source == edge.destination) {
    fmt::format_to(
        to,
        "<path d=\"M{:.1f} {:.1f} c-14 -26 14 -26 {:.1f} 0\" stroke=\"{}\" marker-end=\"url(#{})\"><title>{} "
        "{} itself</title></path>\n",
        a.x - 5, a.y - kRadius, 10.0, edge.color, head, a.name, head);
    return;
  }
  const double dx = b.x - a.x, dy = b.y - a.y, length = std::max(std::hypot(dx, dy), 1e-9);
  const double ux = dx / length, uy = dy / length;
  // Bent a little, so that a synapse there and one back are two lines.
  const double bend = 0.08 * length;
  fmt::format_to(to,
                 "<path d=\"M{:.1f} {:.1f} Q{:.1f} {:.1f} {:.1f} {:.1f}\" stroke=\"{}\" "
                 "marker-end=\"url(#{})\"><title>{} {} {}</title></path>\n",
                 a.x + ux * kRadius, a.y + uy * kRadius, (a.x + b.x) / 2 - uy * bend, (a.y + b.y) / 2 + ux * bend,
                 b.x - ux * (kRadius + 4), b.y - uy * (kRadius + 4), edge.color, head, a.name, head, b.name);
}

}  // namespace

std::optional<WiringLayout> parse_wiring_layout(std::string_view text) {
  if (text == "layers") return WiringLayout::layers;
  if (text == "shell") return WiringLayout::shell;
  if (text == "circular") return WiringLayout::circular;
  return std::nullopt;
}

std::string wiring_to_dot(const Wiring& wiring, const WiringStyle& style) {
  const Graph graph = graph_of(wiring, style);
  std::string out = fmt::format("digraph wiring {{\n  label=\"{}\";\n", to_string(wiring.spec));
  out += style.layout == WiringLayout::layers  ? "  rankdir=LR;\n"
         : style.layout == WiringLayout::shell ? "  layout=twopi;\n"
                                               : "  layout=circo;\n";
  out += "  node [shape=circle, style=filled, fontcolor=white];\n";
  auto to = std::back_inserter(out);
  for (const auto& [name, members] : graph.groups) {
    out += "  { rank=same;\n";
    for (const std::size_t i : members) {
      const Node& node = graph.nodes[i];
      fmt::format_to(to, "    {} [neuron_type=\"{}\", fillcolor=\"{}\"{}];\n", node.name, node.type, node.color,
                     style.labels ? "" : ", label=\"\"");
    }
    out += "  }\n";
  }
  for (const Edge& edge : graph.edges)
    fmt::format_to(to, "  {} -> {} [polarity=\"{}\", color=\"{}\", arrowhead={}];\n", graph.nodes[edge.source].name,
                   graph.nodes[edge.destination].name, edge.excites ? "excitatory" : "inhibitory", edge.color,
                   edge.excites ? "normal" : "tee");
  return out + "}\n";
}

std::string wiring_to_svg(const Wiring& wiring, const WiringStyle& style) {
  Graph graph = graph_of(wiring, style);
  if (style.positions.empty())
    place(graph, style.layout);
  else
    place(graph, wiring, style.positions);
  double left = 1e300, right = -1e300, top = 1e300, bottom = -1e300;
  for (const Node& node : graph.nodes) {
    if (!style.sensory_neurons && node.type == "sensory") continue;
    left = std::min(left, node.x), right = std::max(right, node.x);
    top = std::min(top, node.y), bottom = std::max(bottom, node.y);
  }
  const double width = std::max(right - left + 2 * kMargin, 420.0);
  const double height = bottom - top + 2 * kMargin + kLegend;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{:.1f} {:.1f} {:.1f} {:.1f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"9\">\n<title>{}</title>\n",
      left - kMargin, top - kMargin, width, height, width, height, to_string(wiring.spec));
  auto to = std::back_inserter(out);
  fmt::format_to(to, "<defs>\n");
  fmt::format_to(
      to,
      "<marker id=\"excites\" viewBox=\"0 0 6 6\" refX=\"3\" refY=\"3\" markerWidth=\"5\" markerHeight=\"5\" "
      "orient=\"auto\"><path d=\"M0 0 L6 3 L0 6 z\" fill=\"{}\"/></marker>\n",
      color_of("excitatory", style));
  fmt::format_to(
      to,
      "<marker id=\"inhibits\" viewBox=\"0 0 6 6\" refX=\"3\" refY=\"3\" markerWidth=\"5\" markerHeight=\"5\" "
      "orient=\"auto\"><path d=\"M2 0 L4 0 L4 6 L2 6 z\" fill=\"{}\"/></marker>\n</defs>\n",
      color_of("inhibitory", style));
  out += "<g fill=\"none\" stroke-opacity=\"0.7\">\n";
  for (const Edge& edge : graph.edges) draw_edge(out, edge, graph);
  out += "</g>\n<g text-anchor=\"middle\">\n";
  for (const auto& [name, members] : graph.groups) {
    for (const std::size_t i : members) {
      const Node& node = graph.nodes[i];
      fmt::format_to(
          to, "<circle id=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"><title>{}: {}</title></circle>\n",
          node.name, node.x, node.y, kRadius, node.color, node.name, node.type);
      if (style.labels)
        fmt::format_to(to, "<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"#fff\">{}</text>\n", node.x, node.y + 3,
                       node.name.substr(node.name.find('_') + 1));
    }
  }
  out += "</g>\n";
  double x = left - kMargin / 2;
  const double y = bottom + kMargin + kLegend / 2;
  const auto legend = [&](std::string_view text, const std::string& color) {
    fmt::format_to(
        to, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\" fill=\"{}\"/><text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x,
        y, color, x + 9, y + 3, text);
    x += 20 + 6 * static_cast<double>(text.size());
  };
  for (const auto& [name, members] : graph.groups) legend(name, color_of(name, style));
  legend("excitatory", color_of("excitatory", style));
  legend("inhibitory", color_of("inhibitory", style));
  return out + "</svg>\n";
}

}  // namespace tessera::ncp
