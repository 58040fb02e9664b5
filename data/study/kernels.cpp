/* The parts of a training step between the matrix products, on one thread, float32: causal
   attention, GELU and cross-entropy, each with its gradient. train_family.py compiles and calls
   them; its formulas in PyTorch are what they compute.

   Arrays are row-major and contiguous. rows, length: the batch; length and vocab_size are multiples
   of 16. */

#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef std::int32_t i8 __attribute__((vector_size(32)));

constexpr int BLOCK = 16, MAX_LENGTH = 256, MAX_WIDTH = 128;

inline v8 load(const float* p) {
  return *(const v8*)p;
}
inline void store(float* p, v8 x) {
  *(v8*)p = x;
}
inline v8 all(float x) {
  return (v8){x, x, x, x, x, x, x, x};
}
inline v8 larger(v8 a, v8 b) {
  return a > b ? a : b;
}
inline float sum_of(v8 x) {
  return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]));
}

/* e^x to about 1e-7 relative, 0 below -87: Cephes' expf. */
inline v8 exponential(v8 x) {
  const i8 tiny = x < all(-87.f);
  x = x > all(88.f) ? all(88.f) : x;
  x = tiny ? all(-87.f) : x;
  const v8 shifted = x * all(1.44269504f) + all(12582912.f);
  const v8 whole = shifted - all(12582912.f);
  const v8 r = x - whole * all(0.693359375f) + whole * all(2.12194440e-4f);
  v8 p = all(1.9875691500e-4f);
  p = p * r + all(1.3981999507e-3f);
  p = p * r + all(8.3334519073e-3f);
  p = p * r + all(4.1665795894e-2f);
  p = p * r + all(1.6666665459e-1f);
  p = p * r + all(5.0000001201e-1f);
  p = p * r * r + r + all(1.f);
  const i8 exponent = (__builtin_convertvector(whole, i8) + 127) << 23;
  return tiny ? all(0.f) : p * (v8)exponent;
}

/* C (m x 8 nv) = or += A B over depth; A's element (i, c) at a[i * ai + c * ac], B's and C's rows
 * at strides b_row and c_row. */
template <int m, int nv>
inline void tile(int depth, const float* a, int ai, int ac, const float* b, int b_row, float* c,
                 int c_row, int add) {
  v8 sum[m][nv];
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < nv; ++j) sum[i][j] = add ? load(c + i * c_row + 8 * j) : all(0.f);
  for (int k = 0; k < depth; ++k)
    for (int i = 0; i < m; ++i) {
      const v8 factor = all(a[i * ai + k * ac]);
      for (int j = 0; j < nv; ++j) sum[i][j] += factor * load(b + k * b_row + 8 * j);
    }
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < nv; ++j) store(c + i * c_row + 8 * j, sum[i][j]);
}

/* C (m x n) = or += A B, n a multiple of 8; operands as in tile. */
inline void product(int m, int n, int depth, const float* a, int ai, int ac, const float* b,
                    int b_row, float* c, int c_row, int add) {
  for (int j = 0; j < n; j += n - j >= 16 ? 16 : 8) {
    const int wide = n - j >= 16;
    int i = 0;
    for (; i + 4 <= m; i += 4) {
      if (wide)
        tile<4, 2>(depth, a + i * ai, ai, ac, b + j, b_row, c + i * c_row + j, c_row, add);
      else
        tile<4, 1>(depth, a + i * ai, ai, ac, b + j, b_row, c + i * c_row + j, c_row, add);
    }
    for (; i < m; ++i) {
      if (wide)
        tile<1, 2>(depth, a + i * ai, ai, ac, b + j, b_row, c + i * c_row + j, c_row, add);
      else
        tile<1, 1>(depth, a + i * ai, ai, ac, b + j, b_row, c + i * c_row + j, c_row, add);
    }
  }
}

/* One head's part of an array (token, width of all): as (token, feature) into `by_token` and
 * (feature, token) into `by_feature`, times `scale`. */
void gather(const float* from, int stride, int length, int width, float scale, float* by_token,
            float* by_feature) {
  for (int t = 0; t < length; ++t)
    for (int c = 0; c < width; ++c) {
      const float x = from[t * stride + c] * scale;
      by_token[t * width + c] = x;
      by_feature[c * length + t] = x;
    }
}

/* Scores (key, 16 queries from `first`) of keys 0 … first + 15; -inf where the key comes after the
 * query. */
inline void scores_of(int first, int length, int width, const float* k, const float* q_by_feature,
                      float* scores) {
  product(first + BLOCK, BLOCK, width, k, width, 1, q_by_feature + first, length, scores, BLOCK, 0);
  for (int i = 1; i < BLOCK; ++i)
    for (int j = 0; j < i; ++j) scores[(first + i) * BLOCK + j] = -HUGE_VALF;
}

