// What is on a picture: example_recognize MODEL PICTURE

#include <tessera/tessera.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: example_recognize MODEL PICTURE\n"), 2;
  try {
    const tessera::Recognizer network(argv[1]);
    const tessera::Answers answers = network.run(tessera::load_image(argv[2]));
    std::printf("%s\n", answers.to_string().c_str());
    for (const tessera::RankedClass& one : answers.classes)
      std::printf("%s %.3f\n", one.label.c_str(), one.probability);
  } catch (const tessera::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
