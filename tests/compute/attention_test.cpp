#include "headscope/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "headscope/error.hpp"
#include "support/double_reference.hpp"
#include "support/golden.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using test::Normal;
using test::reference_attention;
using test::relative_error;
using test::widen;

// float32 rounding of scores, softmax and sums.

using Form = AttentionOutput (*)(const Matrix&, const Matrix&, const AttentionWeights&,
                                 const AttentionMask&, const AttentionRequest&);
constexpr AttentionRequest everything{true, true};

class EitherForm : public testing::TestWithParam<Form> {};
INSTANTIATE_TEST_SUITE_P(FusedAndPerHead, EitherForm,
                         testing::Values(&multi_head_attention, &multi_head_attention_per_head));

// Three tokens, two heads of width two, scale sqrt 2, no output projection. Weights are written
// [in, out] and transposed.
AttentionWeights worked_example_weights() {
  AttentionWeights w;
  w.n_head = 2;
  w.W_Q = arma::join_horiz(Matrix{{1, 0}, {0, 1}}, Matrix{{1, 1}, {0, 1}}).t();
  w.W_K = arma::join_horiz(Matrix{{1, 1}, {1, 0}}, Matrix{{0, 1}, {1, 1}}).t();
  w.W_V = arma::join_horiz(Matrix{{0, 1}, {1, 0}}, Matrix{{1, 0}, {0, 1}}).t();
  return w;
}
const Matrix worked_example_tokens = {{1, 3, 5}, {2, 4, 6}};

TEST_P(EitherForm, ReproducesTheWorkedExample) {
  const AttentionWeights w = worked_example_weights();
  const auto out = GetParam()(worked_example_tokens, worked_example_tokens, w,
                              AttentionMask::none(), everything);
  EXPECT_NEAR(out.pattern(0, 0, 0), 1.216183e-5, 1e-10);
  EXPECT_NEAR(out.pattern(1, 0, 0), 3.481285e-3, 1e-8);
  EXPECT_NEAR(out.pattern(2, 0, 0), 0.9965066, 1e-6);
  const Matrix expected = {{5.992988783F, 5.999998557F, 6},
                           {4.992988783F, 4.999998557F, 5},
                           {4.999899595F, 5, 5},
                           {5.999899595F, 6, 6}};
  EXPECT_LT(relative_error(out.output, expected), 1e-6);
  EXPECT_LT(relative_error(out.z, expected), 1e-6);
}

TEST_P(EitherForm, ReproducesTheWorkedExampleWithACausalMask) {
  const AttentionWeights w = worked_example_weights();
  const auto out = GetParam()(worked_example_tokens, worked_example_tokens, w,
                              AttentionMask::causal(), everything);
  const Matrix expected = {{2, 3.999998557F, 6}, {1, 2.999998557F, 5}, {1, 3, 5}, {2, 4, 6}};
  EXPECT_LT(relative_error(out.output, expected), 1e-6);
  const arma::mat first = widen(Matrix(out.z.rows(0, 1))), second = widen(Matrix(out.z.rows(2, 3)));
  const auto no_mask = GetParam()(worked_example_tokens, worked_example_tokens, w,
                                  AttentionMask::none(), everything);
  const arma::mat u = widen(Matrix(no_mask.z.rows(0, 1))), v = widen(Matrix(no_mask.z.rows(2, 3)));
  EXPECT_NEAR(arma::dot(u, v) / std::sqrt(arma::dot(u, u) * arma::dot(v, v)), 0.983599, 1e-6);
}

AttentionWeights random_attention(Index n_head, Index d_head, Index d_value, Index d_in, bool bias,
                                  std::uint64_t seed) {
  Normal normal(seed);
  AttentionWeights w;
  w.n_head = n_head;
  w.W_Q = normal.matrix(n_head * d_head, d_in, 0.3F);
  w.W_K = normal.matrix(n_head * d_head, d_in, 0.3F);
  w.W_V = normal.matrix(n_head * d_value, d_in, 0.3F);
  w.W_O = normal.matrix(d_in, n_head * d_value, 0.3F);
  if (bias) {
    w.b_Q = normal.vector(n_head * d_head);
    w.b_K = normal.vector(n_head * d_head);
    w.b_V = normal.vector(n_head * d_value);
    w.b_O = normal.vector(d_in);
  }
  return w;
}

