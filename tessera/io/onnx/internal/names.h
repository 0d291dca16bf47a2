#pragma once

// Which names a graph uses, and in what order its nodes can run.

#include <tessera_onnx.pb.h>

#include <string>
#include <vector>

namespace tessera::onnx {

constexpr int kMaxDepth = 64;  // of graphs and functions within each other

// Names that the graph uses, or graphs inside it, and that neither makes: they come from outside. In order of first
// use. Refuses nesting beyond kMaxDepth.
std::vector<std::string> free_names(const pb::GraphProto& graph);

// Names that a node reads: its inputs and the free names of the graphs inside it.
std::vector<std::string> names_read(const pb::NodeProto& node);

struct Order {
  std::vector<int> nodes;  // positions, so that every name is made before it is read
  std::vector<int> stuck;  // nodes that wait for each other, or for one of these
};
Order run_order(const google::protobuf::RepeatedPtrField<pb::NodeProto>& nodes);

}  // namespace tessera::onnx
