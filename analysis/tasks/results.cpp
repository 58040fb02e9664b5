#include "tasks/results.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/number_text.hpp"
#include "report_text.hpp"
#include "task_margins.hpp"

namespace headscope {
namespace {

/// A head is needed from this share of the margin on.
constexpr double needed_share = 0.10;

const char* const warstadt = "Warstadt et al. 2020, BLiMP";
const char* const ablation_source = "Michel et al. 2019; margins: Warstadt et al. 2020, BLiMP";
const char* const repair_source =
    "McGrath et al. 2023, The Hydra Effect; Rushing & Nanda 2024, Explorations of Self-Repair in "
    "Language Models";
const char* const by_pairs = "pairs resampled";

}  // namespace

const VariableTable task_variables{
    Declaration::count("n_pair", "task", "pairs run"),
    Declaration::count("n_same", "task", "pairs left out whose sides have the same tokens"),
    Declaration::count("n_too_long", "task", "pairs left out with a side longer than the context"),
    Declaration::count("n_unpredicted", "task",
                       "pairs left out whose sides differ at position 0, where nothing predicts a "
                       "token: with --no-bos sides begin with their text"),
    Declaration::count("n_pair_direct", "task",
                       "pairs of direct_effect: both sides begin with the same word, and neither "
                       "side ends where they first differ"),
    {"relation", "task", "1",
     "the Universal Dependencies relation that the task is about, as the task file states; empty: "
     "none"},
    {"accuracy", "task", "1", "share of pairs with a margin above 0", warstadt, accuracy_interval},
    {"margin", "task", "nats per pair",
     "log probability of the good side minus log probability of the bad side, each summed over the "
     "tokens after the first; mean over pairs; tokens that both sides begin with cancel",
     warstadt, by_pairs},
    {"margin_change", "ablation task layer head", "nats per pair",
     "mean margin with the head ablated minus mean margin of the whole model; zero: z is set to 0; "
     "mean: z is set to its mean over the tokens of the task's good and bad sides, without "
     "position 0",
     ablation_source, by_pairs},
    {"margin_change_p", "ablation task layer head", "probability",
     "two-sided p-value of margin_change, by a paired t-test over pairs; the standard error "
     "includes the float32 rounding of the margin; no value for removed heads",
     "Student 1908"},
    {"margin_change_q", "ablation task layer head", "probability",
     "margin_change_p adjusted over all heads (without removed ones) and tasks of the ablation",
     "Benjamini & Hochberg 1995"},
    {"accuracy_change", "ablation task layer head", "1",
     "accuracy with the head ablated minus accuracy of the whole model", ablation_source},
    {"share_lost", "ablation task layer head", "1",
     "share of the task's margin that is lost when the head is ablated; no value where "
     "margin_change_q of zero or mean ablation is not below " +
         decimals(significant_q, 2) + ", or the model is not shown to do the task (has_margin)"},
    {"share_lost_least", "task layer head", "1",
     "the smaller share_lost of zero and mean ablation, by which heads are ranked"},
    Declaration::flag("has_margin", "task", {"no", "yes"},
                      "whether the model is shown to do the task: the interval of accuracy lies "
                      "above 0.5 and the interval of margin above 0"),
    {"needed_from", "task", "1",
     "a task is said to need a head if share_lost_least is at least this"},
    {"margin_change_first_order", "task layer head", "nats per pair",
     "first-order prediction of margin_change by zero ablation: minus z times the gradient of the "
     "margin with respect to z, summed over tokens, mean over pairs",
     "Michel et al. 2019; Molchanov et al. 2017"},
    {"first_order_correlation", "task", "1",
     "Spearman's rank correlation over heads between margin_change_first_order and margin_change "
     "by zero ablation, removed heads left out",
     "Michel et al. 2019"},
    {"direct_effect", "task layer head", "logits",
     "what the head adds directly to the good token's logit minus what it adds to the bad token's "
     "logit, at the first token where the sides differ, with the scale of the final layer norm "
     "held fixed; mean over the pairs of n_pair_direct",
     "Elhage et al. 2021", by_pairs},
    {"self_repair", "task layer head", "logits",
     "direct_effect plus the change of the logit difference (good token minus bad token, same "
     "place, same pairs) when the head is set to zero. It contains the head's effects through "
     "later parts and the final layer norm, and is called repair where the intervals of "
     "direct_effect and self_repair lie above 0 and both are at least " +
         percent(least_repair_share) + " of the task's margin",
     repair_source, by_pairs},
    {"backup_change", "task unit_ablated unit", "logits",
     "direct_effect of a later head (unit) when an earlier head (unit_ablated) is set to zero, "
     "minus the later head's direct_effect in the whole model; both with the final layer norm's "
     "scale of the whole model; for heads of which the intervals of direct_effect and self_repair "
     "lie above 0, those of most self_repair, at most " +
         std::to_string(most_repaired) + " of a task",
     repair_source, by_pairs},
    {"backup_change_q", "task unit_ablated unit", "probability",
     "two-sided p-value of backup_change by a paired t-test over pairs, adjusted over all values "
     "of backup_change of the task; the standard error includes the float32 rounding of the "
     "margin; no value for removed heads",
     "Student 1908; Benjamini & Hochberg 1995"},
};

namespace {

/// Fills the group; heads are by task.
class ResultsBuilder {
 public:
  ResultsBuilder(const std::vector<Task>& tasks, const std::vector<TaskValues>& values,
                 const ModelConfig& config, ResultsGroup& group)
      : tasks_(tasks), values_(values), config_(config), group_(group) {}

