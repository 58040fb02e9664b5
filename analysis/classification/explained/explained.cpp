#include "classification/explained/explained.hpp"

#include <algorithm>

#include "base/thread_errors.hpp"
#include "headscope/resampling.hpp"
#include "mean_z.hpp"
#include "random_draws.hpp"
#include "scores/sums.hpp"

namespace headscope {
namespace {

/// First stream of the sample of documents.
constexpr std::uint64_t explained_stream = (std::uint64_t{1} << 62) + 1;

std::string name_of(const char* what, const std::string& type, Index head_index) {
  return std::string(what) + "." + type + "." + std::to_string(head_index);
}

constexpr const char* z_name = "explained_z";

}  // namespace

std::string explained_loss_name(const std::string& type, Index head_index) {
  return name_of("explained", type, head_index);
}

std::string place_sums_name(const std::string& type, Index head_index) {
  return name_of("place_sums", type, head_index);
}

Place control_place(const HeadTypeList& types, const HeadType& type, const ResultsGroup& group,
                    Index head_index) {
  std::vector<Place> rivals = type.rivals ? type.rivals(group, head_index) : std::vector<Place>();
  rivals.push_back(token_before(1));
  rivals.push_back(token_before(0));
  rivals.push_back(first_position());
  const std::string label_text = type.place(group, head_index).text;
  const std::size_t n_head_total = group.values("primary").size();
  for (const Place& rival : rivals) {
    const auto of = std::ranges::find(types, rival.type, &HeadType::name);
    const auto row = static_cast<std::size_t>(of - types.begin()) * n_head_total;
    const bool is_of_it = of != types.end() && group.values("type").values[row + head_index] == 1;
    if (rival.type != type.name && rival.text != label_text && !is_of_it) return rival;
  }
  return label_text == first_position().text ? last_copy() : first_position();
}

Explanation::Explanation(const Model& model, const Corpus& corpus, const HeadTypeList& types,
                         const ResultsGroup& group, const std::set<Index>& documents,
                         const Statistics& earlier)
    : model_(model),
      corpus_(corpus),
      documents_(documents),
      token_counts_(earlier.total("token_count").values) {
  const Array& type = group.values("type");
  const Index n_head_total = model.config.n_layer * model.config.n_head;
  for (std::size_t i = 0; i < type.size(); ++i) {
    if (type.values[i] != 1) continue;
    const HeadType& of_type = types[i / n_head_total];
    const Index head_index = i % n_head_total;
    if (!of_type.place) continue;
    labels_.push_back({.type = of_type.name,
                       .head_index = head_index,
                       .place = of_type.place(group, head_index),
                       .control = control_place(types, of_type, group, head_index)});
    labelled_heads_.insert(head_index);
  }
}

bool Explanation::has_label(Index layer) const {
  return std::ranges::any_of(labelled_heads_, [&](Index head_index) {
    return head_index / model_.config.n_head == layer;
  });
}

std::vector<Explanation::LabelKeys> Explanation::keys_in(const PlaceSource& source) const {
  std::vector<LabelKeys> keys(labels_.size());
  for_each_in_parallel(labels_.size(), [&](std::size_t i) {
    keys[i] = {labels_[i].place.keys(source), labels_[i].control.keys(source)};
    for (Index q = 0; q < keys[i].keys.size(); ++q) {
      if (keys[i].keys[q].empty()) keys[i].control_keys[q].clear();
    }
  });
  return keys;
}

void Explanation::add_layer_means(const LayerView& view, const std::vector<LabelKeys>& keys,
                                  DocumentStatistics& statistics) const {
  add_z(view, model_.config.n_layer, z_name, statistics);
  // Sum and count of attention by distance; the last is that to position 0.
  const Index n_ctx = model_.config.n_ctx, n_head = model_.config.n_head;
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    const Label& label = labels_[i];
    const HeadIndex head = HeadIndex::of(label.head_index, n_head);
    if (head.layer != view.layer) continue;
    const Matrix& pattern = view.pattern.slice(head.head);
    Array& sums = statistics.sum(name_of("silent", label.type, label.head_index), {2, n_ctx + 1});
    double *const sum = &sums(0, 0), *const count = &sums(1, 0);
    Array& of_place = statistics.sum(place_sums_name(label.type, label.head_index), {n_place_sum});
    for (Index q = 1; q < view.n_token; ++q) {
      const float* const weights = pattern.colptr(q);
      if (!keys[i].keys[q].empty()) {
        for (const Index key : keys[i].keys[q]) of_place(place_mass) += weights[key];
        ++of_place(place_query);
        of_place(place_same) += keys[i].keys[q] == keys[i].control_keys[q] ? 1 : 0;
        continue;
      }
      sum[n_ctx] += weights[0];
      ++count[n_ctx];
      for (Index k = 1; k <= q; ++k) {
        sum[q - k] += weights[k];
        ++count[q - k];
      }
    }
  }
}

