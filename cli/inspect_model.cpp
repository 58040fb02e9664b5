#include "inspect_model.hpp"

#include <algorithm>
#include <memory>

#include "base/number_text.hpp"
#include "base/text.hpp"
#include "headscope/blas.hpp"
#include "headscope/error.hpp"
#include "headscope/run_memory.hpp"
#include "inputs.hpp"
#include "memory_limits.hpp"
#include "model/tensor_source.hpp"
#include "registry.hpp"
#include "run/engine_record.hpp"
#include "terminal.hpp"
#include "usage_error.hpp"

namespace headscope {
namespace {

struct TokenizerPlace {
  bool is_readable = false;
  std::string text;
};

/// @param path  of the model file.
TokenizerPlace tokenizer_place(const ModelDescription& description, const std::string& path) try {
  const std::unique_ptr<TensorSource> source = open_tensor_source(path, hdf5::Digest::ignored);
  Model model;  // without weights
  model.path = path;
  model.config = description.config;
  model.tokenizer_vocab = source->tokenizer_text("vocab");
  model.tokenizer_merges = source->tokenizer_text("merges");
  model.tokenizer_added_tokens = source->tokenizer_text("added_tokens");
  model.tokenizer_settings = source->tokenizer_text("settings");
  if (!open_tokenizer({}, model)) return {false, "none with the file"};
  return {true, description.has_tokenizer ? "in the file" : "in the file's folder"};
} catch (const DataError& error) {
  return {false, std::string("not one that is read: ") + error.what()};
}

std::string rotary_text(const ModelConfig& config) {
  std::string text = "rotary, " + std::to_string(config.d_rotary()) + " of " +
                     std::to_string(config.d_head()) + " dimensions, theta " +
                     number_text(config.rotary.theta, 0);
  if (config.rotary.scaling == RotaryScaling::none) return text;
  return text + ", rates scaled by 1/" + number_text(config.rotary.factor, 0) +
         (config.rotary.scaling == RotaryScaling::linear ? " (linear)" : " (llama3)");
}

void print_shape(const ModelDescription& model, const std::string& path) {
  const ModelConfig& config = model.config;
  print_line("config from", model.config_file.empty() ? "the tensors' shapes" : model.config_file);
  print_line("architecture", config.architecture);
  print_line("layers", config.n_layer);
  print_line("heads per layer", config.n_head);
  if (config.n_group() != config.n_head) {
    print_line("keys and values", count_text(config.n_group(), "head") + " per layer, each of " +
                                      std::to_string(config.n_head / config.n_group()) +
                                      " heads of queries");
  }
  print_line("d_model", config.d_model);
  print_line("d_head", config.d_head());
  print_line("d_mlp", config.d_mlp);
  print_line("context", std::to_string(config.n_ctx) +
                            (config.window_bounds_context ? ", its sliding window" : ""));
  if (config.positions == PositionKind::rotary) print_line("positions", rotary_text(config));
  if (config.norm == NormKind::rms_norm) print_line("norm", "root mean square");
  if (config.gated_mlp) print_line("MLP", "gated");
  if (config.parallel_residual) print_line("residual", "attention and MLP side by side");
  print_line("vocabulary", config.d_vocab);
  print_line("activation", std::string(activation_name(config.activation)));
  if (!config.scale_by_width) print_line("scores", "not divided by the root of d_head");
  if (config.scale_by_inverse_layer) print_line("scores", "divided by layer + 1");
  print_line("unembedding", config.tied_unembedding ? "tied to the token embedding" : "its own");
  if (!config.model_code.empty()) {
    print_line("code", config.model_code + " beside the weights, which is not run");
  }
  if (model.n_stored == 0) {
    print_line("parameters", model.counts.total());
    return;
  }
  const TokenizerPlace tokenizer = tokenizer_place(model, path);
  print_line("tokenizer", tokenizer.text);
  print_line("parameters in the file", model.n_stored);
  if (!model.unread.empty()) {
    print_line("not read",
               first_joined(model.unread, 3) + ": " + config.architecture + " has no such tensors");
  }
  if (model.missing.empty()) {
    print_line("holds", std::string("a complete model: every analysis can run") +
                            (tokenizer.is_readable ? "" : "; to read text it needs --tokenizer"));
    return;
  }
  print_line("holds", "attention weights only: analyses of weights can run, those of text cannot");
  print_line("missing", joined(model.missing, ", "));
}

/// Memory of a run over many documents with the default options: each analysis alone, then all.
void print_memory(const ModelDescription& model) {
  constexpr std::uint64_t many = 1000, n_task = 10;
  const Index context = std::min<Index>(model.config.n_ctx, default_context);
  const RunShape run{
      config_of_run(model.config, context), {}, context, many, blas::thread_count(), n_task};
  const auto need = [&](const std::vector<const RegisteredAnalysis*>& analyses) {
    return memory_text(total_bytes(run_memory(run, weight_bytes(model), analyses, false)));
  };
  print_line("estimated memory", "of a run of each analysis; documents of " +
                                     std::to_string(run.n_token) + " tokens, " +
                                     std::to_string(run.n_task) + " tasks, " +
                                     count_text(static_cast<std::size_t>(run.n_thread), "thread"));
  std::vector<const RegisteredAnalysis*> possible;
  for (const RegisteredAnalysis& analysis : analysis_registry()) {
    if (analysis.info.needs_complete_model() && !model.missing.empty()) continue;
    possible.push_back(&analysis);
    print_line("  " + analysis.info.name, need({&analysis}));
  }
  print_line("  all", need(possible));
}

/// How fast the engines are at the model's shape on this machine.
void print_engines(const ModelConfig& config) {
  try {
    check_trial_memory();
  } catch (const UsageError& error) {
    return print_line("engines", std::string("not tried: ") + error.what());
  }
  const EngineSpeeds speeds = try_engines(config);
  print_line("engines, in a trial here", speeds.empty() ? "float32 alone" : speeds_text(speeds));
  for (const Precision precision : {Precision::float32, Precision::high, Precision::fast}) {
    print_line("  --precision " + precision_name(precision),
               engines_text(fastest_engines(precision, speeds)));
  }
}

}  // namespace

void print_model(const ModelDescription& model, const std::string& path) {
  print_shape(model, path);
  if (model.n_stored > 0) print_engines(model.config);
  print_memory(model);
}

}  // namespace headscope
