// Weights that stay in the file until they are asked for.

#include "model_builder.h"

#include "tessera/core/error.h"
#include "tessera/graph/graph.h"
#include "tessera/io/onnx/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

namespace tessera::onnx {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::int64_t kLarge = 40'000;  // elements

std::vector<float> numbers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

// x + large + small, where names push the large weights to any offset modulo 4.
ModelBuilder model_with_weights(int push) {
  ModelBuilder b;
  b.input("x", {kLarge});
  for (const auto& [name, count] :
       {std::pair(std::string("large") + std::string(static_cast<std::size_t>(push), '_'), kLarge),
        std::pair(std::string("small"), std::int64_t{1})}) {
    pb::TensorProto& tensor = *b.graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(pb::TensorProto::FLOAT);
    tensor.add_dims(count);
    const std::vector<float> values = numbers(count, 7);
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
    tensor.set_doc_string("after the weights");
  }
  b.node("Add", {"x", b.graph().initializer(0).name()}, {"t"});
  b.node("Add", {"t", "small"}, {"y"});
  b.output("y");
  return b;
}

const Array& constant_of(const Graph& graph, std::int64_t count) {
  for (const Value& value : graph.values)
    if (value.constant && value.constant->count() == count) return *value.constant;
  throw std::runtime_error("no such constant");
}

class FileWeights : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("tessera_weights_{}_{}", ::getpid(),
                                                      testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& bytes, const std::string& name = "m.onnx") const {
    std::ofstream(folder_ / name, std::ios::binary | std::ios::trunc) << bytes;
    return folder_ / name;
  }

  fs::path folder_;
};

TEST_F(FileWeights, AreTheSameAtAnyOffsetAsInMemory) {
  for (int push = 0; push < 4; ++push) {
    const std::string bytes = model_with_weights(push).model.SerializeAsString();
    const Graph in_file = import_onnx(write(bytes)), copied = import_onnx_bytes(std::as_bytes(std::span(bytes)));
    EXPECT_NE(constant_of(in_file, kLarge).deferred(), nullptr);
    EXPECT_EQ(constant_of(in_file, 1).deferred(), nullptr) << "small weights are copied";
    EXPECT_EQ(constant_of(copied, kLarge).deferred(), nullptr) << "memory of the caller is";
    EXPECT_EQ(constant_of(in_file, kLarge), constant_of(copied, kLarge));
    EXPECT_EQ(constant_of(in_file, kLarge), Array::of<float>(Shape{kLarge}, numbers(kLarge, 7)));
    EXPECT_EQ(constant_of(in_file, 1), constant_of(copied, 1));
  }
}

TEST_F(FileWeights, OutliveTheNameOfTheFile) {
  const fs::path path = write(model_with_weights(1).model.SerializeAsString());
  const Graph graph = import_onnx(path);
  fs::remove(path);
  EXPECT_EQ(constant_of(graph, kLarge), Array::of<float>(Shape{kLarge}, numbers(kLarge, 7)));
  write("another file of that name");
  EXPECT_EQ(constant_of(graph, kLarge).loaded(), Array::of<float>(Shape{kLarge}, numbers(kLarge, 7)));
}

TEST_F(FileWeights, OfAFileThatWasChangedAreAnErrorAndNotACrash) {
  const std::string bytes = model_with_weights(2).model.SerializeAsString();
  const auto cut_short = [](const fs::path& path) { fs::resize_file(path, 100); };
  const auto touched = [](const fs::path& path) {
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(1));
  };
  // The time of the last change, which nobody can put back, goes in ticks of a few ms.
  const auto put_back = [](const fs::path& path) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const auto before = fs::last_write_time(path);
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('x');
    fs::last_write_time(path, before);
  };
  for (const auto& change : {std::function<void(const fs::path&)>(cut_short), {touched}, {put_back}}) {
    const fs::path path = write(bytes);
    const Graph graph = import_onnx(path);
    change(path);
    try {
      constant_of(graph, kLarge).bytes();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::io);
      EXPECT_THAT(error.message(), HasSubstr("changed"));
    }
  }
}

// A file that others rewrite all the time: every import gives the graph or an error.
TEST_F(FileWeights, OfAFileThatIsCutShortMeanwhileAreAnError) {
  const std::string bytes = model_with_weights(1).model.SerializeAsString();
  const fs::path path = write(bytes);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    while (!done) {
      fs::resize_file(path, 100);
      std::ofstream(path, std::ios::binary | std::ios::in | std::ios::out) << bytes;
    }
  });
  int errors = 0;
  for (int i = 0; i < 200; ++i) {
    try {
      const Graph graph = import_onnx(path);
      constant_of(graph, kLarge).bytes();
    } catch (const Error&) {
      ++errors;
    }
  }
  done = true;
  writer.join();
  EXPECT_GT(errors, 0);
}

TEST_F(FileWeights, OfFilesBesideTheModelStayThereToo) {
  ModelBuilder b;
  b.input("x", {kLarge});
  pb::TensorProto& tensor = *b.graph().add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(pb::TensorProto::FLOAT);
  tensor.add_dims(kLarge);
  tensor.set_data_location(pb::TensorProto::EXTERNAL);
  for (const auto& [key, value] : {std::pair("location", "w.bin"), std::pair("offset", "3")}) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  b.node("Add", {"x", "w"}, {"y"});
  b.output("y");
  const std::vector<float> values = numbers(kLarge, 9);
  write("abc" + std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4), "w.bin");
  const Graph graph = import_onnx(write(b.model.SerializeAsString()));
  EXPECT_NE(constant_of(graph, kLarge).deferred(), nullptr);
  EXPECT_EQ(constant_of(graph, kLarge), Array::of<float>(Shape{kLarge}, values));
}

TEST_F(FileWeights, OfBrokenFilesAreRefusedLikeAnyOther) {
  const std::string bytes = model_with_weights(0).model.SerializeAsString();
  // Cut short anywhere, and with bytes that are something else: an Error or a graph, never a crash.
  std::mt19937 random(3);
  for (std::size_t size = 0; size < bytes.size(); size += 1 + random() % (bytes.size() / 40))
    EXPECT_THROW(import_onnx(write(bytes.substr(0, size))), Error) << size;
  for (int i = 0; i < 300; ++i) {
    std::string broken = bytes;
    // The few bytes that are not weights.
    const std::size_t at = random() % 2 ? random() % 80 : bytes.size() - 1 - random() % 150;
    broken[at] = static_cast<char>(random());
    const auto attempt = [&](const auto& import) {
      try {
        import();
        return std::string("a graph");
      } catch (const Error& error) {
        return error.message();
      }
    };
    const std::string from_file = attempt([&] { import_onnx(write(broken)); });
    const std::string from_memory = attempt([&] { import_onnx_bytes(std::as_bytes(std::span(broken))); });
    EXPECT_THAT(from_file, HasSubstr(from_memory));
  }
}

TEST_F(FileWeights, MustHaveTheBytesThatTheirExtentsAskFor) {
  ModelBuilder b = model_with_weights(0);
  b.graph().mutable_initializer(0)->set_dims(0, kLarge + 1);
  try {
    import_onnx(write(b.model.SerializeAsString()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("raw_data has"));
  }
}

}  // namespace
}  // namespace tessera::onnx
