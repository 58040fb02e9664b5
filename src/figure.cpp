#include "headscope/figure.hpp"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "figure_script.hpp"
#include "gnuplot.hpp"
#include "headscope/error.hpp"
#include "utf8.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr int time_limit = 120;

void check_name(const std::string& name) {
  const bool plain = name.find_first_not_of(
                         "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789_-.") == std::string::npos;
  if (!plain || name.empty() || name[0] == '.' || name[0] == '-') {
    throw Error("figure: expected a name of letters, digits, '_', '-' and '.', got \"" +
                one_line(name) + "\"");
  }
}

void check_format(const std::string& format) {
  if (format != "svg" && format != "png" && format != "pdf") {
    throw OptionError("format", "expected svg, png or pdf, got \"" + one_line(format) + "\"");
  }
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw DataError(path.string(), "", "cannot be written");
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw DataError(path.string(), "", "cannot be read");
  return text.str();
}

std::string whole(double pixels) {
  return std::to_string(std::lround(pixels));
}

// PNG at three times the size, 288 dots per inch; PDF at the size of the SVG. The script's text
// sizes are pixels, which the cairo terminals take for points.
std::string preamble(const Figure& figure, const FigureScript& script) {
  const std::string size = whole(script.width) + ", " + whole(script.height);
  const std::string large = whole(3 * script.width) + ", " + whole(3 * script.height);
  char inches[64];
  std::snprintf(inches, sizeof inches, "%.3fin, %.3fin", script.width / 96, script.height / 96);
  return "# " + one_line(figure.title) + "\n# Source: " + one_line(figure.source) +
         "\n# Redraw: gnuplot -c " + figure.name +
         ".gp svg   (or png, pdf)\n"
         "reset\nset encoding utf8\nunset key\n"
         "if (ARGC < 1) ARG1 = 'svg'\n"
         "if (ARG1 eq 'svg') set terminal svg noenhanced size " +
         size + " dynamic background rgb 'white' font 'sans-serif,12' name '" + figure.name +
         "'\n"
         "if (ARG1 eq 'png') set terminal pngcairo noenhanced size " +
         large +
         " fontscale 2.25 linewidth 3 pointscale 3 background rgb 'white' font 'sans-serif,12'\n"
         "if (ARG1 eq 'pdf') set terminal pdfcairo noenhanced size " +
         inches +
         " fontscale 0.75 background rgb 'white' font 'sans-serif,12'\n"
         "set output '" +
         figure.name + ".'.ARG1\n";
}

// Browsers smooth enlarged images, which would blur the cells of a matrix into each other.
void keep_cells_sharp(const fs::path& svg) {
  std::string text = read_text(svg);
  const std::string plain = "<image ", sharp = "<image style='image-rendering:pixelated' ";
  bool found = false;
  for (std::size_t at = text.find(plain); at != std::string::npos;
       at = text.find(plain, at + sharp.size())) {
    text.replace(at, plain.size(), sharp);
    found = true;
  }
  if (found) write_text(svg, text);
}

}  // namespace

void write_figure(const Figure& figure, const std::string& directory,
                  const std::vector<std::string>& formats) {
  check_name(figure.name);
  for (const std::string& format : formats) check_format(format);
  const fs::path folder(directory);
  const std::string data_file = figure.name + ".dat", script_file = figure.name + ".gp";
  const FigureScript script =
      std::holds_alternative<Heatmap>(figure.content)
          ? heatmap_script(figure.name, figure.title, std::get<Heatmap>(figure.content), data_file)
          : chart_script(figure.name, figure.title, std::get<Chart>(figure.content), data_file);
  std::error_code failure;
  fs::create_directories(folder, failure);
  write_text(folder / data_file, script.data);
  write_text(folder / script_file, preamble(figure, script) + "set multiplot\n" + script.body +
                                       "unset multiplot\nunset output\n");
  for (const std::string& format : formats) {
    const fs::path picture = folder / (figure.name + "." + format);
    try {
      run_gnuplot(directory, script_file, format, time_limit);
      if (!fs::exists(picture)) {
        throw Error(script_file + ": expected gnuplot to write " + figure.name + "." + format +
                    ", it did not");
      }
    } catch (...) {
      fs::remove(picture, failure);
      throw;
    }
    if (format == "svg") keep_cells_sharp(picture);
  }
}

}  // namespace headscope
