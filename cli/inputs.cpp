#include "inputs.hpp"

#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/error.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_listed = 8;  // files of a folder
// One copy of so many documents or pairs is worth a warning.
constexpr std::uint64_t units_per_copy = 10;
constexpr const char* copies_mislead =
    "; intervals and p-values take them for further evidence: intervals are too narrow, p-values "
    "too small";

// Where /proc is absent, as in a bare chroot, the path that the program was started by.
fs::path program_path() {
  std::error_code failed;
  const fs::path linked = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) return linked;
  const auto* const started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  const fs::path found = started == nullptr ? fs::path() : fs::canonical(started, failed);
  return failed ? fs::path() : found;
}

std::string corpus_folder_text(const CorpusFolder& folder) {
  std::string text = folder.path + ": reads " + first_joined(folder.read, most_listed);
  if (!folder.ignored.empty()) text += "; ignores " + first_joined(folder.ignored, most_listed);
  return text;
}

std::string separated_file_text(const SeparatedFile& file) {
  return file.path + ": " + std::string(document_separator) + " ends a document " +
         count_text(file.n_separator, "time") + "; `run --literal-special-tokens` reads it as text";
}

}  // namespace

std::string default_data_path(const std::string& name) {
  std::vector<fs::path> places;
  if (const char* set = std::getenv("HEADSCOPE_DATA"); set != nullptr && *set != '\0') {
    places.emplace_back(set);
  } else {
    // A program that is not installed has its data in its build folder (CMakeLists.txt).
    const fs::path folder = program_path().parent_path();
    places = {folder / "../share/headscope", folder / "share/headscope"};
  }
  const auto text_of = [](const fs::path& path) { return path.lexically_normal().string(); };
  for (const fs::path& place : places) {
    if (fs::exists(place / name)) return fs::canonical(place / name).string();
  }
  throw DataError(
      name, "",
      "expected the default data below one of: " + joined(places, ", ", text_of) +
          "; found none. HEADSCOPE_DATA names its folder; --model and --corpus name other files");
}

ModelConfig config_of_run(ModelConfig config, Index context) {
  if (config.positions != PositionKind::rotary) return config;
  config.model_n_ctx = config.n_ctx;
  config.n_ctx = context;
  return config;
}

std::string model_path(const std::string& given) {
  return given.empty() ? default_data_path("default-model.h5") : given;
}

std::string default_corpus() {
  return default_data_path("stories.conllu");
}

std::string default_tasks() {
  return default_data_path("tasks.jsonl");
}

std::vector<std::string> model_notes(const Model& model) {
  const ModelConfig& config = model.config;
  std::vector<std::string> notes;
  if (!model.unread.empty()) {
    notes.push_back(
        "leaves out tensors of " + model.path + " that " + config.architecture +
        " does not have, and takes the model without them: " + first_joined(model.unread, 3));
  }
  if (!config.model_code.empty()) {
    notes.push_back(
        "the config of " + model.path + " names code for this model (" + config.model_code +
        "), which may compute something else; the model is taken as " + config.architecture);
  }
  return notes;
}

std::optional<Tokenizer> open_tokenizer(const TextOptions& options, const Model& model) {
  const std::optional<TokenizerFiles> files = options.tokenizer.empty()
                                                  ? tokenizer_files_of(model)
                                                  : read_tokenizer_files(options.tokenizer);
  if (!files) return std::nullopt;
  Tokenizer tokenizer(*files);
  check_tokenizer_fits(tokenizer, model);
  const std::optional<Index> stated = model.config.first_token;
  if (!options.bos.empty()) {
    begin_with_bos(tokenizer, options.bos);
  } else if (stated && *stated < tokenizer.size()) {
    tokenizer.begin_with(static_cast<TokenId>(*stated), "bos_token_id of the config");
  }
  return tokenizer;
}

void begin_with_bos(Tokenizer& tokenizer, const std::string& bos) {
  if (!tokenizer.token(bos)) {
    throw OptionError("--bos", "expected a token of " + tokenizer.source() + ", got \"" + bos +
                                   "\"" + tokenizer.suggestion(bos));
  }
  tokenizer.begin_with(bos, "--bos");
}

void check_first_token(const TextOptions& options) {
  if (options.bos.empty() || options.prepend_bos) return;
  throw UsageError("--bos: expected without --no-bos, got both");
}

std::string first_token_text(const Tokenizer& tokenizer, bool prepend_bos) {
  if (!prepend_bos) return "no token of their own (--no-bos)";
  return tokenizer.decode(tokenizer.first_token()) + " (from " + tokenizer.first_token_reason() +
         ")";
}

std::vector<std::string> corpus_warnings(const Corpus& corpus) {
  std::vector<std::string> warnings;
  for (const UndividedFile& file : corpus.undivided_files()) {
    warnings.push_back(file.path + " has no \"# newdoc\": its " + grouped(file.n_sentence) +
                       " sentences are one document; `run --document-sentences K` makes documents "
                       "of K sentences");
  }
  if (corpus.n_copy() * units_per_copy >= corpus.n_document()) {
    warnings.push_back("copies of an earlier document: " + grouped(corpus.n_copy()) + " of " +
                       grouped(corpus.n_document()) + copies_mislead);
  }
  return warnings;
}

std::vector<std::string> tasks_warnings(const TaskFiles& files) {
  std::vector<std::string> counts;
  for (const Task& task : files.tasks()) {
    if (task.n_copy * units_per_copy < task.pairs.size()) continue;
    counts.push_back(grouped(task.n_copy) + " of " + grouped(task.pairs.size()) + " of " +
                     task.name);
  }
  if (counts.empty()) return {};
  return {"copies of an earlier pair: " + joined(counts, ", ") + copies_mislead};
}

std::vector<std::string> corpus_notes(const Corpus& corpus) {
  std::vector<std::string> notes;
  for (const CorpusFolder& folder : corpus.folders()) notes.push_back(corpus_folder_text(folder));
  std::ranges::move(corpus_warnings(corpus), std::back_inserter(notes));
  for (const SeparatedFile& file : corpus.separated_files()) {
    notes.push_back(separated_file_text(file));
  }
  return notes;
}

}  // namespace headscope
