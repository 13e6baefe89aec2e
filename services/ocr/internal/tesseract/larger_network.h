// What Go calls of larger_network.cc.

#ifndef LARGER_NETWORK_H_
#define LARGER_NETWORK_H_

#include <stddef.h>
#include <tesseract/capi.h>

#ifdef __cplusplus
extern "C" {
#endif

// larger_network is the network of a larger model of a language, as the part of the model's file that holds it.
struct larger_network {
  const char *language;
  const char *data;
  size_t size;
};

// init_with_networks does what TessBaseAPIInit4 does, and has the lines that the model of a language doubts read by the
// larger network of that language as well.
int init_with_networks(TessBaseAPI *api, const char *datapath, const char *languages, char **names, char **values,
                       size_t variables, const struct larger_network *networks, size_t count);

// larger_readings returns how many lines, or parts of lines, larger networks have read. It is for tests.
long larger_readings(void);

#ifdef __cplusplus
}
#endif

#endif
