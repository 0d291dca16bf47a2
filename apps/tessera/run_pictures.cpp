#include "run_pictures.h"

#include "arguments.h"
#include "picture_files.h"
#include "progress.h"

#include "tessera/core/error.h"
#include "tessera/core/file.h"
#include "tessera/core/text.h"
#include "tessera/report/units.h"
#include "tessera/vision/picture_task.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kTopOfOne = 5;

// NAME=PATH or PATH, as the inputs of arrays are given.
fs::path picture_path(const std::string& word) {
  const std::size_t at = fs::exists(word) ? std::string::npos : word.rfind('=');
  return at == std::string::npos ? word : word.substr(at + 1);
}

struct Timing {
  double prepare_seconds = 0, run_seconds = 0;
};

// Gathers what is said about each picture, in the forms that are printed.
class Findings {
 public:
  Findings(const PictureRun& asked, Task task) : asked_(asked), table_(columns(task)) {}

  void add(const NamedPicture& picture, const Answers& answers, const std::string& file) {
    const auto label = [](const std::string& name) { return name.empty() ? Cell() : Cell(name); };
    const auto row = [&](std::vector<Cell> cells) {
      cells.insert(cells.begin(), picture.name);
      cells.push_back(file.empty() ? Cell() : Cell(file));
      table_.add_row(std::move(cells));
    };
    std::int64_t rank = 0;
    for (const RankedClass& one : answers.classes)
      row({++rank, one.index, label(one.label), Cell(one.score, fmt::format("{:.4g}", one.score)),
           Cell(one.probability, fmt::format("{:.4f}", one.probability))});
    for (const DetectedBox& box : answers.boxes)
      row({box.index, label(box.label), Cell(box.score, fmt::format("{:.3f}", box.score)), pixels(box.left),
           pixels(box.top), pixels(box.right), pixels(box.bottom)});
    for (const MaskArea& area : answers.areas)
      row({area.index, label(area.label), area.pixels,
           Cell(area.fraction * 100, fmt::format("{:.1f}", area.fraction * 100))});
    if (answers.boxes.empty() && answers.task == Task::detect) without_boxes_.push_back(picture.name);
    Json json = {{"picture", picture.name}};
    if (!file.empty()) json["file"] = file;
    json.update(Json::parse(answers_json(answers)));
    rows_.push_back(std::move(json));
  }

  void add_failure(const std::string& name, const std::string& why) {
    failures_.push_back(fmt::format("{}: {}", name, why));
    rows_.push_back({{"picture", name}, {"error", why}});
  }

  std::size_t pictures() const { return rows_.size() - failures_.size(); }

  void print(const vision::PictureTask& task, const Timing& timing, const std::string& where,
             const Context& context) const {
    View view;
    View::Part part;
    for (const std::string& remark : task.remarks()) part.text += remark + "\n";
    part.text += "\n";
    part.table = table_;
    for (const std::string& name : without_boxes_) part.after += fmt::format("{}: no box\n", name);
    if (pictures() > 0)
      part.after +=
          fmt::format("\n{}: made ready in {}, run in {} (measured) {}\n", counted(pictures(), "picture"),
                      format_time(timing.prepare_seconds * 1e9), format_time(timing.run_seconds * 1e9), where);
    view.parts.push_back(std::move(part));
    view.json = json_text(task, timing);
    context.print(view);
  }

  void check_failures() const {
    if (failures_.empty()) return;
    std::string list;
    for (const std::string& failure : failures_) list += "\n  " + failure;
    fail(Code::parse, "{} of {} pictures could not be read:{}", failures_.size(), rows_.size(), list);
  }

 private:
  static Cell pixels(double at) { return Cell(at, fmt::format("{:.0f}", at)); }

