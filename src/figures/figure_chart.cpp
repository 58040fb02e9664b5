#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>
#include <set>
#include <span>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "figures/chart_range.hpp"
#include "figures/figure_colours.hpp"
#include "figures/figure_labels.hpp"
#include "figures/figure_page.hpp"
#include "figures/gnuplot.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

constexpr double bar_share = 0.8;  // of the step from one group of bars to the next
constexpr double longest_name = 190;
constexpr double row_height = 14, highest_panel = 700;
// More labels along x, or more panels, need two columns of a paper.
constexpr std::size_t most_narrow_labels = 8, most_narrow_panels = 1;
// Rows with longer labels, too.
constexpr double longest_narrow_row = 110, longest_wide_row = 320;

bool is_spans(const Series& series) {
  return series.style == Series::Style::spans;
}

auto series_of_all_panels(const Chart& chart) {
  return chart.panels | std::views::transform(&ChartPanel::series) | std::views::join;
}

void check(const std::string& figure, const Chart& chart) {
  if (chart.panels.empty()) throw ShapeError(figure + ": expected a panel, got none");
  for (const Series& series : series_of_all_panels(chart)) {
    const std::string what = figure + " series " + one_line(series.label);
    check_count(what + " y", series.x.size(), series.y.size());
    check_count(what + " low", series.high.size(), series.low.size());
    if (!series.low.empty()) check_count(what + " interval", series.y.size(), series.low.size());
    if (!series.point_labels.empty()) {
      check_count(what + " point labels", series.y.size(), series.point_labels.size());
    }
    if (is_spans(series)) check_count(what + " interval", series.y.size(), series.low.size());
  }
  for (const ChartPanel& panel : chart.panels) {
    const std::size_t most = chart.horizontal ? 0 : chart.x_labels.size();
    check_count(figure + " panel labels", std::min(most, panel.x_labels.size()),
                panel.x_labels.size());
  }
}

// Whether an axis counts something.
bool whole_numbers(const Chart& chart, std::vector<double> Series::*values) {
  const auto is_whole = [](double value) {
    return !std::isfinite(value) || value == std::round(value);
  };
  return std::ranges::all_of(series_of_all_panels(chart), [&](const Series& series) {
    return std::ranges::all_of(series.*values, is_whole);
  });
}

bool has_points(const Series& series) {
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (std::isfinite(series.x[i]) && std::isfinite(series.y[i])) return true;
  }
  return false;
}

std::string data_block(const Series& series, double offset) {
  std::string block = "# " + one_line(series.label) + "\n# x y low high\n";
  offset += series.shift;
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    const bool interval = !series.low.empty();
    block += gnuplot_number(series.x[i] + offset) + ' ' + gnuplot_number(series.y[i]) + ' ' +
             gnuplot_number(interval ? series.low[i] : series.y[i]) + ' ' +
             gnuplot_number(interval ? series.high[i] : series.y[i]) + '\n';
  }
  return block;
}

std::string style_of(const Series& series, std::size_t index) {
  if (is_bars(series)) return "with boxes";
  if (series.style == Series::Style::points) {
    return std::string("with points pointtype 7 pointsize ") +
           (series.x.size() <= 30 ? "0.75" : "0.5");
  }
  const bool marked = series.x.size() <= 30;
  return std::string(marked ? "with linespoints pointtype 7 pointsize 0.35" : "with lines") +
         " linewidth 1.8" + (index < 8 ? "" : " dashtype 4");
}

class ChartWriter {
 public:
  explicit ChartWriter(const Chart& chart) : chart_(chart) {
    const std::span panels(chart.panels);
    for (std::size_t i = 0; i < panels.size(); ++i) {
      const auto shared = chart.separate_ranges ? panels.subspan(i, 1) : panels;
      x_ranges_.push_back(horizontal_range(chart, shared));
      y_ranges_.push_back(vertical_range(chart, shared));
    }
    name_entries();
  }

