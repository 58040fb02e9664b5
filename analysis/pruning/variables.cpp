#include "pruning/variables.hpp"

#include "pruning/results.hpp"
#include "report_text.hpp"

namespace headscope {
namespace {

const char* const michel_2019 = "Michel et al. 2019, Are Sixteen Heads Really Better than One?";

const char* const cochran_1977 = "Cochran 1977, Sampling Techniques, chapter 12";

const char* const elhage_2021 = "Elhage et al. 2021";

const std::string direct_effect =
    "direct effect on the next token's logit minus the mean logit of the vocabulary, mean over "
    "predicted tokens of the documents whose heads were ablated: what is written to the residual "
    "stream, taken through the final LayerNorm with its scale held fixed and through W_U; ";

const std::string curve_orders =
    "; heads in ascending order of their zero-ablation loss increase (ablation), of their "
    "layer-normalized per_example "
    "importance (importance), or in random order, the mean of 5 seeded ones (random); step is "
    "the share left out; documents of even number make the orders, those of odd number score "
    "them";

}  // namespace

const VariableTable& pruning_variables() {
  static const VariableTable variables{
      {"loss_baseline", "", "nats per token",
       "mean negative log likelihood of a predicted token with all heads, over the "
       "n_document_first_order documents",
       michel_2019, "{resampled}"},
      Declaration::count("n_document_ablated", "",
                         "documents whose heads were ablated, spread evenly over the corpus"),
      Declaration::count(
          "n_document_first_order", "",
          "documents on which the gradient predicted what heads do: those whose heads were "
          "ablated, and all others of the sample"),
      {"loss", "", "nats per token",
       "mean negative log likelihood of a predicted token, all documents that were read",
       michel_2019, "documents (of a large corpus, 128 blocks of them) resampled"},
      Declaration::count("n_document", "", "documents that were read"),
      {"loss_increase", "ablation layer head", "nats per token",
       "mean loss with one head ablated minus the baseline; zero: z set to 0; mean: z set to its "
       "mean over the tokens of these documents, position 0 left out; resample: z of "
       "another document at the same position of a piece, mean over {n_donor} such documents, own "
       "z where no piece of another document is as long{combined}",
       std::string(michel_2019) + "{regression}", "{resampled}, in pairs with the baseline"},
      {"loss_increase_corpus_half_width", "ablation layer head", "nats per token",
       "half the width of the 95 % interval, symmetric about loss_increase, for the mean over the "
       "n_document documents of the corpus; the interval of loss_increase is that for all text of "
       "which they are a sample",
       "Cochran 1977, Sampling Techniques, sections 2.6 and 12.7"},
      {"donor_error", "layer head", "nats per token",
       "standard error of the loss increase of resample, over the ablated documents, from the "
       "choice of the documents whose z replaces a head's; no value with fewer than two of them "
       "for a document",
       own_definition},
      {"donor_error_sum", "", "nats per token",
       "the same of the sum over heads, which all read the same documents", own_definition},
      Declaration::count("n_interval", "ablation", "heads whose loss_increase has an interval"),
      Declaration::count(
          "n_harmless", "ablation",
          "heads whose interval of loss_increase does not lie above 0: without them the "
          "loss is not distinguishably higher"),
      {"first_order_r2", "layer head", "1",
       "squared correlation over the ablated documents, weighted by their predicted tokens, of the "
       "loss increase of zero ablation and the increase that the gradient predicts; no value for "
       "fewer than three documents",
       cochran_1977},
      {"loss_all_but_one", "layer head", "nats per token",
       "mean loss with every other head of the layer set to zero",
       std::string(michel_2019) + ", table 2"},
      {"precision_error", "statistic", "1",
       "error of loss_increase (zero) by the products in use against float32 products, for "
       "{n_head} "
       "heads spread evenly; median_relative: median over them of |error| / |increase|; "
       "worst_of_typical: largest |error| / median over all heads of |increase|"},
      {"importance", "variant layer head", "nats per token",
       "mean over documents, g being the gradient of the document's mean loss by z: per_token sums "
       "|z.g| over tokens, per_example is |sum of z.g|, signed is -(sum of z.g), the first-order "
       "prediction of zero ablation",
       michel_2019},
      {"importance_normalized", "variant layer head", "1",
       "importance, each layer's vector divided by its L2 norm",
       "Molchanov et al. 2017; Michel et al. 2019"},
      {"first_order_correlation", "", "1",
       "Spearman's rank correlation over heads between signed importance and the loss increase of "
       "zero ablation",
       michel_2019},
      {"importance_correlation", "variant", "1",
       "Spearman's rank correlation over heads between importance and the loss increase of zero "
       "ablation",
       michel_2019},
      {"direct_effect", "layer head", "logits", direct_effect + "of the head's output", elhage_2021,
       "documents resampled"},
      {"direct_effect_mlp", "layer", "logits", direct_effect + "of the MLP's output", elhage_2021},
      {"direct_effect_embedding", "", "logits",
       direct_effect + "of the token and position embeddings", elhage_2021},
      {"direct_effect_bias", "", "logits",
       direct_effect + "of all b_O, with the constants of the final LayerNorm and the unembedding",
       elhage_2021},
      {"direct_effect_total", "", "logits",
       direct_effect + "of the whole residual stream; the parts of heads, MLPs, embeddings and "
                       "biases add up to it",
       elhage_2021},
      {"curve", "order step", "nats per token",
       "mean loss with the first heads of an order set to zero" + curve_orders, michel_2019},
      {"curve_random_std", "step", "nats per token",
       "standard deviation of the loss over the 5 random orders", michel_2019},
      {"curve_accuracy", "order step", "1",
       "share of tokens predicted as most probable" + curve_orders, michel_2019},
      {"prunable_share", "tolerance", "1",
       "share of heads up to which they can be set to zero with a loss within (1 + tolerance) of "
       "the whole model's, interpolated between the steps of curve, by the order of ablation and "
       "importance that is better on documents of even number",
       own_definition, "documents resampled"},
  };
  return variables;
}

}  // namespace headscope