  void add_tasks() {
    add("n_pair", values_, [](const auto& task) { return task.means.n_pair; });
    add("n_same", tasks_, &Task::n_same);
    add("n_too_long", tasks_, &Task::n_too_long);
    add("n_unpredicted", tasks_, &Task::n_unpredicted);
    add("n_pair_direct", values_, &TaskValues::n_pair_direct);
    add("relation", tasks_, &Task::relation);
    add("accuracy", values_, [](const auto& task) { return task.means.accuracy; });
    add("margin", values_, [](const auto& task) { return task.means.margin; });
  }

  void add_changes() {
    std::vector<Estimate> change;
    std::vector<double> p, q, correct;
    for (std::size_t ablation = 0; ablation < n_task_ablation; ++ablation) {
      std::vector<double> of_ablation;
      for (const TaskValues& task : values_) {
        for (std::size_t i = ablation * n_head_total(); i < (ablation + 1) * n_head_total(); ++i) {
          change.push_back(task.change[i]);
          of_ablation.push_back(task.p[i]);
          correct.push_back(task.correct_change[i]);
        }
      }
      const std::vector<double> adjusted = benjamini_hochberg(of_ablation);
      p.insert(p.end(), of_ablation.begin(), of_ablation.end());
      q.insert(q.end(), adjusted.begin(), adjusted.end());
    }
    add("margin_change", change);
    add("margin_change_p", p);
    add("margin_change_q", q);
    add("accuracy_change", correct);
    add_share_lost();
  }

  void add_predictions() {
    add("margin_change_first_order", values_, &TaskValues::first_order);
    add("first_order_correlation", values_,
        [&](const TaskValues& task) { return first_order_correlation(task); });
    add("direct_effect", values_, &TaskValues::direct_effect);
    add("self_repair", values_, &TaskValues::self_repair);
    add_backups();
  }

 private:
  void add(const char* name, const auto&... values) { group_.add(task_variables[name], values...); }
  std::size_t n_head_total() const { return config_.n_layer * config_.n_head; }

  double first_order_correlation(const TaskValues& task) const {
    std::vector<double> first_order, zero_change;
    for (const Index head_index : config_.heads_left()) {
      first_order.push_back(task.first_order[head_index]);
      zero_change.push_back(task.change[head_index].value);
    }
    return spearman(first_order, zero_change);
  }