  FigureScript write() {
    const bool is_wide = chart_.panels.size() > most_narrow_panels || names_points() ||
                         (chart_.horizontal ? label_width(chart_.x_labels, 0) > longest_narrow_row
                                            : chart_.x_labels.size() > most_narrow_labels);
    const double width = is_wide ? two_columns : one_column;
    page_ = fitted(width, [this, width](double room) {
      lay_out(room, width);
      return page_;
    });
    script_.add(page_.multiplot());
    script_.add(std::string("set grid ") + (chart_.horizontal ? "xtics" : "ytics") +
                " back linetype 1 linewidth 0.6 linecolor rgb '#e6e6e6'");
    script_.add("set samples 2");
    if (chart_.log_x) script_.add("set logscale x");
    if (chart_.log_y) script_.add("set logscale y");
    for (std::size_t i = 0; i < page_.n_panel; ++i) write_panel(i);
    script_.add("unset multiplot");
    std::vector<AxisRange> across, up;
    for (std::size_t i = 0; i < page_.n_panel; ++i) {
      across.push_back(drawn_across(i).axis());
      up.push_back(drawn_up(i).axis());
    }
    return {script_.text(), script_.data(), page_, across, up};
  }

 private:
  const Range& drawn_across(std::size_t panel) const {
    return chart_.horizontal ? y_ranges_[panel] : x_ranges_[panel];
  }
  Range drawn_up(std::size_t panel) const {
    const Range& x = x_ranges_[panel];
    return chart_.horizontal ? Range{false, x.high, x.low} : y_ranges_[panel];
  }

  // Entries of the key: series in order of first use, then reference lines.
  struct KeyEntry {
    bool reference = false;
    std::string label, style, colour;

    std::string text() const { return style + " linecolor rgb '" + colour + "'"; }
    std::string name() const { return KeyAbove::shown(label); }
  };

  const KeyEntry* find(const std::string& label, bool reference) const {
    const auto found = std::ranges::find_if(key_, [&](const KeyEntry& known) {
      return known.label == label && known.reference == reference;
    });
    return found == key_.end() ? nullptr : &*found;
  }

  void name_entries() {
    for (const Series& series : series_of_all_panels(chart_)) {
      if (is_spans(series) || find(series.label, false) != nullptr) continue;
      const std::size_t index = key_.size();
      key_.push_back({false, series.label, style_of(series, index),
                      series_colour(series.colour.value_or(index))});
    }
    static constexpr int dashes[] = {2, 3, 5};
    std::size_t next = 0;
    for (const ChartPanel& panel : chart_.panels) {
      for (const ReferenceLine& line : panel.reference_lines) {
        if (find(line.label, true) != nullptr) continue;
        const std::string dash = std::to_string(dashes[next++ % std::size(dashes)]);
        key_.push_back({true, line.label, "with lines dashtype " + dash, std::string(grey)});
      }
    }
    keyed_ = key_.size() > 1 || (!key_.empty() && key_[0].reference);
  }

  bool names_points() const {
    return std::ranges::any_of(series_of_all_panels(chart_),
                               [](const Series& series) { return !series.point_labels.empty(); });
  }

  /// @param room   for all panels beside each other.
  /// @param width  of the page.
  void lay_out(double room, double width) {
    page_ = {};
    page_.n_panel = chart_.panels.size();
    page_.n_column = grid_columns(page_.n_panel, 1.35, 2, 4);
    page_.panel_width = room / static_cast<double>(page_.n_column);
    page_.panel_height = page_.n_panel > 1 ? 0.68 * page_.panel_width
                         : names_points()  ? 0.7 * page_.panel_width
                                           : std::min(0.62 * page_.panel_width, 200.0);
    if (chart_.equal) {
      const Range &x = x_ranges_[0], &y = y_ranges_[0];
      const double ratio = (y.high - y.low) / (x.high - x.low);
      page_.panel_width = std::min(page_.panel_width, highest_panel / ratio);
      page_.panel_height = ratio * page_.panel_width;
    }
    page_.make_room_for_titles(chart_.panels);
    if (chart_.horizontal) {
      lay_out_rows();
    } else {
      lay_out_columns();
    }
    numbered_across_ = page_.x.ticks == "autofreq";
    if (!keyed_) return;
    std::vector<std::string> names;
    for (const KeyEntry& entry : key_) names.push_back(entry.label);
    key_above_.emplace(names, width);
    page_.key_above = key_above_->height();
    // gnuplot breaks a key that is higher than the panel into more columns.
    if (!chart_.equal) page_.panel_height = std::max(page_.panel_height, page_.key_above);
  }

