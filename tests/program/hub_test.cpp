// The program on models and corpora as people have them.

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "files/hdf5_file.hpp"
#include "headscope/results.hpp"
#include "program/program_test.hpp"
#include "support/golden.hpp"
#include "support/token_corpus.hpp"
#include "support/tolerance.hpp"

namespace headscope {
namespace {

using test::data_path;

const std::string snapshot = data_path("hub/snapshot");

/// The documents of hub_golden.h5.
std::string write_documents(const TemporaryDirectory& folder, const std::string& name) {
  test::write_file(folder.file(name),
                   "The head looks at the previous token.\n\n"
                   "She gave [TOOL] the book in 1999.\n");
  return folder.file(name);
}

double golden_loss() {
  const hdf5::InputFile golden(data_path("hub_golden.h5"));
  double sum = 0, count = 0;
  for (const char* const document : {"0", "1"}) {
    for (const double nll :
         golden.read_reals(std::string("documents/") + document + "/nll").values) {
      sum += nll;
      ++count;
    }
  }
  return sum / count;
}

double loss_of_run(const std::string& model, const TemporaryDirectory& folder) {
  const std::string out = folder.file("out");
  const Finished finished = test::run_headscope_without_gnuplot(
      {"run", "--model", model, "--corpus", write_documents(folder, "a.txt"), "--analyses",
       "pruning", "--output", out, "--quiet"});
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  const Results results = read_results(out + "/results.h5");
  return results.group("pruning").variable("loss").values.values.at(0);
}

// Text to loss: folder, shards, config, tokenizer.json, scores scaled by layer.
TEST(Hub, AFolderRunsAndItsLossIsThatOfHuggingFace) {
  const TemporaryDirectory folder;
  EXPECT_NEAR(loss_of_run(snapshot, folder), golden_loss(),
              test::float32_tolerance * golden_loss());
}

TEST(Hub, AFolderIsCalledByItsName) {
  const TemporaryDirectory folder;
  const std::string out = folder.file("out");
  ASSERT_EQ(test::run_headscope_without_gnuplot({"run", "--model", snapshot, "--analyses",
                                                 "parameters", "--nulls", "1", "--output", out})
                .exit_status,
            0);
  EXPECT_THAT(test::read_file(out + "/report.md"),
              HasSubstr("# What the attention heads of snapshot do\n"));
  EXPECT_THAT(test::read_file(out + "/report.html"),
              HasSubstr("<title>What the attention heads of snapshot do "));
}

TEST(Hub, ConvertedAndPrunedModelsKeepTokenizerAndScale) {
  const TemporaryDirectory folder;
  const Finished converted = run_headscope({"convert", snapshot, folder.file("a.h5")});
  ASSERT_EQ(converted.exit_status, 0) << converted.err;
  EXPECT_THAT(converted.out, HasSubstr("complete model, with tokenizer"));
  EXPECT_NEAR(loss_of_run(folder.file("a.h5"), folder), golden_loss(),
              test::float32_tolerance * golden_loss());
  const Finished pruned =
      run_headscope({"prune", snapshot, folder.file("b.h5"), "--heads", "L1H0"});
  ASSERT_EQ(pruned.exit_status, 0) << pruned.err;
  const Model model = load_model(folder.file("b.h5"));
  EXPECT_TRUE(model.config.scale_by_inverse_layer);
  EXPECT_TRUE(model.tokenizer_added_tokens);
  EXPECT_EQ(model.tokenizer_vocab, load_model(folder.file("a.h5")).tokenizer_vocab);
}

TEST(Hub, InspectDescribesAFolder) {
  const Finished finished = run_headscope({"inspect", snapshot});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr(snapshot + "/model.safetensors.index.json: model"));
  EXPECT_THAT(finished.out, HasSubstr("in the file's folder"));
  EXPECT_THAT(finished.out, HasSubstr("divided by layer + 1"));
  EXPECT_THAT(finished.out, HasSubstr("a complete model: every analysis can run\n"));
}

TEST(Hub, InspectSaysWhereTextNeedsATokenizer) {
  const TemporaryDirectory folder;
  for (const auto& file : std::filesystem::directory_iterator(snapshot)) {
    if (file.path().filename() == "tokenizer.json") continue;
    std::filesystem::copy(file.path(), folder.path());
  }
  EXPECT_THAT(run_headscope({"inspect", folder.path()}).out,
              HasSubstr("every analysis can run; to read text it needs --tokenizer\n"));
}

TEST(Hub, InspectSaysThatTheTokenizerIsOfAnotherModel) {
  const TemporaryDirectory folder;
  const std::string model = folder.file("model.h5");
  save_model(random_model(test::tiny_config(), 1), model);  // 40 tokens
  fs::copy(snapshot + "/tokenizer.json", folder.path());
  EXPECT_THAT(
      run_headscope({"inspect", model}).out,
      AllOf(HasSubstr("not one that is read: " + folder.file("tokenizer.json") +
                      ":model.vocab: expected at most 40 tokens, as " + model + " has, got "),
            HasSubstr("every analysis can run; to read text it needs --tokenizer\n")));
}

TEST(Hub, ATokenizerOfAnotherModelIsRefusedByName) {
  const TemporaryDirectory folder;
  const std::string tokenizer = data_path("tokenizer");
  const Finished finished =
      run_headscope({"run", "--model", snapshot, "--corpus", write_documents(folder, "a.txt"),
                     "--tokenizer", tokenizer, "--output", folder.file("out")});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_THAT(finished.err, HasSubstr(tokenizer + "/vocab.json: expected at most 312 tokens, as " +
                                      snapshot + "/model.safetensors.index.json has, got "));
  EXPECT_FALSE(fs::exists(folder.file("out")));
}

TEST(Hub, AnAttentionOnlyModelSaysWhatItLeavesOutAndReadsNoCorpus) {
  const TemporaryDirectory folder;
  const std::string model = data_path("tiny_flat/attention_only.h5"), out = folder.file("out");
  const Finished finished = test::run_headscope_without_gnuplot(
      {"run", "--model", model, "--corpus", write_documents(folder, "a.txt"), "--output", out,
       "--nulls", "2"});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err,
              HasSubstr("headscope: leaves out classification, score_model, pruning"));
  EXPECT_THAT(finished.err, HasSubstr(": " + model + " holds attention weights only\n"));
  EXPECT_THAT(finished.err, HasSubstr("headscope: does not read --corpus: no analysis needs it\n"));
  const Results results = read_results(out + "/results.h5");
  for (const char* const name : {"corpus_path", "corpus_sha256", "n_document", "n_token"}) {
    EXPECT_EQ(results.attributes.count(name), 0U) << name;
  }
  EXPECT_THAT(test::read_file(out + "/report.md"), Not(HasSubstr("watched reading")));
}

