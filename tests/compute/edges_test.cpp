#include "headscope/edges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "headscope/circuit.hpp"
#include "headscope/edge_ablation.hpp"
#include "headscope/edge_gradient.hpp"
#include "headscope/error.hpp"
#include "headscope/gradient.hpp"
#include "support/double_reference.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::Normal;
using test::random_weights;
using test::widen;

Model model_of_edges(ModelConfig config) {
  config.d_vocab = 200;
  return random_weights(config, 5);
}

/// What a port reads, from the nodes before it (d_model x n_token each) and the biases so far.
using Read = std::function<arma::mat(Index port, const std::vector<arma::mat>& nodes,
                                     const arma::vec& bias)>;

arma::mat sum_of(const std::vector<arma::mat>& nodes, const arma::vec& bias) {
  arma::mat stream = nodes.front();
  for (std::size_t u = 1; u < nodes.size(); ++u) stream += nodes[u];
  stream.each_col() += bias;
  return stream;
}

/// A model in double precision whose every port reads a stream of its own.
/// @return negative log likelihoods of tokens 1 .. T-1.
std::vector<double> run_by_ports(const Model& model, const TokenIds& tokens, const Read& read) {
  const ModelConfig& c = model.config;
  const EdgeGraph graph(c);
  std::vector<arma::mat> nodes{test::reference_embedding(model, tokens)};
  arma::vec bias(c.d_model, arma::fill::zeros);
  const auto add = [&](const Vector& more) {
    if (!more.is_empty()) bias += widen(more);
  };
  for (Index l = 0; l < c.n_layer; ++l) {
    const LayerWeights& w = model.layers[l];
    const auto part = [&](PathPort::Kind kind, Index h) {
      return test::reference_norm(c, read(graph.port(kind, l, h), nodes, bias), w.ln_1_gain,
                                  w.ln_1_bias);
    };
    const auto mlp = [&] {
      return test::reference_mlp(
          c, w,
          test::reference_norm(c, read(graph.mlp_port(l), nodes, bias), w.ln_2_gain, w.ln_2_bias));
    };
    std::vector<arma::mat> written;
    for (Index h = 0; h < c.n_head; ++h) {
      const Index first = c.q_row(h), last = first + c.d_head() - 1;
      written.push_back(widen(Matrix(w.W_O.cols(first, last))) *
                        test::reference_head(c, w, l, h, part(PathPort::Kind::q, h),
                                             part(PathPort::Kind::k, h),
                                             part(PathPort::Kind::v, h)));
    }
    if (c.parallel_residual) written.push_back(mlp());
    nodes.insert(nodes.end(), written.begin(), written.end());
    add(w.b_O);
    if (!c.parallel_residual) nodes.push_back(mlp());
    add(w.b_out);
  }
  return test::reference_nll(test::reference_logits(model, read(graph.logits_port(), nodes, bias)),
                             tokens);
}

struct EdgePair {
  TokenIds good, bad;
  Index n_shared;
};

double margin_by_ports(const Model& model, const EdgePair& pair, const Read& read) {
  const auto sum = [&](const TokenIds& tokens) {
    const std::vector<double> nll = run_by_ports(model, tokens, read);
    return std::accumulate(nll.begin() + static_cast<std::ptrdiff_t>(pair.n_shared) - 1, nll.end(),
                           0.0);
  };
  return sum(pair.bad) - sum(pair.good);
}

/// Two pairs that share a beginning, the model and what replaces its nodes.
class EdgesOf {
 protected:
  explicit EdgesOf(const ModelConfig& config) : model(model_of_edges(config)), graph(model.config) {
    Normal normal(6);
    for (const Index n_shared : {6, 3}) {
      TokenIds good = normal.tokens(n_shared + 4, model.config.d_vocab), bad = good;
      bad.resize(n_shared + 2);
      bad[n_shared] = (good[n_shared] + 1) % static_cast<TokenId>(model.config.d_vocab);
      pairs.push_back({good, bad, n_shared});
      batch.add_pair(good, bad, n_shared, false);
      ends.push_back(batch.n_column());
      weights.insert(weights.end(), good.size() - n_shared, -1.0F);
      weights.insert(weights.end(), bad.size() - n_shared, 1.0F);
    }
    replacement = normal.matrix(model.config.d_model, graph.n_node() * n_position, 0.3F);
    Forward(model).run(batch, {&ablation});
  }

  std::vector<double> margins(const TokenLoss& loss) const {
    std::vector<double> margins;
    Index next = 0;
    for (const EdgePair& pair : pairs) {
      const Index n = pair.good.size() + pair.bad.size() - 2 * pair.n_shared;
      double margin = 0;
      for (const Index end = next + n; next < end; ++next) {
        margin += static_cast<double>(weights[next]) * loss.nll[next];
      }
      margins.push_back(margin);
    }
    return margins;
  }