  void lay_out_rows() {
    const auto n_row = static_cast<double>(chart_.x_labels.size());
    page_.panel_height = std::max(90.0, row_height * n_row);
    page_.x = {.title = chart_.y_title, .extent = 1.5 * text_size, .format = format(y_ranges_[0])};
    page_.y = labelled_y_axis(chart_.x_title, chart_.x_labels, chart_.x_labels.size(), row_height,
                              longest_wide_row);
  }

  /// From one whole-number x to the next, as drawn.
  double column_step() const { return page_.panel_width / (x_ranges_[0].high - x_ranges_[0].low); }

  /// The panel's, or that of the layout.
  Axis x_axis_of(const ChartPanel& panel) const {
    if (panel.x_labels.empty()) return page_.x;
    return labelled_x_axis(chart_.x_title, panel.x_labels, panel.x_labels.size(), column_step());
  }

  void lay_out_columns() {
    const double step = column_step();
    if (chart_.x_labels.empty()) {
      const bool counted = !chart_.log_x && step > 20 && whole_numbers(chart_, &Series::x);
      page_.x = {.title = chart_.x_title,
                 .ticks = counted ? "1" : "autofreq",
                 .named = chart_.separate_ranges,
                 .extent = 1.5 * text_size,
                 .format = format(x_ranges_[0])};
    } else {
      page_.x = labelled_x_axis(chart_.x_title, chart_.x_labels, chart_.x_labels.size(), step);
      for (const ChartPanel& panel : chart_.panels) {
        page_.x.extent = std::max(page_.x.extent, x_axis_of(panel).extent);
      }
    }
    double numbers = 0;
    for (const Range& range : y_ranges_) {
      numbers = std::max(numbers, range.log ? 34 : number_width(range.axis(), page_.panel_height));
    }
    constexpr double most_counts = 6;  // beyond them gnuplot's own ticks are whole
    const bool counted = !chart_.log_y && y_ranges_[0].high - y_ranges_[0].low < most_counts &&
                         whole_numbers(chart_, &Series::y);
    page_.y = {.title = chart_.y_title,
               .ticks = counted        ? "1"
                        : chart_.log_y ? log_ticks(y_ranges_[0])
                                       : "autofreq",
               .named = chart_.separate_ranges,
               .extent = numbers,
               .format = format(y_ranges_[0])};
  }

  // Counts as 10k, 10M; in a short range their numbers may be no whole thousands.
  static std::string format(const Range& range) {
    const bool is_short = range.high < 3 * range.low;
    return range.log && range.low >= 1 && !is_short ? "'%.0s%c'" : number_format;
  }

