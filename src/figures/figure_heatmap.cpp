#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <span>

#include "base/number_text.hpp"
#include "base/utf8.hpp"
#include "figures/chart_range.hpp"
#include "figures/colour_range.hpp"
#include "figures/figure_colours.hpp"
#include "figures/figure_page.hpp"
#include "figures/gnuplot.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

constexpr double largest_cell = 26;
// The longer side of a map of few cells: its titles and the numbers beside it have room.
constexpr double least_map = 90;
// A panel with a scale of its own: the bar has room for two numbers.
constexpr double least_bar = 50;
// A figure with smaller cells, or labels cut to less, takes two columns.
constexpr double least_cell = 9;
// Rows of a map higher than wide, if there is room; its cells may be wider.
constexpr double least_row = 1.2 * text_size;
constexpr double bar_gap = 10, bar_width = 10;
constexpr double longest_category = 120, highest_page = 800;
// Of panels whose rows all have names.
constexpr double highest_named_page = 1200;
constexpr std::size_t most_panels_beside = 8;
constexpr double key_row = 1.5 * text_size;
constexpr std::size_t first_key_tag = 11;  // of objects and labels; below are the panels' own
// Above this many cells in all panels, pixel images are smaller than a box per cell.
constexpr std::size_t most_boxes = 1000;

void check(const std::string& what, const Heatmap& heatmap) {
  if (heatmap.panels.empty()) throw ShapeError(what + ": expected a panel, got none");
  const Shape& shape = heatmap.panels.front().values.shape;
  for (const HeatmapPanel& panel : heatmap.panels) {
    const Shape& panel_shape = panel.values.shape;
    if (panel_shape.size() != 2 || panel.values.size() == 0) {
      throw ShapeError(what + ": expected rows x columns, got shape " + shape_text(panel_shape));
    }
    if (panel_shape != shape) {
      throw ShapeError(what + ": expected panels of shape " + shape_text(shape) + ", got " +
                       shape_text(panel_shape));
    }
  }
  const auto check_labels = [&](const std::string& axis, const std::vector<std::string>& labels,
                                std::size_t count) {
    if (!labels.empty()) check_count(what + " " + axis + " labels", count, labels.size());
  };
  for (const HeatmapPanel& panel : heatmap.panels) {
    if (panel.marked.size() > 0 && panel.marked.shape != shape) {
      throw ShapeError(what + ": expected marks of shape " + shape_text(shape) + ", got " +
                       shape_text(panel.marked.shape));
    }
  }
  check_labels("row", heatmap.row_labels, shape[0]);
  check_labels("column", heatmap.column_labels, shape[1]);
  if (heatmap.scale == ColourScale::categorical && heatmap.categories.empty()) {
    throw ShapeError(what + ": expected categories, got none");
  }
}

std::string data_block(const HeatmapPanel& panel) {
  const bool marked = panel.marked.size() > 0;
  std::string block =
      "# " + one_line(panel.title) + "\n# column row value" + (marked ? " mark\n" : "\n");
  for (std::size_t row = 0; row < panel.values.shape[0]; ++row) {
    for (std::size_t column = 0; column < panel.values.shape[1]; ++column) {
      block += std::to_string(column) + ' ' + std::to_string(row) + ' ' +
               gnuplot_number(panel.values(row, column));
      if (marked) block += panel.marked(row, column) != 0 ? " 1" : " 0";
      block += '\n';
    }
  }
  return block;
}

std::set<std::size_t> present_categories(const Heatmap& heatmap) {
  std::set<std::size_t> present;
  for (const HeatmapPanel& panel : heatmap.panels) {
    for (const double value : panel.values.values) {
      if (value >= 0 && value < static_cast<double>(heatmap.categories.size())) {
        present.insert(static_cast<std::size_t>(value));
      }
    }
  }
  return present;
}

// Labels in groups, of heads by layer, may stand for those between.
bool is_named(const Heatmap& heatmap) {
  return !heatmap.row_labels.empty() && heatmap.group == 0;
}

// The least size of a cell with which all labels that are not empty stand apart.
double cell_for_labels(const std::vector<std::string>& labels, double label_step) {
  const auto n_named = std::ranges::count_if(labels, std::not_fn(&std::string::empty));
  return labels.empty()
             ? 0
             : label_step * static_cast<double>(n_named) / static_cast<double>(labels.size());
}

