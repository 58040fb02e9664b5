#include "tasks/results.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "headscope/number_text.hpp"

namespace headscope {
namespace {

/// A head is needed from this share of the margin on.
constexpr double needed_share = 0.10;

const char* const warstadt = "Warstadt et al. 2020, BLiMP";
const char* const ablation_source = "Michel et al. 2019; margins: Warstadt et al. 2020, BLiMP";
const std::string ablations =
    "zero: z set to 0; mean: z set to its mean over the tokens of the task's good and bad sides, "
    "position 0 left out";

/// One task's values; heads are ablation x layer x head or layer x head.
struct TaskValues {
  double n_pair = 0, n_pair_direct = 0;
  std::vector<Estimate> means;   ///< accuracy, margin
  std::vector<Estimate> change;  ///< of the margin
  std::vector<double> p, correct_change, first_order, direct_effect;
};

double sum_of(const Array& values, const Weights& weights) {
  return std::inner_product(values.values.begin(), values.values.end(), weights.begin(), 0.0);
}

std::vector<double> divided(const Array& sums, double count) {
  std::vector<double> means = sums.values;
  for (double& mean : means) mean /= count;
  return means;
}

/// @param n_effect  ablations times heads.
TaskValues task_values(const Statistics& statistics, std::size_t task, std::size_t n_effect,
                       const AnalysisSettings& settings) {
  const TaskSums names(task);
  TaskValues values;
  values.means.resize(2);
  values.change.resize(n_effect);
  for (auto* each : {&values.p, &values.correct_change}) each->assign(n_effect, std::nan(""));
  for (auto* each : {&values.first_order, &values.direct_effect}) {
    each->assign(n_effect / n_task_ablation, std::nan(""));
  }
  if (!statistics.has(names.n_pair)) return values;

  const Array n_pair = statistics.total(names.n_pair), margin = statistics.total(names.margin),
              correct = statistics.total(names.correct),
              change = statistics.total(names.margin_change);
  const Bootstrap bootstrap =
      Bootstrap::of_documents(n_pair.values, settings.n_bootstrap, settings.seed);
  values.n_pair = sum_of(n_pair, bootstrap.whole());
  values.means = bootstrap.estimates([&](const Weights& weights) {
    const double n = sum_of(n_pair, weights);
    return std::vector<double>{sum_of(correct, weights) / n, sum_of(margin, weights) / n};
  });
  values.means[0] = within(std::move(values.means[0]), 0, 1);
  values.change = bootstrap.estimates([&](const Weights& weights) {
    std::vector<double> mean(n_effect, 0);
    const double n = sum_of(n_pair, weights);
    for (std::size_t block = 0; block < n_document_block; ++block) {
      if (weights[block] == 0) continue;
      const double* const of_block = change.values.data() + block * n_effect;
      for (std::size_t i = 0; i < n_effect; ++i) mean[i] += weights[block] * of_block[i] / n;
    }
    return mean;
  });
  const Array squared = statistics.total(names.squared_change);
  for (std::size_t i = 0; i < n_effect; ++i) {
    values.p[i] =
        paired_t_p(values.n_pair, values.change[i].value * values.n_pair, squared.values[i]);
  }
  values.correct_change = divided(statistics.total(names.correct_change), values.n_pair);
  values.first_order = divided(statistics.total(names.first_order), values.n_pair);
  values.n_pair_direct = statistics.total(names.n_direct_effect)(0);
  values.direct_effect = divided(statistics.total(names.direct_effect), values.n_pair_direct);
  return values;
}

/// Fills the group; heads are by task.
class ResultsBuilder {
 public:
  ResultsBuilder(const std::vector<Task>& tasks, const std::vector<TaskValues>& values,
                 const ModelConfig& config, ResultsGroup& group)
      : tasks_(tasks), values_(values), config_(config), group_(group) {}