  void add_share_lost() {
    const Array& q = group_.values("margin_change_q");
    const std::size_t n_task = tasks_.size();
    Array share({n_task_ablation, n_task, config_.n_layer, config_.n_head}, std::nan("")),
        least({n_task, config_.n_layer, config_.n_head}, std::nan("")), has_margin({n_task});
    for (std::size_t task = 0; task < n_task; ++task) {
      if (!values_[task].means.can_do()) continue;
      has_margin(task) = 1;
      for (std::size_t head_index = 0; head_index < n_head_total(); ++head_index) {
        const auto [layer, head] = HeadIndex::of(head_index, config_.n_head);
        if (!(q(0, task, layer, head) < significant_q && q(1, task, layer, head) < significant_q)) {
          continue;
        }
        for (std::size_t ablation = 0; ablation < n_task_ablation; ++ablation) {
          share(ablation, task, layer, head) =
              -values_[task].change[ablation * n_head_total() + head_index].value /
              values_[task].means.margin.value;
        }
        least(task, layer, head) =
            std::min(share(0, task, layer, head), share(1, task, layer, head));
      }
    }
    add("share_lost", share);
    add("share_lost_least", least);
    add("has_margin", has_margin);
    add("needed_from", std::vector<double>(tasks_.size(), needed_share));
  }

  void add_backups() {
    const std::size_t of_task = n_head_total() * n_head_total();
    std::vector<Estimate> change(tasks_.size() * of_task);
    std::vector<double> q(change.size(), std::nan(""));
    for (std::size_t task = 0; task < tasks_.size(); ++task) {
      const TaskValues& values = values_[task];
      for (std::size_t i = 0; i < values.backup.size(); ++i) {
        const std::size_t place = task * of_task +
                                  values.repaired[i / n_head_total()] * n_head_total() +
                                  i % n_head_total();
        change[place] = values.backup[i];
        q[place] = values.backup_q[i];
      }
    }
    add("backup_change", change);
    add("backup_change_q", q);
  }

  const std::vector<Task>& tasks_;
  const std::vector<TaskValues>& values_;
  const ModelConfig& config_;
  ResultsGroup& group_;
};

}  // namespace

std::vector<Index> backup_heads(const ResultsGroup& group, std::size_t task, Index unit) {
  const Array change = group.values("backup_change").part(task).part(unit),
              q = group.values("backup_change_q").part(task).part(unit);
  std::vector<Index> heads = numbers_where<Index>(change.size(), [&](Index head_index) {
    return change(head_index) > 0 && q(head_index) < significant_q;
  });
  std::ranges::stable_sort(heads, std::greater(),
                           [&](Index head_index) { return change(head_index); });
  return heads;
}

std::vector<Index> needed_heads(const ResultsGroup& group, std::size_t task) {
  const std::vector<double> share = group.values("share_lost_least").part(task).values;
  const double from = group.values("needed_from")(task);
  std::vector<Index> needed;
  for (const std::size_t head_index : ranking(share)) {
    if (share[head_index] >= from) needed.push_back(head_index);
  }
  return needed;
}

ResultsGroup tasks_results(const Statistics& statistics, const std::vector<Task>& tasks,
                           const ModelConfig& config, const AnalysisSettings& settings) {
  std::vector<TaskValues> values;
  std::vector<std::string> names;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    names.push_back(tasks[task].name);
    values.push_back(task_values(statistics, task, config, settings));
  }
  ResultsGroup group;
  group.name = "tasks";
  group.add_dimension(Dimension::labels("ablation", {"zero", "mean"}));
  group.add_dimension(Dimension::labels("task", names));
  group.add_dimension(Dimension::count("layer", config.n_layer));
  group.add_dimension(Dimension::count("head", config.n_head));
  for (const char* const name : {"unit_ablated", "unit"}) {
    group.add_dimension(Dimension::count(name, config.n_layer * config.n_head));
  }
  ResultsBuilder builder(tasks, values, config, group);
  builder.add_tasks();
  builder.add_changes();
  builder.add_predictions();
  group.summary = tasks_summary(group);
  return group;
}

}  // namespace headscope
