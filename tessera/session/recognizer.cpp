#include "tessera/session/recognizer.h"

#include "tessera/core/error.h"
#include "tessera/io/named_networks.h"
#include "tessera/vision/model_notes.h"
#include "tessera/vision/picture_task.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace tessera {
namespace {

// As many pictures as this go through a network at a time whose batch is open.
constexpr std::int64_t kMostAtATime = 8;

Network named_or_file(const std::string& model) {
  return means_named_network(model) ? zoo_network(model) : load_network(std::filesystem::path(model));
}

std::vector<vision::NamedOutput> named(const std::vector<Port>& ports) {
  std::vector<vision::NamedOutput> out;
  for (const Port& port : ports) out.push_back({port.name, port.type});
  return out;
}

vision::PictureTaskOptions task_options(const RecognizerOptions& options) {
  check(options.top > 0, Code::invalid_argument, "the best {} classes are none", options.top);
  return {options.preprocessing,
          options.fields,
          options.task,
          options.labels,
          {.top = options.top, .least_score = options.least_score, .most_overlap = options.most_overlap}};
}

}  // namespace

struct Recognizer::Impl {
  Impl(const Network& network, ModelNotes notes, const RecognizerOptions& options)
      : session(network, options.session),
        task(named(session.inputs()), named(session.outputs()), std::move(notes), task_options(options)) {}

  Session session;
  vision::PictureTask task;
};

Recognizer::Recognizer(const std::string& model, const RecognizerOptions& options)
    : impl_(std::make_unique<Impl>(named_or_file(model), load_model_notes(model), options)) {}
Recognizer::Recognizer(const Network& network, const RecognizerOptions& options)
    : impl_(std::make_unique<Impl>(network, ModelNotes{}, options)) {}
Recognizer::Recognizer(Recognizer&&) noexcept = default;
Recognizer& Recognizer::operator=(Recognizer&&) noexcept = default;
Recognizer::~Recognizer() = default;

Answers Recognizer::run(const std::filesystem::path& picture) const { return run(load_image(picture)); }
Answers Recognizer::run(const Image& picture) const { return std::move(run(std::span(&picture, 1)).front()); }

std::vector<Answers> Recognizer::run(std::span<const Image> pictures) const {
  std::vector<Answers> all;
  const std::int64_t batch = impl_->task.batch() == 0 ? kMostAtATime : impl_->task.batch();
  while (!pictures.empty()) {
    const std::size_t count = std::min(pictures.size(), static_cast<std::size_t>(batch));
    const vision::PictureBatch prepared = impl_->task.prepare(pictures.first(count));
    const std::vector<Array> outputs = impl_->session.run({prepared.input});
    for (Answers& answers : impl_->task.read(prepared, outputs)) all.push_back(std::move(answers));
    pictures = pictures.subspan(count);
  }
  return all;
}

const Session& Recognizer::session() const { return impl_->session; }
const Preprocessing& Recognizer::preprocessing() const { return impl_->task.preprocessing(); }
const std::vector<std::string>& Recognizer::labels() const { return impl_->task.labels(); }
const std::vector<std::string>& Recognizer::remarks() const { return impl_->task.remarks(); }

}  // namespace tessera
