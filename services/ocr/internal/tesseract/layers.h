// The layers of the line recogniser, which forward.cc compiles once for each set of instructions. Where PRODUCTS_OF_FOUR is
// defined, there are those of AVX-512 VNNI, which add up the products of four bytes at once.

// holds_one_image tells that the rows of io are the places of one image, line by line.
bool holds_one_image(const NetworkIO &io) {
  const StrideMap &m = io.stride_map;
  return io.int_mode && m.shape[0] == 1 && m.heights.size() == 1 && m.heights[0] == m.shape[1] &&
         m.widths.size() == 1 && m.widths[0] == m.shape[2] && m.shape[1] > 0 && m.shape[2] > 0 &&
         io.i.dim1 == m.shape[1] * m.shape[2];
}

// is_plain tells that the layer is used to read, with an input of its size.
bool is_plain(const Network &n, const NetworkIO &input) {
  return n.training != TS_ENABLED && holds_one_image(input) && input.i.dim2 == n.ni;
}

// is_shaped tells that the weights are in the order that multiply expects.
bool is_shaped(const WeightMatrix &w, int inputs, int outputs) {
  size_t rounded = (outputs + 7) / 8 * 8;
  return w.int_mode && w.wi.dim1 == outputs && w.wi.dim2 == inputs + 1 && w.scales.size() == rounded &&
         w.shaped_w.size() == rounded * ((inputs + 3) / 4 * 4 + 1);
}

// Products.

// multiply_registers computes 8*R outputs of B rows of features. The weights are blocks of 4 inputs by 8 outputs, step
// bytes from one group of 4 inputs to the next.
template <int B, int R>
inline void multiply_registers(const int8_t *weights, size_t step, int groups, const int8_t *biases,
                               const float *scales, const int8_t *features, size_t feature_step, float *out,
                               size_t out_step) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[B][R];
  for (int b = 0; b < B; b++) {
    for (int r = 0; r < R; r++) sums[b][r] = _mm256_setzero_si256();
  }
  for (int g = 0; g < groups; g++, weights += step) {
    __m256i inputs[B], sizes[B];
    for (int b = 0; b < B; b++) {
      int32_t four;
      memcpy(&four, features + b * feature_step + 4 * g, sizeof four);
      inputs[b] = _mm256_set1_epi32(four);
      sizes[b] = _mm256_abs_epi8(inputs[b]);
    }
    for (int r = 0; r < R; r++) {
      __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(weights + 32 * r));
      for (int b = 0; b < B; b++) {
        // Of pairs, at most 2*127*127, so that 16 bits hold it; then of four.
        __m256i pairs = _mm256_maddubs_epi16(sizes[b], _mm256_sign_epi8(w, inputs[b]));
        sums[b][r] = _mm256_add_epi32(sums[b][r], _mm256_madd_epi16(pairs, ones));
      }
    }
  }
  for (int r = 0; r < R; r++) {
    __m256i bias = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(biases + 8 * r)));
    bias = _mm256_mullo_epi32(bias, _mm256_set1_epi32(INT8_MAX));
    __m256 scale = _mm256_loadu_ps(scales + 8 * r);
    for (int b = 0; b < B; b++) {
      __m256 sum = _mm256_cvtepi32_ps(_mm256_add_epi32(sums[b][r], bias));
      _mm256_storeu_ps(out + b * out_step + 8 * r, _mm256_mul_ps(sum, scale));
    }
  }
}

