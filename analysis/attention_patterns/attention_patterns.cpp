#include "attention_patterns/attention_patterns.hpp"

#include <algorithm>

#include "headscope/number_text.hpp"
#include "headscope/utf8.hpp"

namespace headscope {
namespace {

const AnalysisInfo attention_info{
    .name = "attention",
    .title = "Attention patterns",
    .purpose =
        "Keeps the attention patterns of the first documents, weighted by what is read, and rolled "
        "out over layers.",
    .source = "Vig 2019; Kobayashi et al. 2020; Abnar & Zuidema 2020",
    .n_pass = 1,
};

/// Documents differ in length, so that each has rows of its own name.
std::string row_name(const std::string& name, std::uint64_t index) {
  return name + "." + std::to_string(index);
}

const Array& kept_row(const Statistics& statistics, const std::string& name, std::uint64_t index) {
  return statistics.rows(row_name(name, index)).at(index);
}

class AttentionPatterns : public Analysis {
 public:
  explicit AttentionPatterns(const AnalysisContext& context)
      : model_(context.model),
        corpus_(context.corpus),
        options_(context.settings.own<AttentionPatternsOptions>()) {}

  bool begin_document(const Document& document, Statistics& statistics) override;
  bool wants_pattern(Index /*layer*/) const override { return true; }
  void observe_layer(const LayerView& view) override;
  std::vector<ResultsGroup> finish(const Statistics& statistics) const override;

 private:
  ResultsGroup document_group(std::uint64_t index, const Statistics& statistics) const;

