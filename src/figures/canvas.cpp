#include "figures/canvas.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "figures/gnuplot.hpp"
#include "headscope/utf8.hpp"

namespace headscope {
namespace {

std::string fixed(double value, int decimals) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", decimals, value);
  return buffer;
}

bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
}

// In units of the text size, for DejaVu Sans, the widest face in common use.
double character_width(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte >= 0xe3) return 1.0;
  if (byte >= 0x80) return 0.66;
  if (std::string_view(" ,.:;'|!iIjlft()[]").find(lead) != std::string_view::npos) return 0.38;
  if (std::string_view("mwMW%@").find(lead) != std::string_view::npos) return 0.95;
  return lead >= 'A' && lead <= 'Z' ? 0.7 : 0.62;
}

std::string superscript(int exponent) {
  static constexpr std::string_view digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char c : std::to_string(std::abs(exponent))) text += digits[c - '0'];
  return text;
}

std::string with_minus_sign(std::string text) {
  if (!text.empty() && text[0] == '-') text.replace(0, 1, "−");
  return text;
}

}  // namespace

double text_width(std::string_view text, double size) {
  double width = 0;
  for (const char c : text) {
    if (starts_character(c)) width += character_width(c);
  }
  return width * size;
}

std::string fit_text(std::string_view text, double size, double width) {
  std::string shown = one_line(text);
  if (text_width(shown, size) <= width) return shown;
  while (!shown.empty() && text_width(shown, size) + size > width) {
    while (!shown.empty() && !starts_character(shown.back())) shown.pop_back();
    if (!shown.empty()) shown.pop_back();
  }
  return shown + "…";
}

std::vector<std::string> wrap_text(std::string_view text, double size, double width,
                                   std::size_t max_lines) {
  const std::string clean = one_line(text);
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t start = 0; start < clean.size();) {
    const std::size_t end = std::min(clean.find(' ', start), clean.size());
    const std::string word = clean.substr(start, end - start);
    const std::string longer = line.empty() ? word : line + " " + word;
    if (!line.empty() && text_width(longer, size) > width) {
      if (lines.size() + 1 == max_lines) {
        line += " " + clean.substr(start);
        break;
      }
      lines.push_back(line);
      line = word;
    } else {
      line = longer;
    }
    start = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  for (std::string& each : lines) each = fit_text(each, size, width);
  return lines;
}

std::vector<Tick> nice_ticks(double low, double high, int count) {
  const double rough = (high - low) / std::max(count, 1);
  const int exponent = static_cast<int>(std::floor(std::log10(rough)));
  const double unit = std::pow(10.0, exponent);
  double step = 10 * unit;
  for (const double multiple : {5.0, 2.0, 1.0, 0.5, 0.2}) {
    const double finer = multiple * unit;
    const bool too_few = std::floor(high / step) - std::ceil(low / step) < 2;
    if (finer >= rough * 0.999 || too_few) step = finer;
  }
  const int step_exponent = static_cast<int>(std::floor(std::log10(step) + 1e-9));
  const double largest = std::max(std::abs(low), std::abs(high));
  const bool scientific = largest >= 1e5 || (largest < 1e-3 && largest > 0);
  const int power = scientific ? static_cast<int>(std::floor(std::log10(largest))) : 0;
  const int decimals = std::max(0, power - step_exponent);
  std::vector<Tick> ticks;
  const auto first = static_cast<long long>(std::ceil(low / step - 1e-6));
  const auto last = static_cast<long long>(std::floor(high / step + 1e-6));
  for (long long i = first; i <= last; ++i) {
    const double position = static_cast<double>(i) * step;
    std::string label = with_minus_sign(fixed(position / std::pow(10.0, power), decimals));
    if (i == 0) label = "0";
    if (scientific && i != 0) label += "·10" + superscript(power);
    ticks.push_back({position, label});
  }
  return ticks;
}

std::vector<Tick> log_ticks(double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  const bool few = high < 100 * low;
  const bool plain = low >= 1e-3 && high < 1e5;
  const int stride = std::max(1, (last - first) / 6);
  std::vector<Tick> ticks;
  for (int exponent = first; exponent <= last; exponent += stride) {
    for (const int multiple : {1, 2, 5}) {
      if (multiple > 1 && !few) continue;
      const double position = multiple * std::pow(10.0, exponent);
      if (position < low * 0.999 || position > high * 1.001) continue;
      std::string label =
          plain ? fixed(position, std::max(0, -exponent))
                : (multiple > 1 ? std::to_string(multiple) + "·10" : "10") + superscript(exponent);
      ticks.push_back({position, std::move(label)});
    }
  }
  return ticks;
}

std::string Canvas::across(double x) const {
  return fixed(x / width_, 5);
}
std::string Canvas::down(double y) const {
  return fixed(1 - y / height_, 5);
}

void Canvas::command(std::string_view text) {
  script_ += text;
  script_ += '\n';
}

void Canvas::text(double x, double y, std::string_view text, double size, Align align,
                  double rotation, std::string_view colour) {
  static constexpr std::string_view names[] = {"left", "center", "right"};
  command("set label " + gnuplot_string(text) + " at screen " + across(x) + ", screen " + down(y) +
          " " + std::string(names[static_cast<int>(align)]) +
          (rotation != 0 ? " rotate by " + fixed(rotation, 0) : "") + " font '," + fixed(size, 0) +
          "' textcolor rgb '" + std::string(colour) + "' front");
}

void Canvas::fill(const Rectangle& area, std::string_view colour) {
  command("set object rectangle from screen " + across(area.x) + ", screen " + down(area.y) +
          " to screen " + across(area.right()) + ", screen " + down(area.bottom()) +
          " behind fillcolor rgb '" + std::string(colour) + "' fillstyle solid noborder");
}

void Canvas::line(double x1, double y1, double x2, double y2, std::string_view style) {
  command("set arrow from screen " + across(x1) + ", screen " + down(y1) + " to screen " +
          across(x2) + ", screen " + down(y2) + " nohead " + std::string(style));
}

void Canvas::axes(const Rectangle& area) {
  command("set lmargin at screen " + across(area.x) + "; set rmargin at screen " +
          across(area.right()) + "; set tmargin at screen " + down(area.y) +
          "; set bmargin at screen " + down(area.bottom()));
}

void Canvas::ticks(std::string_view axis, const std::vector<Tick>& ticks,
                   std::string_view options) {
  std::string list;
  for (const Tick& tick : ticks) {
    list += (list.empty() ? "" : ", ") + gnuplot_string(tick.label) + " " +
            gnuplot_number(tick.position);
  }
  command("set " + std::string(axis) + " " + std::string(options) + " (" + list + ") font '," +
          fixed(tick_size, 0) + "' textcolor rgb '" + std::string(ink) + "'");
}

void Canvas::clear_furniture() {
  command("unset label; unset arrow; unset object");
}

}  // namespace headscope
