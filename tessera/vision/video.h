#pragma once

// The frames of a video, through the program ffmpeg, which must be on PATH.

#include "tessera/core/export.h"
#include "tessera/vision/image.h"

#include <cstdint>
#include <filesystem>
#include <functional>

namespace tessera {

// Whether a path ends like a video: .mp4, .mov, .mkv, .avi, .webm, .m4v.
TSR_API bool has_video_name(const std::filesystem::path& path);

// Calls `frame` with each `every`th frame and its number from 0 on, until it returns false. An Error says what ffmpeg
// said.
TSR_API void for_each_frame(const std::filesystem::path& video, std::int64_t every,
                            const std::function<bool(std::int64_t number, Image frame)>& frame);

}  // namespace tessera
