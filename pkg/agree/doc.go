// Package agree holds one reading of a page against another one and against the ink: which words of the first have a
// partner in the second, where each stands, and what is doubtful.
//
// The first reading, the model's, has words in the order of the text and often no boxes. The second, the witness's, is
// independent of it and has boxes and confidences. Words are compared as NormaliseWord makes them. Runs that are equal
// in both are paired first, the longest before the others. What is left between them is paired by edit distance, where
// one word may stand for two. What is still left is looked for elsewhere on the page, since two readers may take its
// parts in a different order. Time and memory are bounded whatever the words are.
package agree
