#include "tessera/report/markup.h"
#include "tessera/report/units.h"
#include "tessera/targets/tensix/views/plan_pictures.h"

#include <fmt/format.h>

#include <algorithm>

namespace tessera::tensix {
namespace {

constexpr double kL1Left = 76, kL1Right = 12, kL1Top = 26, kL1Height = 320, kL1Below = 92;
constexpr double kL1LeastWidth = 1140, kL1MostWidth = 3600, kL1ProgramWidth = 7;
constexpr std::size_t kL1NameCharacters = 18;

class L1Drawing {
 public:
  explicit L1Drawing(const PlanReport& report) : report_(report), l1_(report.l1) {
    const auto count = static_cast<double>(l1_.programs.size());
    width_ = std::clamp(count * kL1ProgramWidth, kL1LeastWidth, kL1MostWidth);
    pitch_ = width_ / count;
  }

  std::string draw() const {
    const double all = kL1Left + width_ + kL1Right, height = kL1Top + kL1Height + kL1Below;
    std::string out = fmt::format(
        "<svg class=\"pic\" id=\"l1\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
        "role=\"img\" "
        "aria-label=\"L1 of a core over all programs\" data-left=\"{2}\" data-pitch=\"{3:.5f}\">\n<rect class=\"well\" "
        "x=\"{2}\" y=\"{4}\" width=\"{5:.1f}\" height=\"{6}\"/>\n",
        all, height, kL1Left, pitch_, kL1Top, width_, kL1Height);
    out += axis() + buffers() + circular_buffers() + limit() + names() + peak();
    return out + fmt::format("<rect id=\"l1-band\" y=\"{}\" height=\"{}\" x=\"0\" width=\"0\"/>\n</svg>\n", kL1Top,
                             kL1Height);
  }

 private:
  double x(std::size_t program) const { return kL1Left + pitch_ * static_cast<double>(program); }
  double y(std::int64_t address) const {
    return kL1Top + kL1Height * (1 - static_cast<double>(address - l1_.base_address) /
                                         static_cast<double>(l1_.end_address - l1_.base_address));
  }

  std::string buffers() const {
    std::string out;
    for (const PlanReport::L1Buffer& b : l1_.buffers) {
      std::string look = fmt::format("p-{}", letter(b.place));
      std::string_view what = name(b.place);
      if (b.kind == PlanReport::L1Buffer::Kind::working) look = "work", what = "of one step";
      if (b.kind == PlanReport::L1Buffer::Kind::small) look = "small", what = "L1_SMALL";
      const double top = y(b.address + b.bytes), height = y(b.address) - top, wide = x(b.end) - x(b.first);
      out += fmt::format(
          "<rect class=\"buf {}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
          "data-bytes=\"{}\"><title>"
          "{}: {} B at {}, {}</title></rect>\n",
          look, x(b.first), top, wide, height, b.bytes, escape_markup(b.value.empty() ? b.label : b.value),
          format_count(b.bytes), format_count(b.address), what);
      const std::string& label = b.value;
      if (!label.empty() && wide > 62 && height > 12)
        out += fmt::format("<text class=\"on\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", x(b.first) + 4,
                           top + height / 2 + 4,
                           escape_markup(shortened(label, static_cast<std::size_t>((wide - 8) / 6))));
    }
    return out;
  }

  std::string circular_buffers() const {
    std::string out;
    for (std::size_t i = 0; i < l1_.programs.size(); ++i) {
      const PlanReport::L1Program& p = l1_.programs[i];
      if (p.circular_buffer_bytes <= 0) continue;
      const double top = y(l1_.base_address + p.circular_buffer_bytes);
      out += fmt::format(
          "<rect class=\"buf cb\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" data-bytes=\"{}\"/>\n",
          x(i), top, pitch_, kL1Top + kL1Height - top, p.circular_buffer_bytes);
    }
    return out;
  }

  std::string axis() const {
    std::string out;
    constexpr std::int64_t kStep = 256 << 10;
    for (std::int64_t bytes = 0; l1_.base_address + bytes < l1_.end_address; bytes += kStep) {
      const double at = y(l1_.base_address + bytes);
      out += fmt::format(
          "<line class=\"grid\" x1=\"{0}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text class=\"dim\" x=\"{3}\" "
          "y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
          kL1Left, kL1Left + width_, at, kL1Left - 6, at + 4, format_bytes(static_cast<double>(bytes)));
    }
    return out;
  }

  std::string limit() const {
    const double at = y(l1_.limit_address);
    return fmt::format(
        "<line class=\"limit\" x1=\"{0}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text class=\"bad\" x=\"{3}\" "
        "y=\"{4:.1f}\" text-anchor=\"end\">limit</text>\n",
        kL1Left, kL1Left + width_, at, kL1Left - 6, at + 4);
  }

  std::string names() const {
    std::string out;
    double free_from = kL1Left;
    for (std::size_t i = 0; i < l1_.programs.size(); ++i) {
      const std::size_t step = l1_.programs[i].step;
      if ((i > 0 && l1_.programs[i - 1].step == step) || step >= report_.steps.size() || x(i) < free_from) continue;
      out +=
          fmt::format("<text class=\"dim\" transform=\"translate({:.1f} {}) rotate(55)\">{}</text>\n", x(i) + 2,
                      kL1Top + kL1Height + 12, escape_markup(shortened(report_.steps[step].node, kL1NameCharacters)));
      free_from = x(i) + 14;
    }
    return out;
  }

  std::string peak() const {
    if (l1_.peak == PlanReport::kNone) return {};
    const PlanReport::L1Program& p = l1_.programs[l1_.peak];
    const std::int64_t bytes = p.circular_buffer_bytes + p.tensor_bytes;
    const double at = x(l1_.peak) + pitch_ / 2;
    const bool right = at > kL1Left + width_ / 2;
    return fmt::format(
        "<line class=\"peak\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/><text class=\"peak\" x=\"{3:.1f}\" "
        "y=\"{4}\" text-anchor=\"{5}\">fullest program: {6} B in {7}</text>\n",
        at, kL1Top - 8, kL1Top + kL1Height, right ? at - 6 : at + 6, kL1Top - 10, right ? "end" : "start",
        format_count(bytes), p.step < report_.steps.size() ? escape_markup(report_.steps[p.step].node) : "");
  }

  const PlanReport& report_;
  const PlanReport::L1& l1_;
  double width_ = 0, pitch_ = 0;
};

}  // namespace

std::string plan_l1_svg(const PlanReport& report) { return report.l1.programs.empty() ? "" : L1Drawing(report).draw(); }

}  // namespace tessera::tensix
