#include "attention_patterns/attention_patterns.hpp"

#include <algorithm>

#include "base/number_text.hpp"
#include "base/utf8.hpp"
#include "headscope/figure.hpp"

namespace headscope {
namespace {

const AnalysisInfo attention_info{
    .name = "attention",
    .title = "Attention patterns",
    .purpose =
        "Keeps the attention patterns of the first documents, also weighted by the norm of what "
        "each key contributes, and attention rollout over layers.",
    .source = "Vig 2019; Kobayashi et al. 2020; Abnar & Zuidema 2020",
    .passes = {"keeping patterns"},
};

const VariableTable variables{
    Declaration::integer("tokens", "token", "Token ids{which}"),
    Declaration::count("n_token", "",
                       "Tokens of the document, or of its first piece if it is cut; the patterns "
                       "are of its first tokens"),
    {"token_text", "token", "1",
     "The text of each token{which}; bytes that are not UTF-8 are written \\xNN"},
    {"pattern", "layer head query key", "probability", "Attention from query to key{which}",
     "Vaswani et al. 2017"},
    {"value_weighted", "layer head query key", "residual-stream units",
     "Attention times ||W_O v||, the norm of what the head writes for the key, without b_O,{which}",
     "Kobayashi et al. 2020"},
    {"rollout", "layer query key", "probability",
     "Attention rollout up to and including the layer; each layer adds 0.5 mean over heads, "
     "removed heads left out, + 0.5 identity (a layer without heads: the identity),{which}",
     "Abnar & Zuidema 2020"},
    Declaration::count(
        "n_token_kept", "document",
        "Tokens kept of each document; its patterns are in the group attention/{document}"),
};

/// @param pattern     layer x head x query x key.
/// @param value_norm  layer x head x key: ||W_O v||.
Array value_weighted(Array pattern, const Array& value_norm) {
  const Index n_key = pattern.shape.back();
  for (Index i = 0; i < pattern.size(); ++i) {
    const Index key = i % n_key, head_index = i / (n_key * n_key);
    pattern.values[i] *= value_norm.values[head_index * n_key + key];
  }
  return pattern;
}

class AttentionPatterns : public CorpusAnalysis {
 public:
  explicit AttentionPatterns(const AnalysisContext& context)
      : model_(context.model), options_(context.settings.options<AttentionPatternsOptions>()) {}

  std::unique_ptr<PieceObserver> begin_piece(const Piece& piece,
                                             DocumentStatistics& statistics) override {
    // Of a cut document the first piece.
    if (piece.document >= options_.n_document || piece.index > 0) return nullptr;
    const Index n_token = piece.tokens.size();
    const Index n_kept = options_.n_token_kept(n_token);
    const auto end = static_cast<std::ptrdiff_t>(n_kept);
    statistics.record("tokens", {n_kept}).values = {piece.tokens.begin(),
                                                    piece.tokens.begin() + end};
    statistics.record("n_token", {}).values = {static_cast<double>(n_token)};
    statistics.record("n_piece", {}).values = {static_cast<double>(piece.n_piece)};
    statistics.texts("id") = {piece.id};
    if (!piece.token_text.empty()) {
      const auto text = piece.token_text.begin();
      statistics.texts("token_text") = {text, text + end};
    }
    return std::make_unique<LayerFunction>(
        [this, &statistics, n_kept, rollout = arma::mat(n_kept, n_kept, arma::fill::eye)](
            const LayerView& view) mutable { keep_layer(view, n_kept, rollout, statistics); },
        true);
  }

  PieceCost piece_cost(int /*pass*/, std::uint64_t document) const override {
    return document < options_.n_document ? PieceCost{}
                                          : PieceCost{.observes = false, .forward_passes = 0};
  }
  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    ResultsGroup overview;
    overview.name = "attention";
    std::vector<ResultsGroup> groups{overview};
    std::vector<double> indices, n_kept;
    for (std::uint64_t index = 0; index < options_.n_document; ++index) {
      if (!statistics.has("tokens", index)) continue;
      indices.push_back(static_cast<double>(index));
      n_kept.push_back(static_cast<double>(statistics.record("tokens", index).size()));
      groups.push_back(document_group(index, statistics));
    }
    if (indices.empty()) return groups;
    ResultsGroup& first = groups.front();
    first.summary = "Attention patterns of " + count_text(indices.size(), "document") +
                    ", each in a group of its own named by the document's number.";
    first.add_dimension(Dimension::numbers("document", indices));
    first.add(variables["n_token_kept"], n_kept);
    return groups;
  }

