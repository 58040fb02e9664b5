#include <cerrno>
#include <cstring>
#include <iostream>
#include <map>
#include <new>

#include "base/nearest_name.hpp"
#include "base/utf8.hpp"
#include "commands.hpp"
#include "compute/product/kernel.hpp"
#include "headscope/blas.hpp"
#include "headscope/error.hpp"
#include "headscope/precision.hpp"
#include "headscope/version.hpp"
#include "interrupt.hpp"
#include "manual.hpp"
#include "memory_limits.hpp"
#include "option_parser.hpp"
#include "restart.hpp"
#include "shell_text.hpp"
#include "slow_kernel.hpp"
#include "terminal.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

using Arguments = std::vector<std::string>;

void print_usage(std::ostream& out, const Terminal& terminal) {
  out << terminal.paragraph("headscope " + std::string(version()) +
                                ": what the attention heads of a language model do",
                            "", "")
      << "\n"
      << terminal.paragraph("Usage: headscope COMMAND [OPTION...]", "", "  ");
  std::string heading;
  for (const RegisteredCommand& command : commands()) {
    if (command.heading != heading) out << "\n" << terminal.bold(command.heading) << "\n";
    heading = command.heading;
    out << terminal.labelled("  " + command.name, 11, command.purpose);
  }
  out << "\n" << terminal.bold("Examples") << "\n";
  for (const std::string& example : commands().front().examples) {
    out << terminal.paragraph("headscope " + example, "  ", "      ");
  }
  out << "\n"
      << terminal.paragraph(
             "`headscope help COMMAND` shows a command's options, `headscope --version` the "
             "version and the kernel in use.",
             "", "");
}

const RegisteredCommand& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const RegisteredCommand& command : commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  throw UsageError("unknown command \"" + name + "\"" +
                   suggestion(name, names, "; `headscope --help` lists the commands"));
}

void print_help(const RegisteredCommand& command) {
  std::cout << help_text(command.name, command.make()->options(), command.purpose,
                         command.examples);
}

/// The command line as text that a shell parses back.
std::string command_line_text(const Arguments& arguments) {
  std::string text = "headscope";
  for (const std::string& argument : arguments) text += ' ' + shell_word(argument);
  return text;
}

/// What the user can do about an error, by the program's options.
std::string remedy_text(Remedy remedy) {
  switch (remedy) {
    case Remedy::no_bos:
      return "; --no-bos reads text without it";
    case Remedy::n_head:
      return "; --n-head gives it";
    case Remedy::latin1:
      return "; --encoding latin1 reads it";
    case Remedy::utf16:
      return "; --encoding utf-16 reads it";
    case Remedy::tokenizer:
      return "; --tokenizer names its folder";
    case Remedy::fewer_threads:
      return "; --threads takes fewer";
    case Remedy::none:
      break;
  }
  return "";
}

void print_error(std::string_view text) {
  constexpr std::size_t most = 4000;
  std::cerr << Terminal::error().failure(shortened(one_line(text), most));
}

void warn_of_slow_kernel() {
  const std::string warning = slow_kernel_warning();
  if (!warning.empty()) std::cerr << Terminal::error().warning(warning);
}

/// With a trial at the shape of GPT-2 small, where the address space has room for the trial.
void print_version() {
  blas::set_thread_count(0);
  ModelConfig gpt2;
  gpt2.n_head = 12;
  gpt2.d_model = 768;
  gpt2.d_mlp = 3072;
  gpt2.n_ctx = 1024;
  std::cout << "headscope " << version() << "\n";
  try {
    check_trial_memory();
    std::cout << precision_summary(try_engines(gpt2));
    const std::string warning = slow_kernel_warning();
    if (!warning.empty()) std::cout << warning << "\n";
  } catch (const UsageError& error) {
    std::cout << "engines not tried: " << error.what() << "\n";
  }
  std::cout << blas::library_description() << "\n";
}

void run_first(const Arguments& arguments) {
  const std::string& name = arguments.front();
  if (name == "--help" || name == "-h" || name == "help") {
    const std::string about = name == "help" && arguments.size() > 1 ? arguments[1] : "";
    static const std::map<std::string, std::string (*)()> manuals{
        {"--man", man_page},
        {"--bash-completion", bash_completion},
        {"--zsh-completion", zsh_completion},
        {"--fish-completion", fish_completion}};
    if (about.empty()) return print_usage(std::cout, Terminal::out());
    const auto manual = manuals.find(about);
    if (manual == manuals.end()) return print_help(find_command(about));
    std::cout << manual->second();
    return;
  }
  if (name == "--version" || name == "-V") {
    return print_version();
  }
  if (name == kernel_speed_argument) {
    std::cout << blas::sgemm_speed() << "\n";
    return;
  }
  const RegisteredCommand& registered = find_command(name);
  const std::unique_ptr<Command> command = registered.make();
  if (!parse_options(name, {arguments.begin() + 1, arguments.end()}, command->options())) {
    return print_help(registered);
  }
  if (registered.warns_of_slow_kernel) warn_of_slow_kernel();
  command->run(command_line_text(arguments));
}

}  // namespace

const std::vector<RegisteredCommand>& commands() {
  static const std::vector<RegisteredCommand> all{
      run_command(),    merge_command(),   attend_command(),  tasks_command(),   list_command(),
      report_command(), compare_command(), inspect_command(), convert_command(), prune_command()};
  return all;
}

int run_command_line(const std::vector<std::string>& arguments) {
  try {
    if (arguments.empty()) {
      print_usage(std::cerr, Terminal::error());
      return 2;
    }
    check_stack_limit();
    run_first(arguments);
    std::cout.flush();
    if (!std::cout) throw Error("standard output: cannot be written");
    return 0;
  } catch (const std::ios_base::failure&) {
    // main makes standard output alone throw this.
    print_error(std::string("standard output: cannot be written: ") + std::strerror(errno));
    return 1;
  } catch (const Interrupted& stopped) {
    std::cerr << Terminal::error().note(stopped.what());
    return 128 + stopped.signal();
  } catch (const UsageError& error) {
    print_error(error.what());
    return 2;
  } catch (const OptionError& error) {
    print_error(error.what());
    return 2;
  } catch (const Error& error) {
    print_error(error.what() + remedy_text(error.remedy()));
    return 1;
  } catch (const std::bad_alloc&) {
    print_error("not enough memory");
    return 1;
  } catch (const std::exception& error) {
    print_error(error.what());
    return 1;
  }
}

}  // namespace headscope