arma::mat affine(const Matrix& W, const Vector& b, const Matrix& X) {
  arma::mat Y = widen(W) * widen(X);
  if (!b.is_empty()) Y.each_col() += widen(b);
  return Y;
}

// Cross-attention; values and keys differ in width; queries fill more than one block.
TEST_P(EitherForm, AgreesWithDoublePrecisionUnderEveryMask) {
  Normal normal(1);
  const Index n_head = 3, d_head = 5, d_value = 7, d_in = 20, n_query = 75, n_key = 90;
  const Matrix queries = normal.matrix(d_in, n_query), keys = normal.matrix(d_in, n_key);
  arma::Mat<unsigned char> allowed(n_key, n_query);
  for (Index i = 0; i < allowed.n_elem; ++i) allowed(i) = (i * 7919 % 5) < 2;
  for (const bool bias : {false, true}) {
    const AttentionWeights w = random_attention(n_head, d_head, d_value, d_in, bias, 2);
    const arma::mat Q = affine(w.W_Q, w.b_Q, queries), K = affine(w.W_K, w.b_K, keys),
                    V = affine(w.W_V, w.b_V, keys);
    for (const auto& mask :
         {AttentionMask::none(), AttentionMask::causal(), AttentionMask::custom(allowed)}) {
      const auto out = GetParam()(queries, keys, w, mask, everything);
      arma::mat z(n_head * d_value, n_query);
      for (Index h = 0; h < n_head; ++h) {
        arma::mat pattern;
        z.rows(h * d_value, (h + 1) * d_value - 1) = reference_attention(
            Q.rows(h * d_head, (h + 1) * d_head - 1), K.rows(h * d_head, (h + 1) * d_head - 1),
            V.rows(h * d_value, (h + 1) * d_value - 1), 1 / std::sqrt(5.0),
            [&](Index q, Index k) {
              if (mask.kind == MaskKind::causal) return k <= q;
              return mask.kind == MaskKind::none || allowed(k, q) != 0;
            },
            &pattern);
        EXPECT_LT(relative_error(out.pattern.slice(h), pattern), test::float32_tolerance);
      }
      EXPECT_LT(relative_error(out.z, z), test::float32_tolerance);
      arma::mat output = widen(w.W_O) * z;
      if (bias) output.each_col() += widen(w.b_O);
      EXPECT_LT(relative_error(out.output, output), test::float32_tolerance);
    }
  }
}

TEST_P(EitherForm, AMaskOfOnesIsNoMask) {
  const Matrix X = Normal(3).matrix(12, 20);
  const AttentionWeights w = random_attention(2, 6, 6, 12, true, 4);
  const auto ones = AttentionMask::custom(arma::Mat<unsigned char>(20, 20, arma::fill::ones));
  EXPECT_LT(relative_error(GetParam()(X, X, w, ones, everything).output,
                           GetParam()(X, X, w, AttentionMask::none(), everything).output),
            1e-7);
}

TEST_P(EitherForm, AQueryThatMaySeeNothingGetsZeros) {
  const Matrix X = Normal(5).matrix(12, 9);
  AttentionWeights w = random_attention(2, 6, 6, 12, false, 6);
  arma::Mat<unsigned char> allowed(9, 9, arma::fill::ones);
  allowed.col(4).zeros();
  const auto out = GetParam()(X, X, w, AttentionMask::custom(allowed), everything);
  EXPECT_EQ(arma::abs(out.pattern.slice(1).col(4)).max(), 0.0F);
  EXPECT_EQ(arma::abs(out.output.col(4)).max(), 0.0F);
  EXPECT_NEAR(arma::accu(out.pattern.slice(1).col(3)), 1, 1e-6);
}

