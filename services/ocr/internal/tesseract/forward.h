// What Go calls of forward.cc.

#ifndef FORWARD_H_
#define FORWARD_H_

#ifdef __cplusplus
extern "C" {
#endif

// replace_forward puts the layers of forward.cc in the place of Tesseract's, once. It returns 0 where they are not for
// this processor or library.
int replace_forward(void);

// compare_forward has every layer computed by both from now on, or no longer. It is for tests.
void compare_forward(int on);

// forward_comparison counts the layers that were computed by both, and those of which one bit or more differed.
struct forward_comparison {
  long layers, different;
};

struct forward_comparison compared_forward(void);

#ifdef __cplusplus
}
#endif

#endif
