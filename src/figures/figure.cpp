#include "headscope/figure.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/file_names.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "figures/colour_range.hpp"
#include "figures/figure_page.hpp"
#include "figures/glyphs.hpp"
#include "figures/gnuplot.hpp"
#include "figures/png.hpp"
#include "files/pending_file.hpp"
#include "headscope/error.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr int time_limit = 120;
constexpr double png_dots_per_inch = 300;

void check_name(const std::string& name) {
  if (name.empty() || file_name(name) != name) {
    throw Error("figure: expected a short name of letters, digits, '_', '-' and '.', got \"" +
                one_line(name) + "\"");
  }
}

void check_format(const std::string& format) {
  if (format != "svg" && format != "png" && format != "pdf") {
    throw OptionError("format", "expected svg, png or pdf, got \"" + one_line(format) + "\"");
  }
}

std::string redraw_line(const std::string& name) {
  return "# Redraw: gnuplot -c " + name + ".gp svg";
}

std::string integer_text(double pixels) {
  return std::to_string(std::lround(pixels));
}

// PNG at 300 dots per inch; PDF at the size of the SVG. The script's text
// sizes are pixels, which the cairo terminals take for points.
std::string preamble(const Figure& figure, const Page& page, const std::string& data_file) {
  const std::string size = integer_text(page.width()) + ", " + integer_text(page.height());
  const double scale = png_dots_per_inch / 96;
  const std::string large =
      integer_text(scale * page.width()) + ", " + integer_text(scale * page.height());
  const std::string inches =
      decimals(page.width() / 96, 3) + "in, " + decimals(page.height() / 96, 3) + "in";
  const std::string font =
      " background rgb 'white' font 'sans-serif," + integer_text(text_size) + "'";
  return "# " + one_line(figure.title) + "\n# Source: " + one_line(figure.source) + "\n" +
         redraw_line(figure.name) + "   (or png, pdf)\nreset\n" +
         "if (ARGC < 1) ARG1 = 'svg'\nif (ARGC < 2) ARG2 = '" + figure.name + ".'.ARG1\n" +
         "if (ARG1 eq 'svg') set terminal svg noenhanced size " + size + " dynamic" + font +
         " name '" + figure.name + "'\nif (ARG1 eq 'png') set terminal pngcairo noenhanced size " +
         large + " fontscale " + decimals(0.75 * scale, 3) + " linewidth " + decimals(scale, 3) +
         " pointscale " + decimals(scale, 3) + font +
         "\nif (ARG1 eq 'pdf') set terminal pdfcairo noenhanced size " + inches +
         " fontscale 0.75" + font + "\nset output ARG2\ndata = '" + data_file +
         "'\nset encoding utf8\nset minussign\nunset key\nset style fill solid noborder\n"
         "set border " +
         (std::holds_alternative<Heatmap>(figure.content) ? "" : "3 ") +
         "linewidth 0.7 linecolor rgb '" + std::string(grey) + "'\nset tics " + tick_style + "\n";
}

std::string script_text(const Figure& figure, const FigureScript& script,
                        const std::string& data_file) {
  return preamble(figure, script.page, data_file) + script.commands + "unset output\n";
}

// An SVG has the fonts of its reader; other formats have those of this machine.
std::string picture_of(const Figure& figure, const FigureScript& script, const fs::path& folder,
                       const std::string& format) {
  const std::string script_name = figure.name + ".gp";
  const auto draw = [&](const std::string& name) {
    return run_gnuplot(folder.string(), name, format, time_limit);
  };
  if (format == "svg") return draw(script_name);
  FigureScript boxed = script;
  boxed.commands = with_font_glyphs(script.commands);
  boxed.data = with_font_glyphs(script.data);
  if (boxed.commands == script.commands && boxed.data == script.data) return draw(script_name);
  PendingFile data_file((folder / (figure.name + ".dat")).string()),
      script_file((folder / script_name).string());
  const auto name_of = [](const PendingFile& file) {
    return fs::path(file.temporary_path()).filename().string();
  };
  data_file.append(boxed.data);
  script_file.append(script_text(figure, boxed, name_of(data_file)));
  return draw(name_of(script_file));
}

}  // namespace

void remove_figures(const std::string& directory) {
  std::vector<fs::path> scripts;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    if (entry.path().extension() != ".gp") continue;
    std::ifstream script(entry.path());
    const std::string first_line = redraw_line(entry.path().stem().string());
    std::string line;
    for (int n_line = 0; n_line < 3 && std::getline(script, line); ++n_line) {
      if (line.starts_with(first_line)) scripts.push_back(entry.path());
    }
  }
  // The script goes last: it marks the other files as Headscope's.
  for (fs::path file : scripts) {
    for (const char* const extension : {"svg", "png", "pdf", "dat", "gp"}) {
      remove_file(file.replace_extension(extension).string());
    }
  }
}

DrawnFigure write_figure(Figure figure, const std::string& directory,
                         const std::vector<std::string>& formats) {
  check_name(figure.name);
  for (const std::string& format : formats) check_format(format);
  const fs::path folder(directory);
  const std::string script_file = figure.name + ".gp";
  const FigureScript script =
      std::visit([&](const auto& content) { return script_of(figure, content); }, figure.content);
  if (const auto* const map = std::get_if<Heatmap>(&figure.content)) {
    figure.caption += beyond_colours_text(*map);
  }
  std::error_code failure;
  fs::create_directories(folder, failure);
  write_file((folder / (figure.name + ".dat")).string(), script.data);
  write_file((folder / script_file).string(), script_text(figure, script, figure.name + ".dat"));
  std::string svg;
  for (const std::string& format : formats) {
    const fs::path path = folder / (figure.name + "." + format);
    try {
      std::string picture = picture_of(figure, script, folder, format);
      if (picture.empty()) {
        throw DrawingError(script_file + ": expected gnuplot to draw " + path.filename().string() +
                           ", it did not");
      }
      if (format == "png") picture = with_resolution(picture, png_dots_per_inch);
      if (format == "svg") {
        // Browsers smooth enlarged images, which would blur the cells of a matrix into each other.
        replace_all(picture, "<image ", "<image style='image-rendering:pixelated' ");
        // gnuplot writes `>` as it is, but XML forbids `]]>` in text.
        replace_all(picture, "]]>", "]]&gt;");
      }
      write_file(path.string(), picture);
      if (format == "svg") svg = std::move(picture);
    } catch (...) {
      fs::remove(path, failure);
      throw;
    }
  }
  DrawnFigure drawn{std::move(figure), std::move(svg), {}, script.x, script.y};
  for (std::size_t i = 0; i < script.page.n_panel; ++i) {
    drawn.panels.push_back(script.page.panel(i));
  }
  return drawn;
}

}  // namespace headscope
