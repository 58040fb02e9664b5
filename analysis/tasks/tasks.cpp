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
        "How much less a model prefers the better side of minimal pairs without each head, its "
        "first-order prediction, and each head's direct effect.",
    .source =
        "Warstadt et al. 2020, BLiMP; Michel et al. 2019, Are Sixteen Heads Really Better than "
        "One?; Elhage et al. 2021, A Mathematical Framework for Transformer Circuits",
    .passes = {"averaging heads on tasks", "ablating heads on tasks"},
    .input = AnalysisInput::tasks,
};

/// Pass 0 sums z for its mean over each task; pass 1 ablates every head and takes the gradient and
/// the direct effects.
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
  }

  double batch_cost(int pass, std::uint64_t batch) const override {
    const auto n_token = static_cast<double>(batches_[batch].n_column);
    if (pass == 0) return n_token;
    // Every ablation of each head runs from the head's layer on; then the gradient.
    const auto n_head_total = static_cast<double>(model_.config.n_layer * model_.config.n_head);
    return n_token * (0.5 * n_head_total * n_task_ablation + 4);
  }

  std::uint64_t run_batch(std::uint64_t batch, DocumentStatistics& statistics) override {
    return pass_ == 0 ? add_z(batches_[batch], statistics)
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
    const Index d_model = model_.config.d_model;
    Array& sum = statistics.sum(names.z, {model_.config.n_layer, d_model});
    LayerFunction observer([&](const LayerView& view) {
      for (Index t = 0; t < view.n_token; ++t) {
        for (Index i = 0; i < d_model; ++i) {
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
    mean_z_.assign(tasks_.size(), Matrix(config.d_model, config.n_layer, arma::fill::zeros));
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      const TaskSums names(task);
      if (!earlier.has(names.z)) continue;
      const Array sum = earlier.total(names.z);
      const double count = earlier.total(names.n_token)(0);
      for (Index l = 0; l < config.n_layer; ++l) {
        for (Index i = 0; i < config.d_model; ++i) {
          mean_z_[task](i, l) = static_cast<float>(sum(l, i) / count);
        }
      }
    }
  }

  std::uint64_t add_effects(const PairBatch& batch, DocumentStatistics& statistics) {
    const ModelConfig& config = model_.config;
    const Task& task = tasks_[batch.task];
    const SequenceBatch sequences = sequences_of(task, batch, false);
    const FirstDifference first = first_difference(task, batch);
    std::vector<arma::mat> direct;
    LayerFunction observer([&](const LayerView& view) {
      direct.push_back(head_direct_effects(model_.layers[view.layer].W_O,
                                           Matrix(view.z.cols(first.columns)),
                                           first.directions.directions, config.n_head));
    });
    LayerObserver* const observers[] = {&observer, &ablation_};
    const Matrix& resid_final = forward_.run(sequences, observers);
    add_margins(batch, margins_of(task, batch, ablation_.clean_loss(sequences).nll),
                ablated_margins(batch, sequences), statistics);
    add_direct_effects(batch, Matrix(resid_final.cols(first.columns)), direct, statistics);
    add_first_order(batch, sequences, statistics);
    return sequences.n_column();
  }

  /// Where the pairs of a batch first differ, those left out whose first word differs or of which a
  /// side ends there.
  struct FirstDifference {
    arma::uvec columns;          ///< of the last shared tokens in the sequences
    LogitDirections directions;  ///< of logit(good's token) - logit(bad's token), one per column
  };

  FirstDifference first_difference(const Task& task, const PairBatch& batch) const {
    std::vector<Index> columns;
    TokenIds good, bad;
    const std::vector<Index> ends = pair_ends(task, batch);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const TaskPair& pair = task.pairs[batch.first + i];
      const Index n_shared = pair.n_shared, begin = i == 0 ? 0 : ends[i - 1];
      if (!pair.differs_at_first_word && n_shared < std::min(pair.good.size(), pair.bad.size())) {
        columns.push_back(begin + n_shared - 1);
        good.push_back(pair.good[n_shared]);
        bad.push_back(pair.bad[n_shared]);
      }
    }
    return {arma::uvec(columns), attribution_.differences(good, bad)};
  }

  /// Margins with each head ablated: ablation x head_index, of pairs.
  std::vector<std::vector<double>> ablated_margins(const PairBatch& batch,
                                                   const SequenceBatch& sequences) {
    const ModelConfig& config = model_.config;
    std::vector<HeadVariant> variants;
    for (const bool to_mean : {false, true}) {
      for (Index l = 0; l < config.n_layer; ++l) {
        // One column stands for all tokens.
        const blas::ConstView mean(mean_z_[batch.task].colptr(l), config.d_model,
                                   sequences.n_column(), 0);
        for (Index h = 0; h < config.n_head; ++h) {
          variants.push_back({l, {h}, to_mean ? mean : blas::ConstView()});
        }
      }
    }
    std::vector<std::vector<double>> margins;
    for (const TokenLoss& loss : ablation_.losses(sequences, variants)) {
      margins.push_back(margins_of(tasks_[batch.task], batch, loss.nll));
    }
    return margins;
  }

  /// @param margins  of the whole model, by pair.
  void add_margins(const PairBatch& batch, const std::vector<double>& margins,
                   const std::vector<std::vector<double>>& ablated,
                   DocumentStatistics& statistics) const {
    const Index n_layer = model_.config.n_layer, n_head = model_.config.n_head;
    const TaskSums names(batch.task);
    const Shape heads{n_task_ablation, n_layer, n_head};
    Array &n_pair = statistics.sum(names.n_pair, {n_document_block}),
          &margin = statistics.sum(names.margin, {n_document_block}),
          &correct = statistics.sum(names.correct, {n_document_block}),
          &change = statistics.sum(names.margin_change,
                                   {n_document_block, n_task_ablation, n_layer, n_head}),
          &squared = statistics.sum(names.squared_change, heads),
          &correct_change = statistics.sum(names.correct_change, heads);
    for (std::size_t i = 0; i < batch.count; ++i) {
      const std::size_t block = document_block(batch.first + i, tasks_[batch.task].pairs.size());
      n_pair(block) += 1;
      margin(block) += margins[i];
      correct(block) += margins[i] > 0 ? 1 : 0;
      for (std::size_t variant = 0; variant < ablated.size(); ++variant) {
        const double without = ablated[variant][i], lost = without - margins[i];
        change.values[block * ablated.size() + variant] += lost;
        squared.values[variant] += lost * lost;
        correct_change.values[variant] += (without > 0 ? 1 : 0) - (margins[i] > 0 ? 1 : 0);
      }
    }
  }

  /// @param resid_final  of the last shared tokens.
  /// @param direct       by layer, n_head x pairs, before the division by the scale.
  void add_direct_effects(const PairBatch& batch, const Matrix& resid_final,
                          const std::vector<arma::mat>& direct,
                          DocumentStatistics& statistics) const {
    const ModelConfig& config = model_.config;
    const TaskSums names(batch.task);
    const std::vector<double> scales = final_scales(resid_final, config.layer_norm_epsilon);
    Array& sum = statistics.sum(names.direct_effect, {config.n_layer, config.n_head});
    statistics.sum(names.n_direct_effect, {1})(0) += static_cast<double>(scales.size());
    for (Index l = 0; l < config.n_layer; ++l) {
      for (Index i = 0; i < scales.size(); ++i) {
        for (Index h = 0; h < config.n_head; ++h) sum(l, h) += direct[l](h, i) / scales[i];
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

  const Model& model_;
  const std::vector<Task>& tasks_;
  const AnalysisSettings& settings_;
  std::vector<PairBatch> batches_;
  Forward forward_;
  HeadAblation ablation_;
  HeadGradient gradient_;
  LogitAttribution attribution_;

  int pass_ = 0;
  std::vector<Matrix> mean_z_;  // per task, d_model x layer
};

std::uint64_t memory(const RunShape& run) {
  const ModelConfig& config = run.config;
  const std::uint64_t n_head_total = run.n_head_total(),
                      n_column = most_batch_columns(config.n_ctx);
  // Sums of all tasks, those of one batch and the resamples of one result.
  const std::uint64_t effects = n_task_ablation * n_head_total,
                      sums = (n_document_block + 2) * effects + 2 * n_head_total +
                             config.n_layer * config.d_model + 3 * n_document_block;
  const Engines engines = run.settings.engines();
  return Forward::bytes(config, n_column, false) +
         Forward::loss_bytes(config, n_column, run.n_thread) +
         HeadAblation::bytes(config, n_column, run.n_thread, engines) +
         HeadGradient::bytes(config, n_column, run.n_thread, engines) +
         ComputeContext::bytes(config, n_column, run.n_thread, engines) +
         // The last shared tokens' z; losses and margins of a batch.
         config.d_model * n_column * sizeof(float) + 3 * effects * n_column * sizeof(double) +
         run.n_task *
             (sums * Statistics::sum_bytes + config.n_layer * config.d_model * sizeof(float)) +
         run.settings.n_bootstrap * effects * sizeof(double);
}

}  // namespace

RegisteredAnalysis tasks_analysis() {
  return registered<Tasks>(tasks_info, tasks_figures, tasks_presentation(), memory);
}

}  // namespace headscope
