#include "base/number_text.hpp"
#include "classification/results.hpp"
#include "classification/tests/relations.hpp"
#include "scores/words.hpp"

namespace headscope {
namespace {

/// Relations and directions, row-major, by head.
class RelationNumbers {
 public:
  explicit RelationNumbers(const ResultsGroup& group)
      : group_(group),
        passed_(group.values("relation_passed")),
        passed_offset_(group.values("relation_passed_offset")),
        accuracy_(group.values("relation_accuracy_heldout")),
        offset_(group.values("relation_baseline_heldout_offset")),
        nearest_(group.values("relation_baseline_heldout_word_class")) {}

  std::size_t n_test() const { return offset_.size(); }
  std::size_t n_head_total() const { return passed_.size() / n_test(); }
  bool passes(std::size_t test, std::size_t head) const {
    return passed_.values[place(test, head)] == 1;
  }
  /// Whether the head is shown to beat the offset alone, where the nearest word of a part of speech
  /// is better than the offset.
  bool beats_offset_alone(std::size_t test, std::size_t head) const {
    return passed_offset_.values[place(test, head)] == 1 && !passes(test, head) &&
           nearest_.values[test] > offset_.values[test];
  }
  double gain(std::size_t test, std::size_t head) const {
    return accuracy_.values[place(test, head)] - offset_.values[test];
  }
  std::string sentence(std::size_t test, std::size_t head) const {
    const Index word_class = word_class_of(group_.texts("relation_class")[test]);
    const std::string nearest =
        std::string("the nearest of earlier ") + word_classes[word_class].words;
    return "Not syntactic: it beats the fixed offset but is not shown to beat " + nearest +
           ". On " + arc_text(group_, test) + " it attends most to the right word in " +
           percent(accuracy_.values[place(test, head)]) + " of " +
           count_text(
               static_cast<std::size_t>(group_.values("relation_count_heldout").values[test]),
               "held-out arc") +
           "; the word " + number_text(group_.values("relation_offset").values[test], 3) +
           " before is right in " + percent(offset_.values[test]) + ", " + nearest + " in " +
           percent(nearest_.values[test]) + ".";
  }

 private:
  std::size_t place(std::size_t test, std::size_t head) const {
    return test * n_head_total() + head;
  }

  const ResultsGroup& group_;
  const Array &passed_, &passed_offset_, &accuracy_, &offset_, &nearest_;
};

}  // namespace

std::vector<std::string> relation_texts(const ResultsGroup& group) {
  const RelationNumbers numbers(group);
  std::vector<std::string> texts(numbers.n_head_total());
  for (std::size_t head = 0; head < texts.size(); ++head) {
    bool is_syntactic = false;
    std::optional<std::size_t> most;
    for (std::size_t test = 0; test < numbers.n_test(); ++test) {
      is_syntactic |= numbers.passes(test, head);
      if (!numbers.beats_offset_alone(test, head)) continue;
      if (!most || numbers.gain(test, head) > numbers.gain(*most, head)) most = test;
    }
    if (most && !is_syntactic) texts[head] = numbers.sentence(*most, head);
  }
  return texts;
}

}  // namespace headscope
