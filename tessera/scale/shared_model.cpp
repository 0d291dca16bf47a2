#include "tessera/scale/shared_model.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/io/onnx/external_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestModel = std::uint64_t{16} << 30;
constexpr std::size_t kPiece = std::size_t{64} << 20;

std::vector<std::string> files_of(const Payload& model) {
  try {
    return onnx_external_files(model);
  } catch (const Error&) {
    return {};  // whoever imports it says what is wrong with it
  }
}

// From rank 0's file to the others', piece by piece. Who fails goes on receiving, so that nobody waits for it, and says
// so at the end.
void share_file(Communicator& world, const fs::path& path) {
  const bool first = world.rank() == 0;
  std::uint64_t size = 0;
  std::fstream file;
  together(world, [&] {
    std::error_code error;
    if (first) size = fs::file_size(path, error);
    if (!first) fs::create_directories(path.parent_path(), error);
    check(!error, Code::io, "cannot share the model's weights in {}: {}", path.string(), error.message());
    file.open(path, first ? std::ios::in | std::ios::binary : std::ios::out | std::ios::binary | std::ios::trunc);
    check(file.is_open(), Code::io, "cannot open {}: {}", path.string(), std::generic_category().message(errno));
  });
  world.broadcast(std::as_writable_bytes(std::span(&size, 1)), 0);
  Payload piece;
  for (std::uint64_t at = 0; at < size; at += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, size - at)));
    auto* const bytes = reinterpret_cast<char*>(piece.data());
    if (first) file.read(bytes, static_cast<std::streamsize>(piece.size()));
    world.broadcast(piece, 0);
    if (!first) file.write(bytes, static_cast<std::streamsize>(piece.size()));
  }
  together(world, [&] {
    if (!first) file.close();
    check(file.good(), Code::io, "cannot {} all {} B of {}", first ? "read" : "write", size, path.string());
  });
}

}  // namespace

SharedModel::SharedModel(Communicator& world, const fs::path& path) {
  together(world, [&] {
    if (world.rank() == 0 && fs::exists(path) && !fs::is_directory(path)) bytes_ = read_file(path, kLargestModel);
  });
  bytes_ = broadcast_bytes(world, std::move(bytes_), 0);
  if (bytes_.empty()) return;
  if (world.rank() == 0) folder_ = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (world.size() > 1) share_files(world);
}

void SharedModel::share_files(Communicator& world) {
  std::vector<std::string> names;
  together(world, [&] {
    names = files_of(bytes_);
    for (const std::string& name : names) {
      const fs::path path(name);
      const bool climbs = std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
      check(!name.empty() && name.find('\0') == std::string::npos && path.is_relative() && !climbs,
            Code::invalid_argument, "external data must lie in the folder of the model, and '{}' does not", name);
    }
    if (!names.empty() && world.rank() > 0) folder_ = copies_.emplace().path();
  });
  for (const std::string& name : names) share_file(world, folder_ / name);
}

}  // namespace tessera