TEST_P(EitherForm, GivesOnlyWhatWasAskedFor) {
  const Matrix X = Normal(7).matrix(12, 9);
  const auto out =
      GetParam()(X, X, random_attention(2, 6, 6, 12, true, 8), AttentionMask::none(), {});
  EXPECT_TRUE(out.pattern.is_empty());
  EXPECT_TRUE(out.head_output.is_empty());
}

TEST(Attention, FusedEqualsPerHeadForAnyHeadCount) {
  const Matrix X = Normal(9).matrix(24, 100);
  for (const Index n_head : {1, 2, 3, 4, 6, 8, 12, 24}) {
    const AttentionWeights w = random_attention(n_head, 24 / n_head, 24 / n_head, 24, true, 10);
    const auto fused = multi_head_attention(X, X, w, AttentionMask::causal(), everything);
    const auto apart = multi_head_attention_per_head(X, X, w, AttentionMask::causal(), everything);
    EXPECT_LT(relative_error(fused.output, apart.output), 1e-6) << n_head;
    EXPECT_LT(arma::abs(fused.pattern - apart.pattern).max(), 1e-6) << n_head;
  }
}

TEST(Attention, ShapesThatDoNotFitAreNamed) {
  const Matrix X(12, 5, arma::fill::ones);
  const auto message = [&](const AttentionWeights& w, const AttentionMask& mask) -> std::string {
    return test::message_of<ShapeError>([&] { multi_head_attention(X, X, w, mask); });
  };
  AttentionWeights w = random_attention(2, 6, 6, 12, true, 11);
  EXPECT_EQ(message(w, AttentionMask::custom(arma::Mat<unsigned char>(5, 4))),
            "mask: expected shape [5, 5], got [5, 4]");
  w.b_K = Vector(3, arma::fill::zeros);
  EXPECT_EQ(message(w, {}), "b_K: expected 12, got 3");
  w = random_attention(2, 6, 6, 13, true, 11);
  EXPECT_EQ(message(w, {}), "W_Q columns: expected 12, got 13");
  w = random_attention(2, 6, 6, 12, true, 11);
  w.n_head = 5;
  EXPECT_EQ(message(w, {}), "W_Q rows: expected a multiple of 5 heads, got 12");
}

TEST(HeadOutput, SumPlusBiasIsAttentionOutput) {
  const Matrix X = Normal(12).matrix(12, 30);
  const AttentionWeights w = random_attention(3, 4, 5, 12, true, 13);
  const auto out = multi_head_attention(X, X, w, AttentionMask::causal(), everything);
  Matrix sum = arma::sum(out.head_output, 2);
  sum.each_col() += w.b_O;
  EXPECT_LT(relative_error(sum, out.output), 1e-6);
}

TEST(HeadOutput, WithoutAnOutputProjectionIsEachHeadInItsOwnRows) {
  const Matrix X = Normal(14).matrix(12, 30);
  AttentionWeights w = random_attention(3, 4, 4, 12, false, 15);
  w.W_O.reset();
  const auto out = multi_head_attention(X, X, w, AttentionMask::causal(), everything);
  EXPECT_LT(relative_error(out.output, out.z), 1e-7);
  EXPECT_LT(relative_error(Matrix(arma::sum(out.head_output, 2)), out.z), 1e-7);
  EXPECT_EQ(arma::abs(out.head_output.slice(1).rows(0, 3)).max(), 0.0F);
}

TEST(HeadOutput, WithoutAnOutputProjectionTheBiasIsStillAdded) {
  const Matrix X = Normal(14).matrix(12, 30);
  AttentionWeights w = random_attention(3, 4, 4, 12, true, 15);
  w.W_O.reset();
  const auto out = multi_head_attention(X, X, w, AttentionMask::causal());
  Matrix expected = out.z;
  expected.each_col() += w.b_O;
  EXPECT_LT(relative_error(out.output, expected), 1e-7);
}

struct CausalCase {
  Matrix qkv;
  Matrix z;
  Cube pattern;
};