  void add_tasks() {
    const auto count = [&](const char* name, const char* definition, const auto& of_task) {
      Array counts({tasks_.size()});
      for (std::size_t i = 0; i < tasks_.size(); ++i) counts(i) = static_cast<double>(of_task(i));
      group_.add(Variable::integer(name, {"task"}, counts, definition, "count", own_definition));
    };
    count("n_pair", "pairs run", [&](std::size_t i) { return values_[i].n_pair; });
    count("n_same", "pairs left out whose sides have the same tokens",
          [&](std::size_t i) { return tasks_[i].n_same; });
    count("n_too_long", "pairs left out with a side longer than the context",
          [&](std::size_t i) { return tasks_[i].n_too_long; });
    count("n_pair_direct",
          "pairs of direct_effect: their sides begin with the same word, and both go on where they "
          "first differ",
          [&](std::size_t i) { return values_[i].n_pair_direct; });
    std::vector<std::string> relations;
    for (const Task& task : tasks_) relations.push_back(task.relation);
    group_.add(Variable::strings("relation", {"task"}, relations,
                                 "the Universal Dependencies relation that the task is about, as "
                                 "its file says; empty: none",
                                 own_definition));
    std::vector<Estimate> accuracy, margin;
    for (const TaskValues& task : values_) {
      accuracy.push_back(task.means[0]);
      margin.push_back(task.means[1]);
    }
    const auto add = [&](const char* name, const std::vector<Estimate>& estimates,
                         const char* definition, const char* units) {
      group_.add(Variable::estimated(name, {"task"}, {tasks_.size()}, estimates, "pairs resampled",
                                     definition, units, warstadt));
    };
    add("accuracy", accuracy, "share of pairs with a margin above 0", "1");
    add("margin", margin,
        "mean over pairs of the log probability of the good side minus that of the bad side, over "
        "all tokens after <|endoftext|>; tokens that both begin with cancel",
        "nats per pair");
  }

  void add_changes() {
    const Dimensions by_ablation{"ablation", "task", "layer", "head"};
    const Shape shape{n_task_ablation, tasks_.size(), config_.n_layer, config_.n_head};
    std::vector<Estimate> change;
    std::vector<double> p, q, correct;
    for (std::size_t ablation = 0; ablation < n_task_ablation; ++ablation) {
      std::vector<double> of_ablation;
      for (const TaskValues& task : values_) {
        for (std::size_t i = ablation * n_unit(); i < (ablation + 1) * n_unit(); ++i) {
          change.push_back(task.change[i]);
          of_ablation.push_back(task.p[i]);
          correct.push_back(task.correct_change[i]);
        }
      }
      const std::vector<double> adjusted = benjamini_hochberg(of_ablation);
      p.insert(p.end(), of_ablation.begin(), of_ablation.end());
      q.insert(q.end(), adjusted.begin(), adjusted.end());
    }
    group_.add(Variable::estimated(
        "margin_change", by_ablation, shape, change, "pairs resampled",
        "mean margin with the head ablated minus that of the whole model; " + ablations,
        "nats per pair", ablation_source));
    group_.add(Variable::real("margin_change_p", by_ablation, Array(shape, p),
                              "two-sided p-value of margin_change, by a paired t-test over pairs",
                              "probability", "Student 1908"));
    group_.add(Variable::real("margin_change_q", by_ablation, Array(shape, q),
                              "margin_change_p adjusted over all heads and tasks of the ablation",
                              "probability", "Benjamini & Hochberg 1995"));
    group_.add(Variable::real("accuracy_change", by_ablation, Array(shape, correct),
                              "accuracy with the head ablated minus that of the whole model", "1",
                              ablation_source));
    add_share_lost(q);
  }

  void add_predictions() {
    const Dimensions by_head{"task", "layer", "head"};
    const Shape shape{tasks_.size(), config_.n_layer, config_.n_head};
    std::vector<double> first_order, direct, correlation;
    for (const TaskValues& task : values_) {
      first_order.insert(first_order.end(), task.first_order.begin(), task.first_order.end());
      direct.insert(direct.end(), task.direct_effect.begin(), task.direct_effect.end());
      correlation.push_back(spearman(task.first_order, zero_change(task)));
    }
    group_.add(Variable::real(
        "margin_change_first_order", by_head, Array(shape, first_order),
        "first-order prediction of margin_change by zero ablation: mean over pairs of the negative "
        "sum over tokens of z times the gradient of the margin by z",
        "nats per pair", "Michel et al. 2019; Molchanov et al. 2017"));
    group_.add(Variable::real("first_order_correlation", {"task"},
                              Array({tasks_.size()}, correlation),
                              "Spearman's rank correlation over heads between "
                              "margin_change_first_order and margin_change by zero ablation",
                              "1", "Michel et al. 2019"));
    group_.add(Variable::real(
        "direct_effect", by_head, Array(shape, direct),
        "mean over pairs, at the first token that differs and with what both sides begin with "
        "given, of the head's own part of the good token's logit minus the bad token's, the final "
        "layer norm's scale held fixed; pairs whose first word differs, or of which one side ends "
        "there, are left out (n_pair_direct)",
        "logits", "Elhage et al. 2021"));
  }

