// Second readings of lines by a larger network.
//
// The larger model of a language has the letters and the words of the installed one, and differs in its network alone.
// So a line that the installed one doubts is read once more by the same recogniser of Tesseract, with the larger network
// in the place of its own, from the word before the first doubtful one to the word after the last. Of the readings of a
// word the better one stays, by the rules by which Tesseract chooses between languages.
//
// The linker puts the functions below in the place of Tesseract's (--wrap in handle.go), under whose names they call
// those.

#include "larger_network.h"

#include <tesseract/version.h>

#define RECOGNIZE_LINE \
  "_ZN9tesseract14LSTMRecognizer13RecognizeLineERKNS_9ImageDataEfbdRKNS_4TBOXEPNS_13PointerVectorINS_8WERD_RESEEEii"
#define LOAD \
  "_ZN9tesseract14LSTMRecognizer4LoadEPKNS_13ParamsVectorsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE" \
  "PNS_15TessdataManagerE"
#define END "_ZN9tesseract14LSTMRecognizerD1Ev"

#if TESSERACT_MAJOR_VERSION == 5 && TESSERACT_MINOR_VERSION == 3 && !defined(TESSERACT_SHARED)

#include <leptonica/allheaders.h>

#include <algorithm>
#include <climits>
#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "network.h"

using namespace tesseract;

using RecognizeLine = void(LSTMRecognizer *, const ImageData &, float invert_threshold, bool debug,
                           double worst_certainty, const TBOX &, PointerVector<WERD_RES> *, int choice_mode, int choices);
using Load = bool(LSTMRecognizer *, const void *params, const std::string &language, void *model);
using End = void(LSTMRecognizer *);
extern "C" {
RecognizeLine tesseracts_recognize_line asm("__real_" RECOGNIZE_LINE);
RecognizeLine recognize_line asm("__wrap_" RECOGNIZE_LINE);
Load tesseracts_load asm("__real_" LOAD);
Load load asm("__wrap_" LOAD);
End tesseracts_end asm("__real_" END);
End end asm("__wrap_" END);
}

namespace {

static_assert(sizeof(TFile) == 16 && sizeof(ImageData) == 184 && sizeof(TBOX) == 8 && sizeof(WERD_RES) == 472 &&
              offsetof(WERD_RES, best_choice) == 288 && offsetof(WERD_RES, space_certainty) == 460 &&
              offsetof(WERD_CHOICE, length) == 116 && offsetof(WERD_CHOICE, permuter) == 140 &&
              sizeof(PointerVector<WERD_RES>) == 48 && offsetof(LSTMRecognizer, training_flags) == 864 &&
              offsetof(LSTMRecognizer, randomizer) == 896);

// Certainties are as the network has them; Tesseract scales them before it compares them with its bounds.
constexpr float kCertaintyScale = 7;

std::mutex mutex;                                         // guards networks and readings
std::unordered_map<LSTMRecognizer *, Network *> networks;  // the larger ones
long readings;

// What there is for the recognisers that are being loaded.
thread_local const larger_network *offered;
thread_local size_t offers;

void delete_network(Network *n) {
  if (n != nullptr) (*static_cast<void (***)(Network *)>(static_cast<void *>(n)))[1](n);  // its deleting destructor
}

// read_network makes a network of the part of a model's file that holds it. It returns null where that does not fit the
// recogniser.
Network *read_network(const larger_network &from, LSTMRecognizer *recognizer) {
  TFile file;
  std::string layers;
  int32_t flags = 0;
  if (!file.Open(from.data, from.size)) return nullptr;
  Network *larger = Network::CreateFromFile(&file);
  const Network &own = *recognizer->network;
  if (larger == nullptr || !file.DeSerialize(layers) || file.FReadEndian(&flags, sizeof flags, 1) != 1 ||
      (flags & recognizer->training_flags & TF_INT_MODE) == 0 || larger->type != NT_SERIES || own.type != NT_SERIES ||
      larger->ni != own.ni || larger->no != own.no) {
    delete_network(larger);
    return nullptr;
  }
  Series *series = static_cast<Series *>(larger);
  series->SetRandomizer(reinterpret_cast<TRand *>(&recognizer->randomizer));
  series->CacheXScaleFactor(series->XScaleFactor());
  return larger;
}

// is_listed tells that what was read is a word of the model's list.
bool is_listed(const WERD_CHOICE &c) { return c.permuter >= USER_PATTERN_PERM; }

// is_doubtful tells that a letter of a word, or a blank beside it, is less sure than 0.75. Tesseract tries other languages
// where one is less sure than 0.7, and for words of its list only where it is far less sure; on 12 degraded pages, 380
// misread words with those bounds and 376 with this one.
bool is_doubtful(const WERD_RES *w) {
  constexpr float bound = -2 / kCertaintyScale;
  return w->best_choice == nullptr || std::min(w->space_certainty, w->best_choice->certainty) <= bound;
}

// Line is a line of words from left to right.
using Line = std::vector<WERD_RES *>;

// Run is how well some words that follow one another were read.
struct Run {
  float rating = 0, certainty = 0;
  bool is_read, are_listed;