 private:
  /// @param n_kept   tokens whose patterns are kept.
  /// @param rollout  up to the layer before, key x query.
  void keep_layer(const LayerView& view, Index n_kept, arma::mat& rollout,
                  DocumentStatistics& statistics) const {
    const ModelConfig& config = model_.config;
    const Index d_head = config.d_head();
    const Matrix& W_O = model_.layers[view.layer].W_O;
    Array& pattern = statistics.record("pattern", {config.n_layer, config.n_head, n_kept, n_kept});
    Array& value_norm = statistics.record("value_norm", {config.n_layer, config.n_head, n_kept});
    Array& rollouts = statistics.record("rollout", {config.n_layer, n_kept, n_kept});
    for (Index head = 0; head < config.n_head; ++head) {
      const Index first_row = config.v_row(head);
      const std::vector<double> norms =
          contribution_norms(view.qkv.rows(first_row, first_row + d_head - 1),
                             W_O.cols(head * d_head, (head + 1) * d_head - 1));
      for (Index key = 0; key < n_kept; ++key) value_norm(view.layer, head, key) = norms[key];
      for (Index query = 0; query < n_kept; ++query) {
        for (Index key = 0; key <= query; ++key) {
          pattern(view.layer, head, query, key) = view.pattern(key, query, head);
        }
      }
    }
    extend_rollout(rollout, view.pattern, config.heads_left_in(view.layer));
    rollouts.set(rollout.t(), view.layer);
  }

  ResultsGroup document_group(std::uint64_t index, const Statistics& statistics) const {
    const Array& tokens = statistics.record("tokens", index);
    const std::string& id = statistics.texts("id", index).front();
    ResultsGroup group;
    group.name = "attention/" + std::to_string(index);
    group.title = "Attention patterns of document " + id;
    const bool has_text = statistics.has("token_text", index);
    const Index n_token = tokens.size();
    group.add_dimension(Dimension::count("layer", model_.config.n_layer));
    group.add_dimension(Dimension::count("head", model_.config.n_head));
    for (const char* axis : {"token", "query", "key"}) {
      group.add_dimension(Dimension::count(axis, n_token));
    }
    const bool is_cut = statistics.record("n_piece", index).values[0] > 1;
    const std::string which =
        std::string(is_cut ? " of the first piece" : "") + " of document " + std::to_string(index) +
        " (" + id + "), its first " + std::to_string(n_token) + " of " +
        std::to_string(static_cast<Index>(statistics.record("n_token", index).values[0])) +
        " tokens; causal, so that leaving out later tokens changes nothing";
    const auto add = [&](const char* name, auto values) {
      group.add(variables[name].with("which", which), std::move(values));
    };
    add("tokens", tokens);
    group.add(variables["n_token"], statistics.record("n_token", index).values[0]);
    if (has_text) {
      std::vector<std::string> text = statistics.texts("token_text", index);
      for (std::string& token : text) token = escaped_utf8(token);
      add("token_text", std::move(text));
    }
    const Array& pattern = statistics.record("pattern", index);
    add("pattern", pattern);
    add("value_weighted", value_weighted(pattern, statistics.record("value_norm", index)));
    add("rollout", statistics.record("rollout", index));
    return group;
  }

  const Model& model_;
  const AttentionPatternsOptions& options_;
};

std::uint64_t memory(const RunShape& run) {
  const auto& options = run.settings.options<AttentionPatternsOptions>();
  const std::uint64_t n_kept = options.n_token_kept(run.n_token);
  // The documents as records and, weighted too, as results; the rollout of one layer.
  const std::uint64_t document =
      (3 * run.n_head_total() + 2 * run.config.n_layer) * n_kept * n_kept +
      run.n_head_total() * n_kept;
  return (std::min(run.n_document, options.n_document) * document + 3 * n_kept * n_kept) *
         sizeof(double);
}

}  // namespace

std::vector<double> contribution_norms(const Matrix& values, const Matrix& W_O) {
  std::vector<double> norms(values.n_cols);
  const arma::mat contributions =
      arma::conv_to<arma::mat>::from(W_O) * arma::conv_to<arma::mat>::from(values);
  for (Index key = 0; key < values.n_cols; ++key) norms[key] = arma::norm(contributions.col(key));
  return norms;
}

void extend_rollout(arma::mat& rollout, const Cube& pattern, const std::vector<Index>& heads) {
  if (heads.empty()) return;
  const Index n = rollout.n_rows;
  arma::mat step(n, n, arma::fill::zeros);
  for (const Index head : heads) {
    for (Index query = 0; query < n; ++query) {
      for (Index key = 0; key <= query; ++key) step(key, query) += pattern(key, query, head);
    }
  }
  step *= 0.5 / static_cast<double>(heads.size());
  step.diag() += 0.5;
  rollout = rollout * step;
}

RegisteredAnalysis attention_patterns_analysis() {
  return registered<AttentionPatterns, AttentionPatternsOptions>(
      attention_info, attention_patterns_figures, {.group = attention_info.name}, memory);
}

}  // namespace headscope
