#include "figures/figure_page.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "figures/gnuplot.hpp"

namespace headscope {
namespace {

constexpr double margin = 6, line_height = 1.5, gap = 12;
constexpr double longest_key_name = 200, key_line = 14;
constexpr double digit_width = 6.5;
constexpr double wanted_ratio = 1.45;  // of a page's width to its height

// All names where there is room. Else prefers a step that divides the count and, among many labels,
// a wide one: of 144 heads every twelfth is labelled, the first of its layer.
std::size_t step_of_labels(std::size_t count, double needed, double step, bool named) {
  constexpr double rounding = 1e-9;
  if (named && needed <= step * (1 + rounding)) return 1;
  const auto least = static_cast<std::size_t>(std::max(1.0, std::ceil(needed / step)));
  std::size_t chosen = least;
  for (std::size_t wider = 3 * least; wider >= least; --wider) {
    if (count % wider != 0) continue;
    chosen = wider;
    if (count > 40) break;
  }
  return chosen;
}

// Counts only the labels that are not empty, which have the room of the others.
void spread_labels(const std::vector<std::string>& labels, std::size_t& count, double& step) {
  const auto n_empty = static_cast<std::size_t>(std::ranges::count(labels, ""));
  if (n_empty == 0 || n_empty == labels.size()) return;
  step *= static_cast<double>(count) / static_cast<double>(count - n_empty);
  count -= n_empty;
}

std::string numbered(std::size_t step) {
  return step == 1 ? "1" : "0, " + std::to_string(step);
}

// An axis's title may be a little longer than the axis.
std::vector<std::string> axis_title(const std::string& title, double length) {
  return wrap_text(title, length + 40, 2);
}

double title_room(std::size_t n_line) {
  return line_height * text_size * static_cast<double>(n_line);
}

double title_height(const std::string& title, double length) {
  return title_room(axis_title(title, length).size());
}

// Characters of the longest number at whole steps of an axis.
std::size_t longest_number(const AxisRange& range, double step) {
  const double first = std::ceil(range.low / step), last = std::floor(range.high / step);
  std::size_t longest = 0;
  for (double i = 0; i <= std::min(last - first, 100.0); ++i) {
    longest = std::max(longest, number_text((first + i) * step, 6).size());
  }
  return longest;
}

// 1, 2 or 5 times a power of ten: the least such step for which `wide_enough`, at most ten times
// the range.
template <typename Test>
double least_step(const AxisRange& range, const Test& wide_enough) {
  double power = std::pow(10, std::floor(std::log10(range.high - range.low)) - 2);
  for (int decade = 0; decade < 3; ++decade, power *= 10) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (wide_enough(digit * power)) return digit * power;
    }
  }
  return power;
}

// The text, cut in its middle if it is wider than `width`.
std::string fit_ends(std::string_view text, double width) {
  const std::string line = one_line(text);
  const std::string begin = fit_text(line, width / 2);
  std::size_t end = line.size();
  while (end > 0 && text_width(begin) + text_width(line.substr(end)) < width - text_size) {
    do --end;
    while (end > 0 && utf8::is_continuation(line[end]));
  }
  return begin + line.substr(end);
}

// The texts, cut if they are wider than `width`: at their ends, or where that makes different
// texts equal, in their middle.
std::vector<std::string> fit_texts(const std::vector<std::string>& texts, double width) {
  std::vector<std::string> shown;
  std::map<std::string, std::set<std::string>> texts_of;  // by the cut text
  for (const std::string& text : texts) {
    shown.push_back(fit_text(text, width));
    texts_of[shown.back()].insert(text);
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts_of[shown[i]].size() > 1) shown[i] = fit_ends(texts[i], width);
  }
  return shown;
}

}  // namespace

double text_width(std::string_view text) {
  return 0.6 * text_size * static_cast<double>(character_count(text));
}

std::string fit_text(std::string_view text, double width) {
  std::string shown = one_line(text);
  if (text_width(shown) <= width) return shown;
  while (!shown.empty() && text_width(shown) + text_size > width) {
    while (!shown.empty() && utf8::is_continuation(shown.back())) shown.pop_back();
    if (!shown.empty()) shown.pop_back();
  }
  return shown + "…";
}

std::vector<std::string> wrap_text(std::string_view text, double width, std::size_t max_lines) {
  std::vector<std::string> lines;
  std::string rest = one_line(text);
  while (!rest.empty()) {
    std::size_t end = rest.size();
    while (lines.size() + 1 < max_lines && text_width(rest.substr(0, end)) > width) {
      const std::size_t space = rest.rfind(' ', end - 1);
      if (space == std::string::npos || space == 0) break;
      end = space;
    }
    lines.push_back(fit_text(rest.substr(0, end), width));
    rest.erase(0, end + 1);
  }
  return lines;
}

std::string gnuplot_lines(const std::vector<std::string>& lines) {
  return joined(lines, ".\"\\n\".", gnuplot_string);
}