#ifdef PRODUCTS_OF_FOUR
// multiply_wide does the same for 16*R outputs. The instruction wants one factor without a sign: an input's goes to the weights.
template <int B, int R>
inline void multiply_wide(const int8_t *weights, size_t step, int groups, const int8_t *biases, const float *scales,
                          const int8_t *features, size_t feature_step, float *out, size_t out_step) {
  constexpr int chains = B * R < 8 ? 2 : 1;  // sums that do not wait for each other
  __m512i sums[chains][B][R];
  for (int c = 0; c < chains; c++) {
    for (int b = 0; b < B; b++) {
      for (int r = 0; r < R; r++) sums[c][b][r] = _mm512_setzero_si512();
    }
  }
  for (int g = 0; g < groups; g += chains) {
    for (int c = 0; c < chains && g + c < groups; c++, weights += step) {
      __m512i sizes[B];
      __mmask64 negative[B];
      for (int b = 0; b < B; b++) {
        int32_t four;
        memcpy(&four, features + b * feature_step + 4 * (g + c), sizeof four);
        const __m512i inputs = _mm512_set1_epi32(four);
        sizes[b] = _mm512_abs_epi8(inputs);
        negative[b] = _mm512_movepi8_mask(inputs);
      }
      for (int r = 0; r < R; r++) {
        const __m512i w = _mm512_loadu_si512(weights + 64 * r);
        for (int b = 0; b < B; b++) {
          const __m512i factors = _mm512_mask_sub_epi8(w, negative[b], _mm512_setzero_si512(), w);
          sums[c][b][r] = _mm512_dpbusd_epi32(sums[c][b][r], sizes[b], factors);
        }
      }
    }
  }
  for (int r = 0; r < R; r++) {
    __m512i bias = _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(biases + 16 * r)));
    bias = _mm512_mullo_epi32(bias, _mm512_set1_epi32(INT8_MAX));
    const __m512 scale = _mm512_loadu_ps(scales + 16 * r);
    for (int b = 0; b < B; b++) {
      __m512i sum = _mm512_add_epi32(sums[0][b][r], bias);
      if (chains == 2) sum = _mm512_add_epi32(sum, sums[chains - 1][b][r]);
      _mm512_storeu_ps(out + b * out_step + 16 * r, _mm512_mul_ps(_mm512_cvtepi32_ps(sum), scale));
    }
  }
}
#endif

// multiply_block computes the outputs of a block of 8*S.
template <int B, int S>
inline void multiply_block(const int8_t *weights, int groups, const float *scales, const int8_t *features,
                           size_t feature_step, float *out, size_t out_step) {
  constexpr size_t step = 32 * S;
  const int8_t *biases = weights + groups * step;
#ifdef PRODUCTS_OF_FOUR
  if constexpr (S > 1) {
    multiply_wide<B, S / 2>(weights, step, groups, biases, scales, features, feature_step, out, out_step);
    return;
  }
#endif
  // At most 32 at a time: with all sums of 64 in registers at once it is slower.
  constexpr int R = S > 4 ? 4 : S;
  for (int r = 0; r < S; r += R) {
    multiply_registers<B, R>(weights + 32 * r, step, groups, biases + 8 * r, scales + 8 * r, features, feature_step,
                             out + 8 * r, out_step);
  }
}

// multiply computes the products of the matrix and B rows of features. The outputs of a row are rounded up to a
// multiple of 8, the inputs to one of 4: up to 3 bytes beyond a row are read, and count for nothing.
//
// As IntSimdMatrix::Init has it, the weights come for 64 outputs at a time, then for 32, 16 and 8, each followed by
// the biases.
template <int B>
void multiply(const WeightMatrix &w, const int8_t *features, size_t feature_step, float *out, size_t out_step) {
  const int groups = (w.wi.dim2 - 1 + 3) / 4;
  int left = (w.wi.dim1 + 7) / 8;  // registers of outputs
  const int8_t *weights = w.shaped_w.data();
  const float *scales = w.scales.data();
  for (int size = 8; size > 0; size /= 2) {
    for (; left >= size; left -= size) {
      switch (size) {
        case 8: multiply_block<B, 8>(weights, groups, scales, features, feature_step, out, out_step); break;
        case 4: multiply_block<B, 4>(weights, groups, scales, features, feature_step, out, out_step); break;
        case 2: multiply_block<B, 2>(weights, groups, scales, features, feature_step, out, out_step); break;
        default: multiply_block<B, 1>(weights, groups, scales, features, feature_step, out, out_step);
      }
      weights += size * (32 * groups + 8);
      scales += 8 * size;
      out += 8 * size;
    }
  }
}

// Non-linear functions, of several numbers at once.

#ifdef PRODUCTS_OF_FOUR

using Floats = __m512;

inline Floats load(const float *from) { return _mm512_loadu_ps(from); }

