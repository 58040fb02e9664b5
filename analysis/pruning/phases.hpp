#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headscope/analysis.hpp"
#include "pruning/document_rows.hpp"

namespace headscope {

/// How often each ablated document and each of the GradientBlocks counts. The two phases of
/// sampling: first-order effects of all documents, exact ones of those ablated.
struct PhaseWeights {
  BootstrapCounts ablated, gradient_only;
};

PhaseWeights both_phases_once(const DocumentRows& rows);
/// Documents of even number, once each; all, if no ablated one is even.
PhaseWeights even_documents(const DocumentRows& rows);
/// Mean loss of the whole model, nats per predicted token.
double baseline_loss(const DocumentRows& rows, const PhaseWeights& weights);
/// Mean loss of ablated documents with each ablation minus their baseline, nats per predicted
/// token: n_ablation_row x layer x head.
Array exact_increases(const DocumentRows& rows, const BootstrapCounts& weights);

/// Ablated documents below which no line is fitted.
inline constexpr double least_regressed = 10;

/// Mean loss with each ablation minus the baseline, nats per predicted token: n_ablation_row x
/// layer x head. Where heads were ablated on a part of the documents,
///
///   mean of y there + slope of y on x there * (mean of x everywhere - mean of x there),
///
/// y being a document's increase and x the one that the gradient predicts. With fewer than
/// least_regressed documents ablated, 1 stands for the slope. Source: Cochran 1977, Sampling
/// Techniques, section 12.6.
Array loss_increases(const DocumentRows& rows, const PhaseWeights& weights);

/// Squared correlation over ablated documents, weighted by their predicted tokens, of the
/// first-order and the exact increase of a head. NaN if documents do not differ in one of them.
/// @param place  in n_ablation_row x layer x head.
double first_order_r2(const DocumentRows& rows, std::size_t place);

/// Each value of the statistic with its interval: ablated documents and blocks of the others are
/// units alike (Rao and Sitter 1995, "Variance Estimation under Two-Phase Sampling with Application
/// to Imputation for Missing Data"). None with fewer than least_documents ablated.
std::vector<Estimate> estimates_of_phases(
    const DocumentRows& rows, const AnalysisSettings& settings,
    const std::function<std::vector<double>(const PhaseWeights&)>& statistic);
/// Half width of each loss increase's interval as a mean of this corpus alone, not of all texts:
/// n_ablation_row x layer x head; NaN where there is no interval. Resampled ablated documents give
/// h_regression (loss_increases, with the mean prediction held fixed) and h_exact
/// (exact_increases),
///
///   h^2 = (1 - N / n') h_regression^2 + N / n' (1 - n' / M) h_exact^2,
///
/// N documents being ablated, n' of M having their gradients taken. 0 where N = M.
/// Source: Cochran 1977, Sampling Techniques, sections 2.6 and 12.7.
/// @param n_document  M.
Array corpus_half_widths(const DocumentRows& rows, double n_document,
                         const AnalysisSettings& settings);

/// What intervals of loss increases resample. Differs between runs that ablate different documents,
/// which are not paired.
std::string phases_resampled(const DocumentRows& rows);

}  // namespace headscope
