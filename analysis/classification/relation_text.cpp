#include <limits>

#include "base/number_text.hpp"
#include "classification/results.hpp"
#include "classification/tests/relations.hpp"
#include "scores/words.hpp"

namespace headscope {
namespace {

/// @param test      place along relation and direction.
/// @param accuracy  of the head on its held-out arcs.
std::string offset_alone_text(const ResultsGroup& group, std::size_t test, double accuracy) {
  const auto of_test = [&](const char* name) { return group.values(name).values[test]; };
  const Index word_class = word_class_of(group.texts("relation_class")[test]);
  const std::string nearest =
      std::string("the nearest of earlier ") + word_classes[word_class].words;
  return "Not syntactic: it beats the fixed offset but is not shown to beat " + nearest + ". On " +
         arc_text(group, test) + " it attends most to the right word in " + percent(accuracy) +
         " of " +
         count_text(static_cast<std::size_t>(of_test("relation_count_heldout")), "held-out arc") +
         "; the word " + number_text(of_test("relation_offset"), 3) + " before is right in " +
         percent(of_test("relation_baseline_heldout_offset")) + ", " + nearest + " in " +
         percent(of_test("relation_baseline_heldout_word_class")) + ".";
}

}  // namespace

std::vector<std::string> relation_texts(const ResultsGroup& group) {
  const Array &passed = group.values("relation_passed"),
              &passed_offset = group.values("relation_passed_offset"),
              &accuracy = group.values("relation_accuracy_heldout"),
              &offset = group.values("relation_baseline_heldout_offset"),
              &nearest = group.values("relation_baseline_heldout_word_class");
  const std::size_t n_test = offset.size(), n_head_total = passed.size() / n_test;
  std::vector<std::string> texts(n_head_total);
  for (std::size_t head = 0; head < n_head_total; ++head) {
    bool is_syntactic = false;
    double most = -std::numeric_limits<double>::infinity();  // gain over the offset
    for (std::size_t test = 0; test < n_test; ++test) {
      const std::size_t place = test * n_head_total + head;
      is_syntactic |= passed.values[place] == 1;
      const double gain = accuracy.values[place] - offset.values[test];
      // The nearest word of a part of speech must be what the head is not shown to beat.
      if (passed_offset.values[place] != 1 || passed.values[place] == 1 ||
          !(nearest.values[test] > offset.values[test]) || !(gain > most)) {
        continue;
      }
      most = gain;
      texts[head] = offset_alone_text(group, test, accuracy.values[place]);
    }
    if (is_syntactic) texts[head].clear();
  }
  return texts;
}

}  // namespace headscope