// look_up interpolates in a table, for numbers that are not negative. Beyond the table a function is 1.
inline Floats look_up(const float *table, Floats x) {
  const Floats last = _mm512_set1_ps(kTableSize - 1);
  x = _mm512_min_ps(_mm512_mul_ps(x, _mm512_set1_ps(256)), last);
  const __mmask16 beyond = _mm512_cmp_ps_mask(x, last, _CMP_GE_OQ);
  const __m512i i = _mm512_min_epi32(_mm512_cvttps_epi32(x), _mm512_set1_epi32(kTableSize - 2));
  // A number and the next one are read at once.
  const __m512 begin = _mm512_castpd_ps(_mm512_i32gather_pd(_mm512_castsi512_si256(i), table, 4));
  const __m512 end = _mm512_castpd_ps(_mm512_i32gather_pd(_mm512_extracti64x4_epi64(i, 1), table, 4));
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  const Floats low = _mm512_permutex2var_ps(begin, even, end), high = _mm512_permutex2var_ps(begin, odd, end);
  const Floats part = _mm512_sub_ps(x, _mm512_cvtepi32_ps(i));
  const Floats y = _mm512_add_ps(low, _mm512_mul_ps(_mm512_sub_ps(high, low), part));
  return _mm512_mask_blend_ps(beyond, y, _mm512_set1_ps(1));
}

inline __mmask16 negative_of(Floats x) { return _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_LT_OQ); }

inline Floats tanh_of(Floats x) {
  const __m512i y = _mm512_castps_si512(look_up(TanhTable, _mm512_abs_ps(x)));
  return _mm512_castsi512_ps(_mm512_mask_xor_epi32(y, negative_of(x), y, _mm512_set1_epi32(INT32_MIN)));
}

inline Floats logistic_of(Floats x) {
  const Floats y = look_up(LogisticTable, _mm512_abs_ps(x));
  return _mm512_mask_sub_ps(y, negative_of(x), _mm512_set1_ps(1), y);
}

// store_bytes stores numbers from -1 to 1 as bytes, rounded away from 0 where they lie halfway.
inline void store_bytes(Floats x, int8_t *to) {
  x = _mm512_mul_ps(x, _mm512_set1_ps(INT8_MAX));
  __m512i i = _mm512_cvttps_epi32(_mm512_add_ps(_mm512_abs_ps(x), _mm512_set1_ps(0.5f)));
  i = _mm512_mask_sub_epi32(i, negative_of(x), _mm512_setzero_si512(), i);
  _mm_storeu_si128(reinterpret_cast<__m128i *>(to), _mm512_cvtsepi32_epi8(i));
}

// next_state returns what a cell keeps of its state and takes in.
inline Floats next_state(Floats state, Floats forget, Floats cell, Floats in) {
  state = _mm512_add_ps(_mm512_mul_ps(state, forget), _mm512_mul_ps(cell, in));
  const Floats limit = _mm512_set1_ps(100);
  return _mm512_min_ps(_mm512_max_ps(state, _mm512_sub_ps(_mm512_setzero_ps(), limit)), limit);
}

inline Floats product(Floats x, Floats y) { return _mm512_mul_ps(x, y); }
inline void store(float *to, Floats x) { _mm512_storeu_ps(to, x); }

#else

using Floats = __m256;

inline Floats load(const float *from) { return _mm256_loadu_ps(from); }

// two_pairs reads two numbers of a table, each with the next one.
inline __m128 two_pairs(const float *table, int first, int second) {
  __m128 pair = _mm_castpd_ps(_mm_load_sd(reinterpret_cast<const double *>(table + first)));
  return _mm_loadh_pi(pair, reinterpret_cast<const __m64 *>(table + second));
}

// look_up interpolates in a table, for numbers that are not negative. Beyond the table a function is 1.
inline __m256 look_up(const float *table, __m256 x) {
  const __m256 last = _mm256_set1_ps(kTableSize - 1);
  x = _mm256_min_ps(_mm256_mul_ps(x, _mm256_set1_ps(256)), last);
  __m256 beyond = _mm256_cmp_ps(x, last, _CMP_GE_OQ);
  __m256i i = _mm256_min_epi32(_mm256_cvttps_epi32(x), _mm256_set1_epi32(kTableSize - 2));
  // A number and the next one are read at once: gathering takes twice as long.
  alignas(32) int32_t at[8];
  _mm256_store_si256(reinterpret_cast<__m256i *>(at), i);
  __m256 even = _mm256_set_m128(two_pairs(table, at[4], at[5]), two_pairs(table, at[0], at[1]));
  __m256 odd = _mm256_set_m128(two_pairs(table, at[6], at[7]), two_pairs(table, at[2], at[3]));
  __m256 low = _mm256_shuffle_ps(even, odd, 0x88), high = _mm256_shuffle_ps(even, odd, 0xdd);
  __m256 part = _mm256_sub_ps(x, _mm256_cvtepi32_ps(i));
  __m256 y = _mm256_add_ps(low, _mm256_mul_ps(_mm256_sub_ps(high, low), part));
  return _mm256_blendv_ps(y, _mm256_set1_ps(1), beyond);
}

