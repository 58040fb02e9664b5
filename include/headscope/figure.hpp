#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headscope/array.hpp"
#include "headscope/estimate.hpp"

/// Figures as data: what to draw, not how. gnuplot draws them from a script and a data file kept
/// beside the picture.
namespace headscope {

enum class ColourScale {
  sequential,   ///< perceptually uniform, low to high
  diverging,    ///< centred on 0
  categorical,  ///< whole numbers standing for `categories`; colour-blind safe
};

struct HeatmapPanel {
  std::string title;
  Array values;    ///< row x column, the same in all panels; NaN is drawn as empty
  Array marked{};  ///< row x column, not 0: the cell gets a dot; empty: none
};

/// Heat maps on one colour scale. Without `high`, maps of heads have one scale each if the ranges
/// of their values differ more than twofold.
struct Heatmap {
  std::vector<HeatmapPanel> panels = {};
  std::string row_title = {}, column_title = {}, value_title = {};  ///< with units
  std::vector<std::string> row_labels = {}, column_labels = {};     ///< empty: numbered from 0
  ColourScale scale = ColourScale::sequential;
  /// Limits of the colour scale; absent: of the data, without a few cells far from the rest.
  std::optional<double> low = {}, high = {};
  std::vector<std::string> categories = {};  ///< categorical only
  bool heads = false;                        ///< a cell per head: layers down, heads across
  std::size_t group = 0;  ///< a line follows each group of so many rows and columns, for example
                          ///< each layer; 0: no lines
};

/// Heat maps of a value by head: layers down, heads across.
/// @param panels  layer x head.
/// @param low     of the colour scale; from the data when absent.
Heatmap head_map(std::string value_title, std::vector<HeatmapPanel> panels,
                 std::optional<double> low = {});

/// The same of probabilities: all panels are on one scale, from 0 to the largest.
Heatmap head_probabilities(std::string value_title, std::vector<HeatmapPanel> panels);

/// A pattern's first tokens, query x key, without the keys after a query: these are empty.
Array causal_part(const Array& pattern, std::size_t n_token);

struct Variable;

/// Grey, for a series that belongs to no category.
inline constexpr std::size_t no_colour = static_cast<std::size_t>(-1);

struct Series {
  enum class Style {
    line,
    points,
    bars,
    spans,  ///< bars from `low` to `high`, without points at y
  };
  std::string label = {};
  std::vector<double> x = {}, y = {};
  std::vector<double> low = {}, high = {};  ///< interval around y; empty: none
  Style style = Style::line;
  std::vector<std::string> point_labels = {};  ///< beside each point; empty: none
  /// Index in the palette or `no_colour`, to give a name one colour in several figures; default:
  /// order of first use.
  std::optional<std::size_t> colour = {};
  double shift = 0;  ///< along x as drawn, so that several series of points stay apart

  /// A line through values at 0, 1, ...
  static Series line(std::string label, const std::vector<double>& y);
  /// The same of `n` values of a variable from `first` on, row-major, with their intervals.
  static Series line(std::string label, const Variable& variable, std::size_t first, std::size_t n);
  /// Points, none yet.
  static Series points(std::string label = {}, std::optional<std::size_t> colour = {});
  /// Points at 0, 1, ..., those of each layer above its number.
  /// @param by_layer  layer x value; NaN gives no point.
  static Series points(std::string label, const Array& by_layer);

