#pragma once

#include <boost/program_options.hpp>
#include <stdexcept>
#include <string>
#include <vector>

/// The commands of the command line, one function each. Results for people go to stdout, progress
/// to stderr; errors are thrown.
namespace headscope {

namespace po = boost::program_options;

/// The command line is not as it should be: exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

using Arguments = std::vector<std::string>;

void run_command(const Arguments& arguments);
void merge_command(const Arguments& arguments);
void report_command(const Arguments& arguments);
void inspect_command(const Arguments& arguments);
void convert_command(const Arguments& arguments);
void prune_command(const Arguments& arguments);
void list_command(const Arguments& arguments);

/// Parses without guessing abbreviations; `--help` prints usage and options to stdout.
/// @param positional  names of the positional options in order; the last takes all that remain when
/// `many`.
/// @return false when help was asked for and printed.
/// @throws UsageError
bool parse_arguments(const Arguments& arguments, const std::string& usage,
                     const po::options_description& options,
                     const std::vector<std::string>& positional, bool many,
                     po::variables_map& values);

}  // namespace headscope
