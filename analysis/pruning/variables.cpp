#include "pruning/results.hpp"

namespace headscope {
namespace {

const char* const michel_2019 = "Michel et al. 2019, Are Sixteen Heads Really Better than One?";
const char* const cochran_1977 = "Cochran 1977, Sampling Techniques, chapter 12";
const char* const elhage_2021 = "Elhage et al. 2021";

const std::string direct_effect =
    "direct effect on the next token's logit minus the vocabulary's mean logit: the output to the "
    "residual stream, taken through the final LayerNorm (scale held fixed) and W_U; mean over "
    "predicted tokens of the documents whose heads were ablated; ";

const std::string curve_orders =
    "; orders: ascending loss increase by zero ablation (ablation), ascending layer-normalized "
    "per_example importance (importance), or random, mean of 5 seeded orders (random); step is the "
    "share of heads set to zero, removed ones left out, rounded down to whole heads; even-numbered "
    "documents make the orders, odd-numbered documents measure the loss (unless curve_held_out is "
    "no)";

}  // namespace

const VariableTable& pruning_variables() {
  static const VariableTable variables{
      {"loss_baseline", "", "nats per token",
       "mean negative log likelihood of a predicted token with all heads, over the "
       "n_document_first_order documents",
       michel_2019, "{resampled}"},
      Declaration::count("n_document_ablated", "",
                         "documents whose heads were ablated, spread evenly over the corpus"),
      Declaration::count("n_document_first_order", "",
                         "documents on which the gradient predicted the loss increase: all "
                         "documents of the sample that have a predicted token"),
      {"loss", "", "nats per token",
       "mean negative log likelihood of a predicted token, all documents that were read",
       michel_2019, "documents (of a large corpus, 128 blocks of them) resampled"},
      {"loss_by_half", "half", "nats per token",
       "loss of the even-numbered documents, which choose, and of the odd-numbered ones, which "
       "judge; where the two differ, the corpus alternates between kinds of text",
       headscope_definition, "documents (of a large corpus, 128 blocks of them) resampled"},
      Declaration::count("n_document", "", "documents that were read"),
      {"loss_increase", "ablation layer head", "nats per token",
       "mean loss with one head ablated minus loss_baseline; zero: z is set to 0; mean: z is set "
       "to its mean over the tokens of these documents, without position 0; resample: z is taken "
       "from another document at the same position of a piece, mean over {n_donor} such documents, "
       "and is unchanged where no other document has a piece as long{combined}",
       std::string(michel_2019) + "{regression}", "{resampled}, in pairs with the baseline"},
      {"loss_increase_corpus_half_width", "ablation layer head", "nats per token",
       "half the width of the 95 % interval, symmetric about loss_increase, for the mean over the "
       "n_document documents of the corpus; the interval of loss_increase is that for all text of "
       "which they are a sample",
       "Cochran 1977, Sampling Techniques, sections 2.6 and 12.7"},
      {"donor_error", "layer head", "nats per token",
       "standard error of the loss increase of resample, over the ablated documents, from the "
       "choice of the documents whose z replaces a head's; no value if a document has fewer than "
       "two of them"},
      {"donor_error_sum", "", "nats per token",
       "standard error of the sum over heads of the loss increase of resample, from the choice of "
       "the documents whose z replaces the heads'; all heads take z of the same documents"},
      Declaration::count("n_interval", "ablation",
                         "heads, removed ones left out, whose loss_increase has an interval"),
      Declaration::count(
          "n_harmless", "ablation",
          "heads, removed ones left out, whose interval of loss_increase does not lie above 0, by "
          "more than float32 rounds loss_baseline: ablating the head gives no measurable loss "
          "increase"),
      {"first_order_r2", "layer head", "1",
       "squared correlation, over the ablated documents, between the loss increase by zero "
       "ablation and the increase that the gradient predicts; documents are weighted by their "
       "number of predicted tokens; no value for fewer than three documents, nor where they do not "
       "differ in one of the two",
       cochran_1977},
      {"loss_all_but_one", "layer head", "nats per token",
       "mean loss with every other head of the layer set to zero",
       std::string(michel_2019) + ", table 2"},
      {"precision_error", "statistic", "1",
       "difference between loss_increase (zero) by the products in use and by float32 products, "
       "for {n_head} evenly spread heads; median_relative: median of |error| / |increase| over "
       "these heads; worst_of_typical: largest |error| / median |increase| over all heads; both "
       "medians leave out heads whose increase, as that of a pruned head, is within the float32 "
       "rounding of the loss"},
      {"importance", "variant layer head", "nats per token",
       "first-order importance, mean over documents, with g the gradient of the document's mean "
       "loss with respect to z: per_token is the sum of |z.g| over tokens, per_example is |sum of "
       "z.g|, signed is -(sum of z.g), the first-order prediction of zero ablation",
       michel_2019},
      {"importance_normalized", "variant layer head", "1",
       "importance, each layer's vector divided by its L2 norm",
       "Molchanov et al. 2017; Michel et al. 2019"},
      {"first_order_correlation", "", "1",
       "Spearman's rank correlation over heads, removed ones left out, between signed importance "
       "and the loss increase of zero ablation",
       michel_2019},
      {"importance_correlation", "variant", "1",
       "Spearman's rank correlation over heads, removed ones left out, between importance and the "
       "loss increase of zero ablation",
       michel_2019},
      {"direct_effect", "layer head", "logits", direct_effect + "of the head's output", elhage_2021,
       "documents resampled"},
      {"direct_effect_mlp", "layer", "logits", direct_effect + "of the MLP's output", elhage_2021},
      {"direct_effect_embedding", "", "logits",
       direct_effect + "of the token and position embeddings", elhage_2021},
      {"direct_effect_bias", "", "logits",
       direct_effect + "of all b_O and the biases of the final LayerNorm and the unembedding",
       elhage_2021},
      {"direct_effect_total", "", "logits",
       direct_effect + "of the whole residual stream; the parts of heads, MLPs, embeddings and "
                       "biases add up to it",
       elhage_2021},
      Declaration::flag("curve_held_out", "", {"no", "yes"},
                        "Whether other documents measure the loss of curve than make its orders; "
                        "no if heads were ablated on even-numbered or on odd-numbered documents "
                        "alone"),
      {"curve", "order step", "nats per token",
       "mean loss with the first heads of an order set to zero" + curve_orders, michel_2019},
      {"curve_random_std", "step", "nats per token",
       "standard deviation of the loss over the 5 random orders", michel_2019},
      {"curve_accuracy", "order step", "1",
       "share of tokens predicted as most probable" + curve_orders, michel_2019},
      {"prunable_share", "tolerance", "1",
       "largest share of heads, removed ones left out, that can be set to zero while the loss "
       "stays within (1 + tolerance) times the loss of the whole model; interpolated between the "
       "steps of curve, by the share of whole heads removed at each; uses the order, ablation or "
       "importance, that is better on even-numbered documents",
       headscope_definition, "documents resampled"},
  };
  return variables;
}

}  // namespace headscope
