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

/// Mean over pieces spread over the corpus.
double mean_piece_tokens(const Corpus& corpus) {
  constexpr std::uint64_t most = 8;
  const std::uint64_t n_sample = std::min(most, corpus.n_document());
  double n_token = 0;
  for (std::uint64_t i = 0; i < n_sample; ++i) {
    n_token += static_cast<double>(corpus.piece(i * corpus.n_document() / n_sample).tokens.size());
  }
  return n_token / static_cast<double>(n_sample);
}

}  // namespace

std::vector<PassPlan> plan_passes(const std::vector<const RegisteredAnalysis*>& analyses) {
  int n_corpus_pass = 0;
  for (const RegisteredAnalysis* analysis : analyses) {
    if (analysis->info.needs_corpus()) {
      n_corpus_pass = std::max(n_corpus_pass, analysis->info.n_pass());
    }
  }
  std::vector<PassPlan> passes(static_cast<std::size_t>(n_corpus_pass));
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    const AnalysisInfo& info = analyses[i]->info;
    for (int pass = 0; pass < info.n_pass(); ++pass) {
      if (info.needs_tasks()) {
        passes.push_back({AnalysisInput::tasks, {{i, pass}}});
      } else {
        passes[static_cast<std::size_t>(n_corpus_pass - info.n_pass() + pass)].parts.push_back(
            {i, pass});
      }
    }
  }
  return passes;
}

int pass_count(const std::vector<const RegisteredAnalysis*>& analyses) {
  return static_cast<int>(plan_passes(analyses).size());
}

CorpusRun::CorpusRun(const std::vector<const RegisteredAnalysis*>& analyses,
                     const AnalysisContext& context, ControlSample sample)
    : CorpusRun(analyses, context) {
  PassPlan plan;
  for (std::size_t i = 0; i < analyses.size(); ++i) {
    plan.parts.push_back({i, analyses[i]->info.control_pass});
  }
  passes_ = {std::move(plan)};
  sample_ = std::move(sample);
}

CorpusRun::CorpusRun(const std::vector<const RegisteredAnalysis*>& analyses,
                     const AnalysisContext& context)
    : model_(context.model),
      compute_(context.compute),
      corpus_(context.corpus),
      passes_(plan_passes(analyses)) {
  for (const RegisteredAnalysis* registered : analyses) {
    items_.push_back({registered, registered->make(context), &statistics_[registered->info.name]});
  }
  if (corpus_ != nullptr) tokens_per_piece_ = mean_piece_tokens(*corpus_);
}

std::uint64_t CorpusRun::n_item(int pass) const {
  const PassPlan& plan = passes_.at(static_cast<std::size_t>(pass));
  if (plan.input == AnalysisInput::tasks) return analysis_of(plan.parts.front()).n_batch();
  return sample_ ? sample_->documents.size() : corpus_->n_document();
}

std::uint64_t CorpusRun::n_piece(int pass, std::uint64_t item) const {
  const PassPlan& plan = passes_.at(static_cast<std::size_t>(pass));
  return plan.input == AnalysisInput::tasks ? 1 : corpus_->n_piece(document_of(item));
}

const char* CorpusRun::item_name(int pass) const {
  const PassPlan& plan = passes_.at(static_cast<std::size_t>(pass));
  return plan.input == AnalysisInput::tasks ? "batch" : "document";
}

std::string CorpusRun::phase(int pass) const {
  const PassPlan& plan = passes_.at(static_cast<std::size_t>(pass));
  const auto phase_of = [&](const PassPlan::Part& part) {
    return items_[part.analysis].registered->info.passes.at(static_cast<std::size_t>(part.pass));
  };
  if (plan.parts.size() == 1) return phase_of(plan.parts.front());
  for (const PassPlan::Part& part : plan.parts) {
    double own = 0, all = 0;
    for (std::uint64_t item = 0; item < n_item(pass); ++item) {
      own += tokens_per_piece_ *
             analysis_of(part).piece_cost(part.pass, document_of(item)).forward_passes;
      all += cost(pass, item);
    }
    if (2 * own > all) return phase_of(part);
  }
  return "observing heads";
}

double CorpusRun::cost(int pass, std::uint64_t item) const {
  const PassPlan& plan = passes_.at(static_cast<std::size_t>(pass));
  if (plan.input == AnalysisInput::tasks) {
    return analysis_of(plan.parts.front()).batch_cost(plan.parts.front().pass, item);
  }
  double forward_passes = 0;
  bool is_observed = false;
  for (const PassPlan::Part& part : plan.parts) {
    const PieceCost own = analysis_of(part).piece_cost(part.pass, document_of(item));
    forward_passes += own.forward_passes;
    is_observed = is_observed || own.observes;
  }
  return tokens_per_piece_ * (forward_passes + (is_observed ? 1 : 0));
}

void CorpusRun::begin_pass(int pass) {
  for (auto& [name, statistics] : statistics_) statistics.seal();
  pass_ = pass;
  const PassPlan& plan = passes_.at(static_cast<std::size_t>(pass));
  for (const PassPlan::Part& part : plan.parts) {
    const Item& item = items_[part.analysis];
    const Statistics& earlier =
        sample_ ? sample_->trained->statistics().at(item.registered->info.name) : *item.statistics;
    item.analysis->begin_pass(part.pass, earlier);
  }
  if (plan.input == AnalysisInput::tasks) {
    forward_.reset();
    end_forward_.reset();
  } else if (forward_ == nullptr) {
    forward_ = std::make_unique<Forward>(model_, compute_);
    end_forward_ = std::make_unique<Forward>(model_, compute_);
  }
}

std::uint64_t CorpusRun::run_piece(std::uint64_t item, std::uint64_t index) {
  const PassPlan& plan = passes_.at(static_cast<std::size_t>(pass_));
  if (plan.input == AnalysisInput::tasks) {
    const Item& own = items_[plan.parts.front().analysis];
    DocumentStatistics statistics(*own.statistics, item);
    const std::uint64_t n_token = own.analysis->run_batch(item, statistics);
    statistics.end();
    return n_token;
  }
  const Piece piece = corpus_->piece(document_of(item), index);
  observe(piece);
  return piece.tokens.size();
}

void CorpusRun::observe(const Piece& piece) {
  std::vector<PieceObserver> observers;
  for (const PassPlan::Part& part : passes_.at(static_cast<std::size_t>(pass_)).parts) {
    const Item& item = items_[part.analysis];
    observers.push_back({*item.analysis, {*item.statistics, piece.document}});
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
  if (pass_ != 0) return;
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
