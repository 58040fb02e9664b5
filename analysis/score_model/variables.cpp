#include "score_model/variables.hpp"

#include "score_model/features.hpp"

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

VariableTable make_score_variables() {
  using enum Variable::Type;
  const std::string documents =
      "documents of odd number resampled; of fewer than 20, left out one at a time, with Student's "
      "t";
  const std::string beyond =
      "1 - sum w KL(A'|A^') / sum w KL(A'|uniform) over sampled queries of documents of odd "
      "number, "
      "A' the attention to keys after the first, made to sum to 1, and w the attention to these";
  return {
      {"feature_family", "feature", "1", "Family of the feature", own_definition, "", text},
      {"coefficient", "feature layer head", "logits",
       "What the feature adds to the head's attention score, in the model with all features: "
       "attention is modelled as the softmax over keys of the sum of coefficient times feature, "
       "fitted to {queries} sampled queries of documents of even number",
       logit_source},
      {"coefficient_se", "feature layer head", "logits",
       "Standard error of coefficient by the sandwich estimate, blocks of documents being the "
       "units",
       "White 1982, sandwich estimate"},
      {"coefficient_pull", "feature layer head", "nats",
       "coefficient times (mean of the feature under the head's attention - under uniform "
       "attention), documents of even number. Over features this adds up to how far the model is "
       "from uniform attention, both Kullback-Leibler divergences together, apart from the "
       "penalty"},
      {"deviance_explained", "step layer head", "1",
       "1 - sum KL(A|A^) / sum KL(A|uniform) over sampled queries of documents of odd number, A^ "
       "the model with the features of the step, fitted on documents of even number; no value "
       "where KL from uniform is below 0.01 nats a query, or without a type for the step label",
       logit_source, documents},
      {"deviance_explained_beyond_sink", "step layer head", "1",
       beyond + "; no value where KL from uniform is below 0.01 nats or the mean w below 0.02",
       logit_source, documents},
      {"family_gain", "family layer head", "1",
       "deviance_explained_beyond_sink of the model with all features less that of a model fitted "
       "without the features of this family",
       own_definition, documents},
      Declaration::flag("attends_by", "layer head", attends_by_meanings(),
                        "The family with the largest family_gain of those whose interval lies "
                        "above 0.02; none if there is no such family"),
      Declaration::count("fitted_queries", "", "Queries of documents of even number, of the fits"),
      Declaration::count("judged_queries", "", "Queries of documents of odd number, that judge"),
      {"largest_gradient", "", "logits",
       "Largest component of a gradient where its fit ended, over all fits"},
      {"effect_explained", "step layer head", "1",
       "1 - (L_A^ - L) / (L_mean - L): the loss with the head's attention at queries from the "
       "third "
       "token on replaced by its model, and with the head's output replaced by its mean over "
       "tokens, each less the loss of the model as it is; effect_documents documents of odd "
       "number. No value unless the interval of L_mean - L lies above 0",
       own_definition, documents},
      {"effect_explained_control", "layer head", "1",
       "effect_explained with the attention beyond the first token that of the next head's model "
       "with all features, the head's own attention to the first token kept",
       own_definition, documents},
      {"effect_above_control", "layer head", "1",
       "effect_explained of all features less effect_explained_control", own_definition, documents},
      {"effect_above_control_median", "", "1", "Median of effect_above_control over heads",
       own_definition, documents},
      {"mean_replacement_increase", "layer head", "nats",
       "L_mean - L: loss per predicted token with the head's output replaced by its mean, less "
       "that "
       "of the model as it is; the documents of effect_explained",
       own_definition, documents},
      Declaration::count("effect_documents", "", "Documents of effect_explained"),
      {"joint_loss", "replacement share", "nats",
       "Loss per predicted token with this share of all heads, rounded down to whole heads, "
       "replaced at once: attention at queries from the third token on by its model with all "
       "features, or the head's output by its mean over tokens. Heads in ascending order of the "
       "rise of the loss when the head's attention alone is replaced by its model, on the "
       "documents of effect_explained; losses on joint_documents other documents of odd number",
       "Hayes, Li & Andreas 2026 (heads replaced by programs)", documents},
      Declaration::count("joint_documents", "",
                         "Documents of joint_loss, none of them one of effect_explained"),
      {"attends_text", "layer head", "1",
       "What the head attends by, in words: the families whose family_gain has an interval above "
       "0.02, and the terms with the largest coefficient_pull",
       own_definition, "", text},
      Declaration::whole("surprise_document", "layer head example",
                         "Number of a document where the head's attention is furthest from its "
                         "model with all features, of those of effect_explained, one query a "
                         "document; -1 if there is none"),
      Declaration::whole("surprise_query", "layer head example",
                         "Position of the query; -1 if there is none"),
      Declaration::whole("surprise_key", "layer head example",
                         "Position of the key that the head attends to most there; -1 if there is "
                         "none"),
      {"surprise_divergence", "layer head example", "nats",
       "Kullback-Leibler divergence of the model's attention from the head's there"},
      {"surprise_text", "layer head example", "1", "Some tokens around the query", own_definition,
       "", text},
      Declaration::whole("surprise_marks", "layer head example mark",
                         "Characters of surprise_text where query and key begin and after which "
                         "they end; -1 if they are not in it"),
  };
}

}  // namespace

const VariableTable& score_variables() {
  static const VariableTable variables = make_score_variables();
  return variables;
}

}  // namespace headscope
