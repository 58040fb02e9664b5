#include <iostream>
#include <iterator>

#include "attend/sentence.hpp"
#include "attention_patterns/attention_patterns.hpp"
#include "base/label_text.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "base/utf8.hpp"
#include "commands.hpp"
#include "headscope/blas.hpp"
#include "headscope/error.hpp"
#include "headscope/provenance.hpp"
#include "headscope/report.hpp"
#include "headscope/run.hpp"
#include "headscope/run_memory.hpp"
#include "inputs.hpp"
#include "memory_limits.hpp"
#include "option_parser.hpp"
#include "run_output.hpp"
#include "shared_options.hpp"
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
    if (text.starts_with(utf8::byte_order_mark)) text.erase(0, utf8::byte_order_mark.size());
    replace_all(text, "\r\n", "\n");
    while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  } else {
    text = joined(words, " ");
  }
  if (text.find_first_not_of(" \t\r\n\v\f") == text.npos) {
    throw UsageError("attend: expected a sentence, got none");
  }
  return text;
}

/// @throws DataError if the model cannot read text.
Tokenizer tokenizer_of(const TextOptions& options, const Model& model) {
  if (!model.is_complete()) {
    throw DataError(model.path, "",
                    "expected a complete model, got attention weights only (no token embedding or "
                    "MLP)");
  }
  std::optional<Tokenizer> tokenizer = open_tokenizer(options, model);
  if (!tokenizer) {
    throw DataError(model.path, "", "expected a tokenizer with the model, got none",
                    Remedy::tokenizer);
  }
  return std::move(*tokenizer);
}

Piece read_sentence(const std::string& text, bool prepend_bos, const Model& model,
                    const Tokenizer& tokenizer) {
  Piece piece = text_piece(tokenizer, text, prepend_bos);
  if (piece.tokens.size() > model.config.n_ctx) {
    throw UsageError("attend: expected at most " + std::to_string(model.config.n_ctx) +
                     " tokens, " + std::string(model.config.context_bound()) + ", got " +
                     std::to_string(piece.tokens.size()));
  }
  return piece;
}

/// The first token of a word that is to follow a text; a word is written after a blank. Warns of a
/// word of several tokens.
std::optional<TokenId> first_token(const Tokenizer& tokenizer, const std::string& word) {
  if (word.empty()) return std::nullopt;
  const std::string written = (utf8::is_word_byte(word[0]) ? " " : "") + word;
  const TokenIds ids = tokenizer.encode(written, /*continues=*/true).ids;
  if (ids.empty()) {
    throw OptionError("--next",
                      "expected a word with a token, got \"" + word + "\", which has none");
  }
  if (ids.size() > 1) {
    std::cerr << Terminal::error().warning(
        "--next: \"" + word + "\" is " + count_text(ids.size(), "token") +
        "; the page is about the first, \"" + tokenizer.decode(ids.front()) + "\"");
  }
  return ids.front();
}

class AttendCommand : public Command {
 public:
  AttendCommand() {
    add_positional(options_, words_, "sentence", "TEXT...|-", "a sentence");
    add_model(options_, model_,
              "tf_model.h5, flat HDF5 or safetensors; or a folder as on the Hugging Face hub");
    add_n_head(options_, n_head_);
    add_tokenizer(options_, text_.tokenizer);
    add_first_token(options_, FirstTokenOf::sentence, text_.bos, text_.prepend_bos);
    options_(next_,
             {"next", "WORD",
              "also show which heads raise or lower the logit of WORD as the next word", "none"});
    options_(output_, {"output,o", "FILE", "the page to write"});
    add_threads(options_, threads_);
    options_(quiet_, {"quiet,q", "", "print the page's path alone"});
  }

  void run(const std::string& command_line) override {
    check_first_token(text_);
    check_page_output(output_);
    const std::string text = sentence_of(words_);
    blas::set_thread_count(static_cast<int>(threads_));
    const Model model = load_model(model_path(model_), {n_head_});
    check_address_space(weight_bytes(model));
    if (!quiet_) print_notes(model_notes(model));
    const std::string title = "“" + cut_at_word(one_line(text), most_title_bytes) + "”";
    const Tokenizer tokenizer = tokenizer_of(text_, model);
    Piece piece = read_sentence(text, text_.prepend_bos, model, tokenizer);
    piece.id = title;
    const RegisteredAnalysis sentence = sentence_analysis(tokenizer, first_token(tokenizer, next_));
    Results results = attend(model, piece, sentence, command_line);
    results.attributes["first_token"] =
        recorded_text(first_token_text(tokenizer, text_.prepend_bos));
    const std::vector<Presentation> presentations{sentence.presentation};
    write_head_page(results, presentations, title, last_token_head(results), output_);
    if (!quiet_) print_findings(findings(results, describe(results, presentations)));
    std::cout << Terminal::out().path(output_);
  }

 private:
  static Results attend(const Model& model, const Piece& piece, const RegisteredAnalysis& sentence,
                        const std::string& command_line) {
    const RegisteredAnalysis patterns = attention_patterns_analysis();
    const AnalysisSettings settings;
    Results results;
    add_program(results, "Attention on a sentence");
    results.attributes["command_line"] = recorded_text(command_line);
    add_model(results, model);
    results.groups = results_of_piece({&sentence, &patterns}, {model, nullptr, settings}, piece);
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
  std::string model_;
  TextOptions text_;
  std::uint64_t n_head_ = 0, threads_ = 0;
  bool quiet_ = false;
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
