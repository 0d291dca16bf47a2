#include <tessera/tessera.h>

#include <cstdio>

int main(int argc, char** argv) {
  try {
    const tessera::Session session = tessera::load(argc > 1 ? argv[1] : "m.onnx");
    const tessera::Array x(tessera::ElementType::float32, session.inputs()[0].type.shape());
    const auto y = session.run({x});
    std::printf("%s: %s\n", session.outputs()[0].name.c_str(), y[0].to_string().c_str());
  } catch (const tessera::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
