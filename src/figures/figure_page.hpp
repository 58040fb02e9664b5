#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/figure.hpp"

namespace headscope {

/// One text size for all of a figure: 7.5 points, at 96 pixels an inch.
inline constexpr double text_size = 10;
/// Widths of a figure: one or two columns of a paper, 3.25 and 6.75 inches.
inline constexpr double one_column = 312, two_columns = 648;

inline constexpr std::string_view grey = "#666666", empty_cell = "#e8e8e8";

/// Width in pixels as gnuplot estimates it: all characters are equally wide.
double text_width(std::string_view text);

/// The text, cut with an ellipsis if it is wider than `width`.
std::string fit_text(std::string_view text, double width);

/// The text broken at spaces to lines of at most `width`; at most `max_lines`, the last one
/// shortened.
std::vector<std::string> wrap_text(std::string_view text, double width, std::size_t max_lines);

/// gnuplot's expression for these lines; empty if there are none.
std::string gnuplot_lines(const std::vector<std::string>& lines);

/// As `set format` takes it. With gnuplot's default, a range that ends close to 0 has ticks of many
/// zeros.
inline constexpr const char* number_format = "'% .6h'";

struct Page;

/// Title, ticks and labels of an axis.
struct Axis {
  std::string title;
  std::string ticks = "autofreq";      ///< as `set xtics` takes them
  bool named = false;                  ///< labels on every panel, unless `outer`
  bool all_named = true;               ///< no label is left out for want of room
  bool outer = false;                  ///< labels only at the outer panels
  double extent = 0;                   ///< pixels the tick labels take across the axis
  std::string format = number_format;  ///< of numbers
};

/// Pixels after which a label is cut.
inline constexpr double longest_label = 170;

/// Labels at 0, 1, ... as `set xtics` takes them: each `step`-th of those that are not empty.
std::string tick_list(const std::vector<std::string>& labels, std::size_t step = 1,
                      double longest = longest_label);

/// The width of the widest label as it is shown, at least `least`.
double label_width(const std::vector<std::string>& labels, double least,
                   double longest = longest_label);

/// Pixels from one label to the next with which labels stand apart: of rows, and of columns whose
/// labels are turned.
inline constexpr double row_label_step = 1.1 * text_size, column_label_step = 1.3 * text_size;

/// Labels at 0, 1, ... along an axis; or, if there are none, numbers.
/// @param step  pixels from one to the next; labels without room are left out.
Axis labelled_x_axis(std::string_view title, const std::vector<std::string>& labels,
                     std::size_t count, double step);
Axis labelled_y_axis(std::string_view title, const std::vector<std::string>& labels,
                     std::size_t count, double step, double longest = longest_label);

/// The step of numbers along `pixels` of an axis with which they stand apart, as `set xtics` takes
/// it.
std::string number_step(const AxisRange& range, double pixels);

/// The width of the widest number that gnuplot writes along an axis of this height.
double number_width(const AxisRange& range, double pixels);

/// A key above all panels: its entries in rows.
struct KeyAbove {
  std::size_t n_row = 1;
  double width = 0;

  /// @param names  of the entries.
  /// @param width  of the page.
  KeyAbove(const std::vector<std::string>& names, double width);
  /// The name as the key shows it.
  static std::string shown(std::string_view name);
  double height() const;
  /// As `set key` takes it.
  std::string place(const Page& page) const;
};

/// Number of columns for panels of this width-to-height ratio, so that the page is a little wider
/// than high and no place is empty, if the number of panels allows.
std::size_t grid_columns(std::size_t n_panel, double ratio, std::size_t least, std::size_t most);

/// Panels of one size in rows, with room around them for titles, tick labels and a key. In pixels.
struct Page {
  std::size_t n_panel = 1, n_column = 1;
  double panel_width = 0, panel_height = 0;
  Axis x, y;
  std::size_t title_lines = 0;           ///< of the longest title of a panel
  double key_width = 0, key_height = 0;  ///< right of the panels, from the top of the first
  std::string key_title;                 ///< of the values, at the right edge
  double key_above = 0;                  ///< height of a key above all panels
  double panel_key = 0;                  ///< width of a key beside each panel
  double least_width = 0;

