#include "run/corpus_run.hpp"

#include <algorithm>

namespace headscope {
namespace {

const std::string corpus_part = "corpus", token_sum = "n_token";

/// Shows the layers of one piece to an analysis.
class PieceObserver : public LayerObserver {
 public:
  PieceObserver(Analysis& analysis, DocumentStatistics statistics)
      : analysis_(analysis), statistics_(std::move(statistics)) {}

  bool begin(const Piece& piece) { return analysis_.begin_piece(piece, statistics_); }
  bool wants_pattern(Index layer) const override { return analysis_.wants_pattern(layer); }
  void observe_layer(const LayerView& view) override { analysis_.observe_layer(view, statistics_); }
  void end(const PieceEnd& end) { analysis_.end_piece(end, statistics_); }
  void add_to_totals() { statistics_.end(); }

 private:
  Analysis& analysis_;
  DocumentStatistics statistics_;
};

int corpus_pass_count(const std::vector<const RegisteredAnalysis*>& analyses) {
  int count = 0;
  for (const RegisteredAnalysis* analysis : analyses) {
    if (analysis->info.needs_corpus()) count = std::max(count, analysis->info.n_pass);
  }
  return count;
}

}  // namespace

int pass_count(const std::vector<const RegisteredAnalysis*>& analyses) {
  int of_tasks = 0;
  for (const RegisteredAnalysis* analysis : analyses) {
    if (analysis->info.needs_tasks()) of_tasks += analysis->info.n_pass;
  }
  return corpus_pass_count(analyses) + of_tasks;
}

CorpusRun::CorpusRun(const std::vector<const RegisteredAnalysis*>& analyses,
                     const AnalysisContext& context)
    : model_(context.model),
      corpus_(context.corpus),
      n_corpus_pass_(corpus_pass_count(analyses)),
      n_pass_(pass_count(analyses)) {
  for (const RegisteredAnalysis* registered : analyses) {
    items_.push_back({registered, registered->make(context), &statistics_[registered->info.name]});
  }
}

void CorpusRun::begin_pass(int pass) {
  for (auto& [name, statistics] : statistics_) statistics.seal();
  in_pass_.clear();
  with_batches_ = nullptr;
  int first_pass = n_corpus_pass_;  // of the next analysis of tasks
  for (Item& item : items_) {
    const AnalysisInfo& info = item.registered->info;
    if (info.needs_tasks()) {
      const int own_pass = pass - first_pass;
      first_pass += info.n_pass;
      if (own_pass < 0 || own_pass >= info.n_pass) continue;
      item.analysis->begin_pass(own_pass, *item.statistics);
      with_batches_ = &item;
    } else if (info.needs_corpus() && pass < n_corpus_pass_) {
      const int own_pass = pass - (n_corpus_pass_ - info.n_pass);
      if (own_pass < 0) continue;
      item.analysis->begin_pass(own_pass, *item.statistics);
      in_pass_.push_back(&item);
    }
  }
  first_pass_ = pass == 0;
  if (with_batches_ != nullptr) {
    forward_.reset();
    end_forward_.reset();
    return;
  }
  if (forward_ != nullptr) return;
  forward_ = std::make_unique<Forward>(model_);
  end_forward_ = std::make_unique<Forward>(model_);
}

std::uint64_t CorpusRun::n_item() const {
  return with_batches_ != nullptr ? with_batches_->analysis->n_batch() : corpus_->n_document();
}

const char* CorpusRun::item_name() const {
  return with_batches_ != nullptr ? "batches of pairs" : "documents";
}

double CorpusRun::forward_passes(std::uint64_t item) const {
  if (with_batches_ != nullptr) return with_batches_->analysis->forward_passes(item);
  double count = 1;
  for (const Item* each : in_pass_) count += each->analysis->forward_passes(item);
  return count;
}

std::uint64_t CorpusRun::n_piece(std::uint64_t item) const {
  return with_batches_ != nullptr ? 1 : corpus_->n_piece(item);
}

std::uint64_t CorpusRun::run_piece(std::uint64_t item, std::uint64_t index) {
  if (with_batches_ != nullptr) {
    DocumentStatistics statistics(*with_batches_->statistics, item);
    const std::uint64_t n_token = with_batches_->analysis->run_batch(item, statistics);
    statistics.end();
    return n_token;
  }
  const Piece piece = corpus_->piece(item, index);
  observe(piece);
  return piece.tokens.size();
}

void CorpusRun::observe(const Piece& piece) {
  std::vector<PieceObserver> observers;
  for (const Item* item : in_pass_) {
    observers.push_back({*item->analysis, {*item->statistics, piece.document}});
  }
  std::vector<PieceObserver*> observing;
  for (PieceObserver& observer : observers) {
    if (observer.begin(piece)) observing.push_back(&observer);
  }
  if (!observing.empty()) {
    const std::vector<LayerObserver*> of_layers(observing.begin(), observing.end());
    const Matrix& resid_final = forward_->run(piece.tokens, of_layers);
    for (PieceObserver* observer : observing) observer->end({resid_final, *end_forward_});
  }
  for (PieceObserver& observer : observers) observer.add_to_totals();
  if (!first_pass_) return;
  DocumentStatistics corpus(statistics_[corpus_part], piece.document);
  corpus.sum(token_sum, {1})(0) = static_cast<double>(piece.tokens.size());
  corpus.end();
}

void CorpusRun::end() {
  for (auto& [name, statistics] : statistics_) statistics.seal();
  forward_.reset();
  end_forward_.reset();
}

void CorpusRun::merge(const StatisticsByName& part) {
  for (const auto& [name, statistics] : part) statistics_[name].merge(statistics);
}

std::uint64_t CorpusRun::n_token() const {
  const auto corpus = statistics_.find(corpus_part);
  if (corpus == statistics_.end() || !corpus->second.has(token_sum)) return 0;
  return static_cast<std::uint64_t>(corpus->second.total(token_sum)(0));
}

}  // namespace headscope