bool has_all_names(const Heatmap& heatmap, const Page& page) {
  return !is_named(heatmap) || (page.x.all_named && page.y.all_named);
}

/// @param page_width  room for all panels beside each other.
/// @param n_beside  panels beside each other; 0: as many as look best.
Page lay_out(const Heatmap& heatmap, double page_width, std::size_t n_beside) {
  const Shape& shape = heatmap.panels.front().values.shape;
  const auto rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
  const double ratio = std::clamp(columns / rows, 1.0 / 3, 3.0), longest = std::max(rows, columns);
  Page page;
  page.n_panel = heatmap.panels.size();
  // A label for each row needs large panels.
  const bool named = is_named(heatmap);
  const double room_for = named ? two_columns / (1.2 * text_size * longest) : most_panels_beside;
  const auto most_beside =
      std::clamp<std::size_t>(static_cast<std::size_t>(room_for), 1, most_panels_beside);
  page.n_column = n_beside > 0 ? n_beside : grid_columns(page.n_panel, ratio, 1, most_beside);
  const double page_room = page_width / static_cast<double>(page.n_column);
  const auto n_row = static_cast<double>((page.n_panel + page.n_column - 1) / page.n_column);
  const double highest = std::min(longest > 30 ? 480.0 : 340.0, highest_page / n_row);
  const double room = std::min(highest, page_room);
  // A map that is as wide as the page gets rows as high as their numbers.
  const double cell = std::max(largest_cell, least_map / longest);
  double height = std::min({std::max(room / rows, least_row), highest / rows, cell});
  double width = std::min(page_room / columns, cell);
  if (has_separate_scales(heatmap)) height = std::max(height, least_bar / rows);
  const bool square = columns >= rows && columns <= 3 * rows;
  if (square) height = std::min(room / columns, height);
  if (named) {
    double least = cell_for_labels(heatmap.row_labels, row_label_step);
    if (square) least = std::max(least, cell_for_labels(heatmap.column_labels, column_label_step));
    if (n_row * rows * least <= highest_named_page) height = std::max(height, least);
  }
  if (square) width = height = std::min(page_room / columns, height);
  page.panel_width = columns * width;
  page.panel_height = rows * height;
  page.x = labelled_x_axis(heatmap.column_title, heatmap.column_labels, shape[1], width);
  page.y = labelled_y_axis(heatmap.row_title, heatmap.row_labels, shape[0], height);
  page.make_room_for_titles(heatmap.panels);
  page.x.outer = page.y.outer = true;
  const bool categorical = heatmap.scale == ColourScale::categorical;
  if (!categorical) page.key_title = heatmap.value_title;
  if (has_separate_scales(heatmap)) {
    double numbers = 0;
    for (const HeatmapPanel& panel : heatmap.panels) {
      numbers = std::max(
          numbers, number_width(colour_range(heatmap, std::span(&panel, 1)), page.panel_height));
    }
    page.panel_key = bar_gap / 2 + bar_width + 8 + numbers;
    page.key_height = page.panels().height;
    page.key_width = page.panel_key + page.key_title_width();
    return page;
  }
  page.key_height = std::max(std::clamp(page.panels().height, least_map, 240.0),
                             key_row * static_cast<double>(present_categories(heatmap).size()));
  page.key_width =
      bar_gap + bar_width + 8 + page.key_title_width() +
      (categorical ? label_width(heatmap.categories, 34)
                   : number_width(colour_range(heatmap, heatmap.panels), page.key_height));
  return page;
}

