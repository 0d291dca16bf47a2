#include "tessera/targets/tensix/plan/plan_accuracy.h"

#include "tessera/core/error.h"
#include "tessera/targets/tensix/card/device.h"
#include "tessera/targets/tensix/plan/run_plan.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tessera::tensix {
namespace {

bool has_images(const tensix::LoweredGraph& network, ValueId id, std::int64_t batch) {
  if (id == kNoValue) return true;
  const Shape shape = network.graph.value(id).type.shape();
  return shape.rank() > 0 && shape[0] == batch;
}

// Every value is one of as many images.
bool keeps_images(const tensix::LoweredGraph& network, std::int64_t batch) {
  const auto all = [&](const std::vector<ValueId>& values) {
    return std::ranges::all_of(values, [&](ValueId id) { return has_images(network, id, batch); });
  };
  return all(network.graph.inputs) && all(network.graph.outputs) &&
         std::ranges::all_of(network.nodes, [&](const tensix::LoweredNode& node) {
           return !node.layer.is<tensix::HostLayer>() && all(node.inputs) && all(node.outputs);
         });
}

// The first of them.
Array first_images(const Array& x, std::int64_t images) {
  std::vector<std::int64_t> dims = x.shape().dims();
  if (dims.empty() || dims[0] <= images) return x;
  dims[0] = images;
  Array out(x.type(), Shape(dims));
  std::memcpy(out.bytes().data(), x.bytes().data(), out.bytes().size());
  return out;
}

// The plan of one of its passes, as that of a batch.
CardPlan one_pass(const CardPlan& plan) {
  CardPlan one = plan;
  one.batch = plan.pass_images;
  one.pass_images = 0;
  return one;
}

Calibration first_images(const Calibration& of, std::int64_t images) {
  Calibration out = of;
  for (Array& input : out.inputs) input = first_images(input, images);
  for (auto& [name, value] : out.values) value = first_images(value, images);
  for (Array& output : out.outputs) output = first_images(output, images);
  return out;
}

}  // namespace

std::int64_t images_of(const tensix::LoweredGraph& network) {
  if (network.graph.inputs.empty()) return 1;
  const Shape shape = network.graph.value(network.graph.inputs[0]).type.shape();
  return shape.rank() == 0 ? 1 : shape[0];
}

std::int64_t images_to_measure(const tensix::LoweredGraph& network, const CardPlan& plan) {
  if (plan.pass_images > 0) return images_to_measure(pass_network(network, plan), one_pass(plan));
  const std::int64_t batch = images_of(network);
  return keeps_images(network, batch) ? std::min(batch, plan.grouped_images) : batch;
}

NodeAccuracy measure_plan(const Calibration& calibration, const Machine& machine, const tensix::LoweredGraph& network,
                          const CardPlan& plan, const std::function<void()>& pulse) {
  if (plan.pass_images > 0)
    return measure_plan(first_images(calibration, plan.pass_images), machine, pass_network(network, plan),
                        one_pass(plan), pulse);
  const std::int64_t images = images_to_measure(network, plan), batch = images_of(network);
  const bool whole = images == batch;
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < network.graph.inputs.size(); ++i) {
    const TensorType& type = network.graph.value(network.graph.inputs[i]).type;
    const Array known = whole ? calibration.inputs.at(i) : first_images(calibration.inputs.at(i), images);
    Array& x = inputs.emplace_back(type.type, type.shape());
    check(known.type() == type.type &&
              (whole ? known.shape() == type.shape() : known.count() * batch == x.count() * images),
          Code::invalid_argument, "the calibration has an input of shape {}, {} images of {} are wanted",
          calibration.inputs[i].shape().to_string(), images, type.shape().to_string());
    std::memcpy(x.bytes().data(), known.bytes().data(), known.bytes().size());
  }
  const auto like = [&](const Array& found, const Array& known) {
    return whole ? correlation(found, known) : correlation(first_images(found, images), first_images(known, images));
  };
  NodeAccuracy out;
  out.nodes.resize(network.nodes.size());
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < network.nodes.size(); ++i) index[network.nodes[i].name] = i;
  RunPlanHooks hooks;
  hooks.on_result = [&](const tensix::LoweredNode& node, const Array& found) {
    if (pulse) pulse();
    const std::size_t at = index.at(node.name);
    const ValueId id = network.nodes[at].outputs[0];
    const auto there = calibration.values.find(network.graph.value(id).name);
    if (there != calibration.values.end() && found.type() == ElementType::float32 &&
        found.shape() == network.graph.value(id).type.shape())
      out.nodes[at] = like(found, there->second);
  };
  // A row of the planned network's batch is a group of images.
  const auto device = Device::open(machine, {.l1_small_bytes = plan.request.l1_small_bytes,
                                             .values = true,
                                             .valued_images = whole ? 0 : images / plan.grouped_images});
  const tensix::Simulation done = run_plan(device, network, plan, inputs, hooks);
  for (std::size_t i = 0; i < done.outputs.size(); ++i)
    if (done.outputs[i].type() == ElementType::float32)
      out.pcc = std::min(out.pcc, like(done.outputs[i], calibration.outputs.at(i)));
  return out;
}

}  // namespace tessera::tensix