inline __m256 size_of(__m256 x) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x); }

inline Floats tanh_of(Floats x) {
  __m256 negative = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
  __m256 y = look_up(TanhTable, size_of(x));
  return _mm256_xor_ps(y, _mm256_and_ps(negative, _mm256_set1_ps(-0.0f)));
}

inline __m256 logistic_of(__m256 x) {
  __m256 negative = _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_LT_OQ);
  __m256 y = look_up(LogisticTable, size_of(x));
  return _mm256_blendv_ps(y, _mm256_sub_ps(_mm256_set1_ps(1), y), negative);
}

// store_bytes stores eight numbers from -1 to 1 as bytes, rounded away from 0 where they lie halfway.
inline void store_bytes(__m256 x, int8_t *to) {
  x = _mm256_mul_ps(x, _mm256_set1_ps(INT8_MAX));
  __m256i i = _mm256_cvttps_epi32(_mm256_add_ps(size_of(x), _mm256_set1_ps(0.5f)));
  i = _mm256_min_epi32(i, _mm256_set1_epi32(INT8_MAX));
  __m256i sign = _mm256_srai_epi32(_mm256_castps_si256(x), 31);
  i = _mm256_sub_epi32(_mm256_xor_si256(i, sign), sign);
  __m128i shorts = _mm_packs_epi32(_mm256_castsi256_si128(i), _mm256_extracti128_si256(i, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i *>(to), _mm_packs_epi16(shorts, shorts));
}

// next_state returns what a cell keeps of its state and takes in.
inline __m256 next_state(__m256 state, __m256 forget, __m256 cell, __m256 in) {
  state = _mm256_add_ps(_mm256_mul_ps(state, forget), _mm256_mul_ps(cell, in));
  const __m256 limit = _mm256_set1_ps(100);
  return _mm256_min_ps(_mm256_max_ps(state, _mm256_sub_ps(_mm256_setzero_ps(), limit)), limit);
}

inline __m256 product(__m256 x, __m256 y) { return _mm256_mul_ps(x, y); }
inline void store(float *to, __m256 x) { _mm256_storeu_ps(to, x); }

#endif

constexpr int kLanes = sizeof(Floats) / sizeof(float);

// round_up returns how many numbers there are to have room for.
inline int round_up(int n) { return (n + kLanes - 1) / kLanes * kLanes; }

// Layers. Each returns false, with nothing done, where it is not for such a layer or input.

// randomize fills what lies beyond the edge of an image, as NetworkIO::Randomize does.
inline void randomize(std::minstd_rand &random, int8_t *to, int n) {
  for (int i = 0; i < n; i++) {
    double x = INT8_MAX * 2.0 * static_cast<int32_t>(random()) / INT32_MAX - INT8_MAX;
    to[i] = static_cast<int8_t>(x >= 0 ? static_cast<int>(x + 0.5) : -static_cast<int>(-x + 0.5));
  }
}

// copy_neighbours copies the features around a place, column by column.
void copy_neighbours(const Convolve &layer, const NetworkIO &input, int y, int x, int8_t *to) {
  const int n = layer.network.ni, height = input.stride_map.shape[1], width = input.stride_map.shape[2];
  for (int nx = x - layer.half_x; nx <= x + layer.half_x; nx++) {
    for (int ny = y - layer.half_y; ny <= y + layer.half_y; ny++, to += n) {
      if (nx < 0 || nx >= width || ny < 0 || ny >= height) {
        randomize(*layer.network.randomizer, to, n);
      } else {
        memcpy(to, input.i.row(ny * width + nx), n);
      }
    }
  }
}

// copy_nine does the same for the nine greys around each place of a line that is not at the edge.
void copy_nine(const int8_t *grey, int width, int8_t *to) {
  const auto column = [=](int x) {
    const uint8_t above = grey[x - width], here = grey[x], below = grey[x + width];
    return static_cast<uint64_t>(above) | static_cast<uint64_t>(here) << 8 | static_cast<uint64_t>(below) << 16;
  };
  uint64_t before = column(0), here = column(1);
  for (int x = 1; x + 1 < width; x++, to += 9) {
    const uint64_t after = column(x + 1);
    const uint64_t eight = before | here << 24 | after << 48;
    memcpy(to, &eight, 8);
    to[8] = static_cast<int8_t>(after >> 16);
    before = here;
    here = after;
  }
}

// convolve puts the features of the places around each place beside each other.
bool convolve(Network *network, const NetworkIO &input, NetworkIO *output) {
  const Convolve &layer = *reinterpret_cast<const Convolve *>(network);
  const int n = network->ni, half_x = layer.half_x, half_y = layer.half_y;
  if (!is_plain(*network, input) || network->no != n * (2 * half_x + 1) * (2 * half_y + 1)) return false;
  output->ResizeToMap(true, input.stride_map, network->no);
  const int height = input.stride_map.shape[1], width = input.stride_map.shape[2];
  for (int y = 0; y < height; y++) {
    const bool nine = n == 1 && half_x == 1 && half_y == 1 && y > 0 && y + 1 < height && width > 2;
    for (int x = 0; x < width; x++) {
      copy_neighbours(layer, input, y, x, output->i.row(y * width + x));
      if (nine && x == 0) {
        copy_nine(input.i.row(y * width), width, output->i.row(y * width + 1));
        x = width - 2;
      }
    }
  }
  return true;
}

// pool takes the maximum of each feature over rectangles. What does not fill one, at the right and below, is left out.
bool pool(Network *network, const NetworkIO &input, NetworkIO *output) {
  const Maxpool &layer = *reinterpret_cast<const Maxpool *>(network);
  const int x_scale = layer.x_scale, y_scale = layer.y_scale, n = network->no;
  if (!is_plain(*network, input) || n != network->ni || x_scale < 1 || y_scale < 1 ||
      input.stride_map.shape[1] < y_scale || input.stride_map.shape[2] < x_scale) {
    return false;
  }
  output->ResizeScaled(input, x_scale, y_scale, n);
  const int height = output->stride_map.shape[1], width = output->stride_map.shape[2];
  const int input_width = input.stride_map.shape[2];
  int8_t *to = output->i.array;
  for (int y = 0; y < height; y++) {
    for (int x = 0; x < width; x++, to += n) {
      memcpy(to, input.i.row(y * y_scale * input_width + x * x_scale), n);
      for (int dy = 0; dy < y_scale; dy++) {
        const int8_t *from = input.i.row((y * y_scale + dy) * input_width + x * x_scale);
        for (int dx = 0; dx < x_scale; dx++, from += n) {
          int i = 0;
          for (; i + 16 <= n; i += 16) {
            __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i *>(to + i));
            __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + i));
            _mm_storeu_si128(reinterpret_cast<__m128i *>(to + i), _mm_max_epi8(a, b));
          }
          for (; i < n; i++) to[i] = std::max(to[i], from[i]);
        }
      }
    }
  }
  return true;
}