double usual_scale(const Matrix& qkv, Index n_head) {
  return 1 / std::sqrt(static_cast<double>(qkv.n_rows / 3 / n_head));
}

CausalCase run_causal(const Matrix& qkv, Index n_head, Index n_sequence,
                      Engine engine = Engine::float32) {
  const Index n_token = qkv.n_cols / n_sequence;
  CausalCase c{qkv, Matrix(qkv.n_rows / 3, qkv.n_cols),
               Cube(n_token, n_token, n_head * n_sequence)};
  // Old contents must not affect the result.
  c.z.fill(arma::fdatum::nan);
  c.pattern.fill(arma::fdatum::nan);
  causal_attention(qkv, n_head, usual_scale(qkv, n_head), n_sequence, c.z, &c.pattern, engine);
  return c;
}

// Every head of every sequence against double precision.
void expect_exact(const CausalCase& c, Index n_head, double error) {
  const Index d_head = c.z.n_rows / n_head, n_token = c.pattern.n_cols;
  for (Index slice = 0; slice < c.pattern.n_slices; ++slice) {
    const Index head = slice % n_head, first_column = slice / n_head * n_token;
    const auto part = [&](const Matrix& of, Index which) {
      return Matrix(
          of.submat(which * c.z.n_rows + head * d_head, first_column, arma::size(d_head, n_token)));
    };
    const auto input = [&](Index which) { return widen(part(c.qkv, which)); };
    arma::mat pattern;
    const arma::mat z = reference_attention(
        input(0), input(1), input(2), usual_scale(c.qkv, n_head),
        [](Index q, Index k) { return k <= q; }, &pattern);
    EXPECT_LT(relative_error(c.pattern.slice(slice), pattern), error) << n_token;
    EXPECT_LT(relative_error(part(c.z, 0), z), error) << n_token;
  }
}

// Lengths around the block of 64 queries.
TEST(CausalAttention, AgreesWithDoublePrecisionAtEveryLength) {
  for (const Index n_token : {1, 2, 63, 64, 65, 128, 200}) {
    expect_exact(run_causal(Normal(n_token).matrix(72, n_token), 3, 1), 3, 1e-6);
  }
}

// Lengths around whole tiles, and heads of less and more than one.
TEST(CausalAttention, AgreesWithDoublePrecisionByEveryEngine) {
  for (const auto& [engine, error] : {std::pair{Engine::bfloat16_six, 1e-6},
                                      {Engine::bfloat16_three, 3e-5},
                                      {Engine::bfloat16_one, 1e-2},
                                      {Engine::int16, 1e-3}}) {
    for (const Index d_head : {8, 40}) {
      for (const Index n_token : {128, 145, 160, 300}) {
        const Matrix qkv = Normal(n_token).matrix(6 * d_head, 2 * n_token);
        expect_exact(run_causal(qkv, 2, 2, engine), 2, error);
      }
    }
  }
}

TEST(CausalAttention, FewQueriesGoBySgemmWhateverTheEngine) {
  for (const Index n_token : {127, 128}) {
    const Matrix qkv = Normal(24).matrix(48, n_token);
    EXPECT_EQ(
        test::same_values(run_causal(qkv, 2, 1).z, run_causal(qkv, 2, 1, Engine::bfloat16_six).z),
        n_token == 127);
  }
}

TEST(CausalAttention, ColumnsSumToOneAndNeverLookAhead) {
  const CausalCase c = run_causal(Normal(20).matrix(96, 150), 4, 1);
  for (Index h = 0; h < 4; ++h) {
    for (Index q = 0; q < 150; ++q) {
      EXPECT_NEAR(arma::accu(widen(Matrix(c.pattern.slice(h).col(q)))), 1, 1e-6);
      if (q < 149) {
        EXPECT_EQ(arma::abs(c.pattern.slice(h).col(q).tail(149 - q)).max(), 0.0F);
      }
    }
  }
}