// As narrow as a column of a paper if its cells can be seen and its names and titles stand there.
Page page_of(const Heatmap& heatmap) {
  const Shape& shape = heatmap.panels.front().values.shape;
  const auto longest = static_cast<double>(std::max(shape[0], shape[1]));
  const auto laid_out = [&](double width, std::size_t n_beside = 0) {
    return fitted(width, [&](double room) { return lay_out(heatmap, room, n_beside); });
  };
  const Page narrow = laid_out(one_column);
  const double of_few = least_map / longest, least = of_few > largest_cell ? of_few : least_cell;
  const bool is_seen = std::min(narrow.panel_width / static_cast<double>(shape[1]),
                                narrow.panel_height / static_cast<double>(shape[0])) >= least;
  const bool is_titled = std::ranges::none_of(
      heatmap.panels, [&](const HeatmapPanel& panel) { return narrow.cuts_title(panel.title); });
  const bool fits = narrow.width() <= one_column && is_titled &&
                    ((is_seen && has_all_names(heatmap, narrow)) ||
                     (narrow.n_panel == 1 && longest > 100 && narrow.panel_width > 200));
  if (fits) return narrow;
  const Page wide = laid_out(two_columns);
  if (has_all_names(heatmap, wide)) return wide;
  // Fewer panels beside each other leave more room for names.
  for (std::size_t n_beside = wide.n_column - 1; n_beside > 0; --n_beside) {
    Page fewer = laid_out(two_columns, n_beside);
    if (has_all_names(heatmap, fewer)) return fewer;
  }
  return wide;
}

std::string colour_bar(const Page& page, double x, double y, double height) {
  return "set colorbox noborder user origin screen " + page.across(x) + ", screen " +
         page.up(page.height() - y - height) + " size screen " + page.across(bar_width) +
         ", screen " + page.up(height);
}

// 1, 2 or 5 times a power of ten, at least `least`.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= least) return digit * power;
  }
  return 10 * power;
}

// A colour scale whose numbers stand apart along a bar of this height. gnuplot's own are as many
// along a low bar as along a high one.
std::string scale_text(const AxisRange& range, double height) {
  const double apart = std::max(text_size, height / 10);
  return "set cbrange " + gnuplot_range(range.low, range.high) + "\nset cbtics " +
         gnuplot_number(round_step((range.high - range.low) * apart / height));
}

// The bar of a panel with a scale of its own.
std::string scale_of_panel(const Heatmap& heatmap, const Page& page, std::size_t index) {
  const Rectangle area = page.panel(index);
  return colour_bar(page, area.right() + bar_gap / 2, area.y, area.height) + "\n" +
         scale_text(colour_range(heatmap, std::span(heatmap.panels).subspan(index, 1)),
                    area.height);
}

// The categories that occur, as objects and labels: gnuplot's key leaves out entries below a low
// panel.
void add_category_key(const Heatmap& heatmap, const Page& page, PanelScript& script) {
  constexpr double box_width = 12, box_height = 9;
  const std::vector<std::string> colours = category_colours(heatmap.categories);
  const double left = page.panels().right() + bar_gap;
  double middle = page.panels().y + key_row / 2;
  std::size_t tag = first_key_tag;
  for (const std::size_t category : present_categories(heatmap)) {
    const std::string number = std::to_string(tag++);
    const auto at = [&](double x, double y) {
      return "screen " + page.across(x) + ", screen " + page.up(page.height() - y);
    };
    script.add("set object " + number + " rectangle from " + at(left, middle + box_height / 2) +
               " to " + at(left + box_width, middle - box_height / 2) +
               " front fillstyle solid noborder fillcolor rgb '" + colours[category] + "'");
    script.add("set label " + number + " " +
               gnuplot_string(fit_text(heatmap.categories[category], longest_category)) + " at " +
               at(left + box_width + 6, middle) + " left");
    middle += key_row;
  }
}

void remove_category_key(const Heatmap& heatmap, PanelScript& script) {
  for (std::size_t i = 0; i < present_categories(heatmap).size(); ++i) {
    const std::string number = std::to_string(first_key_tag + i);
    script.add("unset object " + number);
    script.add("unset label " + number);
  }
}

void add_group_lines(const Shape& shape, std::size_t group, PanelScript& script) {
  // Many lines would hide the cells between them.
  constexpr std::size_t most_strong_lines = 16;
  const char* const style = std::max(shape[0], shape[1]) / group > most_strong_lines
                                ? " nohead front linewidth 0.3 linecolor rgb '#bbbbbb'"
                                : " nohead front linewidth 0.6 linecolor rgb '#888888'";
  const auto line = [&](const std::string& from, const std::string& to) {
    script.add("set arrow from " + from + " to " + to + style);
  };
  for (std::size_t row = group; row < shape[0]; row += group) {
    const std::string at = gnuplot_number(static_cast<double>(row) - 0.5);
    line("graph 0, first " + at, "graph 1, first " + at);
  }
  for (std::size_t column = group; column < shape[1]; column += group) {
    const std::string at = gnuplot_number(static_cast<double>(column) - 0.5);
    line("first " + at + ", graph 0", "first " + at + ", graph 1");
  }
}

}  // namespace