void Explanation::begin_losses(const Statistics& earlier, const ComputeContext& context,
                               const AblationPrecision& precision) {
  takes_losses_ = true;
  if (!earlier.has(z_name)) labels_.clear();  // no document of two tokens
  if (labels_.empty()) return;
  ablation_.emplace(model_, context, precision);
  mean_z_ = mean_z(earlier, z_name);
  const Index n_ctx = model_.config.n_ctx;
  for (Label& label : labels_) {
    const Array sums = earlier.total(name_of("silent", label.type, label.head_index));
    const auto mean = [&](Index i) { return sums(1, i) > 0 ? sums(0, i) / sums(1, i) : 0; };
    label.silent_row.resize(n_ctx);
    for (Index distance = 0; distance < n_ctx; ++distance)
      label.silent_row[distance] = mean(distance);
    label.silent_sink = mean(n_ctx);
  }
}

class Explanation::Losses : public PieceObserver {
 public:
  Losses(Explanation& explanation, const PlaceSource& source, Index block,
         DocumentStatistics& statistics)
      : explanation_(explanation),
        tokens_(source.tokens),
        block_(block),
        keys_(explanation.keys_in(source)),
        statistics_(statistics),
        values_(explanation.model_.config.n_layer),
        z_(explanation.model_.config.n_layer) {}

  void observe_layer(const LayerView& view) override {
    explanation_.ablation_->observe_layer(view);
    if (!explanation_.has_label(view.layer)) return;
    values_[view.layer] = view.qkv.tail_rows(explanation_.model_.config.d_kv());
    z_[view.layer] = view.z;
  }

  void end(const PieceEnd& /*end*/) override {
    const TokenLoss clean = explanation_.ablation_->clean_loss(tokens_);
    statistics_.sum(explained_token_count, {n_block})(block_) +=
        static_cast<double>(clean.nll.size());
    for (Index layer = 0; layer < explanation_.model_.config.n_layer; ++layer) {
      if (explanation_.has_label(layer)) add_losses(layer, clean.sum());
    }
  }

 private:
  /// A head with its attention replaced, for one of a label's losses.
  struct Replaced {
    const Label* label;
    ExplainedLoss loss;
    const PlaceKeys* keys;
    Index head;
    Index place;  ///< of the matrix that has its z, in the head's rows
  };

  /// @param clean  loss of the model as it is.
  void add_losses(Index layer, double clean) {
    const Vector& mean = explanation_.mean_z_[layer];
    std::vector<HeadVariant> variants;
    std::map<Index, std::size_t> mean_of;  // by head, its variant
    for (const Index head_index : explanation_.labelled_heads_) {
      const auto [of_layer, head] = HeadIndex::of(head_index, explanation_.model_.config.n_head);
      if (of_layer != layer) continue;
      mean_of[head] = variants.size();
      variants.push_back(
          {layer, {head}, blas::ConstView(mean.memptr(), mean.n_elem, tokens_.size(), 0)});
    }
    const std::vector<Replaced> replaced = replaced_in(layer);
    const std::vector<Matrix> z = replaced_z(layer, replaced);
    for (const Replaced& change : replaced)
      variants.push_back({layer, {change.head}, z[change.place]});
    const std::vector<TokenLoss> losses = explanation_.ablation_->losses(tokens_, variants);
    for (std::size_t i = 0; i < replaced.size(); ++i) {
      const Label& label = *replaced[i].label;
      Array& sums = statistics_.sum(explained_loss_name(label.type, label.head_index),
                                    {n_block, n_explained_loss});
      sums(block_, replaced[i].loss) += losses[mean_of.size() + i].sum();
      if (replaced[i].loss != explained_label) continue;  // once for each label
      sums(block_, explained_clean) += clean;
      sums(block_, explained_mean) += losses[mean_of.at(replaced[i].head)].sum();
    }
  }

