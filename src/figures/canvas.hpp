#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headscope {

/// Everything gnuplot needs to draw one figure.
struct FigureScript {
  std::string body;  ///< commands between `set multiplot` and `unset multiplot`
  std::string data;  ///< blocks as `plot '…' index i` reads them
  double width = 0;  ///< pixels at 96 per inch
  double height = 0;
};

/// Text sizes in pixels.
inline constexpr double title_size = 15, axis_size = 13, tick_size = 11;
inline constexpr double line_height = 1.3;  ///< of the text size

/// Greys used by every figure.
inline constexpr std::string_view ink = "#222222", faint_ink = "#666666", empty_cell = "#e8e8e8";

/// Width in pixels, estimated generously from the letters.
double text_width(std::string_view text, double size);

/// The text, or as much as fits `width` and an ellipsis.
std::string fit_text(std::string_view text, double size, double width);

/// The text broken at spaces to lines of at most `width`; at most `max_lines`, the last one
/// shortened.
std::vector<std::string> wrap_text(std::string_view text, double size, double width,
                                   std::size_t max_lines);

struct Rectangle {
  double x = 0, y = 0, width = 0, height = 0;  ///< x, y: top left corner
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

struct Tick {
  double position = 0;
  std::string label;
};

/// Round numbers covering [low, high], about `count` of them.
std::vector<Tick> nice_ticks(double low, double high, int count);
/// Powers of ten (and 2, 5 times them where there are few) within [low, high].
std::vector<Tick> log_ticks(double low, double high);

enum class Align { left, center, right };

/// Writes gnuplot commands for a page measured in pixels from its top left corner.
class Canvas {
 public:
  Canvas(double width, double height) : width_(width), height_(height) {}

  void text(double x, double y, std::string_view text, double size, Align align = Align::center,
            double rotation = 0, std::string_view colour = ink);
  void fill(const Rectangle& area, std::string_view colour);
  void line(double x1, double y1, double x2, double y2, std::string_view style);
  /// Places the axes of the next plot.
  void axes(const Rectangle& area);
  void command(std::string_view text);
  /// `set xtics`, `set ytics` or `set cbtics` at exactly these places.
  void ticks(std::string_view axis, const std::vector<Tick>& ticks, std::string_view options = "");
  /// Forgets labels, arrows and rectangles, which gnuplot would draw again with the next plot.
  void clear_furniture();

  std::string across(double x) const;  ///< as gnuplot's screen coordinate
  std::string down(double y) const;
  const std::string& script() const { return script_; }

 private:
  double width_, height_;
  std::string script_;
};

}  // namespace headscope
