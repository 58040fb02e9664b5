#include "manual.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "commands.hpp"
#include "headscope/version.hpp"
#include "option_parser.hpp"

namespace headscope {
namespace {

/// Text as roff prints it.
std::string roff(const std::string& text) {
  const std::string line = escaped(text, {{'\\', "\\e"}, {'-', "\\-"}});
  // A dot or an apostrophe at the start of a line would be a request.
  return line.starts_with('.') || line.starts_with('\'') ? "\\&" + line : line;
}

std::string man_examples(const RegisteredCommand& command) {
  return joined(command.examples, "", [](const std::string& example) {
    return ".P\n.nf\n" + roff("    headscope " + example) + "\n.fi\n";
  });
}

std::string man_command(const RegisteredCommand& command) {
  const std::unique_ptr<Command> made = command.make();
  std::string text = ".SS " + roff(usage_text(command.name, made->options())) + "\n" +
                     roff(sentence(command.purpose)) + "\n";
  for (const Option& option : made->options().options()) {
    if (option.positional) continue;
    text += ".TP\n.B " + roff(names_text(option)) + "\n" + roff(option_help(option)) + "\n";
  }
  if (!command.examples.empty()) text += ".P\nExamples:\n";
  return text + man_examples(command);
}

/// Whether the value is several choices with commas between them: `A,B`, `FORMATS`.
bool takes_list(const Option& option) {
  return !option.several &&
         (option.value.find(',') != std::string::npos || option.value == "FORMATS");
}

/// Text in which characters that have a meaning within quotes in zsh's or fish's completion are
/// replaced or left out.
std::string quotable(const std::string& text) {
  return escaped(text,
                 {{'\'', "’"}, {':', ","}, {'`', ""}, {'[', ""}, {']', ""}, {'\\', ""}, {'$', ""}});
}

}  // namespace

std::string man_page() {
  std::string text =
      ".TH HEADSCOPE 1 \"\" \"headscope " + version() +
      "\"\n.SH NAME\nheadscope \\- what the attention heads of a language model do\n"
      ".SH SYNOPSIS\n.B headscope\n.I COMMAND\n[\n.I OPTION\n\\&... ]\n.SH DESCRIPTION\n" +
      roff(
          "headscope scores, ablates and classifies every attention head of a language model on a "
          "corpus, and writes a report, figures, tables and one HDF5 file of results. The model "
          "is a folder as on the Hugging Face hub, a safetensors file or an HDF5 file; the corpus "
          "is plain text, CoNLL-U or token ids. Without a model and a corpus, run takes the small "
          "model and the stories that are installed with the program. A run that was interrupted "
          "continues with --resume.") +
      "\n.SH COMMANDS\n";
  for (const RegisteredCommand& command : commands()) text += man_command(command);
  text += ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] :
       {std::pair{"HEADSCOPE_DATA", "folder of the default model and stories"},
        {"OMP_NUM_THREADS", "number of threads where --threads is not given"},
        {"OPENBLAS_CORETYPE", "kernel of OpenBLAS; chosen by headscope if not set"}}) {
    text += std::string(".TP\n.B ") + name + "\n" + roff(meaning) + "\n";
  }
  text += ".SH FILES\nBelow the folder of a run:\n";
  for (const auto& [name, content] :
       {std::pair{"results.h5", "all results, for xarray, h5py or R"},
        {"report.html", "the report, in one file"},
        {"report.md", "its text"},
        {"tables/", "the results as CSV"},
        {"figures/", "figures, each with its gnuplot script and data"},
        {"engines.json", "how its matrices were multiplied, and the speeds measured"},
        {"shards/", "the state of a run that is not finished"}}) {
    text += std::string(".TP\n.I ") + roff(name) + "\n" + roff(content) + "\n";
  }
  return text + ".SH EXAMPLES\n" + joined(commands(), "", man_examples) +
         ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 130 or 143 stopped by SIGINT or "
         "SIGTERM.\n";
}

