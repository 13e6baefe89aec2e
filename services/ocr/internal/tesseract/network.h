// The classes of Tesseract's line recogniser, as far as forward.cc and larger_network.cc read and write their members: the
// layout of its src/lstm/*.h and src/ccstruct/*.h, which no package installs, of releases 5.3. Functions that are declared
// here are Tesseract's own. Names of members are Tesseract's without the underscore at their end.

#ifndef NETWORK_H_
#define NETWORK_H_

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

struct Pix;  // Leptonica's

namespace tesseract {

// Array2D is GENERIC_2D_ARRAY: rows without gaps between them.
template <class T>
struct Array2D {
  void *methods;
  T *array;
  T empty;
  int dim1, dim2;
  int size_allocated;

  T *row(int i) { return array + static_cast<size_t>(i) * dim2; }
  const T *row(int i) const { return array + static_cast<size_t>(i) * dim2; }
};

// StrideMap says which place of which image a row of a NetworkIO is.
struct StrideMap {
  int shape[3];  // images, height, width
  int t_increments[3];
  std::vector<int> heights, widths;
};

// NetworkIO holds what goes from layer to layer: a row of features for every place.
class NetworkIO {
public:
  void ResizeToMap(bool int_mode, const StrideMap &stride_map, int num_features);
  void ResizeScaled(const NetworkIO &src, int x_scale, int y_scale, int num_features);
  void ResizeXTo1(const NetworkIO &src, int num_features);

  Array2D<float> f;
  Array2D<int8_t> i;  // from -127 for -1 to 127 for 1
  bool int_mode;
  StrideMap stride_map;
};

// IntSimdMatrix multiplies matrices of bytes; the one in use has its weights in an order of its own.
struct IntSimdMatrix {
  static const IntSimdMatrix *intSimdMatrix;
  static const IntSimdMatrix intSimdMatrixAVX2;
};

struct WeightMatrix {
  Array2D<float> wf;
  Array2D<int8_t> wi;  // outputs by inputs, the bias last
  Array2D<float> wf_t;
  bool int_mode, use_adam;
  std::vector<float> scales;
  Array2D<float> dw, updates, dw_sq_sum;
  std::vector<int8_t> shaped_w;
};

enum NetworkType { NT_SERIES = 9, NT_LSTM = 14, NT_LSTM_SUMMARY = 15, NT_TANH = 19 };
enum TrainingState { TS_DISABLED, TS_ENABLED };

class TFile;
struct TRand;  // a std::minstd_rand

struct Network {
  static Network *CreateFromFile(TFile *file);

  void *methods;
  NetworkType type;
  TrainingState training;
  bool needs_to_backprop;
  int32_t network_flags, ni, no, num_weights;
  std::string name;
  void *forward_win, *backward_win;
  std::minstd_rand *randomizer;
};

struct Convolve {
  Network network;
  int32_t half_x, half_y;
};

struct Maxpool {
  Network network;
  StrideMap back_map;
  int32_t x_scale, y_scale;
};

struct FullyConnected {
  Network network;
  WeightMatrix weights;
};

// The gates of an LSTM, in the order of their weights.
enum { CI, GI, GF1, GO, GFS, WT_COUNT };

struct LSTM {
  Network network;
  int32_t na, ns, nf;
  bool is_2d;
  WeightMatrix gate_weights[WT_COUNT];
  void *softmax;
};

// The values between which the non-linear functions are interpolated, 256 from one whole number to the next.
constexpr int kTableSize = 4096;
extern const float TanhTable[kTableSize];
extern const float LogisticTable[kTableSize];

// Plumbing is a network of networks; Series is one in which the output of each is the input of the next.
struct Plumbing : Network {
  void SetRandomizer(TRand *randomizer);
};

struct Series : Plumbing {
  int XScaleFactor() const;
  void CacheXScaleFactor(int factor);
};

// TFile is a file in memory.
class TFile {
 public:
  TFile();
  ~TFile();
  bool Open(const char *data, size_t size);
  bool DeSerialize(std::string &text);
  size_t FReadEndian(void *to, size_t size, size_t count);

 private:
  void *unused[2];
};

// Image is a pointer to Leptonica's, which it does not own.
struct Image {
  Pix *pix;
};

// ImageData is the image of a line, which it owns.
class ImageData {
 public:
  ImageData(bool vertical, Image image);
  ~ImageData();
  Image GetPix() const;

 private:
  void *unused[23];
};

struct TBOX {
  int16_t left, bottom, right, top;
};

struct WERD {
  TBOX bounding_box() const;
};

// The lists of words that a word may stand in have the higher numbers.
enum { USER_PATTERN_PERM = 7 };

// WERD_CHOICE is what a word was read as.
struct WERD_CHOICE {
  void *unused[14];
  uint32_t reserved, length;
  float adjust_factor, rating, certainty;  // the certainty is a logarithm
  float min_x_height, max_x_height;
  uint8_t permuter;
};

// WERD_RES is a word that was read.
struct WERD_RES {
  ~WERD_RES();

  void *next;
  WERD *word;
  void *unused[34];
  WERD_CHOICE *best_choice;
  void *unused_too[20];
  int32_t unused_number;
  float space_certainty;
  void *unused_flags;
};

// PointerVector owns what its pointers point to.
template <class T>
struct PointerVector {
  int32_t size, reserved;
  T **data;
  std::function<void(T *)> clear;
};

enum { TF_INT_MODE = 1 };

struct LSTMRecognizer {
  Network *network;
  void *unused[107];
  int32_t training_flags, training_iteration, sample_iteration, null_char;
  float learning_rate, momentum;
  float adam_beta;
  std::minstd_rand randomizer;
};

}  // namespace tesseract

#endif
