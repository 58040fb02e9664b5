#pragma once

#include <cstdint>

#include "commands.hpp"
#include "headscope/types.hpp"

/// Options that several commands have, and how their values are read.
namespace headscope {

/// A value for read_whole_number: Boost itself would wrap a negative number round.
po::typed_value<std::string>* whole_number(const char* default_value);
/// @throws UsageError
std::uint64_t read_whole_number(const po::variables_map& values, const char* option);

/// The parts of `A,B`. @throws UsageError if one is empty.
std::vector<std::string> read_list(const std::string& text, const char* option);

/// @throws UsageError with the known ones if the value is not one of them.
void check_known(const char* option, const std::string& value,
                 const std::vector<std::string>& known);

/// `--n-head N`, for commands that read model files.
void add_n_head_option(po::options_description& options);
Index read_n_head(const po::variables_map& values);

/// `--figures FORMATS`, for commands that draw.
void add_figures_option(po::options_description& options);
/// Reads `png,pdf`; svg, which the report needs, is always among the formats. @throws UsageError
std::vector<std::string> read_figure_formats(const std::string& text);

/// The command line as a POSIX shell would take it again, with quotes where they must be.
std::string command_line_text(const std::string& command, const Arguments& arguments);

}  // namespace headscope
