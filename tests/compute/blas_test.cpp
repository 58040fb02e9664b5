#include "headscope/blas.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "headscope/error.hpp"
#include "support/double_reference.hpp"
#include "support/message_of.hpp"
#include "support/random_weights.hpp"

namespace headscope {
namespace {

using blas::Transpose;
using test::Normal;
using test::relative_error;
using test::widen;

class Threads : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { blas::set_thread_count(GetParam()); }
  void TearDown() override { blas::set_thread_count(before_); }

 private:
  int before_ = blas::thread_count();
};

// Wide, tall, and not a multiple of any register tile; all large enough to be split over threads.
TEST_P(Threads, ProductEqualsDoublePrecisionForEveryTransposition) {
  Normal normal(1);
  for (const auto& [m, n, k] :
       {std::array<Index, 3>{203, 117, 61}, {37, 801, 50}, {1203, 33, 29}}) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        const Matrix A = a ? normal.matrix(k, m) : normal.matrix(m, k);
        const Matrix B = b ? normal.matrix(n, k) : normal.matrix(k, n);
        Matrix C = normal.matrix(m, n);
        const arma::mat left = a ? arma::mat(widen(A).t()) : widen(A);
        const arma::mat right = b ? arma::mat(widen(B).t()) : widen(B);
        const arma::mat expected = 0.5 * left * right + 2 * widen(C);
        blas::multiply(A, a ? Transpose::yes : Transpose::no, B, b ? Transpose::yes : Transpose::no,
                       C, 0.5F, 2.0F);
        EXPECT_LT(relative_error(C, expected), test::rounding_tolerance)
            << m << ' ' << n << ' ' << a << b;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OneToFive, Threads, testing::Values(1, 2, 3, 4, 5));

TEST(Blas, ViewsAddressBlocksOfALargerMatrixAndLeaveTheRestAlone) {
  Normal normal(2);
  const Matrix A = normal.matrix(20, 30), B = normal.matrix(30, 25);
  Matrix C(20, 25);
  C.fill(7);
  const auto a = blas::ConstView(A).rows(4, 6).cols(10, 8);
  const auto b = blas::ConstView(B).rows(3, 8).cols(5, 9);
  blas::multiply(a, b, blas::View(C).rows(2, 6).cols(1, 9));
  Matrix expected(20, 25);
  expected.fill(7);
  expected.submat(2, 1, 7, 9) = A.submat(4, 10, 9, 17) * B.submat(3, 5, 10, 13);
  EXPECT_LT(relative_error(C, expected), test::rounding_tolerance);
}

TEST(Blas, EmptyProductsDoNothing) {
  const Matrix A(0, 3), B(3, 4, arma::fill::ones);
  Matrix C(0, 4);
  EXPECT_NO_THROW(blas::multiply(A, B, C));
}

TEST(Blas, ShapesThatDoNotFitAreNamed) {
  const Matrix A(2, 3, arma::fill::ones), B(4, 5, arma::fill::ones);
  Matrix C(2, 5);
  EXPECT_EQ(test::message_of<ShapeError>([&] { blas::multiply(A, B, C); }),
            "matrix product: [2, 3] times [4, 5] does not fit [2, 5]");
}

TEST(Blas, SizesBeyondOpenBlasIntegersAreNamed) {
  const Matrix A(2, 3, arma::fill::ones);
  Matrix C(3, 3);
  const blas::ConstView column(A.memptr(), 2, 1, 46'341UL * 46'341UL);
  EXPECT_EQ(test::message_of<ShapeError>([&] {
              blas::multiply_serial(column, Transpose::yes, A, Transpose::no,
                                    blas::View(C).rows(0, 1));
            }),
            "matrix product: expected sizes and strides up to 2147483647, got 2147488281");
}

TEST(Blas, ThreadCountIsWhatWasSet) {
  const int before = blas::thread_count();
  blas::set_thread_count(3);
  EXPECT_EQ(blas::thread_count(), 3);
  blas::set_thread_count(0);
  EXPECT_GE(blas::thread_count(), 1);
  blas::set_thread_count(before);
}

TEST(Blas, LibraryIsNamedWithVersionAndKernel) {
  EXPECT_THAT(blas::library_description(),
              testing::MatchesRegex("OpenBLAS [0-9]+\\.[0-9]+\\.[0-9]+ [A-Za-z0-9]+"));
}

}  // namespace
}  // namespace headscope