/* 1 / (1 + e^(-2u)) of u = sqrt(2/pi) (x + 0.044715 x^3): gelu_new is x times it. */
inline v8 gate(v8 x) {
  return all(1.f) /
         (all(1.f) + exponential(x * (all(-1.5957691216f) + all(-0.0713548162726f) * x * x)));
}

}  // namespace

extern "C" {

/* z (rows, length, heads * width) of qkv (rows, length, 3, heads, width). `largest` and `sum`
   (rows, heads, length) are kept for the gradient: a query's largest score, and the sum of e^(score
   - largest). */
void attention(const float* qkv, int rows, int length, int heads, int width, float* z,
               float* largest, float* sum) {
  static float q[MAX_LENGTH * MAX_WIDTH], qt[MAX_LENGTH * MAX_WIDTH], k[MAX_LENGTH * MAX_WIDTH],
      v[MAX_LENGTH * MAX_WIDTH], unused[MAX_LENGTH * MAX_WIDTH];
  static float p[MAX_LENGTH * BLOCK], zt[MAX_WIDTH * BLOCK];
  const int d = heads * width;
  for (int row = 0; row < rows; ++row)
    for (int head = 0; head < heads; ++head) {
      const float* from = qkv + std::int64_t{row} * length * 3 * d + head * width;
      gather(from, 3 * d, length, width, 1 / std::sqrt(static_cast<float>(width)), q, qt);
      gather(from + d, 3 * d, length, width, 1, k, unused);
      gather(from + 2 * d, 3 * d, length, width, 1, v, unused);
      float* kept_largest = largest + (std::int64_t{row} * heads + head) * length;
      float* kept_sum = sum + (std::int64_t{row} * heads + head) * length;
      for (int first = 0; first < length; first += BLOCK) {
        const int n_key = first + BLOCK;
        scores_of(first, length, width, k, qt, p);
        v8 top[2] = {load(p), load(p + 8)}, total[2] = {all(0.f), all(0.f)};
        for (int i = 1; i < n_key; ++i)
          for (int j = 0; j < 2; ++j) top[j] = larger(top[j], load(p + i * BLOCK + 8 * j));
        for (int i = 0; i < n_key; ++i)
          for (int j = 0; j < 2; ++j) {
            const v8 e = exponential(load(p + i * BLOCK + 8 * j) - top[j]);
            store(p + i * BLOCK + 8 * j, e);
            total[j] += e;
          }
        product(width, BLOCK, n_key, v, 1, width, p, BLOCK, zt, BLOCK, 0);
        for (int j = 0; j < 2; ++j) {
          store(kept_largest + first + 8 * j, top[j]);
          store(kept_sum + first + 8 * j, total[j]);
        }
        for (int t = 0; t < BLOCK; ++t)
          for (int c = 0; c < width; ++c)
            z[(std::int64_t{row} * length + first + t) * d + head * width + c] =
                zt[c * BLOCK + t] / kept_sum[first + t];
      }
    }
}

/* The gradient of qkv from that of z; qkv, z, largest and sum as `attention` had and gave them. */
void attention_gradient(const float* qkv, const float* z, const float* gradient,
                        const float* largest, const float* sum, int rows, int length, int heads,
                        int width, float* output) {
  static float q[MAX_LENGTH * MAX_WIDTH], qt[MAX_LENGTH * MAX_WIDTH], k[MAX_LENGTH * MAX_WIDTH],
      v[MAX_LENGTH * MAX_WIDTH];
  static float g[MAX_LENGTH * MAX_WIDTH], gt[MAX_LENGTH * MAX_WIDTH], zt[MAX_LENGTH * MAX_WIDTH],
      unused[MAX_LENGTH * MAX_WIDTH];
  static float p[MAX_LENGTH * BLOCK], ds[MAX_LENGTH * BLOCK], dqt[MAX_WIDTH * BLOCK],
      dk[MAX_LENGTH * MAX_WIDTH], dv[MAX_LENGTH * MAX_WIDTH];
  const int d = heads * width;
  const float scale = 1 / std::sqrt(static_cast<float>(width));
  /* Narrow heads keep eight partial sums for each feature, to be added up at the end. */
  const int lanes = width < 8 ? 8 : 1;
  for (int row = 0; row < rows; ++row)
    for (int head = 0; head < heads; ++head) {
      const float* from = qkv + std::int64_t{row} * length * 3 * d + head * width;
      gather(from, 3 * d, length, width, scale, q, qt);
      gather(from + d, 3 * d, length, width, 1, k, unused);
      gather(from + 2 * d, 3 * d, length, width, 1, v, unused);
      gather(gradient + std::int64_t{row} * length * d + head * width, d, length, width, 1, g, gt);
      gather(z + std::int64_t{row} * length * d + head * width, d, length, width, 1, unused, zt);
      std::memset(dk, 0, sizeof(float) * length * width * lanes);
      std::memset(dv, 0, sizeof(float) * length * width * lanes);
      float* to = output + std::int64_t{row} * length * 3 * d + head * width;
      for (int first = 0; first < length; first += BLOCK) {
        const int n_key = first + BLOCK;
        const std::int64_t kept = (std::int64_t{row} * heads + head) * length + first;
        scores_of(first, length, width, k, qt, p);
        product(n_key, BLOCK, width, v, width, 1, gt + first, length, ds, BLOCK, 0);
        for (int j = 0; j < BLOCK; j += 8) {
          v8 dot = all(0.f);
          for (int c = 0; c < width; ++c)
            dot += load(gt + c * length + first + j) * load(zt + c * length + first + j);
          const v8 top = load(largest + kept + j), share = all(1.f) / load(sum + kept + j);
          for (int i = 0; i < n_key; ++i) {
            const v8 e = exponential(load(p + i * BLOCK + j) - top) * share;
            store(p + i * BLOCK + j, e);
            store(ds + i * BLOCK + j, e * (load(ds + i * BLOCK + j) - dot));
          }
        }
        product(width, BLOCK, n_key, k, 1, width, ds, BLOCK, dqt, BLOCK, 0);
        for (int t = 0; t < BLOCK; ++t)
          for (int c = 0; c < width; ++c)
            to[std::int64_t{first + t} * 3 * d + c] = dqt[c * BLOCK + t] * scale;
        if (lanes == 1) {
          product(n_key, width, BLOCK, ds, BLOCK, 1, q + first * width, width, dk, width, 1);
          product(n_key, width, BLOCK, p, BLOCK, 1, g + first * width, width, dv, width, 1);
          continue;
        }
        for (int c = 0; c < width; ++c) {
          const v8 q0 = load(qt + c * length + first), q1 = load(qt + c * length + first + 8);
          const v8 g0 = load(gt + c * length + first), g1 = load(gt + c * length + first + 8);
          for (int i = 0; i < n_key; ++i) {
            float *a = dk + (i * width + c) * 8, *b = dv + (i * width + c) * 8;
            store(a, load(a) + load(ds + i * BLOCK) * q0 + load(ds + i * BLOCK + 8) * q1);
            store(b, load(b) + load(p + i * BLOCK) * g0 + load(p + i * BLOCK + 8) * g1);
          }
        }
      }
      for (int t = 0; t < length; ++t)
        for (int c = 0; c < width; ++c) {
          const int at = t * width + c;
          to[std::int64_t{t} * 3 * d + d + c] = lanes == 1 ? dk[at] : sum_of(load(dk + 8 * at));
          to[std::int64_t{t} * 3 * d + 2 * d + c] = lanes == 1 ? dv[at] : sum_of(load(dv + 8 * at));
        }
    }
}

/* gelu_new of `count` numbers, a multiple of 8. */
void gelu(const float* x, std::int64_t count, float* output) {
  for (std::int64_t i = 0; i < count; i += 8) store(output + i, load(x + i) * gate(load(x + i)));
}

/* gradient * d gelu_new(x) / dx */
void gelu_gradient(const float* x, const float* gradient, std::int64_t count, float* output) {
  for (std::int64_t i = 0; i < count; i += 8) {
    const v8 a = load(x + i), s = gate(a);
    const v8 slope = a * (all(1.5957691216f) + all(3 * 0.0713548162726f) * a * a);
    store(output + i, load(gradient + i) * s * (all(1.f) + slope * (all(1.f) - s)));
  }
}

/* Sum of -ln softmax(logits)[target] over the rows (nats); replaces logits (rows, vocab_size) by
 * the gradient of that sum times `scale`. */
double cross_entropy(float* logits, const std::int64_t* targets, int rows, int vocab_size,
                     float scale) {
  double loss = 0;
  for (int row = 0; row < rows; ++row) {
    float* x = logits + std::int64_t{row} * vocab_size;
    v8 top = load(x), total = all(0.f);
    for (int i = 8; i < vocab_size; i += 8) top = larger(top, load(x + i));
    float largest = top[0];
    for (int i = 1; i < 8; ++i) largest = top[i] > largest ? top[i] : largest;
    const float wanted = x[targets[row]] - largest;
    for (int i = 0; i < vocab_size; i += 8) {
      const v8 e = exponential(load(x + i) - all(largest));
      store(x + i, e);
      total += e;
    }
    const float sum = sum_of(total);
    loss += std::log(sum) - wanted;
    const v8 share = all(scale / sum);
    for (int i = 0; i < vocab_size; i += 8) store(x + i, load(x + i) * share);
    x[targets[row]] -= scale;
  }
  return loss;
}
}
