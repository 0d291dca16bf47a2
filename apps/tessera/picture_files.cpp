#include "picture_files.h"

#include "tessera/core/error.h"
#include "tessera/vision/video.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> pictures_in(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string ending = entry.path().extension().string();
    if (ending == ".npy" || ending == ".npz") return {};
    if (has_image_name(entry.path())) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::string frame_file(const fs::path& video, std::int64_t number) {
  return fmt::format("{}-{:06}.png", video.stem().string(), number);
}

}  // namespace

bool is_picture_input(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return !pictures_in(path).empty();
  return has_image_name(path) || has_video_name(path);
}

std::vector<PictureFile> list_pictures(const std::vector<fs::path>& inputs) {
  std::vector<PictureFile> files;
  for (const fs::path& input : inputs) {
    std::error_code ignored;
    check(fs::exists(input, ignored), Code::not_found, "there is no file or folder '{}'", input.string());
    if (!fs::is_directory(input, ignored)) {
      files.push_back({input, false});
      continue;
    }
    for (fs::path& picture : pictures_in(input)) files.push_back({std::move(picture), true});
  }
  return files;
}

void for_each_picture(const std::vector<PictureFile>& files, std::int64_t every,
                      const std::function<void(NamedPicture picture)>& each,
                      const std::function<void(const std::string& name, const std::string& why)>& failed) {
  for (const PictureFile& file : files) {
    const std::string name = file.path.string();
    if (has_video_name(file.path)) {
      for_each_frame(file.path, every, [&](std::int64_t number, Image frame) {
        each({fmt::format("{}, frame {}", name, number), frame_file(file.path, number), std::move(frame)});
        return true;
      });
      continue;
    }
    Image image;
    try {
      image = load_image(file.path);
    } catch (const Error& error) {
      if (!file.in_folder) throw;
      failed(name, error.message());
      continue;
    }
    each({name, file.path.filename().string(), std::move(image)});
  }
}

void check_picture_outputs(const std::vector<PictureFile>& files, const fs::path& folder) {
  std::map<std::string, fs::path> taken;
  for (const PictureFile& file : files) {
    const std::string name = has_video_name(file.path) ? file.path.stem().string() : file.path.filename().string();
    const auto [there, added] = taken.try_emplace(name, file.path);
    check(added, Code::invalid_argument, Hint{"run them one after the other, with an --output each"},
          "{} and {} would be written to one file, {}", there->second.string(), file.path.string(),
          (folder / name).string());
    std::error_code ignored;
    check(!fs::equivalent(folder / name, file.path, ignored), Code::invalid_argument, Hint{"name another --output"},
          "{} would be written over itself", file.path.string());
  }
}

std::string write_picture(const NamedPicture& picture, const Answers& answers, const fs::path& folder) {
  const fs::path file = folder / picture.file;
  save_image(file, draw_answers(picture.image, answers));
  if (!answers.mask) return file.string();
  Image classes(answers.mask->width, answers.mask->height);
  for (std::size_t i = 0; i < answers.mask->classes.size(); ++i) {
    // Classes beyond 255 do not fit; 255 also stands for what the network did not see.
    const auto value = static_cast<std::uint8_t>(std::min<std::uint16_t>(255, answers.mask->classes[i]));
    std::fill_n(classes.rgb.data() + i * 3, 3, value);
  }
  save_image(folder / (fs::path(picture.file).stem().string() + ".mask.png"), classes);
  return file.string();
}

}  // namespace tessera::cli
