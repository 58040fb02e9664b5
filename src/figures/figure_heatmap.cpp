#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "figures/figure_colours.hpp"
#include "figures/figure_page.hpp"
#include "figures/gnuplot.hpp"
#include "headscope/error.hpp"
#include "headscope/number_text.hpp"
#include "headscope/utf8.hpp"

namespace headscope {
namespace {

constexpr double largest_cell = 32;
constexpr double bar_gap = 16, bar_width = 13;
constexpr double longest_category = 150;
// Above this many cells in all panels, pixel images are smaller than a box per cell.
constexpr std::size_t most_boxes = 1000;

void check(const std::string& what, const Heatmap& heatmap) {
  if (heatmap.panels.empty()) throw ShapeError(what + ": expected a panel, got none");
  const Shape& shape = heatmap.panels.front().values.shape;
  for (const HeatmapPanel& panel : heatmap.panels) {
    const Shape& own = panel.values.shape;
    if (own.size() != 2 || panel.values.size() == 0) {
      throw ShapeError(what + ": expected rows x columns, got shape " + shape_text(own));
    }
    if (own != shape) {
      throw ShapeError(what + ": expected panels of shape " + shape_text(shape) + ", got " +
                       shape_text(own));
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

struct ColourRange {
  double low = 0, high = 1;
};

ColourRange colour_range(const Heatmap& heatmap) {
  if (heatmap.scale == ColourScale::categorical) {
    return {-0.5, static_cast<double>(heatmap.categories.size()) - 0.5};
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  ColourRange range{infinity, -infinity};
  for (const HeatmapPanel& panel : heatmap.panels) {
    for (const double value : panel.values.values) {
      if (!std::isfinite(value)) continue;
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
    }
  }
  if (range.low > range.high) range = {0, 1};
  if (heatmap.scale == ColourScale::diverging) {
    const double reach = std::max(std::abs(heatmap.low.value_or(range.low) - heatmap.centre),
                                  std::abs(heatmap.high.value_or(range.high) - heatmap.centre));
    range = {heatmap.centre - reach, heatmap.centre + reach};
  } else {
    range = {heatmap.low.value_or(range.low), heatmap.high.value_or(range.high)};
  }
  if (!(range.high > range.low)) {
    const double room = std::max(std::abs(range.low) * 0.01, 0.5);
    range = {range.low - room, range.high + room};
  }
  return range;
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

Page lay_out(const std::string& title, const Heatmap& heatmap) {
  const Shape& shape = heatmap.panels.front().values.shape;
  const auto rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
  // Square cells, unless they would make a thin strip.
  const double ratio = std::clamp(columns / rows, 1.0 / 3, 3.0), longest = std::max(rows, columns);
  const bool square = ratio == columns / rows;
  Page page;
  page.title = title;
  page.n_panel = heatmap.panels.size();
  // A label for each of many rows needs large panels.
  const bool large = !heatmap.row_labels.empty() && longest > 20;
  page.n_column = grid_columns(page.n_panel, ratio, heatmap.group == 0 && large ? 2 : 6);
  const double page_room = 780 / static_cast<double>(page.n_column);
  const double room = std::min(longest > 30 ? 440.0 : 340.0, page_room);
  const double width = std::min(square ? room / longest : page_room / columns, largest_cell);
  const double height = std::min(room / (square ? longest : rows), largest_cell);
  page.panel_width = columns * width;
  page.panel_height = rows * height;
  page.x = labelled_x_axis(heatmap.column_title, heatmap.column_labels, shape[1], width);
  page.y = labelled_y_axis(heatmap.row_title, heatmap.row_labels, shape[0], height);
  for (const HeatmapPanel& panel : heatmap.panels) page.panels_titled |= !panel.title.empty();
  // gnuplot chooses the numbers beside the bar: leave room for six characters.
  page.key_width = bar_gap + bar_width + 34 + label_width(heatmap.categories, 40) +
                   (heatmap.value_title.empty() ? 0 : 3 * text_size);
  page.key_height = std::max(std::clamp(page.panels().height, 120.0, 300.0),
                             1.5 * text_size * static_cast<double>(heatmap.categories.size() + 1));
  return page;
}

// One bar for all panels; gnuplot would place one beside each.
std::string colour_bar(const Page& page) {
  const Rectangle area = page.panels();
  return "set colorbox noborder user origin screen " + page.across(area.right() + bar_gap) +
         ", screen " + page.up(page.height() - area.y - page.key_height) + " size screen " +
         page.across(bar_width) + ", screen " + page.up(page.key_height);
}

// Key entries of the categories that occur.
std::string category_key(const Heatmap& heatmap) {
  std::set<std::size_t> present;
  for (const HeatmapPanel& panel : heatmap.panels) {
    for (const double value : panel.values.values) {
      if (value >= 0) present.insert(static_cast<std::size_t>(value));
    }
  }
  const std::vector<std::string> colours = category_colours(heatmap.categories);
  std::string entries;
  for (const std::size_t category : present) {
    if (category >= colours.size()) continue;
    entries += ", \\\n  keyentry with boxes fillstyle solid noborder fillcolor rgb '" +
               colours[category] + "' title " +
               gnuplot_string(fit_text(heatmap.categories[category], text_size, longest_category));
  }
  return entries;
}

void add_group_lines(const Shape& shape, std::size_t group, PanelScript& script) {
  const auto line = [&](const std::string& from, const std::string& to) {
    script.add("set arrow from " + from + " to " + to +
               " nohead front linewidth 0.6 linecolor rgb '#888888'");
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

FigureScript heatmap_script(const Figure& figure, const Heatmap& heatmap) {
  check("figure " + figure.name, heatmap);
  const Page page = lay_out(figure.title, heatmap);
  const Shape& shape = heatmap.panels.front().values.shape;
  const ColourRange range = colour_range(heatmap);
  const bool categorical = heatmap.scale == ColourScale::categorical;
  // Boxes leave missing cells out; an image needs its whole grid and makes them transparent.
  const bool image = page.n_panel * shape[0] * shape[1] > most_boxes;
  PanelScript script;
  script.add(page.multiplot());
  script.add(categorical ? categorical_palette(category_colours(heatmap.categories))
                         : continuous_palette(heatmap.scale));
  script.add("set cbrange [" + gnuplot_number(range.low) + ":" + gnuplot_number(range.high) + "]");
  if (categorical) {
    script.add("unset colorbox");
  } else {
    script.add(colour_bar(page));
    const auto value_title = wrap_text(heatmap.value_title, text_size, page.key_height + 40, 2);
    if (!value_title.empty())
      script.add("set cblabel " + gnuplot_lines(value_title) + " offset 1, 0");
  }
  script.add("set xrange [-0.5:" + gnuplot_number(static_cast<double>(shape[1]) - 0.5) + "]");
  script.add("set yrange [" + gnuplot_number(static_cast<double>(shape[0]) - 0.5) + ":-0.5]");
  script.add("set object rectangle from graph 0, 0 to graph 1, 1 behind fillcolor rgb '" +
             std::string(empty_cell) + "'");
  if (!image) script.add("set datafile missing NaN");
  if (heatmap.group > 0) add_group_lines(shape, heatmap.group, script);
  std::string data;
  for (std::size_t i = 0; i < page.n_panel; ++i) {
    const HeatmapPanel& panel = heatmap.panels[i];
    script.axes(page, i, panel.title);
    const std::string block = "data index " + std::to_string(i);
    std::string plot =
        "plot " + block +
        (image ? " using 1:2:3 with image notitle"
               : " using 1:2:(0.5):(0.5):3 with boxxyerror linecolor palette notitle");
    if (panel.marked.size() > 0) {
      // White on dark: seen on every colour.
      const double size = std::min(1.0, page.panel_width / static_cast<double>(shape[1]) / 7);
      for (const auto& [dot, colour] : {std::pair(0.45, "#333333"), std::pair(0.25, "#ffffff")}) {
        plot += ", \\\n  " + block +
                " using ($4 == 1 ? $1 : NaN):2 with points pointtype 7 pointsize " +
                number_text(dot * size, 3) + " linecolor rgb '" + colour + "' notitle";
      }
    }
    const bool keyed = categorical && i + 1 == std::min(page.n_column, page.n_panel);
    script.set("key", keyed ? "outside right top Left reverse samplen 1 maxcols 1" : "");
    if (keyed) plot += category_key(heatmap);
    script.add(plot);
    if (i == 0 && page.n_panel > 1 && !categorical) script.add("unset colorbox");
    data += (i > 0 ? "\n\n" : "") + data_block(panel);
  }
  script.add("unset multiplot");
  const auto edge = [](std::size_t count) { return static_cast<double>(count) - 0.5; };
  const std::vector<AxisRange> x(page.n_panel, {-0.5, edge(shape[1])}),
      y(page.n_panel, {edge(shape[0]), -0.5});
  return {script.text(), data, page, x, y};
}

Heatmap head_map(std::string value_title, std::vector<HeatmapPanel> panels) {
  Heatmap map;
  map.panels = std::move(panels);
  map.row_title = "layer";
  map.column_title = "head";
  map.value_title = std::move(value_title);
  map.heads = true;
  return map;
}

}  // namespace headscope