  Run(const Line &line, size_t begin, size_t end) : is_read(end > begin), are_listed(end > begin) {
    for (size_t i = begin; i < end; i++) {
      const WERD_CHOICE *c = line[i]->best_choice;
      is_read = is_read && c != nullptr;
      if (c == nullptr) continue;
      rating += c->rating;
      certainty = std::min(certainty, c->certainty);
      are_listed = are_listed && is_listed(*c);
    }
  }

  // is_better_than tells whether Tesseract would take it from another language.
  bool is_better_than(const Run &other) const {
    constexpr float rating_ratio = 1.1, certainty_margin = 5.5 / kCertaintyScale;
    return is_read && (!other.is_read || (certainty > other.certainty && rating < other.rating) ||
                       (!other.are_listed && are_listed && rating < rating_ratio * other.rating &&
                        certainty > other.certainty - certainty_margin));
  }
};

// Gap is what lies behind a word; everything where there is no such word.
struct Gap {
  int left = -INT_MAX, right = INT_MAX;

  Gap(const Line &line, size_t i) {
    if (i < line.size()) left = line[i]->word->bounding_box().right;
    if (i + 1 < line.size()) right = line[i + 1]->word->bounding_box().left;
  }

  int middle() const { return left + (right - left) / 2; }
};

// better_of takes words of a second reading where they are better than those of the first. What is compared are the
// shortest runs of words between gaps that both have.
Line better_of(const Line &first, const Line &second) {
  Line out;
  for (size_t a = 0, b = 0; a < first.size() || b < second.size();) {
    const size_t begin_a = a, begin_b = b;
    while (a < first.size() || b < second.size()) {
      const Gap gap_a(first, a), gap_b(second, b);
      if (std::max(gap_a.left, gap_b.left) < std::min(gap_a.right, gap_b.right)) break;
      ++((gap_a.left < gap_b.left && a < first.size()) || b == second.size() ? a : b);
    }
    a = std::min(a + 1, first.size());
    b = std::min(b + 1, second.size());
    if (Run(second, begin_b, b).is_better_than(Run(first, begin_a, a))) {
      out.insert(out.end(), second.begin() + begin_b, second.begin() + b);
    } else {
      out.insert(out.end(), first.begin() + begin_a, first.begin() + a);
    }
  }
  return out;
}

// better_of is the same for the words of a line from begin to end, and what the second reading has in their place.
Line better_of(const Line &line, size_t begin, size_t end, const Line &second) {
  Line instead;
  for (WERD_RES *w : second) {
    const TBOX at = w->word->bounding_box();
    const int middle = (at.left + at.right) / 2;
    const bool is_behind = begin == 0 || middle > Gap(line, begin - 1).middle();
    const bool is_before = end == line.size() || middle < Gap(line, end - 1).middle();
    if (is_behind && is_before) instead.push_back(w);
  }
  Line best = better_of(Line(line.begin() + begin, line.begin() + end), instead);
  best.insert(best.begin(), line.begin(), line.begin() + begin);
  best.insert(best.end(), line.begin() + end, line.end());
  return best;
}

// delete_all_but deletes words that are not among those of a line.
void delete_all_but(const Line &line, PointerVector<WERD_RES> *words) {
  for (int i = 0; i < words->size; i++) {
    if (std::find(line.begin(), line.end(), words->data[i]) == line.end()) delete words->data[i];
  }
  words->size = 0;
}

// replace_words leaves the words of a line in the one list, and nothing in the other.
void replace_words(PointerVector<WERD_RES> *words, const Line &line, PointerVector<WERD_RES> *others) {
  delete_all_but(line, words);
  delete_all_but(line, others);
  delete[] others->data;
  if (words->reserved < static_cast<int>(line.size())) {
    delete[] words->data;
    words->reserved = line.size();
    words->data = new WERD_RES *[line.size()];
  }
  std::copy(line.begin(), line.end(), words->data);
  words->size = line.size();
}

// larger_for returns the larger network for a recogniser, which is going to read with it; null where there is none.
Network *larger_for(LSTMRecognizer *recognizer) {
  std::lock_guard<std::mutex> lock(mutex);
  const auto found = networks.find(recognizer);
  if (found == networks.end()) return nullptr;
  readings++;
  return found->second;
}

// clip returns the part of a line's image from one place to another.
PIX *clip(PIX *pix, int left, int right) {
  BOX *box = boxCreate(left, 0, right - left, pixGetHeight(pix));
  PIX *out = pixClipRectangle(pix, box, nullptr);
  boxDestroy(&box);
  return out;
}

}  // namespace

