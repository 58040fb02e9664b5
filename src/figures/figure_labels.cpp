#include "figures/figure_labels.hpp"

#include <algorithm>

namespace headscope {
namespace {

constexpr double point_radius = 2.5;
constexpr double label_gap = 1;

bool overlap(const Rectangle& a, const Rectangle& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

}  // namespace

void LabelPlacer::add_point(double x, double y) {
  taken_.push_back({x - point_radius, y - point_radius, 2 * point_radius, 2 * point_radius});
}

std::optional<Rectangle> LabelPlacer::place(double x, double y, double width, double height) {
  const double right = x + point_radius + label_gap, left = x - point_radius - label_gap - width;
  const double above = y - point_radius - label_gap - height, below = y + point_radius + label_gap;
  const double beside = y - height / 2, centred = x - width / 2;
  for (const Rectangle& place : {Rectangle{right, beside, width, height},
                                 {left, beside, width, height},
                                 {centred, above, width, height},
                                 {centred, below, width, height}}) {
    if (!is_free(place)) continue;
    taken_.push_back(place);
    return place;
  }
  return std::nullopt;
}

bool LabelPlacer::is_free(const Rectangle& place) const {
  if (place.x < bounds_.x || place.right() > bounds_.right() || place.y < bounds_.y ||
      place.bottom() > bounds_.bottom()) {
    return false;
  }
  return std::none_of(taken_.begin(), taken_.end(),
                      [&](const Rectangle& other) { return overlap(place, other); });
}

}  // namespace headscope