FigureScript script_of(const Figure& figure, const Heatmap& heatmap) {
  check("figure " + figure.name, heatmap);
  const Page page = page_of(heatmap);
  const Shape& shape = heatmap.panels.front().values.shape;
  const AxisRange range = colour_range(heatmap, heatmap.panels);
  const bool categorical = heatmap.scale == ColourScale::categorical;
  const bool separate_scales = has_separate_scales(heatmap);
  // Boxes leave missing cells out; an image needs its whole grid and makes them transparent.
  const bool image = page.n_panel * shape[0] * shape[1] > most_boxes;
  PanelScript script;
  script.add(page.multiplot());
  script.add(categorical ? categorical_palette(category_colours(heatmap.categories))
                         : continuous_palette(heatmap.scale));
  script.add(scale_text(range, page.key_height));
  script.add(std::string("set format cb ") + number_format);
  if (categorical) {
    script.add("unset colorbox");
  } else if (!separate_scales) {
    // One bar for all panels; gnuplot would place one beside each.
    script.add(colour_bar(page, page.panels().right() + bar_gap, page.panels().y, page.key_height));
  }
  const double right = static_cast<double>(shape[1]) - 0.5,
               bottom = static_cast<double>(shape[0]) - 0.5;
  script.add("set xrange " + gnuplot_range(-0.5, right));
  script.add("set yrange " + gnuplot_range(bottom, -0.5));
  script.add("set object rectangle from graph 0, 0 to graph 1, 1 behind fillcolor rgb '" +
             std::string(empty_cell) + "'");
  if (!image) script.add("set datafile missing NaN");
  if (heatmap.group > 0) add_group_lines(shape, heatmap.group, script);
  for (std::size_t i = 0; i < page.n_panel; ++i) {
    const HeatmapPanel& panel = heatmap.panels[i];
    script.axes(page, i, panel.title);
    if (separate_scales) script.add(scale_of_panel(heatmap, page, i));
    const std::string block = script.add_block(data_block(panel));
    script.add_to_plot(block +
                       (image ? "1:2:3 with image notitle"
                              : "1:2:(0.5):(0.5):3 with boxxyerror linecolor palette notitle"));
    if (panel.marked.size() > 0) {
      // White on dark: seen on every colour.
      const double size = std::min(1.0, page.panel_width / static_cast<double>(shape[1]) / 7);
      for (const auto& [dot, colour] : {std::pair(0.45, "#333333"), std::pair(0.25, "#ffffff")}) {
        script.add_to_plot(block + "($4 == 1 ? $1 : NaN):2 with points pointtype 7 pointsize " +
                           number_text(dot * size, 3) + " linecolor rgb '" + colour + "' notitle");
      }
    }
    if (categorical && i == 0) add_category_key(heatmap, page, script);
    script.end_plot();
    if (categorical && i == 0 && page.n_panel > 1) remove_category_key(heatmap, script);
    if (i == 0 && page.n_panel > 1 && !categorical && !separate_scales)
      script.add("unset colorbox");
  }
  script.add("unset multiplot");
  return {script.text(), script.data(), page, std::vector<AxisRange>(page.n_panel, {-0.5, right}),
          std::vector<AxisRange>(page.n_panel, {bottom, -0.5})};
}

Heatmap head_map(std::string value_title, std::vector<HeatmapPanel> panels,
                 std::optional<double> low) {
  return {.panels = std::move(panels),
          .row_title = "layer",
          .column_title = "head",
          .value_title = std::move(value_title),
          .low = low,
          .heads = true};
}

Heatmap head_probabilities(std::string value_title, std::vector<HeatmapPanel> panels) {
  Heatmap map = head_map(std::move(value_title), std::move(panels), 0);
  Range range;
  for (const HeatmapPanel& panel : map.panels) range.include(panel.values.values);
  if (range.high > 0) map.high = range.high;
  return map;
}

Array causal_part(const Array& pattern, std::size_t n_token) {
  Array part({n_token, n_token}, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t query = 0; query < n_token; ++query) {
    for (std::size_t key = 0; key <= query; ++key) part(query, key) = pattern(query, key);
  }
  return part;
}

}  // namespace headscope
