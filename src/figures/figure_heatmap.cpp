#include <algorithm>
#include <cmath>
#include <limits>

#include "figures/figure_colours.hpp"
#include "figures/figure_grid.hpp"
#include "figures/figure_script.hpp"
#include "figures/gnuplot.hpp"
#include "headscope/error.hpp"
#include "headscope/utf8.hpp"

namespace headscope {
namespace {

constexpr double largest_cell = 32;
constexpr double bar_width = 13;
constexpr double longest_label = 150;
// Said with every axis: gnuplot forgets it when ticks are unset.
constexpr std::string_view tick_style = "nomirror out scale 0.3";
// Beyond this many cells in all panels, pictures of pixels are smaller than a polygon each.
constexpr std::size_t most_polygons = 4096;

std::size_t rows_of(const HeatmapPanel& panel) {
  return panel.values.shape[0];
}
std::size_t columns_of(const HeatmapPanel& panel) {
  return panel.values.shape[1];
}

void check(const std::string& name, const Heatmap& heatmap) {
  if (heatmap.panels.empty()) throw ShapeError("figure " + name + ": expected a panel, got none");
  for (const HeatmapPanel& panel : heatmap.panels) {
    const Shape& shape = panel.values.shape;
    if (shape.size() != 2 || panel.values.size() == 0) {
      throw ShapeError("figure " + name + ": expected rows x columns, got shape " +
                       shape_text(shape));
    }
    if (!panel.row_labels.empty()) {
      check_count("figure " + name + " row labels", shape[0], panel.row_labels.size());
    }
    if (!panel.column_labels.empty()) {
      check_count("figure " + name + " column labels", shape[1], panel.column_labels.size());
    }
  }
  if (heatmap.scale == ColourScale::categorical && heatmap.categories.empty()) {
    throw ShapeError("figure " + name + ": expected categories, got none");
  }
}

struct Range {
  double low = 0, high = 1;
};

Range colour_range(const Heatmap& heatmap) {
  if (heatmap.scale == ColourScale::categorical) {
    return {-0.5, static_cast<double>(heatmap.categories.size()) - 0.5};
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Range range{infinity, -infinity};
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

bool labels_shared(const Heatmap& heatmap) {
  const HeatmapPanel& first = heatmap.panels.front();
  return std::all_of(heatmap.panels.begin(), heatmap.panels.end(), [&](const HeatmapPanel& panel) {
    return panel.row_labels == first.row_labels && panel.column_labels == first.column_labels &&
           panel.values.shape == first.values.shape;
  });
}

// Sizes and places of everything on the page.
struct Layout {
  double cell_width = 0, cell_height = 0;
  std::vector<AxisLabels> row_labels, column_labels;  // per panel
  bool shared = true;
  double row_extent = 0, column_extent = 0;
  Grid grid;
  TitleBlock title;
  double key_x = 0, key_y = 0, key_height = 0;
  std::vector<Tick> key_ticks;
  double width = 0, height = 0;
};

void size_cells(const Heatmap& heatmap, Layout& layout) {
  std::size_t rows = 0, columns = 0;
  for (const HeatmapPanel& panel : heatmap.panels) {
    rows = std::max(rows, rows_of(panel));
    columns = std::max(columns, columns_of(panel));
  }
  const auto n_row = static_cast<double>(rows), n_column = static_cast<double>(columns);
  const double ratio = std::clamp(n_column / n_row, 1.0 / 3, 3.0);
  const bool square = n_column / n_row == ratio;
  Grid& grid = layout.grid;
  grid.n_panel = heatmap.panels.size();
  grid.n_column =
      grid_columns(grid.n_panel, std::max(ratio, 1.0) + 0.1, std::max(1 / ratio, 1.0) + 0.25, 6);
  const double single = std::max(rows, columns) > 30 ? 440 : 340;
  const double room =
      grid.n_panel == 1 ? single : std::min(single, 780 / static_cast<double>(grid.n_column));
  const double cell = std::min(room / std::max(n_row, n_column), largest_cell);
  layout.cell_width = square ? cell : std::min(room / n_column, largest_cell);
  layout.cell_height = square ? cell : std::min(room / n_row, largest_cell);
  grid.width = layout.cell_width * n_column;
  grid.height = layout.cell_height * n_row;
}

void measure_labels(const Heatmap& heatmap, Layout& layout) {
  layout.shared = labels_shared(heatmap);
  for (const HeatmapPanel& panel : heatmap.panels) {
    layout.row_labels.push_back(vertical_axis_labels(
        labels_or_numbers(panel.row_labels, rows_of(panel)), layout.cell_height, longest_label));
    layout.column_labels.push_back(
        horizontal_axis_labels(labels_or_numbers(panel.column_labels, columns_of(panel)),
                               layout.cell_width, longest_label));
    layout.row_extent = std::max(layout.row_extent, layout.row_labels.back().extent + 10);
    layout.column_extent = std::max(layout.column_extent, layout.column_labels.back().extent + 13);
  }
}

double key_width(const Heatmap& heatmap, const Layout& layout) {
  double widest = 0;
  for (const std::string& category : heatmap.categories) {
    widest = std::max(widest, text_width(fit_text(category, tick_size, longest_label), tick_size));
  }
  for (const Tick& tick : layout.key_ticks) {
    widest = std::max(widest, text_width(tick.label, tick_size));
  }
  const bool titled = heatmap.scale != ColourScale::categorical && !heatmap.value_title.empty();
  return 18 + bar_width + 12 + widest + (titled ? axis_size * line_height : 0);
}

Layout lay_out(const std::string& title, const Heatmap& heatmap, const Range& range) {
  Layout layout;
  size_cells(heatmap, layout);
  measure_labels(heatmap, layout);
  Grid& grid = layout.grid;
  const bool panel_titles = std::any_of(heatmap.panels.begin(), heatmap.panels.end(),
                                        [](const HeatmapPanel& p) { return !p.title.empty(); });
  const double above = panel_titles ? axis_size * line_height + 4 : 0;
  grid.column_gap = layout.shared ? 16 : layout.row_extent + 16;
  grid.row_gap = above + (layout.shared ? 10 : layout.column_extent + 10);

  const bool categorical = heatmap.scale == ColourScale::categorical;
  const double entry = tick_size * line_height + 4;
  const double listed = static_cast<double>(heatmap.categories.size()) * entry +
                        (heatmap.value_title.empty() ? 0 : axis_size * line_height + 4);
  const double grid_height = grid.total_height();
  layout.key_height = categorical ? listed : std::clamp(grid_height, 110.0, 300.0);
  if (!categorical) {
    layout.key_ticks = nice_ticks(range.low, range.high, static_cast<int>(layout.key_height / 35));
  }
  const double left =
      page_margin + layout.row_extent + (heatmap.row_title.empty() ? 0 : axis_size * line_height);
  const double below =
      layout.column_extent + (heatmap.column_title.empty() ? 0 : axis_size * line_height + 2);
  const double content = std::max(grid_height, layout.key_height);
  layout.width = left + grid.total_width() + key_width(heatmap, layout) + page_margin;
  layout.width = std::max(layout.width, 300.0);
  layout.title.lines = wrap_text(title, title_size, layout.width - 2 * page_margin, 3);
  grid.x = left;
  const double top = layout.title.height() + above + 4;
  grid.y = top + (content - grid_height) / 2;
  layout.key_x = left + grid.total_width() + 18;
  layout.key_y = top + (content - layout.key_height) / 2;
  layout.height = std::max(grid.y + grid_height + below, top + content + 8) + page_margin;
  layout.width = std::ceil(layout.width);
  layout.height = std::ceil(layout.height);
  return layout;
}

void draw_categories(Canvas& canvas, const Heatmap& heatmap, const Layout& layout) {
  double y = layout.key_y;
  if (!heatmap.value_title.empty()) {
    canvas.text(layout.key_x, y + axis_size / 2, heatmap.value_title, axis_size, Align::left);
    y += axis_size * line_height + 4;
  }
  const std::vector<std::string> colours = category_colours(heatmap.categories);
  for (std::size_t i = 0; i < heatmap.categories.size(); ++i) {
    canvas.fill({layout.key_x, y, bar_width, bar_width}, colours[i]);
    canvas.text(layout.key_x + bar_width + 6, y + bar_width / 2,
                fit_text(heatmap.categories[i], tick_size, longest_label), tick_size, Align::left);
    y += tick_size * line_height + 4;
  }
}

void draw_colour_bar(Canvas& canvas, const Heatmap& heatmap, const Layout& layout) {
  const double bottom = layout.key_y + layout.key_height;
  canvas.command("set colorbox vertical user origin screen " + canvas.across(layout.key_x) +
                 ", screen " + canvas.down(bottom) + " size screen " + canvas.across(bar_width) +
                 ", screen " + canvas.down(layout.height - layout.key_height) + " noborder");
  canvas.ticks("cbtics", layout.key_ticks, "out scale 0.3");
  if (heatmap.value_title.empty()) return;
  canvas.text(layout.width - page_margin - axis_size / 2, layout.key_y + layout.key_height / 2,
              fit_text(heatmap.value_title, axis_size, layout.height - 2 * page_margin), axis_size,
              Align::center, 90);
}

void draw_axis_titles(Canvas& canvas, const Heatmap& heatmap, const Layout& layout) {
  const Grid& grid = layout.grid;
  canvas.text(page_margin + axis_size / 2, grid.y + grid.total_height() / 2,
              fit_text(heatmap.row_title, axis_size, layout.height - 2 * page_margin), axis_size,
              Align::center, 90);
  canvas.text(grid.x + grid.total_width() / 2,
              grid.y + grid.total_height() + layout.column_extent + axis_size / 2 + 2,
              fit_text(heatmap.column_title, axis_size, layout.width - 2 * page_margin), axis_size);
}

void write_ticks(Canvas& canvas, const Layout& layout, std::size_t index) {
  const bool rows_shown = !layout.shared || layout.grid.leftmost(index);
  const bool columns_shown = !layout.shared || layout.grid.lowest(index);
  if (rows_shown) {
    canvas.ticks("ytics", layout.row_labels[index].ticks(), tick_style);
  } else {
    canvas.command("unset ytics");
  }
  if (!columns_shown) {
    canvas.command("unset xtics");
    return;
  }
  const double rotation = layout.column_labels[index].rotation;
  canvas.ticks("xtics", layout.column_labels[index].ticks(),
               std::string(tick_style) + (rotation == 0    ? " norotate"
                                          : rotation == 90 ? " rotate by 90 right"
                                                           : " rotate by 40 right"));
}

bool has_finite(const Array& values) {
  return std::any_of(values.values.begin(), values.values.end(),
                     [](double value) { return std::isfinite(value); });
}

std::string data_block(const HeatmapPanel& panel) {
  std::string block = "# " + one_line(panel.title) + "\n# column row value\n";
  for (std::size_t row = 0; row < rows_of(panel); ++row) {
    for (std::size_t column = 0; column < columns_of(panel); ++column) {
      block += std::to_string(column) + ' ' + std::to_string(row) + ' ' +
               gnuplot_number(panel.values(row, column)) + '\n';
    }
  }
  return block;
}

Rectangle cells_of(const HeatmapPanel& panel, const Layout& layout, std::size_t index) {
  Rectangle area = layout.grid.panel(index);
  area.width = layout.cell_width * static_cast<double>(columns_of(panel));
  area.height = layout.cell_height * static_cast<double>(rows_of(panel));
  return area;
}

void draw_panel(Canvas& canvas, const Heatmap& heatmap, const Layout& layout, std::size_t index,
                std::string_view plot) {
  const HeatmapPanel& panel = heatmap.panels[index];
  const Rectangle area = cells_of(panel, layout, index);
  canvas.axes(area);
  canvas.fill(area, empty_cell);
  canvas.text(area.x, area.y - axis_size * line_height / 2 - 2,
              fit_text(panel.title, axis_size, area.width + layout.grid.column_gap - 6), axis_size,
              Align::left);
  canvas.command(
      "set xrange [-0.5:" + gnuplot_number(static_cast<double>(columns_of(panel)) - 0.5) +
      "]; set yrange [" + gnuplot_number(static_cast<double>(rows_of(panel)) - 0.5) + ":-0.5]");
  write_ticks(canvas, layout, index);
  canvas.command(plot);
  canvas.clear_furniture();
}

}  // namespace

FigureScript heatmap_script(const std::string& name, const std::string& title,
                            const Heatmap& heatmap, const std::string& data_file) {
  check(name, heatmap);
  const Range range = colour_range(heatmap);
  const Layout layout = lay_out(title, heatmap, range);
  Canvas canvas(layout.width, layout.height);
  const bool categorical = heatmap.scale == ColourScale::categorical;
  canvas.command(categorical ? categorical_palette(category_colours(heatmap.categories))
                             : continuous_palette(heatmap.scale));
  canvas.command("set cbrange [" + gnuplot_number(range.low) + ":" + gnuplot_number(range.high) +
                 "]");
  canvas.command("set border linewidth 0.7 linecolor rgb '#666666'");
  layout.title.draw(canvas);
  draw_axis_titles(canvas, heatmap, layout);
  if (categorical) draw_categories(canvas, heatmap, layout);

  std::size_t n_cell = 0;
  for (const HeatmapPanel& panel : heatmap.panels) n_cell += panel.values.size();
  const bool image = n_cell > most_polygons;
  std::string data;
  std::size_t block = 0;
  bool bar_drawn = categorical;
  canvas.command("unset colorbox");
  for (std::size_t i = 0; i < heatmap.panels.size(); ++i) {
    const HeatmapPanel& panel = heatmap.panels[i];
    if (!has_finite(panel.values)) {
      draw_panel(canvas, heatmap, layout, i, "plot NaN notitle");
      continue;
    }
    const bool draws_bar = !bar_drawn;
    if (draws_bar) draw_colour_bar(canvas, heatmap, layout);
    bar_drawn = true;
    // Polygons leave empty cells out; an image needs its whole grid and makes them transparent.
    canvas.command(image ? "unset datafile" : "set datafile missing NaN");
    draw_panel(canvas, heatmap, layout, i,
               "plot " + gnuplot_string(data_file) + " index " + std::to_string(block++) +
                   (image ? " using 1:2:3 with image notitle"
                          : " using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5):3 with boxxyerror "
                            "fillstyle solid 1 noborder fillcolor palette notitle"));
    if (draws_bar) canvas.command("unset colorbox");
    data += (data.empty() ? "" : "\n\n") + data_block(panel);
  }
  return {canvas.script(), data, layout.width, layout.height};
}

std::vector<Rectangle> heatmap_panels(const std::string& title, const Heatmap& heatmap) {
  const Layout layout = lay_out(title, heatmap, colour_range(heatmap));
  std::vector<Rectangle> panels;
  for (std::size_t i = 0; i < heatmap.panels.size(); ++i) {
    panels.push_back(cells_of(heatmap.panels[i], layout, i));
  }
  return panels;
}

}  // namespace headscope
