#include "tasks/tasks.hpp"

#include "headscope/ablation.hpp"
#include "headscope/direct_effect.hpp"
#include "headscope/figure.hpp"
#include "headscope/gradient.hpp"
#include "headscope/resampling.hpp"
#include "pair_batches.hpp"
#include "tasks/results.hpp"

namespace headscope {
namespace {

const AnalysisInfo tasks_info{
    .name = "tasks",
    .title = "What tasks need which heads",
    .purpose =
        "Measures how the margin on minimal pairs changes without each head, its first-order "
        "prediction, the direct effect of each head, and which later heads make up for it.",
    .source =
        "Warstadt et al. 2020, BLiMP; Michel et al. 2019, Are Sixteen Heads Really Better than "
        "One?; Elhage et al. 2021, A Mathematical Framework for Transformer Circuits; McGrath et "
        "al. "
        "2023, The Hydra Effect",
    .passes = {"averaging heads on tasks", "ablating heads on tasks", "finding backup heads"},
    .input = AnalysisInput::tasks,
};

/// Pass 0 sums z for its mean over each task; pass 1 ablates every head and takes the gradient and
/// the direct effects; pass 2 takes the direct effects again without each head that others make up
/// for.
class Tasks : public TaskAnalysis {
 public:
  explicit Tasks(const AnalysisContext& context)
      : model_(context.model),
        tasks_(context.tasks->tasks()),
        settings_(context.settings),
        batches_(pair_batches(tasks_)),
        forward_(context.model, context.compute),
        ablation_(context.model, context.compute, settings_.ablation(0)),
        gradient_(context.model, context.compute),
        attribution_(context.model) {}

  std::uint64_t n_batch() const override { return batches_.size(); }

  void begin_pass(int pass, const Statistics& earlier) override {
    pass_ = pass;
    if (pass == 1) read_mean_z(earlier);
    repaired_.assign(tasks_.size(), {});
    for (std::size_t task = 0; pass == backup_pass && task < tasks_.size(); ++task) {
      repaired_[task] = repaired_heads(earlier, task, model_.config, settings_);
    }
  }

  double batch_cost(int pass, std::uint64_t batch) const override {
    const auto n_token = static_cast<double>(batches_[batch].n_column);
    if (pass == 0) return n_token;
    if (pass == backup_pass) {
      const std::size_t n_repaired =
          pass_ == backup_pass ? repaired_[batches_[batch].task].size() : most_repaired;
      return n_token * static_cast<double>(n_repaired == 0 ? 0 : n_repaired + 1);
    }
    // Every ablation of each head runs from the head's layer on; then the gradient.
    const auto n_head_total = static_cast<double>(model_.config.n_layer * model_.config.n_head);
    return n_token * (0.5 * n_head_total * n_task_ablation + 4);
  }

  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    if (pass_ == 0) return add_z(batches_[batch], statistics);
    return pass_ == backup_pass ? add_backups(batches_[batch], statistics)
                                : add_effects(batches_[batch], statistics);
  }

  std::vector<ResultsGroup> finish(const Statistics& statistics) const override {
    return {tasks_results(statistics, tasks_, model_.config, settings_)};
  }

  void relate(const Results& all, ResultsGroup& group) const override {
    if (auto claim = looks_does_claim(group, all, settings_)) {
      group.claims.push_back(std::move(*claim));
    }
  }

 private:
  // Pass 0 ----------------------------------------------------------------------------------------

  std::uint64_t add_z(const PairBatch& batch, DocumentStatistics& statistics) {
    const Task& task = tasks_[batch.task];
    const SequenceBatch sequences = sequences_of(task, batch, true);
    const std::vector<double> times = token_counts(task, batch);
    const TaskSums names(batch.task);
    const Index d_z = model_.config.d_z();
    Array& sum = statistics.sum(names.z, {model_.config.n_layer, d_z});
    LayerFunction observer([&](const LayerView& view) {
      for (Index t = 0; t < view.n_token; ++t) {
        for (Index i = 0; i < d_z; ++i) {
          sum(view.layer, i) += times[t] * static_cast<double>(view.z(i, t));
        }
      }
    });
    LayerObserver* const observers[] = {&observer};
    forward_.run(sequences, observers);
    double& n_token = statistics.sum(names.n_token, {1})(0);
    for (const double each : times) n_token += each;
    return sequences.n_column();
  }

  // Pass 1 ----------------------------------------------------------------------------------------

