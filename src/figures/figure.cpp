#include "headscope/figure.hpp"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "figures/figure_script.hpp"
#include "figures/gnuplot.hpp"
#include "files/pending_file.hpp"
#include "headscope/error.hpp"
#include "headscope/utf8.hpp"

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

std::string redraw_line(const std::string& name) {
  return "# Redraw: gnuplot -c " + name + ".gp svg";
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
  return "# " + one_line(figure.title) + "\n# Source: " + one_line(figure.source) + "\n" +
         redraw_line(figure.name) +
         "   (or png, pdf)\n"
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
         "if (ARGC < 2) ARG2 = '" +
         figure.name + ".'.ARG1\nset output ARG2\n";
}

// Browsers smooth enlarged images, which would blur the cells of a matrix into each other.
void keep_cells_sharp(std::string& svg) {
  const std::string plain = "<image ", sharp = "<image style='image-rendering:pixelated' ";
  for (std::size_t at = svg.find(plain); at != std::string::npos;
       at = svg.find(plain, at + sharp.size())) {
    svg.replace(at, plain.size(), sharp);
  }
}

}  // namespace

void remove_figures(const std::string& directory) {
  std::vector<fs::path> scripts;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory, none)) {
    if (entry.path().extension() != ".gp") continue;
    std::ifstream script(entry.path());
    const std::string ours = redraw_line(entry.path().stem().string());
    std::string line;
    for (int n_line = 0; n_line < 3 && std::getline(script, line); ++n_line) {
      if (line.starts_with(ours)) scripts.push_back(entry.path());
    }
  }
  // The script goes last: it tells whose the others are.
  for (fs::path file : scripts) {
    for (const char* const extension : {"svg", "png", "pdf", "dat", "gp"}) {
      remove_file(file.replace_extension(extension).string());
    }
  }
}

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
  write_file((folder / data_file).string(), script.data);
  write_file((folder / script_file).string(), preamble(figure, script) + "set multiplot\n" +
                                                  script.body + "unset multiplot\nunset output\n");
  for (const std::string& format : formats) {
    const fs::path path = folder / (figure.name + "." + format);
    try {
      std::string picture = run_gnuplot(directory, script_file, format, time_limit);
      if (picture.empty()) {
        throw Error(script_file + ": expected gnuplot to draw " + path.filename().string() +
                    ", it did not");
      }
      if (format == "svg") keep_cells_sharp(picture);
      write_file(path.string(), picture);
    } catch (...) {
      fs::remove(path, failure);
      throw;
    }
  }
}

}  // namespace headscope