  const Model& model_;
  const Corpus* corpus_;
  const AttentionPatternsOptions& options_;
  Index n_kept_ = 0;
  Array* pattern_ = nullptr;
  Array* value_weighted_ = nullptr;
  Array* rollout_ = nullptr;
  arma::mat running_rollout_;
};

bool AttentionPatterns::begin_document(const Document& document, Statistics& statistics) {
  if (document.index >= options_.n_document) return false;
  const Index n_token = document.tokens.size();
  n_kept_ = options_.n_token_kept(n_token);
  const ModelConfig& config = model_.config;
  const Shape per_head{config.n_layer, config.n_head, n_kept_, n_kept_};
  const auto row = [&](const char* name, const Shape& shape) -> Array& {
    return statistics.row(row_name(name, document.index), document.index, shape);
  };
  pattern_ = &row("pattern", per_head);
  value_weighted_ = &row("value_weighted", per_head);
  rollout_ = &row("rollout", {config.n_layer, n_kept_, n_kept_});
  std::copy_n(document.tokens.begin(), n_kept_, row("tokens", {n_kept_}).values.begin());
  return true;
}

void AttentionPatterns::observe_layer(const LayerView& view) {
  const ModelConfig& config = model_.config;
  const Index d_head = config.d_head();
  const Matrix& W_O = model_.layers[view.layer].W_O;
  for (Index head = 0; head < config.n_head; ++head) {
    const Index first_row = 2 * config.d_model + head * d_head;
    const std::vector<double> norms =
        contribution_norms(view.qkv.rows(first_row, first_row + d_head - 1),
                           W_O.cols(head * d_head, (head + 1) * d_head - 1));
    for (Index query = 0; query < n_kept_; ++query) {
      for (Index key = 0; key <= query; ++key) {
        const double weight = view.pattern(key, query, head);
        (*pattern_)(view.layer, head, query, key) = weight;
        (*value_weighted_)(view.layer, head, query, key) = weight * norms[key];
      }
    }
  }
  if (view.layer == 0) running_rollout_.eye(n_kept_, n_kept_);
  extend_rollout(running_rollout_, view.pattern);
  for (Index query = 0; query < n_kept_; ++query) {
    for (Index key = 0; key < n_kept_; ++key) {
      (*rollout_)(view.layer, query, key) = running_rollout_(key, query);
    }
  }
}

ResultsGroup AttentionPatterns::document_group(std::uint64_t index,
                                               const Statistics& statistics) const {
  const Array& tokens = kept_row(statistics, "tokens", index);
  const Document document = corpus_->document(index);
  ResultsGroup group;
  group.name = "attention/" + std::to_string(index);
  group.title = "Attention patterns of document " + document.id;
  const Index n_token = tokens.size();
  group.add_dimension(Dimension::count("layer", model_.config.n_layer));
  group.add_dimension(Dimension::count("head", model_.config.n_head));
  for (const char* axis : {"token", "query", "key"}) {
    group.add_dimension(Dimension::count(axis, n_token));
  }
  const std::string which = " of document " + std::to_string(index) + " (" + document.id +
                            "), its first " + std::to_string(n_token) + " of " +
                            std::to_string(document.tokens.size()) +
                            " tokens; causal, so that leaving out later tokens changes nothing";
  group.add(
      Variable::integer("tokens", {"token"}, tokens, "Token ids" + which, "1", own_definition));
  if (!document.token_text.empty()) {
    std::vector<std::string> text(
        document.token_text.begin(),
        document.token_text.begin() + static_cast<std::ptrdiff_t>(n_token));
    for (std::string& token : text) token = escaped_utf8(token);
    group.add(Variable::words(
        "token_text", {"token"}, std::move(text),
        "The text of each token" + which + "; bytes that are not UTF-8 are written \\xNN",
        own_definition));
  }
  group.add(Variable::real(
      "pattern", {"layer", "head", "query", "key"}, kept_row(statistics, "pattern", index),
      "Attention from query to key" + which, "probability", "Vaswani et al. 2017"));
  group.add(Variable::real(
      "value_weighted", {"layer", "head", "query", "key"},
      kept_row(statistics, "value_weighted", index),
      "Attention times the norm of what the head writes for the key, ||W_O v||, b_O left out," +
          which,
      "residual-stream units", "Kobayashi et al. 2020"));
  group.add(Variable::real(
      "rollout", {"layer", "query", "key"}, kept_row(statistics, "rollout", index),
      "Attention rollout up to and including the layer, with 0.5 mean over heads + 0.5 identity," +
          which,
      "probability", "Abnar & Zuidema 2020"));
  return group;
}

std::vector<ResultsGroup> AttentionPatterns::finish(const Statistics& statistics) const {
  ResultsGroup overview;
  overview.name = "attention";
  overview.title = attention_info.title;
  std::vector<ResultsGroup> groups{overview};
  std::vector<double> indices, n_kept;
  for (std::uint64_t index = 0; index < options_.n_document; ++index) {
    if (!statistics.has(row_name("tokens", index))) continue;
    indices.push_back(static_cast<double>(index));
    n_kept.push_back(static_cast<double>(kept_row(statistics, "tokens", index).size()));
    groups.push_back(document_group(index, statistics));
  }
  if (indices.empty()) return groups;
  ResultsGroup& first = groups.front();
  first.summary = "Attention patterns of " + count_text(indices.size(), "document") +
                  ", each in a group of its own named by the document's number.";
  first.add_dimension(Dimension::numbers("document", indices));
  first.add(Variable::integer(
      "n_token_kept", {"document"}, Array({n_kept.size()}, n_kept),
      "Tokens kept of each document; its patterns are in the group attention/{document}", "count",
      own_definition));
  return groups;
}

std::uint64_t memory(const RunShape& run) {
  const auto& options = run.settings.own<AttentionPatternsOptions>();
  const std::uint64_t n_kept = options.n_token_kept(run.n_token);
  const std::uint64_t document =
      (2 * run.n_unit() + run.config.n_layer) * n_kept * n_kept * sizeof(double);
  // Kept as rows, then once more as results; the rollout of one layer.
  return 2 * std::min(run.n_document, options.n_document) * document +
         3 * n_kept * n_kept * sizeof(double);
}

}  // namespace

std::vector<double> contribution_norms(const Matrix& values, const Matrix& W_O) {
  std::vector<double> norms(values.n_cols);
  const arma::mat contributions =
      arma::conv_to<arma::mat>::from(W_O) * arma::conv_to<arma::mat>::from(values);
  for (Index key = 0; key < values.n_cols; ++key) norms[key] = arma::norm(contributions.col(key));
  return norms;
}

void extend_rollout(arma::mat& rollout, const Cube& pattern) {
  const Index n = rollout.n_rows;
  arma::mat step(n, n, arma::fill::zeros);
  for (Index head = 0; head < pattern.n_slices; ++head) {
    for (Index query = 0; query < n; ++query) {
      for (Index key = 0; key <= query; ++key) step(key, query) += pattern(key, query, head);
    }
  }
  step *= 0.5 / static_cast<double>(pattern.n_slices);
  step.diag() += 0.5;
  rollout = rollout * step;
}

RegisteredAnalysis attention_patterns_analysis() {
  return {
      attention_info,
      [](const AnalysisContext& context) { return std::make_unique<AttentionPatterns>(context); },
      [](const Results&) { return std::vector<Figure>(); }, memory,
      &AnalysisSettings::declare_own<AttentionPatternsOptions>};
}

}  // namespace headscope