  static std::vector<Column> columns(Task task) {
    std::vector<Column> all{{.name = "picture"}};
    const auto add = [&](std::string name, std::string key = {}, std::string unit = {}) {
      all.push_back({.name = std::move(name), .key = std::move(key), .unit = std::move(unit), .align = Align::right});
    };
    if (task == Task::classify) add("rank");
    add("class");
    all.push_back({.name = "label"});
    if (task == Task::classify) add("score"), add("probability");
    if (task == Task::detect) add("score"), add("left"), add("top"), add("right"), add("bottom");
    if (task == Task::segment) add("pixels"), add("part", "percent", "%");
    all.push_back({.name = "file", .detail = 1});
    return all;
  }

  std::string json_text(const vision::PictureTask& task, const Timing& timing) const {
    Json json = {{"schema", 1}, {"model", asked_.model.model}};
    json["preprocessing"] = to_toml(task.preprocessing());
    json["remarks"] = task.remarks();
    json["prepare_seconds"] = timing.prepare_seconds;
    json["run_seconds"] = timing.run_seconds;
    json["rows"] = rows_;
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  const PictureRun& asked_;
  Table table_;
  std::vector<std::string> without_boxes_, failures_;
  std::vector<Json> rows_;
};

std::vector<vision::NamedOutput> named(const std::vector<Port>& ports) {
  std::vector<vision::NamedOutput> out;
  for (const Port& port : ports) out.push_back({port.name, port.type});
  return out;
}

vision::PictureTask make_task(const PictureRun& asked, const PictureRunner& runner, bool several) {
  const PicturesArgument& pictures = asked.pictures;
  vision::PictureTaskOptions options;
  if (!pictures.preprocess.empty()) options.preprocessing = load_preprocessing(pictures.preprocess);
  if (!pictures.task.empty()) options.task = parse_task(pictures.task);
  if (!asked.labels.empty()) options.labels = load_labels(asked.labels);
  options.limits.top = pictures.top > 0 ? pictures.top : several ? 1 : kTopOfOne;
  options.limits.least_score = pictures.least_score;
  options.limits.most_overlap = pictures.most_overlap;
  options.fields = pictures.fields;
  return vision::PictureTask(named(runner.inputs), named(runner.outputs), load_model_notes(asked.network),
                             std::move(options));
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

void add_pictures_argument(CLI::App& command, PicturesArgument& argument) {
  const std::size_t before = command.get_options().size();
  const std::string group = "Pictures";
  command
      .add_option("--preprocess", argument.preprocess,
                  "How a picture becomes the input: imagenet, yolo, or a TOML file; otherwise as the network's file "
                  "says, or guessed")
      ->type_name("PRESET|FILE")
      ->group(group);
  const auto field = [&](const char* name, const char* type, const char* text) {
    command
        .add_option_function<std::string>(
            fmt::format("--{}", name),
            [&argument, name](const std::string& value) { argument.fields.emplace_back(name, value); }, text)
        ->type_name(type)
        ->group(group);
  };
  field("fit", "HOW", "Of pictures in another proportion than the input: stretch, crop, or pad");
  field("size", "WxH", "Width and height of the input, where the network leaves them open");
  field("resize", "PIXELS", "Of --fit crop: the shorter side is scaled to this first");
  field("crop", "PART", "Of --fit crop: this part of the shorter side is kept, 0.875 for instance");
  field("fill", "GREY", "Of --fit pad: 0 (black) to 255 (white)");
  field("filter", "NAME", "nearest, bilinear, or bicubic");
  field("channels", "ORDER", "rgb, bgr, or gray");
  field("layout", "ORDER", "nchw or nhwc");
  field("range", "A,B", "What black and white become: 0,1 or -1,1 or 0,255");
  field("mean", "R,G,B", "Subtracted after that");
  field("std", "R,G,B", "Divided by after that");
  command.add_option("--task", argument.task, "classify, detect or segment; otherwise as the outputs look")
      ->check(CLI::IsMember({"classify", "detect", "segment"}))
      ->type_name("TASK")
      ->group(group);
  command.add_option("--top", argument.top, "List so many classes; otherwise 5 for one picture, 1 for each of several")
      ->check(whole_number(1, 100'000))
      ->type_name("N")
      ->group(group);
  command.add_option("--least-score", argument.least_score, "Boxes below this score are left out")
      ->check(number_between(0, 1))
      ->default_str("0.25")
      ->type_name("SCORE")
      ->group(group);
  command
      .add_option("--overlap", argument.most_overlap,
                  "Of two boxes of one class that overlap more (intersection over union), the surer stays")
      ->check(number_between(0, 1))
      ->default_str("0.45")
      ->type_name("PART")
      ->group(group);
  command.add_option("--every", argument.every, "Of a video: every Nth frame")
      ->check(whole_number(1))
      ->default_str("1")
      ->type_name("N")
      ->group(group);
  const std::vector<CLI::Option*> all = command.get_options();
  argument.options.assign(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
}

bool wants_pictures(const ModelArgument& model) {
  const auto is_picture = [](const std::string& word) { return is_picture_input(picture_path(word)); };
  const auto count = std::count_if(model.inputs.begin(), model.inputs.end(), is_picture);
  check(count == 0 || count == std::ssize(model.inputs), Code::invalid_argument,
        "--input has pictures and arrays: a network takes either");
  return count > 0;
}

void run_pictures(const PictureRun& asked, const PictureRunner& runner, const Context& context) {
  std::vector<fs::path> paths;
  for (const std::string& word : asked.model.inputs) {
    paths.push_back(picture_path(word));
    if (paths.back() == fs::path(word)) continue;
    const std::string input = word.substr(0, word.rfind('='));
    check(runner.inputs.size() == 1 && runner.inputs[0].name == input, Code::invalid_argument,
          "the network has no input '{}' for a picture, only {}", input, runner.inputs.at(0).name);
  }
  const std::vector<PictureFile> files = list_pictures(paths);
  const bool several =
      files.size() > 1 || std::any_of(files.begin(), files.end(), [](const PictureFile& f) { return f.in_folder; }) ||
      std::any_of(paths.begin(), paths.end(), [](const fs::path& path) { return !has_image_name(path); });
  if (!asked.output.empty()) check_picture_outputs(files, asked.output);
  const vision::PictureTask task = make_task(asked, runner, several);

  std::optional<Findings> findings;
  Timing timing;
  std::vector<NamedPicture> waiting;
  const std::size_t batch = static_cast<std::size_t>(std::max<std::int64_t>(1, task.batch()));
  Progress progress("pictures", files.size(), context.quiet);
  std::size_t done = 0;
  std::vector<std::pair<std::string, std::string>> early_failures;
  const auto flush = [&] {
    if (waiting.empty()) return;
    auto start = std::chrono::steady_clock::now();
    std::vector<Image> images;
    for (const NamedPicture& picture : waiting) images.push_back(picture.image);
    const vision::PictureBatch prepared = task.prepare(images);
    timing.prepare_seconds += seconds_since(start);
    start = std::chrono::steady_clock::now();
    const std::vector<Array> outputs = runner.run({prepared.input});
    timing.run_seconds += seconds_since(start);
    const std::vector<Answers> answers = task.read(prepared, outputs);
    if (!findings) findings.emplace(asked, answers[0].task);
    for (std::size_t i = 0; i < waiting.size(); ++i)
      findings->add(waiting[i], answers[i],
                    asked.output.empty() ? "" : write_picture(waiting[i], answers[i], asked.output));
    waiting.clear();
  };
  for_each_picture(
      files, asked.pictures.every,
      [&](NamedPicture picture) {
        progress.at(++done, picture.name);
        waiting.push_back(std::move(picture));
        if (waiting.size() == batch) flush();
      },
      [&](const std::string& name, const std::string& why) { early_failures.emplace_back(name, why); });
  flush();
  if (!findings) findings.emplace(asked, Task::classify);  // nothing could be read
  for (const auto& [name, why] : early_failures) findings->add_failure(name, why);
  findings->print(task, timing, runner.where, context);
  findings->check_failures();
}

}  // namespace tessera::cli