  void read_mean_z(const Statistics& earlier) {
    const ModelConfig& config = model_.config;
    mean_z_.assign(tasks_.size(), Matrix(config.d_z(), config.n_layer, arma::fill::zeros));
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      const TaskSums names(task);
      if (!earlier.has(names.z)) continue;
      const Array sum = earlier.total(names.z);
      const double count = earlier.total(names.n_token)(0);
      for (Index l = 0; l < config.n_layer; ++l) {
        for (Index i = 0; i < config.d_z(); ++i) {
          mean_z_[task](i, l) = static_cast<float>(sum(l, i) / count);
        }
      }
    }
  }

  std::uint64_t add_effects(const PairBatch& batch, DocumentStatistics& statistics) {
    const Task& task = tasks_[batch.task];
    const SequenceBatch sequences = sequences_of(task, batch, false);
    const FirstDifference first = first_difference(task, batch);
    DirectEffects direct(model_, first);
    LayerObserver* const observers[] = {&direct, &ablation_};
    const Matrix& resid_final = forward_.run(sequences, observers);
    const std::vector<double> scales =
        final_scales(model_, Matrix(resid_final.cols(first.columns)));
    const std::vector<TokenLoss> ablated = ablated_losses(batch, sequences);
    const std::vector<double>& clean = ablation_.clean_loss(sequences).nll;
    add_margins(batch, clean, ablated, statistics);
    add_direct_effects(batch, first, direct.divided(scales), statistics);
    add_difference_changes(batch, first, clean, ablated, statistics);
    add_first_order(batch, sequences, statistics);
    return sequences.n_column();
  }

  /// Where the pairs of a batch first differ, those left out whose first word differs or of which a
  /// side ends there.
  struct FirstDifference {
    std::vector<std::size_t> pairs;  ///< in the batch
    arma::uvec columns;              ///< of the last shared tokens in the sequences
    LogitDirections directions;  ///< of logit(good's token) - logit(bad's token), one per column
  };

