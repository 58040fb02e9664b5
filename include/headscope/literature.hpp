#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headscope/types.hpp"

namespace headscope {

struct Results;

/// A role that a paper gives a head, and what a run measured of it.
struct PublishedRole {
  HeadIndex head;
  std::string role;    ///< `previous token`
  std::string source;  ///< the paper
  std::string
      variable;  ///< of the group `classification` by layer and head; empty: none measures it
  /// The head's place among the heads of the model, strongest in this role first, from 1 on; 0
  /// where the run did not measure it.
  Index rank = 0;
  double value = 0;  ///< of the variable

  /// Whether the head is among the strongest tenth of the heads; nothing unless measured.
  std::optional<bool> agrees(Index n_head_total) const;
};

/// Published roles of a model's heads.
struct Literature {
  std::string model;          ///< `GPT-2 small`
  std::string recognised_by;  ///< `the digest of its file`, `its shape and name`
  std::vector<PublishedRole> roles;
  Index n_head_total = 0;
};

/// The published roles of heads in the run's model, from data/literature/, which the library
/// contains; nothing for a model that the folder does not know.
std::optional<Literature> published_roles(const Results& results);

/// `L4H11, previous token (Wang et al. 2022): previous_token 0.99, rank 1 of 144; agrees`
std::string role_text(const PublishedRole& role, Index n_head_total);

}  // namespace headscope