Results results_with(const std::vector<std::string>& options, const TemporaryDirectory& folder) {
  const std::string out = folder.file("out");
  std::vector<std::string> call{
      "run",     "--model", snapshot,     "--corpus",  folder.file("a.txt"), "--output", out,
      "--force", "--quiet", "--analyses", "attention", "--patterns",         "2"};
  call.insert(call.end(), options.begin(), options.end());
  const Finished finished = test::run_headscope_without_gnuplot(call);
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  return read_results(out + "/results.h5");
}

/// What a run that succeeds says; its output replaces that of earlier runs in the folder.
std::string notes_of_run(const TemporaryDirectory& folder, const Words& arguments) {
  Words call{"run", "--output", folder.file("out"), "--force"};
  call.insert(call.end(), arguments.begin(), arguments.end());
  const Finished finished = test::run_headscope_without_gnuplot(call);
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  return finished.err;
}

auto unused(const std::string& option, const std::string& reason) {
  return HasSubstr("headscope: does not use --" + option + ": " + reason + "\n");
}

TEST(Hub, TheFirstTokenIsChosenAndSaid) {
  const TemporaryDirectory folder;
  write_documents(folder, "a.txt");
  const Results config = results_with({}, folder);
  EXPECT_EQ(config.text("first_token"), "<|endoftext|> (from bos_token_id of the config)");
  EXPECT_THAT(
      test::read_file(folder.file("out/report.md")),
      HasSubstr(
          "Documents begin with \\<\\|endoftext\\|\\> (from bos\\_token\\_id of the config)."));
  EXPECT_EQ(results_with({"--bos", "<|pad|>"}, folder).text("first_token"), "<|pad|> (from --bos)");
  EXPECT_EQ(results_with({"--no-bos"}, folder).text("first_token"),
            "no token of their own (--no-bos)");
  const auto refusal = [&](const std::vector<std::string>& options) {
    std::vector<std::string> call{"run",
                                  "--model",
                                  snapshot,
                                  "--corpus",
                                  folder.file("a.txt"),
                                  "--output",
                                  folder.file("refused")};
    call.insert(call.end(), options.begin(), options.end());
    const Finished finished = run_headscope(call);
    EXPECT_EQ(finished.exit_status, 2);
    return finished.err;
  };
  EXPECT_EQ(refusal({"--bos", "<|pat|>"}),
            "headscope: --bos: expected a token of " + snapshot +
                "/tokenizer.json:model.vocab, got \"<|pat|>\"; did you mean <|pad|>?\n");
  EXPECT_EQ(refusal({"--bos", "<|pad|>", "--no-bos"}),
            "headscope: --bos: expected without --no-bos, got both\n");
  EXPECT_EQ(refusal({"--wait"}),
            "headscope: --wait: expected together with --shard, got no --shard\n");
  EXPECT_EQ(refusal({"--ablate-documents", "6", "--prune-documents", "4"}),
            "headscope: --ablate-documents: expected at most 4, the value of --prune-documents, "
            "got 6\n");
  EXPECT_EQ(refusal({"--context", "33"}),
            "headscope: --context: expected at most 32, the model's context, got 33\n");
}

