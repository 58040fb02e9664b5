#include "score_model/collect.hpp"

#include <algorithm>
#include <cmath>

#include "base/thread_errors.hpp"
#include "headscope/random.hpp"
#include "mean_z.hpp"
#include "random_draws.hpp"
#include "scores/tokens.hpp"
#include "scores/words.hpp"

namespace headscope {
namespace {

/// First stream of the documents whose queries are sampled.
constexpr std::uint64_t query_document_stream = (std::uint64_t{3} << 60) - 2;

constexpr const char *token_count_name = "score_token_count", *arc_prefix = "score_arcs.",
                     *trait_name = "score_traits", *first_token_name = "score_first_token",
                     *queries_name = "score_queries", *query_count_name = "score_query_count",
                     *block_row_name = "score_block",
                     *document_queries_name = "score_document_queries",
                     *queries_before_name = "score_queries_before";
enum Trait { trait_text, trait_words, trait_dependencies, trait_coreference, n_trait };

std::string block_name(const char* what, std::size_t block) {
  return std::string(what) + "." + std::to_string(block);
}

constexpr const char *attended_name = "score_attended", *entropy_name = "score_entropy";

std::string sink_record_name(std::size_t piece) {
  return "score_sink." + std::to_string(piece);
}

/// Sums of A ln A over all keys, and over keys >= 1 renormalised times 1 - A[0].
std::pair<double, double> negative_entropies(const float* attention, Index n_key) {
  double all = 0, beyond = 0;
  for (Index key = 0; key < n_key; ++key) {
    const double weight = attention[key];
    if (weight <= 0) continue;
    all += weight * std::log(weight);
    if (key > 0) beyond += weight * std::log(weight);
  }
  double rest = 0;
  for (Index key = 1; key < n_key; ++key) rest += static_cast<double>(attention[key]);
  return {all, rest > 0 ? beyond - rest * std::log(rest) : 0};
}

}  // namespace

QuerySample::QuerySample(std::uint64_t n_document, std::uint64_t n_query, std::uint64_t seed)
    : seed_(seed) {
  for (const std::uint64_t parity : {0, 1}) {
    const std::uint64_t n_half = (n_document + 1 - parity) / 2;
    const Half used = half(n_half, n_query);
    for (const Index place : spread_sample(n_half, used.n_document,
                                           CounterRandom(seed, query_document_stream + parity))) {
      documents_.insert(2 * place + parity);
    }
    (parity == 0 ? n_even_ : n_odd_) = used.n_query;
  }
}

QuerySample::Half QuerySample::half(std::uint64_t n_document, std::uint64_t n_wanted) {
  const std::uint64_t n_used = std::min(n_document, n_wanted);
  return {n_used, n_used == 0 ? 0 : (n_wanted + n_used - 1) / n_used};
}

void QuerySample::count(const Piece& piece, DocumentStatistics& statistics) const {
  if (!has(piece.document)) return;
  statistics.row(document_queries_name, {1})(0) +=
      static_cast<double>(n_query_of(piece.tokens.size()));
}

void QuerySample::use_counts(const Statistics& earlier) {
  n_query_.clear();
  if (!earlier.has(document_queries_name)) return;
  for (const auto& [document, row] : earlier.rows(document_queries_name)) {
    n_query_[document] = static_cast<Index>(row(0));
  }
}

std::vector<Index> QuerySample::queries_of(const Piece& piece,
                                           DocumentStatistics& statistics) const {
  const auto of_document = n_query_.find(piece.document);
  if (of_document == n_query_.end()) return {};
  double& n_before = statistics.row(queries_before_name, {1})(0);
  const auto first = static_cast<Index>(n_before);
  const Index end = first + n_query_of(piece.tokens.size());
  n_before = static_cast<double>(end);
  const std::set<Index> drawn = sampled_queries(
      of_document->second, piece.document % 2 == 0 ? n_even_ : n_odd_, seed_, piece.document);
  std::vector<Index> queries;
  for (auto place = drawn.lower_bound(first); place != drawn.end() && *place < end; ++place) {
    queries.push_back(*place - first + 2);
  }
  return queries;
}

void count_score_tokens(const Piece& piece, const ModelConfig& config,
                        DocumentStatistics& statistics) {
  count_tokens(piece, statistics.sum(token_count_name, {config.d_vocab}));
  Array& traits = statistics.sum(trait_name, {n_trait});
  traits(trait_text) += piece.token_text.empty() ? 0 : 1;
  traits(trait_words) += piece.words.empty() ? 0 : 1;
  traits(trait_dependencies) += piece.has_dependencies ? 1 : 0;
  traits(trait_coreference) += piece.has_coreference ? 1 : 0;
  if (piece.has_bos) {
    Array& first = statistics.sum(first_token_name, {2});
    first(0) += static_cast<double>(piece.tokens.front());
    ++first(1);
  }
  if (piece.document % 2 == 1) return;
  for (const Arc& arc : word_structure(piece).arcs) {
    if (!is_scored_relation(arc.relation)) continue;
    ++statistics.sum(arc_prefix + arc.relation, {2})(static_cast<Index>(arc.direction));
  }
}

CorpusTraits score_traits(const Statistics& statistics) {
  CorpusTraits traits;
  if (!statistics.has(trait_name)) return traits;
  const Array counts = statistics.total(trait_name);
  traits.has_text = counts(trait_text) > 0;
  traits.has_words = counts(trait_words) > 0;
  traits.has_dependencies = counts(trait_dependencies) > 0;
  traits.has_coreference = counts(trait_coreference) > 0;
  for (const std::string& name : statistics.sum_names()) {
    if (!name.starts_with(arc_prefix)) continue;
    const std::string relation = name.substr(std::string(arc_prefix).size());
    const Array arcs = statistics.total(name);
    for (const auto direction :
         {ArcDirection::dependent_to_head, ArcDirection::head_to_dependent}) {
      if (arcs(static_cast<Index>(direction)) >= CorpusTraits::least_arcs) {
        traits.relations.emplace_back(relation, direction);
      }
    }
  }
  return traits;
}

std::vector<double> score_token_counts(const Statistics& statistics) {
  return statistics.total(token_count_name).values;
}

std::optional<TokenId> score_first_token(const Statistics& statistics) {
  if (!statistics.has(first_token_name)) return std::nullopt;
  const Array first = statistics.total(first_token_name);
  return static_cast<TokenId>(std::lround(first(0) / first(1)));
}

ScoreCollector::ScoreCollector(const ScoreContext& context, const Piece& piece,
                               const PieceQueries& queries, std::size_t block,
                               DocumentStatistics& statistics)
    : config_(context.model.config),
      features_(context.features),
      block_(block),
      is_odd_(piece.document % 2 == 1),
      statistics_(statistics),
      models_(context, piece, queries, block) {
  std::vector<std::string>& kept = statistics.texts(queries_name);
  sink_name_ = sink_record_name(kept.size());
  kept.push_back(queries.packed());
  statistics.sum(query_count_name, {n_document_block})(block) +=
      static_cast<double>(models_.sample().queries.size());
  statistics.row(block_row_name, {1})(0) = static_cast<double>(block);
}

void ScoreCollector::observe_layer(const LayerView& view) {
  const FitSample& sample = models_.sample();
  const std::size_t n_feature = features_.size(), n_query = sample.queries.size();
  const Index n_head = config_.n_head;
  Array& attended =
      statistics_.sum(block_name(attended_name, block_), {config_.n_layer, n_head, n_feature});
  Array& entropy = statistics_.sum(block_name(entropy_name, block_), {config_.n_layer, n_head, 2});
  Array* const sink =
      is_odd_ ? &statistics_.record(sink_name_, {n_query, config_.n_layer, n_head}) : nullptr;
  models_.next_layer();
  std::vector<float> lexical;
  for (Index first = 0; first < n_head; first += n_logit_lane) {
    models_.lexical(first, lexical);
    const Index n_lane = std::min<Index>(n_logit_lane, n_head - first);
    for_each_in_parallel(
        n_lane, std::vector<float>(), [&](std::size_t lane, std::vector<float>& scores) {
          const Index head = first + lane;
          const Matrix& pattern = view.pattern.slice(head);
          double* const sums = &attended(view.layer, head, std::size_t{0});
          for (std::size_t i = 0; i < n_query; ++i) {
            const FitSample::Query& query = sample.queries[i];
            const float* const attention = pattern.colptr(query.query);
            scores.resize(query.query);
            for (Index pair = 0; pair < query.query; ++pair) {
              scores[pair] = lexical[(query.first_pair + pair) * n_logit_lane + lane];
            }
            add_attended(sample, features_, i, scores.data(), attention, sums);
            const auto [all, beyond] = negative_entropies(attention, query.query + 1);
            entropy(view.layer, head, Index{0}) += all;
            entropy(view.layer, head, Index{1}) += beyond;
            if (sink != nullptr) (*sink)(i, view.layer, head) = static_cast<double>(attention[0]);
          }
        });
  }
}

std::uint64_t ScoreCollector::bytes(const ModelConfig& config, Index n_token,
                                    std::size_t n_feature) {
  return PieceModels::bytes(config, n_token) +
         config.n_layer * config.n_head * (n_feature + 2) * sizeof(double);
}

std::unique_ptr<PieceObserver> add_score_means(std::unique_ptr<PieceObserver> collector,
                                               Index n_layer, DocumentStatistics& statistics) {
  const std::shared_ptr<PieceObserver> of_queries = std::move(collector);
  return std::make_unique<LayerFunction>(
      [of_queries, n_layer, &statistics](const LayerView& view) {
        add_z(view, n_layer, score_z_name, statistics);
        if (of_queries != nullptr) of_queries->observe_layer(view);
      },
      of_queries != nullptr);
}

ScoreData score_data(const Statistics& statistics, const Model& model,
                     const FeatureList& features) {
  const ModelConfig& config = model.config;
  ScoreData data{features, {}, {}};
  for (ScoreHalf* const half : {&data.even, &data.odd}) {
    half->n_query.assign(n_document_block, 0);
    half->n_document.assign(n_document_block, 0);
    half->attended.resize(n_document_block);
    half->entropy.resize(n_document_block);
  }
  if (!statistics.has(block_row_name)) return data;
  const TokenTraits traits(model, score_token_counts(statistics));
  const std::size_t n_head_total = config.n_layer * config.n_head;
  std::map<std::size_t, bool> is_odd_block;
  for (const auto& [document, row] : statistics.rows(block_row_name)) {
    const auto block = static_cast<std::size_t>(row(0));
    const bool is_odd = document % 2 == 1;
    ScoreHalf& half = is_odd ? data.odd : data.even;
    is_odd_block[block] = is_odd;
    ++half.n_document[block];
    const std::vector<std::string>& pieces = statistics.texts(queries_name, document);
    for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
      half.sample.add(PieceQueries::unpacked(pieces[piece]), block, traits);
      if (!is_odd) continue;
      const Array& sink = statistics.record(sink_record_name(piece), document);
      half.sink.insert(half.sink.end(), sink.values.begin(), sink.values.end());
    }
  }
  const Array n_query = statistics.total(query_count_name);
  for (const auto& [block, is_odd] : is_odd_block) {
    ScoreHalf& half = is_odd ? data.odd : data.even;
    half.n_query[block] = n_query(block);
    half.attended[block] = statistics.total(block_name(attended_name, block));
    half.entropy[block] = statistics.total(block_name(entropy_name, block));
  }
  if (data.odd.sink.size() != data.odd.sample.queries.size() * n_head_total) {
    throw std::logic_error("attention to the sink: queries are missing");
  }
  return data;
}

}  // namespace headscope