std::string bash_completion() {
  std::string values, options;
  for (const RegisteredCommand& command : commands()) {
    const std::unique_ptr<Command> made = command.make();
    std::vector<std::string> option_words;
    for (const Option& option : made->options().options()) {
      if (option.positional) continue;
      option_words.push_back("--" + option.name);
      if (option.choices.empty()) continue;
      const std::string key = "    '" + command.name + " --" + option.name + "') words='" +
                              joined(option.choices, " ") + "' ";
      values += key + (takes_list(option) ? "list=1 ;;\n" : ";;\n");
    }
    option_words.push_back("--help");
    options += "    " + command.name + ") words='" + joined(option_words, " ") + "' ;;\n";
  }
  const std::string names = joined(commands(), " ", &RegisteredCommand::name);
  // In a list, what stands before the last comma is kept.
  return "_headscope() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} words= list= before=\n"
         "  case \"${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}\" in\n" +
         values +
         "  esac\n"
         "  [[ $list && $current == *,* ]] && before=${current%,*},\n"
         "  if [[ -z $words && $current == -* ]]; then case ${COMP_WORDS[1]} in\n" +
         options + "  esac; fi\n  [[ $COMP_CWORD == 1 ]] && words='" + names +
         " help'\n  [[ $COMP_CWORD == 2 && ${COMP_WORDS[1]} == help ]] && words='" + names +
         "'\n  mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$words\" -- "
         "\"${current##*,}\")\n}\n"
         "complete -o default -F _headscope headscope\n";
}

std::string zsh_completion() {
  std::string cases;
  for (const RegisteredCommand& command : commands()) {
    const std::unique_ptr<Command> made = command.make();
    cases += "    " + command.name + ") _arguments -s";
    for (const Option& option : made->options().options()) {
      if (option.positional) continue;
      std::string action = option.is_path() ? "_files" : " ";
      if (!option.choices.empty()) {
        action = takes_list(option)
                     ? "_values -s , " + option.name + " " + joined(option.choices, " ")
                     : "(" + joined(option.choices, " ") + ")";
      }
      std::vector<std::string> names{"--" + option.name};
      if (option.letter != 0) names.push_back(std::string("-") + option.letter);
      for (const std::string& name : names) {
        cases += " \\\n      '" + name + "[" + quotable(option.help) + "]" +
                 (option.is_switch() ? "" : ":" + quotable(option.value) + ":" + action) + "'";
      }
    }
    cases += " \\\n      '--help[show the options]' '*:file:_files' ;;\n";
  }
  std::string names;
  for (const RegisteredCommand& command : commands()) {
    names += "    '" + command.name + ":" + quotable(command.purpose) + "'\n";
  }
  return "#compdef headscope\n_headscope() {\n  local -a names=(\n" + names +
         "    'help:show a command'\\''s options'\n  )\n"
         "  if (( CURRENT == 2 )); then _describe command names; return; fi\n"
         "  local name=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $name in\n" +
         cases + "    help) _describe command names ;;\n  esac\n}\n_headscope \"$@\"\n";
}

std::string fish_completion() {
  std::string text =
      "complete -c headscope -n __fish_use_subcommand -f -a help -d 'show options'\n";
  for (const RegisteredCommand& command : commands()) {
    text += "complete -c headscope -n __fish_use_subcommand -f -a " + command.name + " -d '" +
            quotable(command.purpose) + "'\n";
    const std::unique_ptr<Command> made = command.make();
    for (const Option& option : made->options().options()) {
      if (option.positional) continue;
      text += "complete -c headscope -n '__fish_seen_subcommand_from " + command.name + "' -l " +
              option.name;
      if (option.letter != 0) text += std::string(" -s ") + option.letter;
      if (!option.is_switch()) text += " -r";
      if (!option.choices.empty()) {
        // fish completes after the last comma of a list given by __fish_append.
        const std::string words = joined(option.choices, " ");
        text += takes_list(option) ? " -f -a \"(__fish_append , " + words + ")\""
                                   : " -f -a '" + words + "'";
      }
      text += " -d '" + quotable(option.help) + "'\n";
    }
  }
  return text;
}

}  // namespace headscope