TEST(Hub, OptionsThatNothingUsesAreNamed) {
  const TemporaryDirectory folder;
  test::write_file(folder.file("a.conllu"), "1\tone\tone\tNUM\t_\t_\t0\troot\t_\t_\n\n");
  test::write_token_corpus(folder.file("ids.h5"), {{1, 2, 3}});
  write_documents(folder, "a.txt");
  const auto notes_with = [&](const std::string& corpus, const std::vector<std::string>& options) {
    Words call{"--model", snapshot, "--corpus", folder.file(corpus), "--analyses", "attention"};
    call.insert(call.end(), options.begin(), options.end());
    return notes_of_run(folder, call);
  };
  EXPECT_THAT(notes_with("a.txt", {"--document-sentences", "2", "--paths-exact", "3"}),
              AllOf(unused("document-sentences", "the corpus has no CoNLL-U"),
                    unused("paths-exact", "the analysis paths does not run")));
  EXPECT_THAT(notes_with("a.conllu", {"--literal-special-tokens"}),
              unused("literal-special-tokens", "the corpus has no plain text"));
  EXPECT_THAT(notes_with("ids.h5", {"--encoding", "latin1"}),
              unused("encoding", "the corpus has no CoNLL-U or plain text"));
  EXPECT_THAT(
      notes_with("a.txt", {"--literal-special-tokens", "--encoding", "latin1", "--patterns", "1"}),
      Not(HasSubstr("does not use")));
}

