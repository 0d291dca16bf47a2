#include "tessera/io/onnx/internal/names.h"

#include "tessera/core/error.h"

#include <deque>
#include <unordered_map>
#include <unordered_set>

namespace tessera::onnx {
namespace {

class FreeNames {
 public:
  void visit(const pb::GraphProto& graph, int depth) {
    check(depth <= kMaxDepth, Code::unsupported, "graphs are nested more than {} deep", kMaxDepth);
    std::unordered_set<std::string> made;
    for (const auto& input : graph.input()) made.insert(input.name());
    for (const auto& tensor : graph.initializer()) made.insert(tensor.name());
    for (const auto& node : graph.node())
      for (const std::string& output : node.output()) made.insert(output);
    scopes_.push_back(std::move(made));
    for (const auto& node : graph.node()) visit(node, depth);
    for (const auto& output : graph.output()) use(output.name());
    scopes_.pop_back();
  }

  void visit(const pb::NodeProto& node, int depth) {
    for (const std::string& input : node.input()) use(input);
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) visit(attribute.g(), depth + 1);
      for (const auto& graph : attribute.graphs()) visit(graph, depth + 1);
    }
  }

  std::vector<std::string> take() { return std::move(found_); }

 private:
  void use(const std::string& name) {
    if (name.empty()) return;
    for (const auto& scope : scopes_)
      if (scope.contains(name)) return;
    if (seen_.insert(name).second) found_.push_back(name);
  }

  std::vector<std::unordered_set<std::string>> scopes_;
  std::unordered_set<std::string> seen_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> free_names(const pb::GraphProto& graph) {
  FreeNames names;
  names.visit(graph, 1);
  return names.take();
}

std::vector<std::string> names_read(const pb::NodeProto& node) {
  FreeNames names;
  names.visit(node, 1);
  return names.take();
}

Order run_order(const google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes) {
  std::unordered_map<std::string, int> maker;
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& output : nodes[i].output())
      if (!output.empty()) maker.emplace(output, i);  // the first one counts; a second is reported elsewhere

  std::vector<int> missing(static_cast<std::size_t>(nodes.size()));
  std::vector<std::vector<int>> readers(static_cast<std::size_t>(nodes.size()));
  for (int i = 0; i < nodes.size(); ++i)
    for (const std::string& input : names_read(nodes[i])) {
      const auto found = maker.find(input);
      if (found == maker.end()) continue;
      ++missing[static_cast<std::size_t>(i)];
      readers[static_cast<std::size_t>(found->second)].push_back(i);
    }

  // Nodes in file order stay in file order.
  Order order;
  std::vector<bool> done(static_cast<std::size_t>(nodes.size()));
  std::deque<int> ready;
  const auto run = [&](int node) {
    done[static_cast<std::size_t>(node)] = true;
    order.nodes.push_back(node);
    for (const int reader : readers[static_cast<std::size_t>(node)])
      if (--missing[static_cast<std::size_t>(reader)] == 0) ready.push_back(reader);
  };
  for (int i = 0; i < nodes.size(); ++i) {
    if (done[static_cast<std::size_t>(i)] || missing[static_cast<std::size_t>(i)] != 0) continue;
    run(i);
    // Those that come later in the file get their turn there.
    while (!ready.empty()) {
      const int next = ready.front();
      ready.pop_front();
      if (next < i && !done[static_cast<std::size_t>(next)]) run(next);
    }
  }
  for (int i = 0; i < nodes.size(); ++i)
    if (!done[static_cast<std::size_t>(i)]) order.stuck.push_back(i);
  return order;
}

}  // namespace tessera::onnx