TEST(CausalAttention, LaterTokensDoNotChangeEarlierOnes) {
  const Matrix qkv = Normal(21).matrix(96, 150);
  const CausalCase all = run_causal(qkv, 4, 1), some = run_causal(qkv.cols(0, 69), 4, 1);
  EXPECT_LT(relative_error(some.z, Matrix(all.z.cols(0, 69))), 1e-6);
}

TEST(CausalAttention, SequencesSideBySideEqualSeparateOnes) {
  const Matrix qkv = Normal(22).matrix(96, 3 * 70);
  const CausalCase together = run_causal(qkv, 4, 3);
  for (Index s = 0; s < 3; ++s) {
    const CausalCase apart = run_causal(qkv.cols(s * 70, s * 70 + 69), 4, 1);
    EXPECT_LT(relative_error(Matrix(together.z.cols(s * 70, s * 70 + 69)), apart.z), 1e-6);
    for (Index h = 0; h < 4; ++h) {
      EXPECT_LT(relative_error(together.pattern.slice(s * 4 + h), apart.pattern.slice(h)), 1e-6);
    }
  }
}

TEST(CausalAttention, IsTheSameWithoutKeepingPatterns) {
  const Matrix qkv = Normal(23).matrix(96, 130);
  Matrix z(32, 130);
  causal_attention(qkv, 4, usual_scale(qkv, 4), 1, z);
  EXPECT_LT(relative_error(z, run_causal(qkv, 4, 1).z), 1e-6);
}

AttentionWeights golden_weights(const hdf5::InputFile& file, Index n_head, bool bias) {
  const auto weight = [&](const char* name) { return test::narrow(test::read_matrix(file, name)); };
  AttentionWeights w;
  w.n_head = n_head;
  w.W_Q = weight("W_Q");
  w.W_K = weight("W_K");
  w.W_V = weight("W_V");
  w.W_O = weight("W_O");
  if (bias) {
    w.b_Q = weight("b_Q").t();
    w.b_K = weight("b_K").t();
    w.b_V = weight("b_V").t();
    w.b_O = weight("b_O").t();
  }
  return w;
}

TEST_P(EitherForm, AgreesWithPyTorchMultiheadAttention) {
  const hdf5::InputFile file(test::data_path("multihead_golden.h5"));
  const Matrix query = test::narrow(test::read_matrix(file, "query"));
  const Matrix context = test::narrow(test::read_matrix(file, "context"));
  const auto custom = [&](const char* name) {
    const auto allowed = file.read_integers(name);
    const Shape shape = file.info(name).shape;
    return AttentionMask::custom(arma::conv_to<arma::Mat<unsigned char>>::from(
        arma::Mat<std::int64_t>(allowed.data(), shape[1], shape[0])));
  };
  struct Setting {
    const char* name;
    const Matrix& keys;
    AttentionMask mask;
    bool without_bias;
  };
  const Setting settings[] = {
      {"self", query, AttentionMask::none(), false},
      {"self_causal", query, AttentionMask::causal(), true},
      {"self_custom", query, custom("mask_self_custom"), false},
      {"cross", context, AttentionMask::none(), true},
      {"cross_custom", context, custom("mask_cross_custom"), false},
  };
  for (const Index n_head : {1, 2, 5, 8}) {
    for (const Setting& setting : settings) {
      for (const bool bias : {true, false}) {
        if (!bias && !setting.without_bias) continue;
        const std::string group =
            "heads_" + std::to_string(n_head) + "/" + (bias ? "bias/" : "no_bias/") + setting.name;
        const auto out = GetParam()(query, setting.keys, golden_weights(file, n_head, bias),
                                    setting.mask, everything);
        const arma::cube pattern = test::read_slices(file, group + "/pattern", 1);
        ASSERT_EQ(pattern.n_slices, n_head);
        for (Index h = 0; h < n_head; ++h) {
          EXPECT_LT(relative_error(out.pattern.slice(h), pattern.slice(h)), test::float32_tolerance)
              << group;
        }
        EXPECT_LT(relative_error(out.output, test::read_matrix(file, group + "/output")),
                  test::float32_tolerance)
            << group;
      }
    }
  }
}

}  // namespace
}  // namespace headscope