TEST(Hub, WhatNoAnalysisReadsIsNamed) {
  const TemporaryDirectory folder;
  write_documents(folder, "a.txt");
  const auto notes_with = [&](const std::string& model, const std::vector<std::string>& options) {
    Words call{"--model", model, "--nulls", "1", "--patterns", "1"};
    call.insert(call.end(), options.begin(), options.end());
    return notes_of_run(folder, call);
  };
  const std::string unread_tasks = "headscope: does not read --tasks: no analysis needs it\n";
  const Words of_corpus{"--corpus", folder.file("a.txt"), "--analyses", "attention"},
      of_weights{"--analyses", "circuits,parameters"};
  const auto with = [](Words options, const Words& more) {
    options.insert(options.end(), more.begin(), more.end());
    return options;
  };
  EXPECT_THAT(
      notes_with(snapshot, with(of_corpus, {"--tasks", "absent.jsonl", "--task-pairs", "2"})),
      AllOf(HasSubstr(unread_tasks),
            HasSubstr("headscope: does not use --task-pairs: no analysis reads tasks\n")));
  EXPECT_THAT(notes_with(snapshot, with(of_corpus, {"--tokenizer", snapshot, "--context", "8",
                                                    "--max-documents", "1", "--no-bos"})),
              AllOf(Not(HasSubstr("does not use --t")), Not(HasSubstr("does not use --c")),
                    Not(HasSubstr("does not use --max")), Not(HasSubstr("does not use --no-bos")),
                    Not(HasSubstr(unread_tasks))));
  const Words of_text{"--tokenizer", "absent", "--no-bos", "--context", "8"};
  const std::string of_weights_alone = notes_with(
      snapshot, with(with(of_weights, of_text), {"--max-documents", "2", "--encoding", "latin1"}));
  for (const char* const option : {"tokenizer", "no-bos", "context"}) {
    EXPECT_THAT(of_weights_alone, HasSubstr("headscope: does not use --" + std::string(option) +
                                            ": no analysis reads text\n"));
  }
  for (const char* const option : {"max-documents", "encoding"}) {
    EXPECT_THAT(of_weights_alone, HasSubstr("headscope: does not use --" + std::string(option) +
                                            ": no analysis reads a corpus\n"));
  }
  // The costs of a rotary model's heads are those of so many tokens.
  EXPECT_THAT(notes_with(data_path("architectures/llama"), with(of_weights, of_text)),
              AllOf(HasSubstr("does not use --no-bos"), Not(HasSubstr("does not use --context"))));
}

TEST(Hub, OptionsOfOtherAnalysesAreNamedAndTheirFilesNotRead) {
  const TemporaryDirectory folder;
  write_documents(folder, "a.txt");
  const auto notes_with = [&](const Words& options) {
    Words call{"--model", snapshot};
    call.insert(call.end(), options.begin(), options.end());
    return notes_of_run(folder, call);
  };
  EXPECT_THAT(notes_with({"--corpus", folder.file("a.txt"), "--analyses", "attention", "--patterns",
                          "1", "--nulls", "7", "--bootstrap", "9", "--precision", "high",
                          "--features", "absent", "--save-every", "4"}),
              AllOf(unused("nulls", "no analysis of weights alone runs"),
                    unused("bootstrap", "no analysis with intervals runs"),
                    unused("precision", "no analysis that ablates heads runs"),
                    unused("features", "the analysis score_model does not run"),
                    Not(HasSubstr("products by")), Not(HasSubstr("--save-every"))));
  EXPECT_THAT(notes_with({"--analyses", "circuits", "--nulls", "1", "--bootstrap", "20",
                          "--save-every", "4"}),
              AllOf(unused("save-every", "no analysis reads text"), Not(HasSubstr("--nulls")),
                    Not(HasSubstr("--bootstrap"))));
}

TEST(Hub, AFirstTokenBeyondTheVocabularyIsSaid) {
  const TemporaryDirectory folder;
  const std::string model = folder.file("model");
  fs::copy(snapshot, model);
  const std::string config = model + "/config.json", stated = "\"bos_token_id\": 0";
  std::string text = test::read_file(config);
  text.replace(text.find(stated), stated.size(), "\"bos_token_id\": 50256");
  test::write_file(config, text);
  const Finished finished = test::run_headscope_without_gnuplot(
      {"run", "--model", model, "--corpus", write_documents(folder, "a.txt"), "--analyses",
       "attention", "--output", folder.file("out")});
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err,
              HasSubstr("headscope: does not begin documents with the bos_token_id of the config, "
                        "50256: the vocabulary has "));
}