// connect is a layer of tanh of the weighted features of a place.
bool connect(Network *network, const NetworkIO &input, NetworkIO *output) {
  const WeightMatrix &weights = reinterpret_cast<const FullyConnected *>(network)->weights;
  const int n = network->no;
  if (network->type != NT_TANH || !is_plain(*network, input) || !is_shaped(weights, network->ni, n)) return false;
  output->ResizeToMap(true, input.stride_map, n);
  const int rounded = round_up(n), places = input.i.dim1;
  std::vector<float> sums(2 * rounded);
  std::vector<int8_t> bytes(rounded);
  for (int t = 0; t < places; t += 2) {
    const int rows = std::min(2, places - t);
    if (rows == 2) {
      multiply<2>(weights, input.i.row(t), network->ni, sums.data(), rounded);
    } else {
      multiply<1>(weights, input.i.row(t), network->ni, sums.data(), rounded);
    }
    for (int b = 0; b < rows; b++) {
      for (int i = 0; i < rounded; i += kLanes) {
        store_bytes(tanh_of(load(&sums[b * rounded + i])), &bytes[i]);
      }
      memcpy(output->i.row(t + b), bytes.data(), n);
    }
  }
  return true;
}

// Cells are the states of an LSTM on B rows of an image at a time, which know nothing of each other.
template <int B>
class Cells {
 public:
  Cells(const LSTM &layer, const NetworkIO &input, NetworkIO *output)
      : layer_(layer),
        input_(input),
        output_(output),
        rounded_(round_up(layer.ns)),
        feature_step_(layer.network.ni + rounded_ + 4),
        features_(B * feature_step_),
        state_(B * rounded_) {
    for (auto &g : gates_) g.resize(B * rounded_);
  }