  /// Adds a point at an x.
  void add(double at, double value);
  /// Adds a point with its interval.
  void add(double at, const Estimate& value);
  /// Removes all intervals if some point has none.
  void drop_partial_intervals();
};

struct ReferenceLine {
  std::string label;  ///< "chance", "baseline"
  double y = 0;
};

struct ChartPanel {
  std::string title = {};
  std::vector<Series> series = {};
  std::vector<ReferenceLine> reference_lines = {};
  /// Instead of the chart's, and at most as many; not of horizontal charts.
  std::vector<std::string> x_labels = {};
};

/// Lines, points or bars, in one or several panels.
struct Chart {
  std::vector<ChartPanel> panels = {};
  std::string x_title = {}, y_title = {};  ///< with units
  std::vector<std::string> x_labels = {};  ///< one per whole-number x
  std::optional<double> y_low = {}, y_high = {};
  bool log_x = false, log_y = false;
  bool separate_ranges = false;  ///< each panel has the range of its own series
  bool equal = false;            ///< one unit is as long along x as along y
  bool horizontal =
      false;  ///< x runs down with its labels, y across; for points and spans, without point labels
};

/// A row for each label, with points and spans across, the first row at the top.
/// @param series  x is the row's number; a series without points is left out.
Chart rows_chart(std::string row_title, std::string value_title, std::vector<std::string> rows,
                 std::vector<Series> series, std::vector<ReferenceLine> lines = {});

/// The largest number of a chart's panels, at most `count`, that fills whole rows.
std::size_t panels_in_whole_rows(std::size_t count);

/// Nodes in columns, and edges from a node to one further right.
struct Graph {
  /// Of nodes or edges, in the key.
  struct Kind {
    std::string label;
    std::size_t colour = no_colour;  ///< index in the palette
    bool dashed = false;             ///< edges only
    /// Left out of the picture; a switch on the page shows it.
    bool behind_switch = false;
  };
  struct Node {
    std::string name;            ///< `L0H4`
    std::string mark;            ///< shown inside it where there is room: one or two characters
    double column = 0, row = 0;  ///< rows upwards
    std::size_t kind = 0;        ///< of node_kinds
  };
  struct Edge {
    std::size_t from = 0, to = 0;  ///< nodes
    std::size_t kind = 0;          ///< of edge_kinds
    double value = 0;  ///< its size is drawn as the width, up to the largest in the picture
  };
  std::vector<Kind> node_kinds, edge_kinds;
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<std::string> column_labels, row_labels;  ///< at 0, 1, ...
  std::string column_title, row_title, value_title;    ///< with units
  /// Whether edges lead upwards from row to row; else they lead to the right from column to column.
  bool bands = false;
  std::string switch_label;  ///< of the switch that shows what `behind_switch` leaves out
  /// In the key, what a plus sign on an edge of positive value means; empty: no edge has a sign.
  std::string plus_label;

  /// Whether the edge, or one of its ends, is of a kind left out of the picture.
  bool is_behind_switch(const Edge& edge) const {
    return edge_kinds[edge.kind].behind_switch || node_kinds[nodes[edge.from].kind].behind_switch ||
           node_kinds[nodes[edge.to].kind].behind_switch;
  }
};

struct Figure {
  std::string name;   ///< file stem, named after its source: `michel2019_ablation`
  std::string group;  ///< results group it is drawn from
  std::string title;
  std::string caption;  ///< what is shown, on what data, definition and units
  std::string source;   ///< paper
  std::variant<Heatmap, Chart, Graph> content;
};

/// In pixels, from the top left corner.
struct Rectangle {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

/// What an axis runs over, from left to right or from bottom to top.
struct AxisRange {
  double low = 0, high = 1;
  bool log = false;
};

/// A figure as it was drawn.
struct DrawnFigure {
  Figure figure;
  std::string svg;                ///< empty if not among the formats
  std::vector<Rectangle> panels;  ///< where the panels' axes lie in the SVG
  std::vector<AxisRange> x, y;    ///< by panel; a heat map's cells lie at whole numbers
};

/// Writes `{name}.gp`, `{name}.dat` and one picture per format, by running gnuplot (found on PATH)
/// without a shell. Adds to the caption how many cells of a heat map lie beyond its colours. PNG
/// and PDF have U+25A1 for characters that no font on this machine has.
/// @param formats  of "svg", "png", "pdf".
/// @throws Error   if gnuplot is missing or fails, with its first line of output.
DrawnFigure write_figure(Figure figure, const std::string& directory,
                         const std::vector<std::string>& formats);

/// Removes the scripts that write_figure wrote into a folder and the pictures and data of the same
/// names, nothing else. Does nothing if there is no such folder.
/// @throws DataError if one cannot be removed.
void remove_figures(const std::string& directory);

}  // namespace headscope