std::string tick_list(const std::vector<std::string>& labels, std::size_t step, double longest) {
  const std::vector<std::string> shown = fit_texts(labels, longest);
  std::vector<std::string> ticks;
  std::size_t n_label = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].empty() || n_label++ % step != 0) continue;
    // gnuplot reads a percent sign in a tick's label as the start of a format.
    std::string label;
    for (const char c : shown[i]) label.append(c == '%' ? 2 : 1, c);
    ticks.push_back(gnuplot_string(label) + " " + std::to_string(i));
  }
  return "(" + joined(ticks, ", ") + ")";
}

double label_width(const std::vector<std::string>& labels, double least, double longest) {
  for (const std::string& label : labels) {
    least = std::max(least, std::min(text_width(label), longest));
  }
  return least;
}

Axis labelled_x_axis(std::string_view title, const std::vector<std::string>& labels,
                     std::size_t count, double step) {
  Axis axis{
      .title = std::string(title), .named = !labels.empty(), .extent = line_height * text_size};
  constexpr double height = column_label_step;
  const double width = 4 + label_width(labels, text_width(std::to_string(count)));
  spread_labels(labels, count, step);
  if (!axis.named) {
    axis.ticks = numbered(step_of_labels(count, width, step, false));
  } else if (width <= step) {
    axis.ticks = tick_list(labels);
  } else {
    const bool upright = step < 2 * height;
    const std::size_t every = step_of_labels(count, height, step, true);
    axis.ticks =
        std::string("rotate by ") + (upright ? "90" : "40") + " right " + tick_list(labels, every);
    axis.all_named = every == 1;
    axis.extent = upright ? width + 6 : 0.65 * width + height;
  }
  return axis;
}

Axis labelled_y_axis(std::string_view title, const std::vector<std::string>& labels,
                     std::size_t count, double step, double longest) {
  const std::size_t n_number = count;
  spread_labels(labels, count, step);
  const bool named = !labels.empty();
  const std::size_t every = step_of_labels(count, row_label_step, step, named);
  return {.title = std::string(title),
          .ticks = named ? tick_list(labels, every, longest) : numbered(every),
          .named = named,
          .all_named = !named || every == 1,
          .extent = label_width(labels, text_width(std::to_string(n_number)), longest)};
}

std::string number_step(const AxisRange& range, double pixels) {
  const double unit = pixels / (range.high - range.low);
  return number_text(least_step(range,
                                [&](double step) {
                                  const auto n_character =
                                      static_cast<double>(longest_number(range, step));
                                  return step * unit >= digit_width * (n_character + 1.5);
                                }),
                     6);
}

double number_width(const AxisRange& range, double pixels) {
  const double unit = pixels / (range.high - range.low);
  const double step =
      least_step(range, [&](double step_size) { return step_size * unit >= text_size; });
  return digit_width * static_cast<double>(longest_number(range, step) + 1);
}

KeyAbove::KeyAbove(const std::vector<std::string>& names, double page_width) {
  double entry_width = 0;
  for (const std::string& name : names) {
    entry_width = std::max(entry_width, 44 + text_width(shown(name)));
  }
  const auto n_entry = static_cast<double>(names.size());
  const double n_beside = std::clamp(std::floor((page_width - 20) / entry_width), 1.0, n_entry);
  n_row = static_cast<std::size_t>(std::ceil(n_entry / n_beside));
  width = entry_width * std::ceil(n_entry / static_cast<double>(n_row));
}

std::string KeyAbove::shown(std::string_view name) {
  return fit_text(name, longest_key_name);
}

double KeyAbove::height() const {
  return key_line * static_cast<double>(n_row) + 8;
}

std::string KeyAbove::place(const Page& page) const {
  const double left = std::min(page.panel(0).x - 10, page.width() - width - margin);
  return "at screen " + page.across(std::max(left, 0.0)) + ", screen " +
         page.up(page.height() - 4) +
         " left top Left reverse vertical samplen 2 spacing 0.95 maxrows " + std::to_string(n_row);
}

std::size_t grid_columns(std::size_t n_panel, double ratio, std::size_t least, std::size_t most) {
  std::size_t best = 1;
  double least_cost = 1e300;
  for (std::size_t columns = std::min(n_panel, least); columns <= std::min(n_panel, most);
       ++columns) {
    const std::size_t rows = (n_panel + columns - 1) / columns;
    const double page = ratio * static_cast<double>(columns) / static_cast<double>(rows);
    const double empty = static_cast<double>(columns * rows) / static_cast<double>(n_panel) - 1;
    const double cost = std::abs(std::log(page / wanted_ratio)) + (empty > 0 ? 1.2 + empty : 0);
    if (cost >= least_cost) continue;
    least_cost = cost;
    best = columns;
  }
  return best;
}

double Page::column_gap() const {
  return gap + panel_key + (y.named && !y.outer ? y.extent + 8 : 0);
}

double Page::row_gap() const {
  return gap + title_room(title_lines) + (x.named && !x.outer ? x.extent : 0);
}

