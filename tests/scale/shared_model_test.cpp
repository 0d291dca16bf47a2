#include "tessera/scale/shared_model.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "thread_world.h"

#include <gmock/gmock.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using for_tests::Threads;
using testing::Each;
using testing::HasSubstr;

// A message of ONNX by hand: field numbers of its schema, all of them texts or messages.
std::string field(int number, const std::string& body) {
  EXPECT_LT(body.size(), 128u);
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(body.size())} + body;
}
// A model with one initializer, whose data is in another file.
std::string model_with(const std::string& location) {
  const std::string entry = field(1, "location") + field(2, location);
  const std::string tensor = field(8, "w") + field(13, entry) + std::string{14 << 3, 1};
  return field(7, field(5, tensor));
}

class SharedModelTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }

  fs::path folder = fs::path(testing::TempDir()) / "shared_model";
  fs::path model = folder / "m.onnx";
};

TEST_F(SharedModelTest, FilesOfWeightsComeAlongAndGoAgain) {
  write_file_atomically(model, model_with("more/w.bin"));
  std::string weights(100000, 'w');
  weights[77777] = 'x';
  write_file_atomically(folder / "more" / "w.bin", weights, Directories::create);
  std::vector<fs::path> folders(3);
  EXPECT_THAT(Threads(3).run([&](Communicator& world) {
    const SharedModel shared(world, world.rank() == 0 ? model : fs::path("not there.onnx"));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(shared.bytes().data()), shared.bytes().size()),
              model_with("more/w.bin"));
    EXPECT_EQ(read_text_file(shared.folder() / "more" / "w.bin"), weights);
    folders[static_cast<std::size_t>(world.rank())] = shared.folder();
  }),
              Each(""));
  EXPECT_EQ(folders[0], folder);
  EXPECT_TRUE(fs::exists(folder));
  EXPECT_NE(folders[1], folders[2]);
  EXPECT_FALSE(fs::exists(folders[1]) || fs::exists(folders[2]));
}

TEST_F(SharedModelTest, AFileThatIsMissingIsTheFailureOfAll) {
  write_file_atomically(model, model_with("w.bin"));
  EXPECT_THAT(Threads(2).run([&](Communicator& world) { SharedModel(world, model); }), Each(HasSubstr("w.bin")));
}

TEST_F(SharedModelTest, NothingIsReadOrWrittenOutsideTheFolders) {
  for (const char* location : {"../w.bin", "/etc/passwd", "a/../../w.bin", ""}) {
    write_file_atomically(model, model_with(location));
    EXPECT_THAT(Threads(2).run([&](Communicator& world) { SharedModel(world, model); }),
                Each(HasSubstr("must lie in the folder of the model")))
        << location;
  }
}

TEST_F(SharedModelTest, WhatIsNoModelIsLeftToTheImporter) {
  write_file_atomically(model, "no model");
  EXPECT_THAT(Threads(2).run([&](Communicator& world) { EXPECT_EQ(SharedModel(world, model).bytes().size(), 8u); }),
              Each(""));
  EXPECT_THAT(Threads(2).run([&](Communicator& world) { EXPECT_TRUE(SharedModel(world, "x").bytes().empty()); }),
              Each(""));
}

}  // namespace
}  // namespace tessera