  void write_panel(std::size_t index) {
    const ChartPanel& panel = chart_.panels[index];
    // The key of all panels stands above them.
    const bool keyed = keyed_ && index == 0;
    script_.set("key", keyed ? key_above_->place(page_) : "");
    const Range across = drawn_across(index), up = drawn_up(index);
    if (numbered_across_) {
      page_.x.ticks =
          across.log ? log_ticks(across) : number_step(across.axis(), page_.panel_width);
    }
    Page page = page_;
    page.x.ticks = x_axis_of(panel).ticks;
    script_.axes(page, index, panel.title);
    script_.set("xrange", gnuplot_range(across.low, across.high));
    script_.set("yrange", gnuplot_range(up.low, up.high));
    std::set<const KeyEntry*> named;
    const auto add = [&](const std::string& element, const KeyEntry* entry) {
      const bool title = keyed && entry != nullptr && named.insert(entry).second;
      script_.add_to_plot(element +
                          (title ? " title " + gnuplot_string(entry->name()) : " notitle"));
    };
    const auto n_bar = static_cast<double>(std::ranges::count_if(panel.series, is_bars));
    const double bar_width = bar_share / std::max(n_bar, 1.0);
    if (n_bar > 0) script_.set("boxwidth", gnuplot_number(bar_width));
    double offset = (bar_width - bar_share) / 2;
    for (const Series& series : panel.series) {
      if (has_points(series)) {
        const std::string points = chart_.horizontal ? "2:1 " : "1:2 ";
        const std::string interval_ends = chart_.horizontal ? "3:1:($4-$3):(0)" : "1:3:(0):($4-$3)";
        const std::string source =
            script_.add_block(data_block(series, is_bars(series) ? offset : 0));
        if (is_spans(series)) {
          add(source + interval_ends + " with vectors nohead linewidth 2 linecolor rgb '#c8c8c8'",
              nullptr);
          continue;
        }
        const KeyEntry* const entry = find(series.label, false);
        const bool interval = !series.low.empty(), line = series.style == Series::Style::line;
        if (interval && line) {
          add(source + "1:3:4 with filledcurves fillstyle transparent solid 0.2 linecolor rgb '" +
                  entry->colour + "'",
              nullptr);
        }
        add(source + points + entry->text(), entry);
        if (interval && !line) {
          add(source + interval_ends + " with vectors nohead linecolor rgb '#333333'", nullptr);
        }
      }
      if (is_bars(series)) offset += bar_width;
    }
    for (const ReferenceLine& line : panel.reference_lines) {
      const KeyEntry* const entry = find(line.label, true);
      add(reference_line(line.y, index) + " " + entry->text(), entry);
    }
    for (const KeyEntry& entry : key_) {
      if (!keyed || named.contains(&entry)) continue;
      script_.add_to_key(entry.text() + " title " + gnuplot_string(entry.name()));
    }
    if (const std::string labels = point_labels(index); !labels.empty()) {
      add(script_.add_block("# labels\n# x y text\n" + labels) +
              "1:2:3 with labels left textcolor rgb '#444444'",
          nullptr);
    }
    script_.end_plot();
  }

  /// A line where y has this value: across the panel, or upright where y runs across.
  std::string reference_line(double y, std::size_t index) {
    const std::string at = gnuplot_number(y);
    if (!chart_.horizontal) return at;
    const Range up = drawn_up(index);
    return script_.add_block("# line\n# x y\n" + at + " " + gnuplot_number(up.low) + "\n" + at +
                             " " + gnuplot_number(up.high) + "\n") +
           "1:2";
  }

  // The left ends of the point labels that find room.
  std::string point_labels(std::size_t index) const {
    const ChartPanel& panel = chart_.panels[index];
    const Range &x_range = x_ranges_[index], &y_range = y_ranges_[index];
    const double width = page_.panel_width, height = page_.panel_height;
    const auto across = [&](double x) { return width * x_range.share_of(x); };
    const auto down = [&](double y) { return height * (1 - y_range.share_of(y)); };
    LabelPlacer placer({0, 0, width, height});
    for (const Series& series : panel.series) {
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        placer.add_point(across(series.x[i]), down(series.y[i]));
      }
    }
    std::string lines;
    for (const Series& series : panel.series) {
      for (std::size_t i = 0; i < series.point_labels.size(); ++i) {
        std::string label = fit_text(series.point_labels[i], longest_name);
        const double x = across(series.x[i]), y = down(series.y[i]);
        if (label.empty() || !std::isfinite(x) || !std::isfinite(y)) continue;
        const auto place = placer.place(x, y, text_width(label), 1.3 * text_size);
        if (!place) continue;
        std::ranges::replace(label, '"', '\'');
        lines += gnuplot_number(x_range.value_at(place->x / width)) + ' ' +
                 gnuplot_number(y_range.value_at(1 - (place->y + place->height / 2) / height)) +
                 " \"" + label + "\"\n";
      }
    }
    return lines;
  }

  const Chart& chart_;
  std::vector<Range> x_ranges_, y_ranges_;  // by panel
  std::vector<KeyEntry> key_;
  bool keyed_ = false;
  std::optional<KeyAbove> key_above_;
  bool numbered_across_ = false;
  Page page_;
  PanelScript script_;
};

}  // namespace

FigureScript script_of(const Figure& figure, const Chart& chart) {
  check("figure " + figure.name, chart);
  return ChartWriter(chart).write();
}

}  // namespace headscope
