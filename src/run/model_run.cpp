#include "run/model_run.hpp"

#include <algorithm>

namespace headscope {
namespace {

const std::string corpus_part = "corpus", token_sum = "n_token";

/// Mean tokens of the first pieces of some documents spread over the corpus.
double mean_piece_tokens(const Corpus& corpus) {
  constexpr std::uint64_t most = 8;
  const std::uint64_t n_sample = std::min(most, corpus.n_document());
  double n_token = 0;
  for (std::uint64_t i = 0; i < n_sample; ++i) {
    n_token += static_cast<double>(corpus.piece(i * corpus.n_document() / n_sample).tokens.size());
  }
  return n_token / static_cast<double>(n_sample);
}

/// The number in the corpus of an item of a pass over it.
std::uint64_t document_of(const Pass& pass, std::uint64_t item) {
  return pass.documents != nullptr ? pass.documents->at(item) : item;
}

}  // namespace

ModelRun::ModelRun(const std::vector<const RegisteredAnalysis*>& analyses,
                   const AnalysisContext& context)
    : context_(context) {
  for (const RegisteredAnalysis* registered : analyses) {
    items_.push_back({registered, registered->make(context_), &statistics_[registered->info.name]});
  }
  if (context_.corpus != nullptr) tokens_per_piece_ = mean_piece_tokens(*context_.corpus);
}

const ModelRun::Item& ModelRun::item_of(const RegisteredAnalysis* analysis) const {
  return *std::ranges::find(items_, analysis, &Item::registered);
}

CorpusAnalysis& ModelRun::corpus_analysis(const Pass::Part& part) const {
  return dynamic_cast<CorpusAnalysis&>(*item_of(part.analysis).analysis);
}

TaskAnalysis& ModelRun::task_analysis(const Pass& pass) const {
  return dynamic_cast<TaskAnalysis&>(*item_of(pass.parts.front().analysis).analysis);
}

std::uint64_t ModelRun::n_token() const {
  const auto corpus = statistics_.find(corpus_part);
  if (corpus == statistics_.end() || !corpus->second.has(token_sum)) return 0;
  return static_cast<std::uint64_t>(corpus->second.total(token_sum)(0));
}

std::uint64_t ModelRun::n_item(const Pass& pass) const {
  if (pass.input == AnalysisInput::tasks) return task_analysis(pass).n_batch();
  return pass.documents != nullptr ? pass.documents->size() : context_.corpus->n_document();
}

std::uint64_t ModelRun::n_piece(const Pass& pass, std::uint64_t item) const {
  return pass.input == AnalysisInput::tasks ? 1 : context_.corpus->n_piece(document_of(pass, item));
}

std::string ModelRun::phase(const Pass& pass) const {
  const auto phase_of = [](const Pass::Part& part) {
    return part.analysis->info.passes.at(static_cast<std::size_t>(part.pass));
  };
  if (pass.parts.size() == 1) return phase_of(pass.parts.front());
  for (const Pass::Part& part : pass.parts) {
    double of_part = 0, all = 0;
    for (std::uint64_t item = 0; item < n_item(pass); ++item) {
      of_part +=
          tokens_per_piece_ *
          corpus_analysis(part).piece_cost(part.pass, document_of(pass, item)).forward_passes;
      all += cost(pass, item);
    }
    if (2 * of_part > all) return phase_of(part);
  }
  return "observing heads";
}

double ModelRun::cost(const Pass& pass, std::uint64_t item) const {
  if (pass.input == AnalysisInput::tasks) {
    return task_analysis(pass).batch_cost(pass.parts.front().pass, item);
  }
  double forward_passes = 0;
  bool is_observed = false;
  for (const Pass::Part& part : pass.parts) {
    const PieceCost of_part = corpus_analysis(part).piece_cost(part.pass, document_of(pass, item));
    forward_passes += of_part.forward_passes;
    is_observed = is_observed || of_part.observes;
  }
  return tokens_per_piece_ * (forward_passes + (is_observed ? 1 : 0));
}

void ModelRun::begin_pass(const Pass& pass, const ModelRun& earlier) {
  for (auto& [name, statistics] : statistics_) statistics.seal();
  const auto before = [&](const Pass::Part& part) {
    return &earlier.statistics().at(part.analysis->info.name);
  };
  if (pass.input == AnalysisInput::tasks) {
    task_analysis(pass).begin_pass(pass.parts.front().pass, *before(pass.parts.front()));
    return;
  }
  std::vector<Begun> begun;
  for (const Pass::Part& part : pass.parts) {
    begun.push_back({&corpus_analysis(part), part.pass, before(part)});
  }
  share(begun);
  for (const Begun& begun_pass : begun) {
    begun_pass.analysis->begin_pass(begun_pass.pass, *begun_pass.earlier);
  }
  forward_ = std::make_unique<Forward>(context_.model, context_.compute);
  end_forward_ = std::make_unique<Forward>(context_.model, context_.compute);
}

void ModelRun::share(const std::vector<Begun>& begun) {
  HeadTexts told;
  for (const Begun& begun_pass : begun) {
    told.merge(begun_pass.analysis->head_texts_before(begun_pass.pass, *begun_pass.earlier));
  }
  for (const Begun& begun_pass : begun) begun_pass.analysis->use_head_texts(told);
}

void ModelRun::share() const {
  std::vector<Begun> finished;
  for (const Item& item : items_) {
    auto* const analysis = dynamic_cast<CorpusAnalysis*>(item.analysis.get());
    if (analysis == nullptr) continue;
    finished.push_back({analysis, item.registered->info.n_pass(), item.statistics});
  }
  share(finished);
}

void ModelRun::end_pass() {
  forward_.reset();
  end_forward_.reset();
}

std::uint64_t ModelRun::run_piece(const Pass& pass, std::uint64_t item, std::uint64_t index) {
  if (pass.input == AnalysisInput::corpus) {
    const Piece piece = context_.corpus->piece(document_of(pass, item), index);
    observe(pass, piece);
    return piece.tokens.size();
  }
  DocumentStatistics statistics(*item_of(pass.parts.front().analysis).statistics, item);
  const std::uint64_t n_token = task_analysis(pass).run_batch(item, statistics);
  statistics.end();
  return n_token;
}

void ModelRun::observe(const Pass& pass, const Piece& piece) {
  std::vector<DocumentStatistics> statistics;
  for (const Pass::Part& part : pass.parts) {
    statistics.emplace_back(*item_of(part.analysis).statistics, piece.document);
  }
  std::vector<std::unique_ptr<PieceObserver>> observers;
  std::vector<LayerObserver*> of_layers;
  for (std::size_t i = 0; i < pass.parts.size(); ++i) {
    auto observer = corpus_analysis(pass.parts[i]).begin_piece(piece, statistics[i]);
    if (observer == nullptr) continue;
    of_layers.push_back(observer.get());
    observers.push_back(std::move(observer));
  }
  if (!observers.empty()) {
    const Matrix& resid_final = forward_->run(piece.tokens, of_layers);
    for (const auto& observer : observers) observer->end({resid_final, *end_forward_});
  }
  for (DocumentStatistics& begun_pass : statistics) begun_pass.end();
  if (pass.number > 1 && pass.control == 0) return;
  DocumentStatistics corpus(statistics_[corpus_part], piece.document);
  corpus.sum(token_sum, {1})(0) = static_cast<double>(piece.tokens.size());
  corpus.end();
}

}  // namespace headscope