TEST(Hub, TensorsThatTheArchitectureLacksAreSaid) {
  const TemporaryDirectory folder;
  const std::string model = folder.file("model"), weights = model + "/model.safetensors";
  fs::copy(data_path("architectures/llama"), model);
  const std::string bytes = test::read_file(weights);
  std::uint64_t n_header = 0;
  std::memcpy(&n_header, bytes.data(), sizeof n_header);
  const std::string data = bytes.substr(sizeof n_header + n_header);
  auto header = nlohmann::json::parse(bytes.substr(sizeof n_header, n_header));
  header["model.embed_norm.weight"] = {
      {"dtype", "F32"}, {"shape", {1}}, {"data_offsets", {data.size(), data.size() + 4}}};
  std::string text = header.dump();
  n_header = text.size();
  std::memcpy(text.insert(0, sizeof n_header, '\0').data(), &n_header, sizeof n_header);
  test::write_file(weights, text + data + std::string(4, '\0'));
  const Finished inspected = test::run_headscope({"inspect", model});
  EXPECT_THAT(inspected.out, HasSubstr("model.embed_norm.weight: llama has no such tensors"));
  const Finished finished = test::run_headscope_without_gnuplot(
      {"run", "--model", model, "--analyses", "parameters", "--output", folder.file("out")});
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  const std::string note =
      "that llama does not have, and takes the model without them: model.embed_norm.weight\n";
  EXPECT_THAT(finished.err, HasSubstr(note));
  EXPECT_THAT(test::run_headscope({"convert", model, folder.file("model.h5")}).err,
              HasSubstr(note));
  EXPECT_THAT(
      test::run_headscope({"prune", model, folder.file("pruned.h5"), "--heads", "L0H0"}).err,
      HasSubstr(note));
}

TEST(Hub, TheContextBoundsPieces) {
  const TemporaryDirectory folder;
  test::write_file(folder.file("a.txt"), "One two three. Four five six. Seven eight nine.\n");
  const Results whole = results_with({}, folder), cut = results_with({"--context", "12"}, folder);
  EXPECT_EQ(whole.integer("context"), 32);
  EXPECT_EQ(cut.integer("context"), 12);
  EXPECT_EQ(cut.integer("n_document"), 1);
  EXPECT_GT(*cut.integer("n_token"),
            *whole.integer("n_token"));  // a first token more for each piece
}

TEST(Hub, EndOfTextInPlainTextEndsADocumentAndIsSaidOnce) {
  const TemporaryDirectory folder;
  test::write_file(folder.file("a.txt"), "One two.<|endoftext|>Three four.<|endoftext|>Five.\n");
  const std::vector<std::string> run{
      "run",        "--model",   snapshot,   "--corpus",        folder.file("a.txt"),
      "--analyses", "attention", "--output", folder.file("out")};
  const Finished finished = test::run_headscope_without_gnuplot(run);
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err,
              HasSubstr("headscope: " + folder.file("a.txt") +
                        ": <|endoftext|> ends a document 2 times; `run --literal-special-tokens` "
                        "reads it as text\n"));
  EXPECT_EQ(read_results(folder.file("out/results.h5")).integer("n_document"), 3);
  EXPECT_EQ(results_with({"--literal-special-tokens"}, folder).integer("n_document"), 1);
}

TEST(Hub, DocumentsThatRepeatOthersAreAWarningFromOneOfTenOn) {
  const TemporaryDirectory folder;
  std::string text = "One two.\n\n";
  for (int i = 0; i < 9; ++i) text += "Number " + std::to_string(i) + ".\n\n";
  const std::string path = folder.file("a.txt");
  test::write_file(path, text + "Number 8.\n");
  EXPECT_EQ(results_with({}, folder).text("corpus_warning"), "");
  test::write_file(path, text + "Number 8.\n\nOne two.\n");
  const std::string warning =
      "opies of an earlier document: 2 of 12; intervals and p-values take them for further "
      "evidence: intervals are too narrow, p-values too small";
  EXPECT_EQ(results_with({}, folder).text("corpus_warning"), "c" + warning + ".");
  EXPECT_THAT(test::read_file(folder.file("out/report.md")), HasSubstr("C" + warning));
  EXPECT_THAT(run_headscope({"inspect", path}).out,
              HasSubstr("copies of an earlier document: 2 of 12;"));
}