  /// Effects of all edges, by pair.
  std::vector<std::vector<float>> gradients(const Matrix& by) {
    std::vector<std::vector<float>> effects;
    EdgeGradient gradient(model);
    gradient.run(ablation.activations(), batch, weights, by, ends,
                 [&](Index group, std::span<const float> values, std::span<const float>) {
                   EXPECT_EQ(group, effects.size());
                   effects.emplace_back(values.begin(), values.end());
                 });
    return effects;
  }

  /// What replaces the output of a node at the first positions.
  arma::mat replaced(Index u, Index n_token) const {
    return widen(Matrix(replacement.cols(u * n_position, u * n_position + n_token - 1)));
  }

  /// The port of an edge reads `scale` times the change by its ablation in addition.
  Read with_edge(Index edge, double scale) const {
    return [this, edge, scale, reader = graph.port_of(edge), u = graph.node_of(edge)](
               Index port, const std::vector<arma::mat>& nodes, const arma::vec& bias) {
      arma::mat stream = sum_of(nodes, bias);
      if (port != reader) return stream;
      stream += scale * (replaced(u, stream.n_cols) - nodes[u]);
      return stream;
    };
  }

  static constexpr Index n_position = 10;  // as many as the longest side has tokens
  Model model;
  EdgeGraph graph;
  std::vector<EdgePair> pairs;
  SequenceBatch batch;
  std::vector<Index> ends;
  std::vector<float> weights;
  Matrix replacement;
  HeadAblation ablation{model};
};

class Edges : public EdgesOf, public testing::Test {
 protected:
  Edges() : EdgesOf(test::small_config()) {}
};

class EdgesOfEveryArchitecture : public EdgesOf, public testing::TestWithParam<test::NamedConfig> {
 protected:
  EdgesOfEveryArchitecture() : EdgesOf(GetParam().config) {}
};

INSTANTIATE_TEST_SUITE_P(Models, EdgesOfEveryArchitecture,
                         testing::ValuesIn(test::every_architecture()), test::name_of_config);

TEST_F(Edges, RunFromEveryEarlierNodeToEveryPort) {
  EXPECT_EQ(graph.n_node(), 16U);
  EXPECT_EQ(graph.n_port(), 40U);
  EXPECT_EQ(graph.n_edge(), 17U + 82U + 147U + 16U);
  std::set<std::pair<Index, Index>> seen;
  for (Index edge = 0; edge < graph.n_edge(); ++edge) {
    const Index port = graph.port_of(edge), node = graph.node_of(edge);
    EXPECT_EQ(graph.edge(node, port), edge);
    EXPECT_LT(node, graph.owner(port));
    const PathPort reader = graph.port(port);
    if (reader.kind != PathPort::Kind::logits) {
      EXPECT_EQ(graph.port(reader.kind, reader.layer, reader.head), port);
    }
    // Heads of a layer do not read each other.
    const PathNode writer = graph.node(node);
    if (writer.kind == PathNode::Kind::head && reader.kind < PathPort::Kind::mlp) {
      EXPECT_LT(writer.layer, reader.layer);
    }
    seen.emplace(node, port);
  }
  EXPECT_EQ(seen.size(), graph.n_edge());
  EXPECT_EQ(graph.node_name(0), "embed");
  EXPECT_EQ(graph.node_name(graph.head(1, 2)), "L1H2");
  EXPECT_EQ(graph.node_name(graph.mlp(2)), "MLP2");
  EXPECT_EQ(graph.port_name(graph.port(PathPort::Kind::k, 2, 3)), "L2H3.k");
  EXPECT_EQ(graph.port_name(graph.mlp_port(0)), "MLP0");
  EXPECT_EQ(graph.port_name(graph.logits_port()), "logits");
}

TEST(EdgeGraph, HeadsOfAGroupShareThePortsOfTheirKeysAndValues) {
  ModelConfig config = test::small_config();
  config.n_kv_head = 2;
  const EdgeGraph graph(config);
  EXPECT_EQ(graph.n_attention_port(), 8U);
  EXPECT_EQ(graph.n_port(), 28U);
  const Index port = graph.port(PathPort::Kind::k, 1, 3);
  EXPECT_EQ(port, graph.port(PathPort::Kind::k, 1, 2));
  EXPECT_NE(port, graph.port(PathPort::Kind::k, 1, 1));
  EXPECT_EQ(graph.port_name(port), "L1H2-3.k");
  EXPECT_EQ(graph.owner(port), graph.head(1, 2));
  EXPECT_EQ(graph.port(port).n_head, 2U);
  EXPECT_EQ(graph.port_name(graph.port(PathPort::Kind::q, 1, 3)), "L1H3.q");
  for (Index each = 0; each < graph.n_port(); ++each) {
    const PathPort reader = graph.port(each);
    EXPECT_EQ(graph.port(reader.kind, reader.layer, reader.head), each);
  }
}