  FirstDifference first_difference(const Task& task, const PairBatch& batch) const {
    std::vector<std::size_t> pairs;
    std::vector<Index> columns;
    TokenIds good, bad;
    const std::vector<Index> ends = pair_ends(task, batch);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const TaskPair& pair = task.pairs[batch.first + i];
      const Index n_shared = pair.n_shared, begin = i == 0 ? 0 : ends[i - 1];
      if (!pair.differs_at_first_word && n_shared < std::min(pair.good.size(), pair.bad.size())) {
        pairs.push_back(i);
        columns.push_back(begin + n_shared - 1);
        good.push_back(pair.good[n_shared]);
        bad.push_back(pair.bad[n_shared]);
      }
    }
    return {pairs, arma::uvec(columns), attribution_.differences(good, bad)};
  }

  /// Observes the direct effects of all heads on the logits at the pairs' first differences.
  class DirectEffects : public LayerObserver {
   public:
    DirectEffects(const Model& model, const FirstDifference& first)
        : model_(model), first_(first) {}
    void observe_layer(const LayerView& view) override {
      of_layer_.push_back(head_direct_effects(model_.layers[view.layer].W_O,
                                              Matrix(view.z.cols(first_.columns)),
                                              first_.directions.directions, model_.config.n_head));
    }
    /// head_index x pair, logits.
    arma::mat divided(const std::vector<double>& scales) const {
      arma::mat all(model_.config.n_layer * model_.config.n_head, scales.size());
      for (Index l = 0; l < of_layer_.size(); ++l) {
        all.rows(l * model_.config.n_head, (l + 1) * model_.config.n_head - 1) = of_layer_[l];
      }
      return all.each_row() / arma::rowvec(scales);
    }

   private:
    const Model& model_;
    const FirstDifference& first_;
    std::vector<arma::mat> of_layer_;  // n_head x pairs, before the division by the scale
  };

  /// Losses with each head ablated: ablation x head_index.
  std::vector<TokenLoss> ablated_losses(const PairBatch& batch, const SequenceBatch& sequences) {
    const ModelConfig& config = model_.config;
    std::vector<HeadVariant> variants;
    for (const bool to_mean : {false, true}) {
      for (Index l = 0; l < config.n_layer; ++l) {
        // One column stands for all tokens.
        const blas::ConstView mean(mean_z_[batch.task].colptr(l), config.d_z(),
                                   sequences.n_column(), 0);
        for (Index h = 0; h < config.n_head; ++h) {
          variants.push_back({l, {h}, to_mean ? mean : blas::ConstView()});
        }
      }
    }
    return ablation_.losses(sequences, variants);
  }

  /// @param clean  losses of the whole model, by prediction.
  void add_margins(const PairBatch& batch, const std::vector<double>& clean,
                   const std::vector<TokenLoss>& ablated, DocumentStatistics& statistics) const {
    const Index n_layer = model_.config.n_layer, n_head = model_.config.n_head;
    const TaskSums names(batch.task);
    const Shape heads{n_task_ablation, n_layer, n_head};
    const Task& task = tasks_[batch.task];
    const std::vector<double> margins = margins_of(task, batch, clean);
    Array &n_pair = statistics.sum(names.n_pair, {n_document_block}),
          &margin = statistics.sum(names.margin, {n_document_block}),
          &correct = statistics.sum(names.correct, {n_document_block}),
          &change = statistics.sum(names.margin_change,
                                   {n_document_block, n_task_ablation, n_layer, n_head}),
          &squared = statistics.sum(names.squared_change, heads),
          &correct_change = statistics.sum(names.correct_change, heads);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const std::size_t block = block_of(batch, i);
      n_pair(block) += 1;
      margin(block) += margins[i];
      correct(block) += margins[i] > 0 ? 1 : 0;
    }
    for (std::size_t variant = 0; variant < ablated.size(); ++variant) {
      const std::vector<double> without = margins_of(task, batch, ablated[variant].nll);
      for (std::size_t i = 0; i < batch.count; ++i) {
        const double lost = without[i] - margins[i];
        change.values[block_of(batch, i) * ablated.size() + variant] += lost;
        squared.values[variant] += lost * lost;
        correct_change.values[variant] += (without[i] > 0 ? 1 : 0) - (margins[i] > 0 ? 1 : 0);
      }
    }
  }

  std::size_t block_of(const PairBatch& batch, std::size_t i) const {
    return document_block(batch.first + i, tasks_[batch.task].pairs.size());
  }

  Shape heads_by_block() const {
    return {n_document_block, model_.config.n_layer, model_.config.n_head};
  }

  /// @param direct  head_index x pair.
  void add_direct_effects(const PairBatch& batch, const FirstDifference& first,
                          const arma::mat& direct, DocumentStatistics& statistics) const {
    const TaskSums names(batch.task);
    Array &n_pair = statistics.sum(names.n_direct_effect, {n_document_block}),
          &sum = statistics.sum(names.direct_effect, heads_by_block());
    for (std::size_t i = 0; i < first.pairs.size(); ++i) {
      const std::size_t block = block_of(batch, first.pairs[i]);
      n_pair(block) += 1;
      for (Index head_index = 0; head_index < direct.n_rows; ++head_index) {
        sum.values[block * direct.n_rows + head_index] += direct(head_index, i);
      }
    }
  }

  /// @param clean    losses of the whole model, by prediction.
  /// @param ablated  ablation x head_index.
  void add_difference_changes(const PairBatch& batch, const FirstDifference& first,
                              const std::vector<double>& clean,
                              const std::vector<TokenLoss>& ablated,
                              DocumentStatistics& statistics) const {
    const Task& task = tasks_[batch.task];
    const std::size_t n_head_total = ablated.size() / n_task_ablation;
    Array& sum = statistics.sum(TaskSums(batch.task).difference_change, heads_by_block());
    const std::vector<double> whole = first_differences_of(task, batch, clean);
    for (std::size_t head_index = 0; head_index < n_head_total; ++head_index) {
      const std::vector<double> without =
          first_differences_of(task, batch, ablated[head_index].nll);
      for (const std::size_t i : first.pairs) {
        sum.values[block_of(batch, i) * n_head_total + head_index] += without[i] - whole[i];
      }
    }
  }

  /// Pairs do not depend on each other: one backward pass from the sum of their margins.
  void add_first_order(const PairBatch& batch, const SequenceBatch& sequences,
                       DocumentStatistics& statistics) {
    const ModelConfig& config = model_.config;
    const std::vector<float> weights = margin_weights(tasks_[batch.task], batch);
    Array& sum = statistics.sum(TaskSums(batch.task).first_order, {config.n_layer, config.n_head});
    gradient_.run(ablation_.activations(), sequences, weights, [&](const LayerGradient& view) {
      const arma::mat products = z_dot_gradient(view, config.n_head);
      for (Index h = 0; h < config.n_head; ++h) {
        sum(view.layer, h) -= arma::accu(products.row(h));
      }
    });
  }

  // Pass 2 ----------------------------------------------------------------------------------------

  /// The direct effects of all heads without each repaired one, minus those in the whole model, by
  /// the whole model's final scale.
  std::uint64_t add_backups(const PairBatch& batch, DocumentStatistics& statistics) {
    const std::vector<Index>& repaired = repaired_[batch.task];
    const ModelConfig& config = model_.config;
    const Task& task = tasks_[batch.task];
    const FirstDifference first = first_difference(task, batch);
    if (repaired.empty() || first.pairs.empty()) return 0;
    const SequenceBatch sequences = sequences_of(task, batch, false);
    std::vector<double> scales;
    const auto direct_effects = [&](const ForwardChange& change) {
      DirectEffects direct(model_, first);
      LayerObserver* const observers[] = {&direct};
      const Matrix& resid_final = forward_.run(sequences, observers, change);
      if (scales.empty()) {
        scales = final_scales(model_, Matrix(resid_final.cols(first.columns)));
      }
      return direct.divided(scales);
    };
    const arma::mat whole = direct_effects({});
    const Index n_head_total = whole.n_rows;
    const TaskSums names(batch.task);
    Array &change = statistics.sum(names.backup_change,
                                   {n_document_block, repaired.size(), n_head_total}),
          &squared = statistics.sum(names.squared_backup, {repaired.size(), n_head_total});
    for (std::size_t place = 0; place < repaired.size(); ++place) {
      const auto [layer, head] = HeadIndex::of(repaired[place], config.n_head);
      const Index first_row = head * config.d_head();
      const auto to_zero = [&, of_layer = layer](Index l, const Matrix&, Matrix& z) {
        if (l == of_layer) z.rows(first_row, first_row + config.d_head() - 1).zeros();
      };
      const arma::mat grown = direct_effects({.z = to_zero}) - whole;
      for (std::size_t i = 0; i < first.pairs.size(); ++i) {
        const std::size_t block = block_of(batch, first.pairs[i]);
        for (Index head_index = 0; head_index < n_head_total; ++head_index) {
          const double each = grown(head_index, i);
          change(block, place, head_index) += each;
          squared(place, head_index) += each * each;
        }
      }
    }
    return sequences.n_column();
  }

  const Model& model_;
  const std::vector<Task>& tasks_;
  const AnalysisSettings& settings_;
  std::vector<PairBatch> batches_;
  Forward forward_;
  HeadAblation ablation_;
  HeadGradient gradient_;
  LogitAttribution attribution_;

  int pass_ = 0;
  std::vector<Matrix> mean_z_;                // per task, d_z x layer
  std::vector<std::vector<Index>> repaired_;  // per task, in the backup pass
};

