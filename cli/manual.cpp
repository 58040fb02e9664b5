#include "manual.hpp"

#include <algorithm>

#include "commands.hpp"
#include "headscope/version.hpp"
#include "option_parser.hpp"

namespace headscope {
namespace {

/// Text as roff prints it.
std::string roff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  // A dot or an apostrophe at the start of a line would be a request.
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string man_command(const RegisteredCommand& command) {
  const std::unique_ptr<Command> made = command.make();
  std::string text = ".SS " + roff(usage_text(command.name, made->options())) + "\n" +
                     roff(sentence(command.purpose)) + "\n";
  for (const Option& option : made->options().options()) {
    if (option.positional) continue;
    text += ".TP\n.B " + roff(call_text(option)) + "\n" + roff(option_help(option)) + "\n";
  }
  if (!command.examples.empty()) text += ".P\nExamples:\n";
  for (const std::string& example : command.examples) {
    text += ".P\n.nf\n" + roff("    headscope " + example) + "\n.fi\n";
  }
  return text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

std::string man_page() {
  std::string text = ".TH HEADSCOPE 1 \"\" \"headscope " + version() +
                     "\"\n.SH NAME\nheadscope \\- what the attention heads of a GPT\\-2 model do\n"
                     ".SH SYNOPSIS\n.B headscope\n.I COMMAND\n[\n.I OPTION\n\\&... ]\n"
                     ".SH COMMANDS\n";
  for (const RegisteredCommand& command : commands()) text += man_command(command);
  return text +
         ".SH ENVIRONMENT\n.TP\n.B HEADSCOPE_DATA\nfolder of the default model and stories\n"
         ".TP\n.B OPENBLAS_CORETYPE\nkernel of OpenBLAS; chosen by headscope if not set\n"
         ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 130 or 143 stopped by SIGINT or "
         "SIGTERM.\n";
}

std::string bash_completion() {
  std::vector<std::string> names;
  std::string values, options;
  for (const RegisteredCommand& command : commands()) {
    names.push_back(command.name);
    const std::unique_ptr<Command> made = command.make();
    std::vector<std::string> own;
    for (const Option& option : made->options().options()) {
      if (option.positional) continue;
      own.push_back("--" + option.name);
      if (option.choices.empty()) continue;
      values += "    '" + command.name + " --" + option.name + "') words='" +
                joined(option.choices) + "' ;;\n";
    }
    own.push_back("--help");
    options += "    " + command.name + ") words='" + joined(own) + "' ;;\n";
  }
  return "_headscope() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} words=\n"
         "  case \"${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}\" in\n" +
         values +
         "  esac\n"
         "  if [[ -z $words && $current == -* ]]; then case ${COMP_WORDS[1]} in\n" +
         options + "  esac; fi\n  [[ $COMP_CWORD == 1 ]] && words='" + joined(names) +
         " help'\n  [[ $COMP_CWORD == 2 && ${COMP_WORDS[1]} == help ]] && words='" + joined(names) +
         "'\n  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n}\n"
         "complete -o default -F _headscope headscope\n";
}

}  // namespace headscope