bool load(LSTMRecognizer *recognizer, const void *params, const std::string &language, void *model) {
  if (!tesseracts_load(recognizer, params, language, model)) return false;
  for (size_t i = 0; i < offers; i++) {
    if (language != offered[i].language) continue;
    if (Network *larger = read_network(offered[i], recognizer)) {
      std::lock_guard<std::mutex> lock(mutex);
      networks[recognizer] = larger;
    }
  }
  return true;
}

void end(LSTMRecognizer *recognizer) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    const auto found = networks.find(recognizer);
    if (found != networks.end()) {
      delete_network(found->second);
      networks.erase(found);
    }
  }
  tesseracts_end(recognizer);
}

void recognize_line(LSTMRecognizer *recognizer, const ImageData &image, float invert_threshold, bool debug,
                    double worst_certainty, const TBOX &box, PointerVector<WERD_RES> *words, int choice_mode,
                    int choices) {
  const auto read = [&](const ImageData &part, const TBOX &at, PointerVector<WERD_RES> *out) {
    tesseracts_recognize_line(recognizer, part, invert_threshold, debug, worst_certainty, at, out, choice_mode, choices);
  };
  read(image, box, words);
  const Line line(words->data, words->data + words->size);
  const size_t begin = std::find_if(line.begin(), line.end(), is_doubtful) - line.begin();
  const size_t end = line.rend() - std::find_if(line.rbegin(), line.rend(), is_doubtful);
  // A line of which nothing was read may be one of text too.
  Network *larger = begin < end || line.empty() ? larger_for(recognizer) : nullptr;
  if (larger == nullptr) return;

  TBOX part = box;  // with a word more on each side, as letters are told by their neighbours too
  if (begin > 1) part.left = std::max<int>(box.left, Gap(line, begin - 2).middle());
  if (end + 1 < line.size()) part.right = std::min<int>(box.right, Gap(line, end).middle());
  PIX *pix = image.GetPix().pix;
  if (pix == nullptr || part.left >= part.right) return;
  const ImageData clipped(false, Image{clip(pix, part.left - box.left, part.right - box.left)});
  pixDestroy(&pix);
  PointerVector<WERD_RES> again{};
  std::swap(recognizer->network, larger);
  read(clipped, part, &again);
  std::swap(recognizer->network, larger);
  replace_words(words, better_of(line, begin, end, Line(again.data, again.data + again.size)), &again);
}

int init_with_networks(TessBaseAPI *api, const char *datapath, const char *languages, char **names, char **values,
                       size_t variables, const larger_network *networks, size_t count) {
  offered = networks;
  offers = count;
  const int failed = TessBaseAPIInit4(api, datapath, languages, tesseract::OEM_DEFAULT, nullptr, 0, names, values, variables, FALSE);
  offers = 0;
  return failed;
}

long larger_readings(void) {
  std::lock_guard<std::mutex> lock(mutex);
  return readings;
}

#else

#ifndef TESSERACT_SHARED
// What the linker puts in the place of Tesseract's functions goes on to those, as far as there are such in this release.
#ifdef __x86_64__
#define GO_ON "jmp"
#else
#define GO_ON "b"
#endif
#define PASS_ON(name) asm(".weak __real_" name "\n.globl __wrap_" name "\n__wrap_" name ": " GO_ON " __real_" name);
PASS_ON(RECOGNIZE_LINE)
PASS_ON(LOAD)
PASS_ON(END)
#endif


int init_with_networks(TessBaseAPI *api, const char *datapath, const char *languages, char **names, char **values,
                       size_t variables, const struct larger_network *, size_t) {
  return TessBaseAPIInit4(api, datapath, languages, tesseract::OEM_DEFAULT, nullptr, 0, names, values, variables, FALSE);
}

long larger_readings(void) { return 0; }

#endif
