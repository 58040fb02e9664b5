#include "parameters/cost.hpp"

namespace headscope {
namespace {

/// d x d weights, or d/h x d/h in each of h blocks.
double projection_weights(bool block_diagonal, Index d_model, Index n_head) {
  const auto d = static_cast<double>(d_model);
  return block_diagonal ? d * d / static_cast<double>(n_head) : d * d;
}

bool inputs_split(ProjectionScheme scheme) {
  return scheme == ProjectionScheme::block_diagonal_qkv ||
         scheme == ProjectionScheme::block_diagonal_all;
}

bool output_split(ProjectionScheme scheme) {
  return scheme == ProjectionScheme::block_diagonal_all;
}

}  // namespace

double attention_parameters(ProjectionScheme scheme, Index d_model, Index n_head,
                            bool has_output_projection) {
  const double inputs = 3 * projection_weights(inputs_split(scheme), d_model, n_head);
  if (!has_output_projection) return inputs;
  return inputs + projection_weights(output_split(scheme), d_model, n_head);
}

double attention_cost(ProjectionScheme scheme, CostTerm term, Index d_model, Index n_head,
                      double n_token) {
  const auto heads = scheme == ProjectionScheme::single_head ? 1.0 : static_cast<double>(n_head);
  const double width = static_cast<double>(d_model) / heads;
  switch (term) {
    case CostTerm::projections:
      return 3 * n_token * projection_weights(inputs_split(scheme), d_model, n_head);
    case CostTerm::qk:
    case CostTerm::av:
      return heads * (n_token * n_token * width);
    case CostTerm::output:
      return n_token * projection_weights(output_split(scheme), d_model, n_head);
    case CostTerm::softmax_exponentials:
      return heads * n_token * n_token;
  }
  return 0;
}

}  // namespace headscope