std::uint64_t memory(const RunShape& run) {
  const ModelConfig& config = run.config;
  const std::uint64_t n_head_total = run.n_head_total(),
                      n_column = most_batch_columns(config.n_ctx);
  // Sums of all tasks, those of one batch and the resamples of one result.
  const std::uint64_t effects = n_task_ablation * n_head_total,
                      n_repaired = std::min<std::uint64_t>(most_repaired, n_head_total),
                      by_block = effects + (2 + n_repaired) * n_head_total + 4,
                      sums = n_document_block * by_block + 2 * effects +
                             (1 + n_repaired) * n_head_total + config.n_layer * config.d_z();
  const Engines engines = run.settings.engines;
  return Forward::bytes(config, n_column, false) +
         Forward::loss_bytes(config, n_column, run.n_thread) +
         HeadAblation::bytes(config, n_column, run.n_thread, engines) +
         HeadGradient::bytes(config, n_column, run.n_thread, engines) +
         ComputeContext::bytes(config, n_column, run.n_thread, engines) +
         // The last shared tokens' z; losses and margins of a batch.
         config.d_z() * n_column * sizeof(float) + 3 * effects * n_column * sizeof(double) +
         run.n_task *
             (sums * Statistics::sum_bytes + config.n_layer * config.d_z() * sizeof(float)) +
         run.settings.n_bootstrap * std::max(effects, n_repaired * n_head_total) * sizeof(double);
}

}  // namespace

RegisteredAnalysis tasks_analysis() {
  return registered<Tasks>(tasks_info, tasks_figures, tasks_presentation(), memory);
}

}  // namespace headscope
