#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headscope/figure.hpp"

namespace headscope {

/// Text sizes in pixels.
inline constexpr double title_size = 15, text_size = 12, tick_size = 11;

inline constexpr std::string_view grey = "#666666", empty_cell = "#e8e8e8";

/// Width in pixels as gnuplot estimates it: all characters are equally wide.
double text_width(std::string_view text, double size);

/// The text, cut with an ellipsis if it is wider than `width`.
std::string fit_text(std::string_view text, double size, double width);

/// The text broken at spaces to lines of at most `width`; at most `max_lines`, the last one
/// shortened.
std::vector<std::string> wrap_text(std::string_view text, double size, double width,
                                   std::size_t max_lines);

/// gnuplot's expression for these lines; empty if there are none.
std::string gnuplot_lines(const std::vector<std::string>& lines);

/// Title, ticks and labels of an axis.
struct Axis {
  std::string title;
  std::string ticks = "autofreq";  ///< as `set xtics` takes them
  bool named = false;              ///< has its own labels, shown on every panel
  double extent = 0;               ///< pixels the tick labels take across the axis
  std::string format = "'% h'";    ///< of numbers
};

/// Labels at 0, 1, ... as `set xtics` takes them: each `step`-th of those that are not empty.
std::string tick_list(const std::vector<std::string>& labels, std::size_t step = 1);

/// The width of the widest label as it is shown, at least `least`.
double label_width(const std::vector<std::string>& labels, double least);

/// Labels at 0, 1, ... along an axis; or, if there are none, numbers.
/// @param step  pixels from one to the next; labels without room are left out.
Axis labelled_x_axis(std::string_view title, const std::vector<std::string>& labels,
                     std::size_t count, double step);
Axis labelled_y_axis(std::string_view title, const std::vector<std::string>& labels,
                     std::size_t count, double step);

/// Number of columns for panels of this width-to-height ratio, so that the page is a little wider
/// than high and few places are empty.
std::size_t grid_columns(std::size_t n_panel, double ratio, std::size_t most);

/// Panels of one size in rows, with room around them for titles, tick labels and a key. In pixels.
struct Page {
  std::size_t n_panel = 1, n_column = 1;
  double panel_width = 0, panel_height = 0;
  Axis x, y;
  bool panels_titled = false;
  double key_width = 0, key_height = 0;  ///< right of the panels, from the top of the first
  std::string title;

  Rectangle panel(std::size_t index) const;
  /// The smallest rectangle around all panels.
  Rectangle panels() const;
  double width() const;
  double height() const;
  /// A distance from the left or the bottom as a fraction of the page, for gnuplot.
  std::string across(double pixels) const;
  std::string up(double pixels) const;

  /// The figure's title and its font.
  std::string title_text() const;
  /// `set multiplot` with the panels' places.
  std::string multiplot() const;

 private:
  double left() const;  ///< of the panels
  double right() const;
  std::vector<std::string> title_lines() const;
  double column_gap() const;
  double row_gap() const;
};

/// Commands for a figure's panels; settings carry over from panel to panel and are written only
/// when they change.
class PanelScript {
 public:
  void add(std::string_view command);
  /// `set NAME VALUE`, or `unset NAME` where the value is empty.
  void set(const std::string& name, const std::string& value);
  /// Titles and ticks of a panel; numbers only along the outer axes.
  void axes(const Page& page, std::size_t panel, const std::string& title);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::map<std::string, std::string> settings_{
      {"title", ""},         {"xlabel", ""},        {"ylabel", ""},        {"key", ""},
      {"xtics", "autofreq"}, {"ytics", "autofreq"}, {"format x", "'% h'"}, {"format y", "'% h'"}};
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
FigureScript heatmap_script(const Figure& figure, const Heatmap& heatmap);
FigureScript chart_script(const Figure& figure, const Chart& chart);

}  // namespace headscope
