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

}  // namespace

int pass_count(const std::vector<const RegisteredAnalysis*>& analyses) {
  int count = 0;
  for (const RegisteredAnalysis* analysis : analyses) {
    count = std::max(count, analysis->info.n_pass);
  }
  return count;
}

CorpusRun::CorpusRun(const std::vector<const RegisteredAnalysis*>& analyses,
                     const AnalysisContext& context)
    : model_(context.model), n_pass_(pass_count(analyses)) {
  for (const RegisteredAnalysis* registered : analyses) {
    items_.push_back({registered, registered->make(context), &statistics_[registered->info.name]});
  }
}

void CorpusRun::begin_pass(int pass) {
  for (auto& [name, statistics] : statistics_) statistics.seal();
  in_pass_.clear();
  for (Item& item : items_) {
    const AnalysisInfo& info = item.registered->info;
    const int own_pass = pass - (n_pass_ - info.n_pass);
    if (!info.needs_corpus() || own_pass < 0) continue;
    item.analysis->begin_pass(own_pass, *item.statistics);
    in_pass_.push_back(&item);
  }
  first_pass_ = pass == 0;
  if (forward_ != nullptr) return;
  forward_ = std::make_unique<Forward>(model_);
  end_forward_ = std::make_unique<Forward>(model_);
}

double CorpusRun::forward_passes(std::uint64_t document) const {
  double count = 1;
  for (const Item* item : in_pass_) count += item->analysis->forward_passes(document);
  return count;
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
