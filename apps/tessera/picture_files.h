#pragma once

// Pictures one after the other, from files, folders and videos, and what is drawn on them as files.

#include "tessera/vision/answers.h"
#include "tessera/vision/image.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tessera::cli {

struct PictureFile {
  std::filesystem::path path;
  bool in_folder = false;  // one of many: the others go on if it cannot be read
};

// A picture, a video, or a folder that has pictures and no arrays.
bool is_picture_input(const std::filesystem::path& path);
std::vector<PictureFile> list_pictures(const std::vector<std::filesystem::path>& inputs);

struct NamedPicture {
  std::string name;  // the file, and the number of a frame
  std::string file;  // what it is called where it is written
  Image image;
};

// What could not be read is handed to `failed`, with why.
void for_each_picture(const std::vector<PictureFile>& files, std::int64_t every,
                      const std::function<void(NamedPicture picture)>& each,
                      const std::function<void(const std::string& name, const std::string& why)>& failed);

// An Error where two of them would be written to one file, or one over itself.
void check_picture_outputs(const std::vector<PictureFile>& files, const std::filesystem::path& folder);

// The picture with its answers, and a mask as a PNG of class numbers beside it. Returns the file.
std::string write_picture(const NamedPicture& picture, const Answers& answers, const std::filesystem::path& folder);

}  // namespace tessera::cli