  // read_rows goes through the rows from y on, each from left to right.
  void read_rows(int y) {
    const int ni = layer_.network.ni, ns = layer_.ns, width = input_.stride_map.shape[2];
    std::fill(state_.begin(), state_.end(), 0.0f);
    std::fill(features_.begin(), features_.end(), 0);
    for (int x = 0; x < width; x++) {
      for (int b = 0; b < B; b++) {
        memcpy(&features_[b * feature_step_], input_.i.row((y + b) * width + x), ni);
      }
      for (int g = CI; g <= GO; g++) {
        multiply<B>(layer_.gate_weights[g], features_.data(), feature_step_, gates_[g].data(), rounded_);
      }
      for (int b = 0; b < B; b++) {
        update(b);
        if (layer_.network.type == NT_LSTM) memcpy(output_->i.row((y + b) * width + x), last_output(b), ns);
      }
    }
    for (int b = 0; layer_.network.type == NT_LSTM_SUMMARY && b < B; b++) {
      memcpy(output_->i.row(y + b), last_output(b), ns);
    }
  }

 private:
  int8_t *last_output(int b) { return &features_[b * feature_step_ + layer_.network.ni]; }

  // update computes the state and the output of a row from the sums of its gates.
  void update(int b) {
    for (int i = 0; i < rounded_; i += kLanes) {
      const int at = b * rounded_ + i;
      const Floats cell = tanh_of(load(&gates_[CI][at])), in = logistic_of(load(&gates_[GI][at]));
      const Floats forget = logistic_of(load(&gates_[GF1][at])), out = logistic_of(load(&gates_[GO][at]));
      const Floats state = next_state(load(&state_[at]), forget, cell, in);
      store(&state_[at], state);
      store_bytes(product(tanh_of(state), out), last_output(b) + i);
    }
  }

  const LSTM &layer_;
  const NetworkIO &input_;
  NetworkIO *output_;
  const int rounded_;                // outputs, with those that fill up the last numbers at once
  const size_t feature_step_;
  std::vector<int8_t> features_;     // of B rows: the input, then the last output
  std::vector<float> state_;         // of B rows
  std::vector<float> gates_[GO + 1];  // of B rows
};

// remember is an LSTM along the rows of an image, or one of which the last output alone counts.
bool remember(Network *network, const NetworkIO &input, NetworkIO *output) {
  const LSTM &layer = *reinterpret_cast<const LSTM *>(network);
  const int n = network->no;
  if ((network->type != NT_LSTM && network->type != NT_LSTM_SUMMARY) || !is_plain(*network, input) || layer.is_2d ||
      layer.softmax != nullptr || layer.nf != 0 || layer.ns != n || layer.na != network->ni + n) {
    return false;
  }
  for (int g = CI; g <= GO; g++) {
    if (!is_shaped(layer.gate_weights[g], layer.na, n)) return false;
  }
  if (network->type == NT_LSTM_SUMMARY) {
    output->ResizeXTo1(input, n);
  } else {
    output->ResizeToMap(true, input.stride_map, n);
  }
  const int height = input.stride_map.shape[1];
  int y = 0;
  if (height > 1) {
    for (Cells<2> cells(layer, input, output); y + 2 <= height; y += 2) cells.read_rows(y);
  }
  if (y < height) Cells<1>(layer, input, output).read_rows(y);
  return true;
}
