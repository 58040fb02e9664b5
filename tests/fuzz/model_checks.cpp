#include "model_checks.hpp"

#include <algorithm>
#include <cmath>

#include "fuzz.hpp"
#include "headscope/inspect.hpp"
#include "headscope/model.hpp"
#include "headscope/parameters.hpp"

namespace headscope::fuzz {
namespace {

// n_head of files that do not give it.
const LoadOptions options{2};

void check_values(const Model& model) {
  model.config.check();
  require(model.layers.size() == model.config.n_layer, "every layer is there");
  for (const TensorSpec& spec : tensors_of({})) {
    const Index n = spec.per_layer() ? model.config.n_layer : 1;
    for (Index layer = 0; layer < n; ++layer) {
      const auto values = tensor_values(model, spec, layer);
      require(values.empty() || values.size() == element_count(spec.shape(model.config)),
              "a tensor has the elements of its shape");
      require(std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }),
              "weights are finite");
    }
  }
}

void check_same(const Model& a, const Model& b) {
  for (const TensorSpec& spec : tensors_of({})) {
    const Index n = spec.per_layer() ? a.config.n_layer : 1;
    for (Index layer = 0; layer < n; ++layer) {
      const auto ours = tensor_values(a, spec, layer), theirs = tensor_values(b, spec, layer);
      require(std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end()),
              "a saved model loads as it was");
    }
  }
  require(a.config.pruned_heads == b.config.pruned_heads && a.config.n_head == b.config.n_head,
          "a saved config loads as it was");
  require(a.tokenizer_vocab == b.tokenizer_vocab && a.tokenizer_merges == b.tokenizer_merges &&
              a.tokenizer_added_tokens == b.tokenizer_added_tokens,
          "a saved tokenizer loads as it was");
}

}  // namespace

void check_model_file(const std::string& path, bool save_too) {
  Model model;
  std::optional<ModelDescription> described;
  read_or_refuse([&] { described = describe_file(path, options).model; });
  if (!read_or_refuse([&] { model = load_model(path, options); })) return;
  check_values(model);
  if (described) {
    require(described->config.n_layer == model.config.n_layer &&
                described->config.d_model == model.config.d_model &&
                described->config.n_head == model.config.n_head &&
                described->config.d_vocab == model.config.d_vocab,
            "describing and loading agree");
  }
  if (!save_too) return;
  static const OutputPath output;
  if (!read_or_refuse([&] { save_model(model, output.path()); })) return;
  check_same(model, load_model(output.path(), options));
}

}  // namespace headscope::fuzz
