// The forward pass of Tesseract's line recogniser, for its models of bytes on processors with AVX2. The layers are in
// layers.h, which is compiled once more for processors with AVX-512 VNNI.
//
// Tesseract spends over half of a page's processor time in its layers, and most of that not in the products of
// matrices: it finds every neighbour of every place through an index that is checked anew, calls a function for each
// row of features, and evaluates its non-linear functions one number at a time. The four layers that its models consist
// of do the same arithmetic here, in the same order where the order matters, on whole rows. What they put out is the same
// bit for bit (TestForwardIsTesseracts), in a third of the time, or in half of that.
//
// replace_forward puts these functions in the place of Tesseract's in the tables of virtual functions of their
// classes. What is not as they expect, such as a model of floats, several images at once or training, goes to the
// function that was there.

#include <tesseract/version.h>

#include "forward.h"

#if defined(__x86_64__) && TESSERACT_MAJOR_VERSION == 5 && TESSERACT_MINOR_VERSION == 3 && !defined(TESSERACT_SHARED)

#include <immintrin.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>

#include "network.h"

using namespace tesseract;

namespace {

#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")  // as Tesseract is compiled: a sum of a product is rounded twice
#pragma GCC target("avx2")
namespace avx2 {
#include "layers.h"
}
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512vnni")
#define PRODUCTS_OF_FOUR
namespace vnni {
#include "layers.h"
}
#pragma GCC pop_options

// In the place of Tesseract's.

using Forward = void(Network *, bool debug, const NetworkIO &input, const void *input_transpose, void *scratch,
                     NetworkIO *output);
using Layer = bool(Network *, const NetworkIO &input, NetworkIO *output);

#define FORWARD_OF(length_and_name) \
  "_ZN9tesseract" length_and_name "7ForwardEbRKNS_9NetworkIOEPKNS_15TransposedArrayEPNS_14NetworkScratchEPS1_"
extern "C" {
Forward convolve_forward asm(FORWARD_OF("8Convolve"));
Forward maxpool_forward asm(FORWARD_OF("7Maxpool"));
Forward fully_connected_forward asm(FORWARD_OF("14FullyConnected"));
Forward lstm_forward asm(FORWARD_OF("4LSTM"));
extern void *convolve_methods[] asm("_ZTVN9tesseract8ConvolveE");
extern void *maxpool_methods[] asm("_ZTVN9tesseract7MaxpoolE");
extern void *fully_connected_methods[] asm("_ZTVN9tesseract14FullyConnectedE");
extern void *lstm_methods[] asm("_ZTVN9tesseract4LSTME");
}

struct forward_comparison comparison;
bool comparing;

// compare has Tesseract's function do the same once more, and counts what differs.
void compare(Forward *original, Network *network, const std::minstd_rand &random, const NetworkIO &input, void *scratch,
             NetworkIO *output) {
  const Array2D<int8_t> &now = output->i;
  const std::vector<int8_t> ours(now.array, now.array + static_cast<size_t>(now.dim1) * now.dim2);
  const std::vector<int> shape(output->stride_map.shape, output->stride_map.shape + 3);
  if (network->randomizer != nullptr) *network->randomizer = random;
  original(network, false, input, nullptr, scratch, output);
  comparison.layers++;
  comparison.different += ours.size() != static_cast<size_t>(now.dim1) * now.dim2 ||
                          memcmp(ours.data(), now.array, ours.size()) != 0 ||
                          !std::equal(shape.begin(), shape.end(), output->stride_map.shape);
}

template <Layer *layer, Forward *original>
void forward(Network *network, bool debug, const NetworkIO &input, const void *input_transpose, void *scratch,
             NetworkIO *output) {
  std::minstd_rand random;
  if (comparing && network->randomizer != nullptr) random = *network->randomizer;
  if (debug || !layer(network, input, output)) {
    original(network, debug, input, input_transpose, scratch, output);
  } else if (comparing) {
    compare(original, network, random, input, scratch, output);
  }
}

// is_relocated tells that an address lies in what the loader makes read-only once it has filled it in.
int is_relocated(dl_phdr_info *info, size_t, void *address) {
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) &p = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + p.p_vaddr;
    if (p.p_type == PT_GNU_RELRO && reinterpret_cast<uintptr_t>(address) - begin < p.p_memsz) return 1;
  }
  return 0;
}

// replace writes to a table of virtual functions, which the loader has made read-only, as it is afterwards.
bool replace(void **methods, Forward *original, Forward *ours) {
  constexpr int most = 64;  // virtual functions; Network has 23
  void **slot = std::find(methods, methods + most, reinterpret_cast<void *>(original));
  if (slot == methods + most) return false;
  const uintptr_t page = sysconf(_SC_PAGESIZE), begin = reinterpret_cast<uintptr_t>(slot) & -page;
  const bool read_only = dl_iterate_phdr(is_relocated, slot) != 0;
  if (read_only && mprotect(reinterpret_cast<void *>(begin), page, PROT_READ | PROT_WRITE) != 0) return false;
  *slot = reinterpret_cast<void *>(ours);
  return !read_only || mprotect(reinterpret_cast<void *>(begin), page, PROT_READ) == 0;
}

template <Layer *convolve, Layer *pool, Layer *connect, Layer *remember>
bool replace_layers() {
  return replace(convolve_methods, convolve_forward, forward<convolve, convolve_forward>) &&
         replace(maxpool_methods, maxpool_forward, forward<pool, maxpool_forward>) &&
         replace(fully_connected_methods, fully_connected_forward, forward<connect, fully_connected_forward>) &&
         replace(lstm_methods, lstm_forward, forward<remember, lstm_forward>);
}

}  // namespace

int replace_forward(void) {
  if (IntSimdMatrix::intSimdMatrix != &IntSimdMatrix::intSimdMatrixAVX2) return 0;
  const bool has_vnni = __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512vl");
  return has_vnni ? replace_layers<vnni::convolve, vnni::pool, vnni::connect, vnni::remember>()
                  : replace_layers<avx2::convolve, avx2::pool, avx2::connect, avx2::remember>();
}

void compare_forward(int on) { comparing = on != 0; }

struct forward_comparison compared_forward(void) { return comparison; }

#else

int replace_forward(void) { return 0; }

void compare_forward(int) {}

struct forward_comparison compared_forward(void) { return {0, 0}; }

#endif
