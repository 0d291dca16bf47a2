#include "model_builder.h"

#include "tessera/graph/graph.h"
#include "tessera/io/onnx/external_files.h"
#include "tessera/io/onnx/import.h"
#include "tessera/io/onnx/tensor_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tessera::onnx {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

Array parse(const pb::TensorProto& tensor) {
  const std::string text = tensor.SerializeAsString();
  return parse_onnx_tensor(std::as_bytes(std::span(text)));
}

pb::TensorProto tensor_of(int type, const std::vector<std::int64_t>& dims) {
  pb::TensorProto tensor;
  tensor.set_data_type(type);
  for (const std::int64_t extent : dims) tensor.add_dims(extent);
  return tensor;
}

TEST(Initializer, TypedFieldsOfEveryTypeAreRead) {
  for (const int type : {2, 3, 4, 5, 6, 9, 10, 16}) {
    pb::TensorProto tensor = tensor_of(type, {2});
    tensor.add_int32_data(0);
    tensor.add_int32_data(1);
    EXPECT_EQ(parse(tensor).count(), 2) << type;
  }
  pb::TensorProto half = tensor_of(pb::TensorProto::FLOAT16, {});
  half.add_int32_data(0x3c00);
  EXPECT_THAT(parse(half).to_double(), ElementsAre(1.0));
  pb::TensorProto brain = tensor_of(pb::TensorProto::BFLOAT16, {});
  brain.add_int32_data(0xc000);
  EXPECT_THAT(parse(brain).to_double(), ElementsAre(-2.0));
  pb::TensorProto large = tensor_of(pb::TensorProto::UINT32, {1});
  large.add_uint64_data(4294967295u);
  EXPECT_THAT(parse(large).to_double(), ElementsAre(4294967295.0));
  pb::TensorProto flag = tensor_of(pb::TensorProto::BOOL, {2});
  flag.set_raw_data(std::string("\x07\x00", 2));
  EXPECT_THAT(parse(flag).to_int64(), ElementsAre(1, 0));
}

TEST(Initializer, ElementsOfFourAndTwoBitsAreUnpacked) {
  pb::TensorProto four = tensor_of(pb::TensorProto::INT4, {3});
  four.set_raw_data(std::string("\x87\x0f", 2));  // the low half of a byte is first
  EXPECT_THAT(parse(four).to_int64(), ElementsAre(7, -8, -1));
  pb::TensorProto two = tensor_of(pb::TensorProto::UINT2, {2, 3});
  two.add_int32_data(0b11'10'01'00);
  EXPECT_THROW(parse(two), Error);
  two.add_int32_data(0b01);
  EXPECT_THAT(parse(two).to_int64(), ElementsAre(0, 1, 2, 3, 1, 0));
  pb::TensorProto power = tensor_of(pb::TensorProto::FLOAT8E8M0, {1});
  power.set_raw_data("\x80");
  EXPECT_THAT(parse(power).to_double(), ElementsAre(2.0));
}

TEST(Initializer, TypesThatNothingIsComputedInAreNamed) {
  for (const auto& [type, word] : {std::pair(8, "string"), std::pair(15, "complex128"), std::pair(14, "complex64")}) {
    try {
      parse(tensor_of(type, {0}));
      FAIL() << type;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::unsupported);
      EXPECT_THAT(error.message(), HasSubstr(word));
    }
  }
}

TEST(Initializer, ExtentsMustMatchTheBytesBeforeAnythingIsAllocated) {
  pb::TensorProto giant = tensor_of(pb::TensorProto::FLOAT, {1 << 30, 1 << 10});
  giant.set_raw_data("abcd");
  EXPECT_THROW(parse(giant), Error);
  giant.clear_raw_data();
  giant.add_float_data(1);
  EXPECT_THROW(parse(giant), Error);
  pb::TensorProto overflow = tensor_of(pb::TensorProto::FLOAT, {std::int64_t{1} << 40, std::int64_t{1} << 40});
  EXPECT_THROW(parse(overflow), Error);
  pb::TensorProto negative = tensor_of(pb::TensorProto::FLOAT, {-1});
  EXPECT_THROW(parse(negative), Error);
}

