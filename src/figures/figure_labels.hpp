#pragma once

#include <optional>
#include <vector>

#include "headscope/figure.hpp"

namespace headscope {

/// Finds room for labels beside points, so that no label overlaps another or a point.
class LabelPlacer {
 public:
  /// @param bounds  labels stay within, in pixels.
  explicit LabelPlacer(const Rectangle& bounds) : bounds_(bounds) {}

  void add_point(double x, double y);

  /// Places a label of this size beside the point at x, y; nothing if there is no room.
  std::optional<Rectangle> place(double x, double y, double width, double height);

 private:
  bool is_free(const Rectangle& place) const;

  Rectangle bounds_;
  std::vector<Rectangle> taken_;
};

}  // namespace headscope