TEST(EdgeGraph, AParallelMlpDoesNotReadTheHeadsOfItsLayer) {
  ModelConfig config = test::small_config();
  config.parallel_residual = true;
  const EdgeGraph graph(config);
  EXPECT_EQ(graph.n_read(graph.mlp_port(1)), graph.head(1, 0));
  EXPECT_EQ(graph.n_read(graph.attention_port(2)), graph.head(2, 0));
}

// Central differences in double precision of the margin by the share of the change that the port
// reads.
TEST_P(EdgesOfEveryArchitecture, FirstOrderEffectsAgreeWithFiniteDifferences) {
  const std::vector<std::vector<float>> effects = gradients(replacement);
  ASSERT_EQ(effects.size(), 2U);
  constexpr double step = 1e-5;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (Index edge = i; edge < graph.n_edge(); edge += 3) {
      const double slope = (margin_by_ports(model, pairs[i], with_edge(edge, step)) -
                            margin_by_ports(model, pairs[i], with_edge(edge, -step))) /
                           (2 * step);
      // float32's rounding of the gradient, relative to effects of about 0.1 to 2.
      EXPECT_NEAR(static_cast<double>(effects[i][edge]), slope,
                  2e-5 * std::max(1.0, 2 * std::abs(slope)))
          << graph.node_name(graph.node_of(edge)) << " " << graph.port_name(graph.port_of(edge));
    }
  }
}

TEST_P(EdgesOfEveryArchitecture, FirstOrderEffectsOfANodeAddUpToThatOfReplacingItEverywhere) {
  const Matrix zero(model.config.d_model, graph.n_node(), arma::fill::zeros);
  const std::vector<std::vector<float>> effects = gradients(zero);
  HeadGradient gradient(model);
  gradient.run(ablation.activations(), batch, weights, [&](const LayerGradient& view) {
    const arma::mat products = z_dot_gradient(view, model.config.n_head);
    for (Index h = 0; h < model.config.n_head; ++h) {
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const Index begin = i == 0 ? 0 : ends[i - 1];
        const double whole = -arma::accu(products.submat(h, begin, h, ends[i] - 1));
        double sum = 0;
        for (Index port = 0; port < graph.n_port(); ++port) {
          const Index u = graph.head(view.layer, h);
          if (u < graph.n_read(port)) sum += static_cast<double>(effects[i][graph.edge(u, port)]);
        }
        // float32's rounding of some hundred effects of about 0.1.
        EXPECT_NEAR(sum, whole, 1e-5) << "L" << view.layer << "H" << h;
      }
    }
  });
}

TEST_F(Edges, FirstOrderEffectsAreTheSameForSequencesLongerThanAChunk) {
  TokenIds good = Normal(8).tokens(EdgeGradient::columns_at_once + 20, model.config.d_vocab),
           bad = good;
  bad.back() = (bad.back() + 1) % static_cast<TokenId>(model.config.d_vocab);
  SequenceBatch longer;
  longer.add_pair(good, bad, good.size() - 1, false);
  Forward(model).run(longer, {&ablation});
  const std::vector<float> margin{-1, 1};
  const Matrix same = Normal(9).matrix(model.config.d_model, graph.n_node(), 0.3F);
  std::vector<double> whole(graph.n_edge(), 0), parts(graph.n_edge(), 0);
  const auto run = [&](const std::vector<Index>& groups, std::vector<double>& sum) {
    EdgeGradient(model).run(ablation.activations(), longer, margin, same, groups,
                            [&](Index, std::span<const float> effects, std::span<const float>) {
                              for (Index edge = 0; edge < effects.size(); ++edge) {
                                sum[edge] += static_cast<double>(effects[edge]);
                              }
                            });
  };
  run({longer.n_column()}, whole);
  run({3, 50, 51, longer.n_column()}, parts);
  for (Index edge = 0; edge < graph.n_edge(); ++edge) {
    EXPECT_NEAR(whole[edge], parts[edge], 1e-5);  // float32's rounding of other sums
  }
}