class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("external-" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "model");
    const float values[] = {1, 2, 3, 4};
    std::ofstream(folder_ / "model" / "w.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof(values));
    std::ofstream(folder_ / "secret.bin", std::ios::binary)
        .write(reinterpret_cast<const char*>(values), sizeof(values));
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string load(const std::string& location, const std::string& offset, const std::string& length) {
    ModelBuilder model;
    pb::TensorProto& tensor = model.initializer("w", {2});
    tensor.set_data_location(pb::TensorProto::EXTERNAL);
    const auto entry = [&](const char* key, const std::string& value) {
      if (value.empty()) return;
      auto& e = *tensor.add_external_data();
      e.set_key(key);
      e.set_value(value);
    };
    entry("location", location);
    entry("offset", offset);
    entry("length", length);
    model.output("w");
    try {
      const Graph graph = import_onnx_bytes(model.bytes(), folder_ / "model");
      const auto values = graph.value(graph.outputs[0]).constant->to_double();
      return fmt::format("{} {}", values[0], values[1]);
    } catch (const Error& error) {
      return error.message();
    }
  }

  fs::path folder_;
};

TEST_F(ExternalData, IsReadFromTheModelsFolder) {
  EXPECT_EQ(load("w.bin", "", ""), "1 2");
  EXPECT_EQ(load("w.bin", "8", "8"), "3 4");
}

TEST_F(ExternalData, FilesAreListedOnceWhereverTheyAreNamed) {
  ModelBuilder model;
  const auto outside = [](pb::TensorProto& tensor, const char* location) {
    tensor.set_data_location(pb::TensorProto::EXTERNAL);
    auto& entry = *tensor.add_external_data();
    entry.set_key("location");
    entry.set_value(location);
  };
  model.initializer("inside", {2});
  outside(model.initializer("v", {2}), "w.bin");
  outside(model.initializer("w", {2}), "w.bin");
  pb::NodeProto& branch = *model.graph().add_node();
  pb::GraphProto& graph = *branch.add_attribute()->mutable_g();
  outside(*graph.add_initializer(), "deep/a.bin");
  outside(*graph.add_node()->add_attribute()->mutable_t(), "b.bin");
  EXPECT_THAT(onnx_external_files(model.bytes()), testing::ElementsAre("b.bin", "deep/a.bin", "w.bin"));
  EXPECT_THROW(onnx_external_files(std::vector<std::byte>(9, std::byte{7})), Error);
}

TEST_F(ExternalData, OutsideTheFolderIsRefused) {
  EXPECT_THAT(load("../secret.bin", "", ""), HasSubstr("does not"));
  EXPECT_THAT(load((folder_ / "secret.bin").string(), "", ""), HasSubstr("does not"));
  EXPECT_THAT(load("sub/../../secret.bin", "", ""), HasSubstr("does not"));
  fs::create_symlink(folder_ / "secret.bin", folder_ / "model" / "link.bin");
  EXPECT_THAT(load("link.bin", "", ""), HasSubstr("leads out of it"));
  EXPECT_THAT(load(".", "", ""), HasSubstr("regular file"));
}

TEST_F(ExternalData, MustHoldWhatTheTensorNeeds) {
  EXPECT_THAT(load("w.bin", "12", ""), HasSubstr("not enough"));
  EXPECT_THAT(load("w.bin", "18446744073709551615", ""), HasSubstr("not enough"));
  EXPECT_THAT(load("w.bin", "0", "12"), HasSubstr("12 B"));
  EXPECT_THAT(load("w.bin", "-4", ""), HasSubstr("not a number"));
  EXPECT_THAT(load("other.bin", "", ""), HasSubstr("missing"));
}

TEST(Initializer, InMemoryModelsHaveNoFolder) {
  ModelBuilder model;
  pb::TensorProto& tensor = model.initializer("w", {1});
  tensor.set_data_location(pb::TensorProto::EXTERNAL);
  model.output("w");
  EXPECT_THROW(import_onnx_bytes(model.bytes()), Error);
}

}  // namespace
}  // namespace tessera::onnx
