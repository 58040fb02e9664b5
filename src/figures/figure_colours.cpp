#include "figures/figure_colours.hpp"

#include <array>
#include <string_view>

namespace headscope {
namespace {

constexpr std::array<std::string_view, 24> distinct{
    "#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#000000",
    "#882255", "#332288", "#6666ff", "#f4a6c0", "#5c3a21", "#aa4499", "#a5ffa5", "#69783c",
    "#c3a54b", "#3c0f4b", "#00f0ff", "#96c387", "#9696ff", "#874b0f", "#002d1e", "#c3e178"};

// Viridis at equal steps: lightness rises evenly.
constexpr std::array<std::string_view, 9> sequential{"#440154", "#472d7b", "#3b528b",
                                                     "#2c728e", "#21918c", "#28ae80",
                                                     "#5ec962", "#addc30", "#fde725"};

// ColorBrewer's RdBu, reversed: blue below, red above.
constexpr std::array<std::string_view, 9> diverging{"#2166ac", "#4393c3", "#92c5de",
                                                    "#d1e5f0", "#f7f7f7", "#fddbc7",
                                                    "#f4a582", "#d6604d", "#b2182b"};

std::string palette(const std::vector<std::string>& colours) {
  std::string stops;
  for (std::size_t i = 0; i < colours.size(); ++i) {
    stops += (i > 0 ? ", " : "") + std::to_string(i) + " '" + colours[i] + "'";
  }
  return "defined (" + stops + ")";
}

}  // namespace

std::string series_colour(std::size_t index) {
  return std::string(index == no_colour ? "#b8b8b8" : distinct[index % distinct.size()]);
}

std::vector<std::string> category_colours(const std::vector<std::string>& categories) {
  std::vector<std::string> colours;
  std::size_t next = 0;
  for (const std::string& category : categories) {
    colours.push_back(series_colour(category == "none" ? no_colour : next++));
  }
  return colours;
}

std::vector<std::string> continuous_colours(ColourScale scale) {
  const auto& colours = scale == ColourScale::diverging ? diverging : sequential;
  return {colours.begin(), colours.end()};
}

std::string continuous_palette(ColourScale scale) {
  return "set palette maxcolors 0 " + palette(continuous_colours(scale));
}

std::string categorical_palette(const std::vector<std::string>& colours) {
  if (colours.size() == 1) {
    return "set palette maxcolors 2 " + palette({colours[0], colours[0]});
  }
  return "set palette maxcolors " + std::to_string(colours.size()) + " " + palette(colours);
}

}  // namespace headscope