TEST_P(EdgesOfEveryArchitecture, ExactEffectsAgreeWithDoublePrecision) {
  std::vector<Index> edges(graph.n_edge());
  std::iota(edges.rbegin(), edges.rend(), 0);
  EdgeAblation exact(model);
  const std::vector<TokenLoss> losses = exact.losses(ablation, batch, edges, replacement);
  ASSERT_EQ(losses.size(), edges.size());
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const std::vector<double> got = margins(losses[e]);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if ((e + i) % 3 != 0) continue;
      // float32's rounding of log probabilities of about 10.
      EXPECT_NEAR(got[i], margin_by_ports(model, pairs[i], with_edge(edges[e], 1)), 5e-5)
          << graph.node_name(graph.node_of(edges[e])) << " "
          << graph.port_name(graph.port_of(edges[e]));
    }
  }
}

TEST_P(EdgesOfEveryArchitecture, CircuitsAgreeWithDoublePrecision) {
  CircuitForward circuit(model);
  Normal normal(9);
  const std::vector<double> whole = margins(ablation.clean_loss(batch));
  for (const double share : {0.0, 0.05, 0.5, 0.9, 1.0}) {
    std::vector<unsigned char> kept(graph.n_edge());
    for (unsigned char& keeps : kept) {
      keeps = static_cast<double>(normal.tokens(1, 1000)[0]) < 1000 * share ? 1 : 0;
    }
    const std::vector<double> got = margins(circuit.run(batch, replacement, kept));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const double expected = margin_by_ports(
          model, pairs[i],
          [&](Index port, const std::vector<arma::mat>& nodes, const arma::vec& bias) {
            arma::mat stream(arma::size(nodes.front()), arma::fill::zeros);
            stream.each_col() += bias;
            for (Index u = 0; u < nodes.size(); ++u) {
              if (kept[graph.edge(u, port)] != 0) {
                stream += nodes[u];
              } else {
                stream += replaced(u, stream.n_cols);
              }
            }
            return stream;
          });
      EXPECT_NEAR(got[i], expected, 5e-5) << share;  // as above
      if (share == 1.0) {
        EXPECT_NEAR(got[i], whole[i], 5e-5);
      }
    }
  }
}

TEST_F(Edges, CountsThatDoNotFitAreRefused) {
  EdgeAblation exact(model);
  const std::vector<Index> edges{graph.n_edge()};
  EXPECT_EQ(
      test::message_of<ShapeError>([&] { exact.losses(ablation, batch, edges, replacement); }),
      "edge: expected below 262, got 262");
  const std::vector<unsigned char> kept(3, 1);
  EXPECT_EQ(
      test::message_of<ShapeError>([&] { CircuitForward(model).run(batch, replacement, kept); }),
      "edges: expected 262, got 3");
  EXPECT_EQ(test::message_of<ShapeError>(
                [&] { CircuitForward(model).run(batch, Matrix(model.config.d_model, 2), kept); }),
            "columns of the replacement of nodes: expected 16, got 2");
  const std::vector<unsigned char> none(graph.n_edge(), 0);
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              CircuitForward(model).run(batch, replacement.head_cols(4 * graph.n_node()), none);
            }),
            "positions of the replacement of nodes: expected more than 4, got 4");
}

// What an edge's ablation adds to the stream, added there, is a head's ablation if the head has no
// other reader.
TEST_F(Edges, ADifferenceOfTheStreamIsTheReplacementOfAHead) {
  const ModelConfig& config = model.config;
  const Index layer = 1, head = 2, d_head = config.d_head();
  const std::vector<HeadVariant> zeroed{{layer, {head}}};
  Matrix written;
  class KeepZ : public LayerObserver {
   public:
    explicit KeepZ(Matrix& z) : z_(z) {}
    void observe_layer(const LayerView& view) override {
      if (view.layer == 1) z_ = view.z;
    }

   private:
    Matrix& z_;
  } observer(written);
  Forward(model).run(batch, {&observer});
  const Matrix difference = -model.layers[layer].W_O.cols(head * d_head, (head + 1) * d_head - 1) *
                            written.rows(head * d_head, (head + 1) * d_head - 1);
  const std::vector<StreamVariant> added{
      {{layer, StartPoint::Sublayer::mlp}, difference},
      {{config.n_layer, StartPoint::Sublayer::attention}, difference}};
  const std::vector<double> expected = margins(ablation.losses(batch, zeroed)[0]);
  const std::vector<TokenLoss> losses = ablation.losses(batch, added);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    // float32's rounding, and a hundred times that.
    EXPECT_NEAR(margins(losses[0])[i], expected[i], 1e-5);
    EXPECT_GT(std::abs(margins(losses[1])[i] - expected[i]), 1e-3);
  }
  const std::vector<StreamVariant> late{{{config.n_layer, StartPoint::Sublayer::mlp}, difference}};
  EXPECT_EQ(test::message_of<ShapeError>([&] { ablation.losses(batch, late); }),
            "layer of a change of the stream: expected below 3, got 3");
}

}  // namespace
}  // namespace headscope
