#include "base/number_text.hpp"
#include "score_model/features.hpp"
#include "score_model/score_results.hpp"

namespace headscope {
namespace {

constexpr const char* const logit_source = "McFadden 1974, conditional logit";

std::vector<std::string> attends_by_meanings() {
  std::vector<std::string> meanings{"none"};
  for (std::size_t i = 1; i < n_feature_family; ++i) {
    meanings.emplace_back(feature_family_name(static_cast<FeatureFamily>(i)));
  }
  return meanings;
}

}  // namespace

const VariableTable& score_variables() {
  static const std::string documents =
      "odd-numbered documents resampled; fewer than 20 documents: jackknife with Student's t";
  static const std::string beyond =
      "1 - sum w KL(A'|A^') / sum w KL(A'|uniform) over sampled queries of odd-numbered documents; "
      "A' is the attention to all keys but the first, scaled to sum to 1, A^' the model of it, and "
      "w the attention to these keys";
  static const std::string uniform = number_text(least_uniform, 2),
                           weight = number_text(least_weight, 2),
                           gain = number_text(least_family_gain, 2);
  static const VariableTable variables{
      {"feature_family", "feature", "1", "Family of the feature"},
      {"coefficient", "feature layer head", "logits",
       "What one unit of the feature adds to the head's attention score, in the model with all "
       "features: modelled attention = softmax over keys of the sum of coefficient * feature; "
       "fitted to {queries} sampled queries of even-numbered documents; 0 if the feature is 0 at "
       "all of these queries and their keys",
       logit_source},
      {"coefficient_se", "feature layer head", "logits",
       "Standard error of coefficient: sandwich estimate, clustered by blocks of documents",
       "White 1982, sandwich estimate"},
      {"coefficient_pull", "feature layer head", "nats",
       "coefficient * (mean of the feature under the head's attention - its mean under uniform "
       "attention), even-numbered documents. The sum over features is KL(model|uniform) + "
       "KL(uniform|model), up to the penalty of the fit"},
      {"deviance_explained", "step layer head", "1",
       "1 - sum KL(A|A^) / sum KL(A|uniform) over sampled queries of odd-numbered documents; A is "
       "the head's attention, A^ the model with the features of the step, fitted on even-numbered "
       "documents; no value where KL(A|uniform) is below " +
           uniform +
           " nats per query, and at step label for heads without a type or with one of whose "
           "features the model has none, such as a relation with too few arcs",
       logit_source, documents},
      {"deviance_explained_beyond_sink", "step layer head", "1",
       beyond + "; no value where KL(A'|uniform) is below " + uniform +
           " nats per query or the mean of w below " + weight,
       logit_source, documents},
      {"divergence_beyond_sink", "layer head", "nats",
       "KL(A'|uniform) per query: how far the head's attention beyond the first token is from "
       "uniform; sampled queries of odd-numbered documents"},
      {"family_gain", "family layer head", "1",
       "deviance_explained_beyond_sink of the model with all features minus "
       "deviance_explained_beyond_sink of a model fitted without this family of features; "
       "word_class also has capital and log_frequency, the frequency of the key's token; where the "
       "corpus names no parts of speech, word_class is capital and log_frequency (for "
       "token ids log_frequency alone)",
       headscope_definition, documents},
      Declaration::flag(
          "attends_by", "layer head", attends_by_meanings(),
          "The family with the largest family_gain among families whose interval of family_gain "
          "lies above " +
              gain +
              "; none if there is no such family, as where several families say the same. lexical "
              "only where divergence_beyond_sink is at least (0.02^2 d_model)^2 nats, twice that "
              "of an untrained model"),
      Declaration::count("fitted_queries", "",
                         "Queries that models are fitted to, from even-numbered documents"),
      Declaration::count("judged_queries", "",
                         "Queries that models are tested on, from odd-numbered documents"),
      {"largest_gradient", "", "logits",
       "Largest component of the gradient at the end of a fit, over all fits"},
      {"effect_explained", "step layer head", "1",
       "1 - (L_A^ - L) / (L_mean - L). L: loss of the unchanged model. L_A^: loss with the head's "
       "attention replaced by its model, from the third token on. L_mean: loss with the head's "
       "output replaced by its mean over tokens. On effect_documents odd-numbered documents; no "
       "value unless the interval of L_mean - L lies above 0, by more than float32 rounds L",
       headscope_definition, documents},
      {"effect_explained_control", "layer head", "1",
       "effect_explained with the wrong model: the attention beyond the first token comes from the "
       "model with all features of the layer's next head, removed heads left out; the head keeps "
       "its attention to the first token; no value where one head is left in the layer",
       headscope_definition, documents},
      {"effect_above_control", "layer head", "1",
       "effect_explained with all features minus effect_explained_control", headscope_definition,
       documents},
      {"effect_above_control_median", "", "1", "Median of effect_above_control over heads",
       headscope_definition, documents},
      {"mean_replacement_increase", "layer head", "nats",
       "L_mean - L: loss per predicted token with the head's output replaced by its mean, minus "
       "the loss of the unchanged model; on the documents of effect_explained",
       headscope_definition, documents},
      Declaration::count("effect_documents", "", "Documents of effect_explained"),
      {"joint_loss", "replacement share", "nats",
       "Loss per predicted token with this share of all heads (rounded down; removed heads left "
       "out) replaced at once: either attention from the third token on by its model with all "
       "features, or the output by its mean over tokens. Heads come in ascending order of the loss "
       "increase when only that head's attention is replaced by its model, on the documents of "
       "effect_explained; the loss is measured on joint_documents other odd-numbered documents",
       "Hayes, Li & Andreas 2026 (heads replaced by programs)", documents},
      Declaration::count("joint_documents", "",
                         "Documents of joint_loss; none of them is used for effect_explained"),
      {"attends_text", "layer head", "1",
       "What the head attends by, in words: families whose interval of family_gain lies above " +
           gain +
           " (lexical as in attends_by), or several families: attends_by is none, all features "
           "explain more than " +
           gain +
           " beyond the first token, and without any one family more than half of that stays, by "
           "the intervals; and the features with the largest coefficient_pull, among them that of "
           "each of these families"},
      Declaration::integer(
          "surprise_document", "layer head example",
          "Document where the head's attention is furthest from its model with all features, among "
          "the documents of effect_explained (the first piece of those that are cut), one query "
          "per document, where surprise_divergence is at least " +
              uniform + " nats; -1 if there is none"),
      Declaration::integer("surprise_query", "layer head example",
                           "Position of that query; -1 if there is none"),
      Declaration::integer(
          "surprise_key", "layer head example",
          "Position of the key that this query attends to most; -1 if there is none"),
      {"surprise_divergence", "layer head example", "nats",
       "Kullback-Leibler divergence of the model's attention from the head's attention at this "
       "query"},
      {"surprise_text", "layer head example", "1", "Tokens around the query"},
      Declaration::integer("surprise_marks", "layer head example mark",
                           "Characters of surprise_text where query and key begin and end; -1 if "
                           "surprise_text does not contain them"),
  };
  return variables;
}

}  // namespace headscope
