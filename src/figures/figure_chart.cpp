#include <algorithm>
#include <cmath>
#include <limits>

#include "figures/figure_colours.hpp"
#include "figures/figure_grid.hpp"
#include "figures/figure_labels.hpp"
#include "figures/figure_script.hpp"
#include "figures/gnuplot.hpp"
#include "headscope/error.hpp"
#include "headscope/utf8.hpp"

namespace headscope {
namespace {

constexpr double longest_label = 140;
constexpr double bar_share = 0.8;  // of the step from one group of bars to the next

void check(const std::string& name, const Chart& chart) {
  if (chart.panels.empty()) throw ShapeError("figure " + name + ": expected a panel, got none");
  for (const ChartPanel& panel : chart.panels) {
    for (const Series& series : panel.series) {
      const std::string what = "figure " + name + " series " + one_line(series.label);
      check_count(what + " y", series.x.size(), series.y.size());
      check_count(what + " low", series.high.size(), series.low.size());
      if (!series.low.empty()) check_count(what + " interval", series.y.size(), series.low.size());
      if (!series.point_labels.empty()) {
        check_count(what + " point labels", series.y.size(), series.point_labels.size());
      }
    }
  }
}

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool empty() const { return low > high; }
  void include(double value, bool log) {
    if (!std::isfinite(value) || (log && value <= 0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

Range vertical_range(const Chart& chart) {
  Range range;
  bool bars = false;
  for (const ChartPanel& panel : chart.panels) {
    for (const ReferenceLine& line : panel.reference_lines) range.include(line.y, chart.log_y);
    for (const Series& series : panel.series) {
      bars = bars || series.style == Series::Style::bars;
      for (const auto* values : {&series.y, &series.low, &series.high}) {
        for (const double value : *values) range.include(value, chart.log_y);
      }
    }
  }
  if (range.empty()) range = {chart.log_y ? 1.0 : 0.0, chart.log_y ? 10.0 : 1.0};
  if (chart.log_y) {
    range = {range.low / 1.3, range.high * 1.3};
  } else {
    const bool from_zero = range.low >= 0 && (bars || range.low < 0.3 * range.high);
    const bool to_zero = range.high <= 0 && (bars || range.high > 0.3 * range.low);
    if (from_zero) range.low = 0;
    if (to_zero) range.high = 0;
    const double span = range.high - range.low;
    const double room = span > 0 ? 0.06 * span : std::max(std::abs(range.low) * 0.1, 0.5);
    if (!from_zero) range.low -= room;
    if (!to_zero) range.high += room;
  }
  range = {chart.y_low.value_or(range.low), chart.y_high.value_or(range.high)};
  if (!(range.high > range.low)) range.high = range.low + (chart.log_y ? range.low : 1);
  return range;
}

Range horizontal_range(const Chart& chart) {
  Range range;
  std::size_t labels = 0;
  bool bars = false;
  for (const ChartPanel& panel : chart.panels) {
    labels = std::max(labels, panel.x_labels.size());
    for (const Series& series : panel.series) {
      bars = bars || series.style == Series::Style::bars;
      for (const double value : series.x) range.include(value, chart.log_x);
    }
  }
  if (labels > 0) return {-0.6, static_cast<double>(labels) - 0.4};
  if (range.empty()) return {chart.log_x ? 1.0 : 0.0, chart.log_x ? 10.0 : 1.0};
  if (chart.log_x) return {range.low / 1.15, range.high * 1.15};
  if (bars) return {range.low - 0.6, range.high + 0.6};
  const double span = range.high - range.low;
  const double room = span > 0 ? 0.03 * span : 0.5;
  return {range.low - room, range.high + room};
}

bool whole_numbers(const Chart& chart) {
  for (const ChartPanel& panel : chart.panels) {
    for (const Series& series : panel.series) {
      for (const double x : series.x) {
        if (std::isfinite(x) && x != std::round(x)) return false;
      }
    }
  }
  return true;
}

struct KeyEntry {
  std::string label;
  Series::Style style = Series::Style::line;
  std::string colour, dash;
  bool reference = false;
  double x = 0, y = 0;
};

// One entry per name, in order of first use; a name keeps its colour in every panel.
std::vector<KeyEntry> key_entries(const Chart& chart) {
  std::vector<KeyEntry> entries;
  const auto known = [&](const std::string& label, bool reference) {
    return std::any_of(entries.begin(), entries.end(), [&](const KeyEntry& entry) {
      return entry.label == label && entry.reference == reference;
    });
  };
  for (const ChartPanel& panel : chart.panels) {
    for (const Series& series : panel.series) {
      if (known(series.label, false)) continue;
      entries.push_back({series.label, series.style,
                         std::string(series_colour(series.colour.value_or(entries.size()))),
                         entries.size() < 8 ? "1" : "4"});
    }
  }
  static constexpr std::string_view dashes[] = {"2", "3", "5"};
  std::size_t next = 0;
  for (const ChartPanel& panel : chart.panels) {
    for (const ReferenceLine& line : panel.reference_lines) {
      if (known(line.label, true)) continue;
      entries.push_back({line.label, Series::Style::line, std::string(faint_ink),
                         std::string(dashes[next++ % std::size(dashes)]), true});
    }
  }
  return entries;
}

const KeyEntry& entry_of(const std::vector<KeyEntry>& entries, const std::string& label,
                         bool reference) {
  return *std::find_if(entries.begin(), entries.end(), [&](const KeyEntry& entry) {
    return entry.label == label && entry.reference == reference;
  });
}

struct Layout {
  Range x, y;
  std::vector<Tick> x_ticks, y_ticks;
  std::vector<AxisLabels> x_labels;  // per panel; without labels the ticks count
  bool shared = true;
  double y_extent = 0, x_extent = 0;
  Grid grid;
  TitleBlock title;
  std::vector<KeyEntry> key;
  bool key_shown = false;
  double width = 0, height = 0;
};

bool has_point_labels(const Chart& chart) {
  for (const ChartPanel& panel : chart.panels) {
    for (const Series& series : panel.series) {
      if (!series.point_labels.empty()) return true;
    }
  }
  return false;
}

void size_panels(const Chart& chart, Layout& layout) {
  Grid& grid = layout.grid;
  grid.n_panel = chart.panels.size();
  std::size_t labels = 0, bar_series = 1;
  for (const ChartPanel& panel : chart.panels) {
    labels = std::max(labels, panel.x_labels.size());
    bar_series = std::max(bar_series, panel.series.size());
  }
  if (grid.n_panel == 1) {
    grid.n_column = 1;
    const double step = std::max(15.0, 6.0 * static_cast<double>(bar_series));
    const bool points_named = has_point_labels(chart);
    grid.width =
        std::clamp(step * static_cast<double>(labels), points_named ? 560.0 : 400.0, 800.0);
    grid.height = points_named ? 420 : 240;
  } else {
    grid.n_column = grid_columns(grid.n_panel, 1.35, 1, 4);
    grid.width = std::min(320.0, 760 / static_cast<double>(grid.n_column));
    grid.height = 0.68 * grid.width;
  }
}

std::vector<Tick> horizontal_ticks(const Chart& chart, const Layout& layout) {
  const int count = static_cast<int>(layout.grid.width / 55);
  if (chart.log_x) return log_ticks(layout.x.low, layout.x.high);
  std::vector<Tick> ticks = nice_ticks(layout.x.low, layout.x.high, count);
  if (whole_numbers(chart)) {
    std::erase_if(
        ticks, [](const Tick& t) { return std::abs(t.position - std::round(t.position)) > 1e-9; });
    for (Tick& tick : ticks) {
      if (std::abs(tick.position) < 1e5) {
        tick.label = std::to_string(std::lround(tick.position));
      }
    }
  }
  return ticks;
}

void measure_axes(const Chart& chart, Layout& layout) {
  layout.x = horizontal_range(chart);
  layout.y = vertical_range(chart);
  layout.x_ticks = horizontal_ticks(chart, layout);
  layout.y_ticks = chart.log_y ? log_ticks(layout.y.low, layout.y.high)
                               : nice_ticks(layout.y.low, layout.y.high,
                                            static_cast<int>(layout.grid.height / 40));
  for (const Tick& tick : layout.y_ticks) {
    layout.y_extent = std::max(layout.y_extent, text_width(tick.label, tick_size) + 14);
  }
  layout.x_extent = tick_size * line_height + 11;
  const std::vector<std::string>& first = chart.panels.front().x_labels;
  for (const ChartPanel& panel : chart.panels) {
    layout.shared = layout.shared && panel.x_labels == first;
    const double step = layout.grid.width / (layout.x.high - layout.x.low);
    layout.x_labels.push_back(horizontal_axis_labels(panel.x_labels, step, longest_label));
    layout.x_extent = std::max(layout.x_extent, layout.x_labels.back().extent + 13);
  }
}

// Places the entries in rows across the page; returns the height they take.
double lay_out_key(Layout& layout, double top) {
  const bool named = layout.key.size() > 1 || (!layout.key.empty() && layout.key[0].reference);
  layout.key_shown = named;
  if (!named) return 0;
  constexpr double row_height = tick_size * line_height + 3;
  double x = page_margin, y = top + row_height / 2;
  for (KeyEntry& entry : layout.key) {
    const double width = 30 + text_width(fit_text(entry.label, tick_size, 260), tick_size) + 14;
    if (x > page_margin && x + width > layout.width - page_margin) {
      x = page_margin;
      y += row_height;
    }
    entry.x = x;
    entry.y = y;
    x += width;
  }
  return y + row_height / 2 - top + 4;
}

Layout lay_out(const std::string& title, const Chart& chart) {
  Layout layout;
  size_panels(chart, layout);
  measure_axes(chart, layout);
  Grid& grid = layout.grid;
  const bool panel_titles = std::any_of(chart.panels.begin(), chart.panels.end(),
                                        [](const ChartPanel& p) { return !p.title.empty(); });
  const double above = panel_titles ? axis_size * line_height + 4 : 4;
  grid.column_gap = 20;
  grid.row_gap = above + (layout.shared ? 10 : layout.x_extent + 10);
  // Slanted labels reach left of the first bar.
  double overhang = 0;
  for (const AxisLabels& labels : layout.x_labels) {
    if (labels.rotation == 40) overhang = std::max(overhang, labels.extent - 20);
  }
  grid.x = std::max(
      page_margin + layout.y_extent + (chart.y_title.empty() ? 0 : axis_size * line_height + 2),
      page_margin + overhang);
  layout.width = std::max(grid.x + grid.total_width() + 18 + page_margin, 300.0);
  layout.title.lines = wrap_text(title, title_size, layout.width - 2 * page_margin, 3);
  layout.key = key_entries(chart);
  const double key_height = lay_out_key(layout, layout.title.height());
  grid.y = layout.title.height() + key_height + above + 4;
  layout.height = grid.y + grid.total_height() + layout.x_extent +
                  (chart.x_title.empty() ? 0 : axis_size * line_height + 2) + page_margin;
  layout.width = std::ceil(layout.width);
  layout.height = std::ceil(layout.height);
  return layout;
}

void draw_key(Canvas& canvas, const Layout& layout) {
  if (!layout.key_shown) return;
  for (const KeyEntry& entry : layout.key) {
    const std::string colour = " linecolor rgb '" + entry.colour + "'";
    if (entry.style == Series::Style::bars) {
      canvas.fill({entry.x + 8, entry.y - 5, 14, 10}, entry.colour);
    } else if (entry.style == Series::Style::points) {
      canvas.command("set label '' at screen " + canvas.across(entry.x + 16) + ", screen " +
                     canvas.down(entry.y) + " point pointtype 7 pointsize 0.6" + colour);
    } else {
      canvas.line(
          entry.x + 2, entry.y, entry.x + 24, entry.y,
          (entry.reference ? "linewidth 1.2" : "linewidth 2") + colour + " dashtype " + entry.dash);
    }
    canvas.text(entry.x + 30, entry.y, fit_text(entry.label, tick_size, 260), tick_size,
                Align::left);
  }
}

void draw_axis_titles(Canvas& canvas, const Chart& chart, const Layout& layout) {
  const Grid& grid = layout.grid;
  canvas.text(grid.x - layout.y_extent - axis_size / 2, grid.y + grid.total_height() / 2,
              fit_text(chart.y_title, axis_size, layout.height - 2 * page_margin), axis_size,
              Align::center, 90);
  canvas.text(grid.x + grid.total_width() / 2,
              grid.y + grid.total_height() + layout.x_extent + axis_size / 2 + 1,
              fit_text(chart.x_title, axis_size, layout.width - 2 * page_margin), axis_size);
}

void write_ticks(Canvas& canvas, const Layout& layout, std::size_t index) {
  std::vector<Tick> y_ticks = layout.y_ticks;
  if (!layout.grid.leftmost(index)) {
    for (Tick& tick : y_ticks) tick.label.clear();
  }
  canvas.ticks("ytics", y_ticks);
  const AxisLabels& labels = layout.x_labels[index];
  std::vector<Tick> x_ticks = labels.labels.empty() ? layout.x_ticks : labels.ticks();
  if (layout.shared && !layout.grid.lowest(index)) {
    for (Tick& tick : x_ticks) tick.label.clear();
  }
  canvas.ticks("xtics", x_ticks,
               labels.rotation == 0    ? "norotate"
               : labels.rotation == 90 ? "rotate by 90 right"
                                       : "rotate by 40 right");
}

bool has_points(const Series& series) {
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (std::isfinite(series.x[i]) && std::isfinite(series.y[i])) return true;
  }
  return false;
}

std::string data_block(const Series& series, double offset) {
  std::string block = "# " + one_line(series.label) + "\n# x y low high\n";
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const bool interval = !series.low.empty();
    block += gnuplot_number(series.x[i] + offset) + ' ' + gnuplot_number(series.y[i]) + ' ' +
             gnuplot_number(interval ? series.low[i] : series.y[i]) + ' ' +
             gnuplot_number(interval ? series.high[i] : series.y[i]) + '\n';
  }
  return block;
}

// gnuplot's plot elements for one series whose data are `source`.
std::string series_elements(const Series& series, const KeyEntry& entry, const std::string& source,
                            double bar_width, double floor) {
  const std::string colour = " rgb '" + entry.colour + "'";
  const bool interval = !series.low.empty();
  const std::string error_bars = ", \\\n  " + source +
                                 " using 1:3:(0):($4-$3) with vectors nohead "
                                 "linewidth 1.2 linecolor rgb ";
  switch (series.style) {
    case Series::Style::bars: {
      const std::string half = gnuplot_number(bar_width / 2);
      const std::string bars = source + " using 1:2:($1-" + half + "):($1+" + half + "):(" +
                               gnuplot_number(floor) +
                               "):2 with boxxyerror fillstyle solid 1 noborder fillcolor" + colour;
      return interval ? bars + error_bars + "'#333333'" : bars;
    }
    case Series::Style::points: {
      const std::string points =
          source + " using 1:2 with points pointtype 7 pointsize 0.5 linecolor" + colour;
      return interval ? points + error_bars + "'" + entry.colour + "'" : points;
    }
    case Series::Style::line:
      break;
  }
  const bool marked = series.x.size() <= 30;
  const std::string line = source + " using 1:2 with " +
                           (marked ? "linespoints pointtype 7 pointsize 0.35" : "lines") +
                           " linewidth 1.8 dashtype " + entry.dash + " linecolor" + colour;
  if (!interval) return line;
  return source + " using 1:3:4 with filledcurves fillstyle transparent solid 0.2 noborder " +
         "fillcolor" + colour + ", \\\n  " + line;
}

void draw_reference_lines(Canvas& canvas, const ChartPanel& panel, const Layout& layout) {
  for (const ReferenceLine& line : panel.reference_lines) {
    if (!(line.y >= layout.y.low && line.y <= layout.y.high)) continue;
    const KeyEntry& entry = entry_of(layout.key, line.label, true);
    const std::string y = gnuplot_number(line.y);
    canvas.command("set arrow from graph 0, first " + y + " to graph 1, first " + y +
                   " nohead front linewidth 1.2 dashtype " + entry.dash + " linecolor rgb '" +
                   entry.colour + "'");
  }
}

// How far along an axis a value lies, from 0 to 1.
double share_of(const Range& range, double value, bool log) {
  if (log) return std::log(value / range.low) / std::log(range.high / range.low);
  return (value - range.low) / (range.high - range.low);
}

void draw_point_labels(Canvas& canvas, const Chart& chart, const Layout& layout,
                       const ChartPanel& panel, const Rectangle& area) {
  constexpr double label_size = 9;
  // A label may reach into the margin on the right.
  LabelPlacer placer({area.x, area.y, layout.width - area.x - 2, area.height});
  const auto x_of = [&](double x) {
    return area.x + area.width * share_of(layout.x, x, chart.log_x);
  };
  const auto y_of = [&](double y) {
    return area.bottom() - area.height * share_of(layout.y, y, chart.log_y);
  };
  for (const Series& series : panel.series) {
    for (std::size_t i = 0; i < series.x.size(); ++i) {
      placer.add_point(x_of(series.x[i]), y_of(series.y[i]));
    }
  }
  for (const Series& series : panel.series) {
    for (std::size_t i = 0; i < series.point_labels.size(); ++i) {
      if (series.point_labels[i].empty()) continue;
      const double x = x_of(series.x[i]), y = y_of(series.y[i]);
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      const std::string label = fit_text(series.point_labels[i], label_size, longest_label);
      const auto place =
          placer.place(x, y, text_width(label, label_size), label_size * line_height);
      if (!place) continue;
      canvas.text(place->x, place->y + place->height / 2, label, label_size, Align::left, 0,
                  "#444444");
    }
  }
}

class ChartWriter {
 public:
  ChartWriter(const Chart& chart, const Layout& layout, std::string data_file)
      : chart_(chart),
        layout_(layout),
        data_file_(std::move(data_file)),
        canvas_(layout.width, layout.height) {}

  FigureScript write() {
    const std::string x_low = gnuplot_number(layout_.x.low), y_low = gnuplot_number(layout_.y.low);
    canvas_.command("set border 3 linewidth 0.8 linecolor rgb '#555555'");
    canvas_.command("set tics out nomirror scale 0.4");
    canvas_.command("set grid ytics back linetype 1 linewidth 0.6 linecolor rgb '#e6e6e6'");
    if (chart_.log_x) canvas_.command("set logscale x");
    if (chart_.log_y) canvas_.command("set logscale y");
    canvas_.command("set xrange [" + x_low + ":" + gnuplot_number(layout_.x.high) +
                    "]; set yrange [" + y_low + ":" + gnuplot_number(layout_.y.high) + "]");
    layout_.title.draw(canvas_);
    draw_key(canvas_, layout_);
    draw_axis_titles(canvas_, chart_, layout_);
    for (std::size_t i = 0; i < chart_.panels.size(); ++i) write_panel(i);
    return {canvas_.script(), data_, layout_.width, layout_.height};
  }

 private:
  void write_panel(std::size_t index) {
    const ChartPanel& panel = chart_.panels[index];
    const Rectangle area = layout_.grid.panel(index);
    canvas_.axes(area);
    canvas_.text(area.x, area.y - axis_size * line_height / 2 - 2,
                 fit_text(panel.title, axis_size, area.width + 14), axis_size, Align::left);
    write_ticks(canvas_, layout_, index);
    draw_reference_lines(canvas_, panel, layout_);
    const auto n_bar = static_cast<double>(
        std::count_if(panel.series.begin(), panel.series.end(),
                      [](const Series& series) { return series.style == Series::Style::bars; }));
    const double width = bar_share / std::max(n_bar, 1.0);
    double offset = -bar_share / 2 + width / 2;
    std::string elements;
    for (const Series& series : panel.series) {
      const bool bars = series.style == Series::Style::bars;
      if (has_points(series)) {
        const std::string source =
            gnuplot_string(data_file_) + " index " + std::to_string(block_++);
        data_ += (data_.empty() ? "" : "\n\n") + data_block(series, bars ? offset : 0);
        elements += (elements.empty() ? "" : ", \\\n  ") +
                    series_elements(series, entry_of(layout_.key, series.label, false), source,
                                    width, std::clamp(0.0, layout_.y.low, layout_.y.high));
      }
      if (bars) offset += width;
    }
    draw_point_labels(canvas_, chart_, layout_, panel, area);
    canvas_.command("plot " + (elements.empty() ? "NaN" : elements));
    canvas_.clear_furniture();
  }

  const Chart& chart_;
  const Layout& layout_;
  std::string data_file_;
  Canvas canvas_;
  std::string data_;
  std::size_t block_ = 0;
};

}  // namespace

FigureScript chart_script(const std::string& name, const std::string& title, const Chart& chart,
                          const std::string& data_file) {
  check(name, chart);
  const Layout layout = lay_out(title, chart);
  return ChartWriter(chart, layout, data_file).write();
}

}  // namespace headscope