double Page::grid_width() const {
  return static_cast<double>(n_column) * (panel_width + column_gap()) - column_gap();
}

double Page::grid_height() const {
  return static_cast<double>(n_row()) * (panel_height + row_gap()) - row_gap();
}

double Page::left() const {
  return margin + title_height(y.title, grid_height()) + 15 + std::max(y.extent, 12.0);
}

bool Page::cuts_title(const std::string& title) const {
  return joined(panel_title(title), " ") != one_line(title);
}

Rectangle Page::panel(std::size_t index) const {
  const double top = margin + 4 + key_above + title_room(title_lines);
  const std::size_t row = index / n_column, column = index % n_column;
  return {left() + static_cast<double>(column) * (panel_width + column_gap()),
          top + static_cast<double>(row) * (panel_height + row_gap()), panel_width, panel_height};
}

Rectangle Page::panels() const {
  const Rectangle first = panel(0);
  return {first.x, first.y, grid_width(), grid_height()};
}

double Page::key_title_width() const {
  return title_height(key_title, key_height);
}

double Page::width() const {
  const double right = left() + grid_width() + std::max({key_width, panel_key, 10.0});
  return std::ceil(std::max(right, least_width));
}

double Page::height() const {
  const Rectangle area = panels();
  const double below = x.extent + 8 + title_height(x.title, grid_width());
  return std::ceil(std::max(area.bottom() + below, area.y + key_height) + margin);
}

std::string Page::across(double pixels) const {
  return number_text(pixels / width(), 4);
}

std::string Page::up(double pixels) const {
  return number_text(pixels / height(), 4);
}

std::string Page::multiplot() const {
  const Rectangle area = panels();
  return "set multiplot layout " + std::to_string(n_row()) + ", " + std::to_string(n_column) +
         " \\\n  margins " + across(area.x) + ", " + across(area.right()) + ", " +
         up(height() - area.bottom()) + ", " + up(height() - area.y) + " spacing " +
         across(column_gap()) + ", " + up(row_gap());
}

std::vector<std::string> Page::titles() const {
  const Rectangle area = panels();
  // gnuplot centres the first line on the point; the others follow.
  constexpr double line = line_height * text_size;
  const auto title = [&](const std::string& text, double length, double at_x, double at_y,
                         const char* turned) {
    const std::string lines = gnuplot_lines(axis_title(text, length));
    if (lines.empty()) return lines;
    return lines + " at screen " + across(at_x) + ", screen " + up(height() - at_y) + " center" +
           turned;
  };
  return {title(x.title, area.width, area.x + area.width / 2,
                area.bottom() + 6 + x.extent + line / 2, ""),
          title(y.title, area.height, margin + line / 2, area.y + area.height / 2, " rotate by 90"),
          title(key_title, key_height, area.right() + key_width - key_title_width() + line / 2,
                area.y + key_height / 2, " rotate by 90")};
}

void PanelScript::add(std::string_view command) {
  text_ += command;
  text_ += '\n';
}

void PanelScript::set(const std::string& name, const std::string& value) {
  const auto known = settings_.find(name);
  if (known != settings_.end() && known->second == value) return;
  settings_[name] = value;
  add(value.empty() ? "unset " + name : "set " + name + " " + value);
}

void PanelScript::axes(const Page& page, std::size_t panel, const std::string& title) {
  const Axis &x = page.x, &y = page.y;
  const bool leftmost = panel % page.n_column == 0, lowest = panel + page.n_column >= page.n_panel;
  if (page.title_lines > 0) {
    set("title", gnuplot_lines(page.panel_title(title)) + " offset 0, -0.7");
  }
  const std::vector<std::string> titles = page.titles();
  for (std::size_t i = 0; i < titles.size(); ++i) {
    set("label " + std::to_string(i + 1), panel == 0 ? titles[i] : "");
  }
  const auto styled = [](const std::string& ticks) {
    return ticks.empty() ? "" : tick_style + (" " + ticks);
  };
  set("xtics", x.outer && !lowest ? "" : styled(x.ticks));
  set("ytics", y.outer && !leftmost ? "" : styled(y.ticks));
  set("format x", lowest || x.named ? x.format : "''");
  set("format y", leftmost || y.named ? y.format : "''");
}

std::string PanelScript::add_block(const std::string& block) {
  data_ += (n_block_ > 0 ? "\n\n" : "") + block;
  return "data index " + std::to_string(n_block_++) + " using ";
}

void PanelScript::add_to_plot(const std::string& element) {
  plot_ += (plot_.empty() ? "plot " : ", \\\n  ") + element;
}

void PanelScript::add_to_key(const std::string& entry) {
  key_ += ", \\\n  keyentry " + entry;
}

// gnuplot refuses a plot of key entries alone.
void PanelScript::end_plot() {
  add((plot_.empty() ? "plot NaN notitle" : plot_) + key_);
  plot_.clear();
  key_.clear();
}

}  // namespace headscope
