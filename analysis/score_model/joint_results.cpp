#include <limits>
#include <utility>

#include "document_estimates.hpp"
#include "headscope/estimate.hpp"
#include "score_model/joint.hpp"
#include "score_model/score_results.hpp"

namespace headscope {

void add_joint_losses(const Statistics& statistics, const AnalysisSettings& settings,
                      ResultsGroup& group) {
  if (!statistics.has(joint_loss_name)) return;
  const Array losses = statistics.total(joint_loss_name);
  const std::vector<double> n_token = statistics.total(joint_tokens_name).values,
                            documents = statistics.total(joint_documents_name).values;
  const auto loss_per_token = [&](const BootstrapCounts& counts) {
    std::vector<double> values = losses.weighted_sum(counts).values;
    const double count = weighted_sum(n_token, counts);
    for (double& value : values) value /= count;
    return values;
  };
  group.add_dimension(Dimension::labels("replacement", {"score_model", "mean"}));
  group.add_dimension(Dimension::numbers("share", {joint_shares.begin(), joint_shares.end()}));
  const VariableTable& variables = score_variables();
  std::vector<Estimate> joint =
      estimates_of_documents(documents, loss_per_token, settings.n_bootstrap, settings.seed);
  for (Estimate& loss : joint) {
    loss = within(std::move(loss), 0, std::numeric_limits<double>::infinity());
  }
  group.add(variables["joint_loss"], joint);
  group.add(variables["joint_documents"],
            weighted_sum(documents, BootstrapCounts(documents.size(), 1)));
}

}  // namespace headscope