  std::vector<Replaced> replaced_in(Index layer) const {
    std::vector<Replaced> replaced;
    std::map<Index, Index> n_used;  // by head, matrices; different heads share a matrix
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const Label& label = explanation_.labels_[i];
      const HeadIndex head = HeadIndex::of(label.head_index, explanation_.model_.config.n_head);
      if (head.layer != layer) continue;
      for (const auto& [loss, keys] : {std::pair{explained_label, &keys_[i].keys},
                                       {explained_control, &keys_[i].control_keys},
                                       {explained_where_said, &keys_[i].keys}}) {
        replaced.push_back({&label, loss, keys, head.head, n_used[head.head]++});
      }
    }
    return replaced;
  }

  std::vector<Matrix> replaced_z(Index layer, const std::vector<Replaced>& replaced) const {
    const ModelConfig& config = explanation_.model_.config;
    const Index d_head = config.d_head(), n_token = tokens_.size(),
                n_matrix = 1 + std::ranges::max(replaced, {}, &Replaced::place).place;
    std::vector<Matrix> all_z(n_matrix, Matrix(config.d_z(), n_token, arma::fill::zeros));
    for_each_in_parallel(replaced.size(), Matrix(), [&](std::size_t i, Matrix& pattern) {
      const auto& [label, loss, keys, head, place] = replaced[i];
      pattern.set_size(n_token, n_token);
      fill_place(*keys, label->silent_row, label->silent_sink, pattern);
      const Index first = head * d_head, value_row = config.v_row(head) - config.v_row(0);
      blas::multiply_serial(blas::ConstView(values_[layer]).rows(value_row, d_head),
                            blas::Transpose::no, pattern, blas::Transpose::no,
                            blas::View(all_z[place]).rows(first, d_head));
      if (loss != explained_where_said) return;
      for (Index q = 0; q < n_token; ++q) {
        if (!(*keys)[q].empty()) continue;
        std::copy_n(z_[layer].colptr(q) + first, d_head, all_z[place].colptr(q) + first);
      }
    });
    return all_z;
  }

  Explanation& explanation_;
  const TokenIds& tokens_;
  Index block_;
  std::vector<LabelKeys> keys_;
  DocumentStatistics& statistics_;
  std::vector<Matrix> values_;  // by layer, d_kv x n_token; empty without labels
  std::vector<Matrix> z_;       // likewise
};

std::unique_ptr<PieceObserver> Explanation::begin_piece(const Piece& piece,
                                                        DocumentStatistics& statistics) {
  if (!documents_.contains(piece.document)) return nullptr;
  const Index block = document_block(piece.document, corpus_.n_document());
  if (takes_losses_ && corpus_.begins_predictions(piece)) {
    ++statistics.sum(explained_document_count, {n_block})(block);
  }
  if (labels_.empty() || piece.tokens.size() < 2) return nullptr;
  const PlaceSource source = place_source(piece, token_counts_);
  if (takes_losses_) return std::make_unique<Losses>(*this, source, block, statistics);
  return std::make_unique<LayerFunction>(
      [this, &statistics, keys = keys_in(source)](const LayerView& view) {
        add_layer_means(view, keys, statistics);
      },
      true);
}

std::uint64_t Explanation::bytes(const RunShape& run) {
  const ModelConfig& config = run.config;
  // A head has at most 3 labels on average, and one head at most 4.
  const std::uint64_t n_label = 3 * run.n_head_total(), most_types = 4;
  const std::uint64_t n = run.n_token, n_thread = run.n_thread,
                      z = config.d_z() * n * sizeof(float), pattern = n * n * sizeof(float);
  // A label's place and its control have a list of keys for every query, with room to grow.
  const std::uint64_t keys = 2 * n * (sizeof(std::vector<Index>) + 4 * sizeof(Index));
  const std::uint64_t silent_row = config.n_ctx * sizeof(double),
                      sums = n_block * n_explained_loss + 2 * (config.n_ctx + 1) + n_place_sum;
  const std::uint64_t of_label = keys + silent_row + sums * Statistics::sum_bytes;
  // Values and z of all layers, three replaced z of each label of a head, patterns, means of z.
  return HeadAblation::bytes(config, n, run.n_thread, run.settings.engines) +
         (2 * config.n_layer + 3 * most_types) * z + n_thread * pattern + n_label * of_label +
         config.n_layer * config.d_z() * Statistics::sum_bytes;
}

std::set<Index> explained_sample(std::uint64_t n_document, std::uint64_t n_wanted,
                                 std::uint64_t seed) {
  const std::uint64_t n = n_wanted == 0 ? n_document : std::min(n_document, n_wanted);
  return spread_sample(n_document, n, CounterRandom(seed, explained_stream));
}

}  // namespace headscope
