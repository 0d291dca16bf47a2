#include <tessera/tessera.h>

#include <cstdio>

int main() {
  // On this CPU. tessera::load("model.onnx") does the same for a file.
  const tessera::Session session(tessera::zoo_network("resnet18"));
  const tessera::Array image(tessera::ElementType::float32, session.inputs()[0].type.shape());
  const auto scores = session.run({image});
  std::printf("%s: %s\n", session.outputs()[0].name.c_str(), scores[0].to_string().c_str());

  // On a simulated card.
  const tessera::tensix::Card card(tessera::load_machine("wormhole_n150"));
  const tessera::tensix::TensorSpec spec({1, 1, 2048, 64}, tessera::DType::bfloat8_b, tessera::Layout::tile,
                                         tessera::tensix::kL1MemoryConfig);
  const auto cores = tessera::tensix::CoreGrid{8, 8}.to_core_range_set();
  const auto tensor = card.allocate(spec.height_sharded(cores));
  std::printf("%s at %ld\n", tensor.spec().memory_config().shard_spec()->to_string().c_str(),
              static_cast<long>(tensor.address()));
  return scores[0].count() == 1000 && tensor.address() == 1496960 ? 0 : 1;
}
