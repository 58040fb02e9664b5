#include "command_line.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <new>

#include "commands.hpp"
#include "headscope/blas.hpp"
#include "headscope/error.hpp"
#include "headscope/version.hpp"
#include "run/interrupt.hpp"

namespace headscope {
namespace {

struct Command {
  const char* name;
  const char* arguments;
  const char* purpose;
  void (*run)(const Arguments&);
};

constexpr std::array<Command, 7> commands{{
    {"run", "[--model M] [--corpus C...] --output DIR", "analyse a model's heads", run_command},
    {"merge", "SHARD... --output DIR", "finish a run whose shards were run apart", merge_command},
    {"report", "DIR|results.h5", "redraw tables, figures and report from a results file",
     report_command},
    {"inspect", "FILE...", "show what a model, corpus or results file holds", inspect_command},
    {"convert", "IN OUT.h5", "write safetensors or tf_model.h5 as one flat HDF5 file",
     convert_command},
    {"prune", "MODEL OUT.h5 --heads L5H1,...", "write a model without some of its heads",
     prune_command},
    {"list", "", "show the analyses, what each needs, and its source", list_command},
}};

void print_usage(std::ostream& out) {
  out << "headscope " << version() << ": what the attention heads of a GPT-2 model do\n\nUsage:\n";
  for (const Command& command : commands) {
    const std::string call = std::string(command.name) + " " + command.arguments;
    out << "  headscope " << call << "\n      " << command.purpose << "\n";
  }
  out << "\n`headscope COMMAND --help` lists a command's options.\n";
}

void run_first(const Arguments& arguments) {
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") return print_usage(std::cout);
  if (name == "--version") {
    std::cout << "headscope " << version() << "\n" << blas::library_description() << "\n";
    return;
  }
  for (const Command& command : commands) {
    if (name == command.name) return command.run({arguments.begin() + 1, arguments.end()});
  }
  throw UsageError("unknown command \"" + name + "\"; `headscope --help` lists the commands");
}

/// `-o, --output DIR`.
std::string help_name(const po::option_description& option) {
  const std::string names = option.format_name();  // Boost's "-o [ --output ]" or "--model"
  const std::string parameter = option.format_parameter();
  return (names.starts_with("--") ? "" : names.substr(0, 2) + ", ") + "--" + option.long_name() +
         (parameter.empty() ? "" : " " + parameter.substr(0, parameter.find(" (=")));
}

}  // namespace

bool parse_arguments(const Arguments& arguments, const std::string& usage,
                     const po::options_description& options,
                     const std::vector<std::string>& positional, bool many,
                     po::variables_map& values) {
  po::options_description all;
  all.add(options).add_options()("help,h", "show this help");
  po::positional_options_description positions;
  for (std::size_t i = 0; i < positional.size(); ++i) {
    positions.add(positional[i].c_str(), many && i + 1 == positional.size() ? -1 : 1);
  }
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(
        po::command_line_parser(arguments).options(all).positional(positions).style(style).run(),
        values);
    if (values.count("help") > 0) {
      std::cout << "Usage: headscope " << usage << "\n\n";
      for (const auto& option : all.options()) {
        if (option->description().empty()) continue;
        std::cout << "  " << help_name(*option) << "\n      " << option->description() << "\n";
      }
      return false;
    }
    po::notify(values);
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  return true;
}

int run_command_line(const std::vector<std::string>& arguments) {
  try {
    if (arguments.empty()) {
      print_usage(std::cerr);
      return 2;
    }
    run_first(arguments);
    std::cout.flush();
    if (!std::cout) throw Error("standard output: cannot be written");
    return 0;
  } catch (const std::ios_base::failure&) {
    // Only standard output is set to throw, by main.
    std::cerr << "headscope: standard output: cannot be written: " << std::strerror(errno) << "\n";
    return 1;
  } catch (const Interrupted& stopped) {
    std::cerr << "headscope: " << stopped.what() << "\n";
    return 128 + stopped.signal();
  } catch (const UsageError& error) {
    std::cerr << "headscope: " << error.what() << "\n";
    return 2;
  } catch (const OptionError& error) {
    std::cerr << "headscope: " << error.what() << "\n";
    return 2;
  } catch (const std::bad_alloc&) {
    std::cerr << "headscope: not enough memory\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "headscope: " << error.what() << "\n";
    return 1;
  }
}

}  // namespace headscope