  /// Leaves room above each panel for its title, of at most two lines. To be called once the
  /// panels' width is known.
  template <typename Panel>
  void make_room_for_titles(const std::vector<Panel>& panels) {
    title_lines = 0;
    for (const Panel& panel : panels) {
      title_lines = std::max(title_lines, panel_title(panel.title).size());
    }
  }
  /// The lines of a title above a panel.
  std::vector<std::string> panel_title(const std::string& title) const {
    return wrap_text(title, panel_width, 2);
  }
  /// Whether a panel is too narrow for its title.
  bool cuts_title(const std::string& title) const;
  Rectangle panel(std::size_t index) const;
  /// The smallest rectangle around all panels.
  Rectangle panels() const;
  double width() const;
  double height() const;
  /// A distance from the left or the bottom as a fraction of the page, for gnuplot.
  std::string across(double pixels) const;
  std::string up(double pixels) const;

  /// `set multiplot` with the panels' places.
  std::string multiplot() const;
  /// The titles of both axes and of the key, each once for all panels, as `set label` takes them.
  std::vector<std::string> titles() const;
  /// Width of the title beside the key.
  double key_title_width() const;

 private:
  std::size_t n_row() const { return (n_panel + n_column - 1) / n_column; }
  double grid_width() const;
  double grid_height() const;
  double left() const;  ///< of the panels
  double column_gap() const;
  double row_gap() const;
};

/// Calls `lay_out(room)` with ever less room for the panels, in pixels, until its page is at most
/// `width` wide. The page then gets this width.
template <typename LayOut>
Page fitted(double width, const LayOut& lay_out) {
  double room = width;
  Page page = lay_out(room);
  while (page.width() > width && room > 20) {
    room -= std::max(1.0, page.width() - width);
    page = lay_out(room);
  }
  page.least_width = width;
  return page;
}

/// How axes have their ticks. What unsets the ticks of an axis resets this too.
inline constexpr const char* tick_style = "out nomirror scale 0.4";

/// Commands and data for a figure's panels; settings carry over from panel to panel and are written
/// only when they change.
class PanelScript {
 public:
  void add(std::string_view command);
  /// `set NAME VALUE`, or `unset NAME` where the value is empty.
  void set(const std::string& name, const std::string& value);
  /// Titles and ticks of a panel; numbers only along the outer axes, axes' titles with the first.
  void axes(const Page& page, std::size_t panel, const std::string& title);
  /// Adds a block of data. @return the beginning of an element of a plot that reads it.
  std::string add_block(const std::string& block);
  /// Adds an element to the plot of the panel.
  void add_to_plot(const std::string& element);
  /// Adds an entry to the key that no element of the plot has: its style and title.
  void add_to_key(const std::string& entry);
  /// Draws the panel's plot.
  void end_plot();

  const std::string& text() const { return text_; }
  const std::string& data() const { return data_; }

 private:
  std::string text_, data_, plot_, key_;
  std::size_t n_block_ = 0;
  std::map<std::string, std::string> settings_{
      {"title", ""},         {"label 1", ""},       {"label 2", ""},
      {"label 3", ""},       {"key", ""},           {"xtics", "autofreq"},
      {"ytics", "autofreq"}, {"format x", "'% h'"}, {"format y", "'% h'"}};
};

/// Everything gnuplot needs to draw one figure.
struct FigureScript {
  std::string commands;
  std::string data;  ///< blocks as `plot data index i` reads them
  Page page;
  std::vector<AxisRange> x, y;  ///< by panel
};

/// The script that draws a figure's content below its title.
/// @throws ShapeError naming the figure if labels, values or intervals do not fit together.
FigureScript script_of(const Figure& figure, const Heatmap& heatmap);
FigureScript script_of(const Figure& figure, const Chart& chart);
FigureScript script_of(const Figure& figure, const Graph& graph);

/// By edge, how far the control point of its quadratic curve lies from the middle of its ends: in
/// rows upwards, or with `Graph::bands` in columns to the right. Edges between the same nodes get
/// different values. Curves stay clear of other nodes where a moderate bend allows it.
std::vector<double> graph_rises(const Graph& graph);

}  // namespace headscope