 private:
  using Dimensions = std::vector<std::string>;

  std::size_t n_unit() const { return config_.n_layer * config_.n_head; }

  std::vector<double> zero_change(const TaskValues& task) const {
    std::vector<double> change;
    for (std::size_t unit = 0; unit < n_unit(); ++unit) change.push_back(task.change[unit].value);
    return change;
  }

  /// Whether the intervals show that the model can do the task.
  static bool can_do(const TaskValues& task) {
    const Estimate &accuracy = task.means[0], &margin = task.means[1];
    return accuracy.has_interval() && accuracy.low > 0.5 && margin.low > 0;
  }

  /// @param q  of both ablations, zero first.
  void add_share_lost(const std::vector<double>& q) {
    Array share({tasks_.size(), config_.n_layer, config_.n_head}, std::nan("")),
        has_margin({tasks_.size()}), from({tasks_.size()}, needed_share);
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      if (!can_do(values_[task])) continue;
      const double margin = values_[task].means[1].value;
      has_margin(task) = 1;
      for (std::size_t unit = 0; unit < n_unit(); ++unit) {
        const std::size_t of_zero = task * n_unit() + unit,
                          of_mean = of_zero + tasks_.size() * n_unit();
        if (!(q[of_zero] < significant_q && q[of_mean] < significant_q)) continue;
        share.values[task * n_unit() + unit] = -values_[task].change[unit].value / margin;
      }
    }
    group_.add(Variable::real(
        "share_lost", {"task", "layer", "head"}, share,
        "share of the task's margin that is lost when the head is set to zero; no value where "
        "margin_change_q of zero or of mean ablation is not below " +
            decimals(significant_q, 2) + ", or the model cannot do the task (has_margin)",
        "1", own_definition));
    group_.add(Variable::flag("has_margin", {"task"}, has_margin, {"no", "yes"},
                              "whether the model can do the task, so that a head can lose a share "
                              "of its margin: the intervals of accuracy and margin lie above one "
                              "half and above 0",
                              own_definition));
    group_.add(Variable::real("needed_from", {"task"}, from,
                              "the share_lost from which on the task is said to need the head", "1",
                              own_definition));
  }

  const std::vector<Task>& tasks_;
  const std::vector<TaskValues>& values_;
  const ModelConfig& config_;
  ResultsGroup& group_;
};

}  // namespace

TaskSums::TaskSums(std::size_t task) {
  const auto name = [&](const char* sum) { return sum + std::string(" ") + std::to_string(task); };
  z = name("z");
  n_token = name("n_token");
  n_pair = name("n_pair");
  margin = name("margin");
  correct = name("correct");
  margin_change = name("margin_change");
  squared_change = name("squared_change");
  correct_change = name("correct_change");
  first_order = name("first_order");
  direct_effect = name("direct_effect");
  n_direct_effect = name("n_direct_effect");
}

std::vector<Index> needed_units(const ResultsGroup& group, std::size_t task) {
  const Array share = group.variable("share_lost").values.part(task);
  const double from = group.variable("needed_from").values(task);
  std::vector<Index> units;
  for (Index unit = 0; unit < share.size(); ++unit) {
    if (share.values[unit] >= from) units.push_back(unit);
  }
  std::ranges::stable_sort(units, std::greater(), [&](Index unit) { return share.values[unit]; });
  return units;
}

ResultsGroup tasks_results(const Statistics& statistics, const std::vector<Task>& tasks,
                           const ModelConfig& config, const AnalysisSettings& settings) {
  std::vector<TaskValues> values;
  std::vector<std::string> names;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    names.push_back(tasks[task].name);
    values.push_back(
        task_values(statistics, task, n_task_ablation * config.n_layer * config.n_head, settings));
  }
  ResultsGroup group;
  group.name = "tasks";
  group.title = "What tasks need which heads";
  group.add_dimension(Dimension::labels("ablation", {"zero", "mean"}));
  group.add_dimension(Dimension::labels("task", names));
  group.add_dimension(Dimension::count("layer", config.n_layer));
  group.add_dimension(Dimension::count("head", config.n_head));
  ResultsBuilder builder(tasks, values, config, group);
  builder.add_tasks();
  builder.add_changes();
  builder.add_predictions();
  group.summary = tasks_summary(group);
  return group;
}

}  // namespace headscope
