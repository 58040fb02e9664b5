#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "figures/canvas.hpp"

namespace headscope {

/// Columns that give `n_panel` panels of the given proportions a page a little wider than high,
/// with few places left empty.
std::size_t grid_columns(std::size_t n_panel, double panel_width, double panel_height,
                         std::size_t most);

/// Panels of one size in rows, from the top left.
struct Grid {
  std::size_t n_panel = 1, n_column = 1;
  double width = 0, height = 0;  ///< of one panel
  double column_gap = 0, row_gap = 0;
  double x = 0, y = 0;  ///< top left corner of the first panel

  std::size_t n_row() const { return (n_panel + n_column - 1) / n_column; }
  double total_width() const;
  double total_height() const;
  Rectangle panel(std::size_t index) const;
  bool leftmost(std::size_t index) const { return index % n_column == 0; }
  bool lowest(std::size_t index) const { return index + n_column >= n_panel; }
};

/// Which labels to show, and how, along an axis with one label per step of `step` pixels.
struct AxisLabels {
  std::vector<std::string> labels;  ///< shortened to `longest`
  std::size_t stride = 1;           ///< every how many are shown
  double rotation = 0;              ///< degrees
  double extent = 0;                ///< pixels they take across the axis

  std::vector<Tick> ticks() const;
};

AxisLabels horizontal_axis_labels(std::vector<std::string> labels, double step, double longest);
AxisLabels vertical_axis_labels(std::vector<std::string> labels, double step, double longest);

/// "0", "1", ... where there are no labels.
std::vector<std::string> labels_or_numbers(const std::vector<std::string>& labels,
                                           std::size_t count);

/// Lines of the figure's title and the height they take at the top of the page.
struct TitleBlock {
  std::vector<std::string> lines;
  double height() const;
  void draw(Canvas& canvas) const;
};

inline constexpr double page_margin = 10;

}  // namespace headscope