TEST(Hub, PairsThatRepeatOthersAreAWarningFromOneOfTenOn) {
  const TemporaryDirectory folder;
  const auto pair = [](const std::string& task, int number) {
    return R"({"task": ")" + task + R"(", "prefix": "Number )" + std::to_string(number) +
           R"( is", "good": " one", "bad": " two"})" + "\n";
  };
  std::string pairs;
  for (int i = 0; i < 10; ++i) pairs += pair("few", i) + pair("many", i);
  pairs += pair("few", 0) + pair("many", 0) + pair("many", 1);
  test::write_file(folder.file("pairs.jsonl"), pairs);
  const std::string notes = notes_of_run(
      folder, {"--model", snapshot, "--tasks", folder.file("pairs.jsonl"), "--analyses", "tasks"});
  const std::string warning =
      "opies of an earlier pair: 2 of 12 of many; intervals and p-values take them for further "
      "evidence: intervals are too narrow, p-values too small";
  EXPECT_THAT(notes, HasSubstr("headscope: c" + warning + "\n"));
  EXPECT_EQ(read_results(folder.file("out/results.h5")).text("tasks_warning"), "c" + warning + ".");
  EXPECT_THAT(test::read_file(folder.file("out/report.md")), HasSubstr("C" + warning));
  const std::string inspected =
      run_headscope({"inspect", "--tokenizer", snapshot, folder.file("pairs.jsonl")}).out;
  EXPECT_THAT(inspected, HasSubstr("11 pairs; 1 that repeat an earlier one"));
  EXPECT_THAT(inspected, HasSubstr("12 pairs; 2 that repeat an earlier one"));
}

TEST(Hub, AModelWithoutATokenizerNamesTheOption) {
  const TemporaryDirectory folder;
  const std::string model = data_path("tiny_flat/float64.h5");
  const Finished finished =
      run_headscope({"run", "--model", model, "--corpus", write_documents(folder, "a.txt"),
                     "--output", folder.file("out")});
  EXPECT_EQ(finished.exit_status, 1);
  EXPECT_THAT(finished.err, HasSubstr("expected a tokenizer to read text with, got none; "
                                      "--tokenizer names its folder\n"));
}

TEST(Hub, AFolderOfTextSaysWhatIsReadAndWhatIsLeft) {
  const TemporaryDirectory folder;
  fs::create_directory(folder.file("corpus"));
  write_documents(folder, "corpus/a.txt");
  test::write_file(folder.file("corpus/README.txt"), "About.");
  const std::string line = folder.file("corpus") + ": reads a.txt; ignores README.txt\n";
  const std::vector<std::string> run{
      "run",        "--model",   snapshot,   "--corpus",        folder.file("corpus"),
      "--analyses", "attention", "--output", folder.file("out")};
  const Finished finished = test::run_headscope_without_gnuplot(run);
  EXPECT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("headscope: " + line));
  EXPECT_THAT(run_headscope({"inspect", folder.file("corpus")}).out, HasSubstr("  " + line));
}

TEST(Hub, ALossAboveChanceWarnsInTerminalAndReport) {
  const TemporaryDirectory folder;
  const std::string out = folder.file("out");
  // The golden model is random and large: its loss is far above ln 312 = 5.74.
  ASSERT_GT(golden_loss(), 6);
  const Finished finished = test::run_headscope_without_gnuplot(
      {"run", "--model", snapshot, "--corpus", write_documents(folder, "a.txt"), "--analyses",
       "pruning", "--output", out, "--quiet"});
  ASSERT_EQ(finished.exit_status, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("headscope: warning: the loss of "));
  for (const char* const report : {"/report.md", "/report.html"}) {
    EXPECT_THAT(
        test::read_file(out + report),
        AllOf(HasSubstr("The loss of "), HasSubstr("the loss of guessing among the 312 tokens")));
  }
}

}  // namespace
}  // namespace headscope
