#include <cctype>
#include <iostream>
#include <iterator>

#include "attention_patterns/attention_patterns.hpp"
#include "classification/sentence.hpp"
#include "commands.hpp"
#include "headscope/blas.hpp"
#include "headscope/error.hpp"
#include "headscope/label_text.hpp"
#include "headscope/report.hpp"
#include "headscope/utf8.hpp"
#include "option_parser.hpp"
#include "run/run_results.hpp"
#include "terminal.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

constexpr std::size_t most_title_bytes = 80;

/// The words with blanks between them, or what standard input holds if they are `-`.
std::string sentence_of(const std::vector<std::string>& words) {
  std::string text;
  if (words == std::vector<std::string>{"-"}) {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  } else {
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  }
  if (text.find_first_not_of(" \t\r\n\v\f") == text.npos) {
    throw UsageError("attend: expected a sentence, got none");
  }
  return text;
}

/// @throws DataError if the model cannot read text.
Tokenizer tokenizer_of(const RunOptions& options, const Model& model) {
  if (!model.is_complete()) {
    throw DataError(model.path, "",
                    "expected a complete model, got attention weights only (no token embedding or "
                    "MLP)");
  }
  std::optional<Tokenizer> tokenizer = open_tokenizer(options, model);
  if (!tokenizer) {
    throw DataError(model.path, "",
                    "expected a tokenizer with the model or as --tokenizer, got none");
  }
  return std::move(*tokenizer);
}

Piece read_sentence(const std::string& text, const RunOptions& options, const Model& model,
                    const Tokenizer& tokenizer) {
  Piece piece = text_piece(tokenizer, text, options.prepend_bos);
  if (piece.tokens.size() > model.config.n_ctx) {
    throw UsageError("attend: expected at most " + std::to_string(model.config.n_ctx) +
                     " tokens, the model's context, got " + std::to_string(piece.tokens.size()));
  }
  return piece;
}

/// The first token of a word that is to follow a text; a word is written after a blank.
std::optional<TokenId> first_token(const Tokenizer& tokenizer, const std::string& word) {
  if (word.empty()) return std::nullopt;
  const bool is_word = std::isalnum(static_cast<unsigned char>(word[0])) != 0 || word[0] < 0;
  return tokenizer.encode((is_word ? " " : "") + word).ids.front();
}

class AttendCommand : public Command {
 public:
  AttendCommand() {
    options_(words_, {.name = "sentence",
                      .value = "TEXT...|-",
                      .required = "a sentence",
                      .several = true,
                      .positional = true});
    Option model = run_.table.at("model");
    model.help = "tf_model.h5, flat HDF5 or safetensors; or a folder as on the Hugging Face hub";
    options_.add(std::move(model));
    for (const char* const name : {"n-head", "tokenizer"}) options_.add(run_.table.at(name));
    options_(run_.prepend_bos, {"no-bos", "", "do not put <|endoftext|> before the sentence"});
    options_(next_, {"next", "WORD",
                     "also say which heads raise and lower this word after the sentence", "none"});
    options_(output_, {"output,o", "FILE", "the page to write"});
    options_.add(run_.table.at("threads"));
    options_(run_.quiet, {"quiet,q", "", "print the page's path alone"});
  }

  void run(const std::string& command_line) override {
    const std::string text = sentence_of(words_);
    blas::set_thread_count(static_cast<int>(run_.threads));
    const Model model = load_model(model_path(run_), {run_.n_head});
    const std::string title = "“" + one_line(shortened(text, most_title_bytes)) + "”";
    const Tokenizer tokenizer = tokenizer_of(run_, model);
    Piece piece = read_sentence(text, run_, model, tokenizer);
    piece.id = title;
    const RegisteredAnalysis sentence = sentence_analysis(tokenizer, first_token(tokenizer, next_));
    const Results results = attend(model, piece, sentence, command_line);
    const std::vector<Presentation> presentations{sentence.presentation};
    write_head_page(results, presentations, title, previous_token_head(results.group("sentence")),
                    output_);
    if (!run_.quiet) print_findings(findings(results, describe(results, presentations)));
    std::cout << one_line(output_) << "\n";
  }

 private:
  Results attend(const Model& model, const Piece& piece, const RegisteredAnalysis& sentence,
                 const std::string& command_line) const {
    const RegisteredAnalysis patterns = attention_patterns_analysis();
    CorpusRun corpus_run({&sentence, &patterns}, {model, nullptr, run_.settings});
    corpus_run.begin_pass(0);
    corpus_run.observe(piece);
    corpus_run.end();
    Results results;
    add_program(results, "Attention on a sentence", command_line);
    add_model(results, model);
    for (const CorpusRun::Item& item : corpus_run.items()) {
      for (ResultsGroup& group : item.analysis->finish(*item.statistics)) {
        results.groups.push_back(std::move(group));
      }
    }
    return results;
  }

  static void print_findings(const std::vector<Finding>& findings) {
    constexpr std::size_t width = 18;
    for (const Finding& finding : findings) {
      std::cout << Terminal::out().labelled(one_line(finding.about), width, one_line(finding.text));
    }
  }

  std::vector<std::string> words_;
  std::string next_;
  std::string output_ = "attention.html";
  RunOptions run_;  // source of the shared options
};

}  // namespace

RegisteredCommand attend_command() {
  return {"attend",
          "show where the heads look in one sentence",
          std::make_unique<AttendCommand>,
          "Analyse",
          {"attend \"When Mary and John went to the store, John gave a drink to\"",
           "attend - --model gpt2 --output cat.html < cat.txt"},
          true};
}

}  // namespace headscope
