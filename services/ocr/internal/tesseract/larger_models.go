package tesseract

/*
#include <stdlib.h>
#include "larger_network.h"
*/
import "C"

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

// largerFolder is where the folder of the models has those of larger networks, under the same names; it may be
// missing. The networks that distributions install are small, for speed. Those of the release 4.0.0 that are called
// best, in whole numbers, have the same kinds of layers, the same letters and the same words, and make a third fewer
// errors in letters on bad scans.
const largerFolder = "best"

// languagesWithLarger returns those of the languages, joined by plus signs, of which there are larger models to use.
// Those of Latin letters are left out where they stand beside another script: they would be the surer ones of letters
// that look alike.
func languagesWithLarger(datapath, languages string) []string {
	all := strings.Split(languages, "+")
	mixed := slices.ContainsFunc(all, isNonLatin)
	return slices.DeleteFunc(all, func(l string) bool {
		return mixed && !isNonLatin(l) || l == osdModel || !hasModel(datapath, path.Join(largerFolder, l))
	})
}

// mapLargerNetworks maps the networks of the larger models of the languages, until the function that it returns is
// called. What is no such model, or has other letters than the installed one, is left out.
func mapLargerNetworks(datapath, languages string) ([]C.struct_larger_network, func()) {
	var networks []C.struct_larger_network
	var mapped [][]byte
	if replaceForward() { // Tesseract's own layers are too slow for a larger network
		for _, l := range languagesWithLarger(datapath, languages) {
			larger := mapModel(datapath, path.Join(largerFolder, l))
			installed := mapModel(datapath, l)
			mapped = append(mapped, larger, installed)
			network := modelPart(larger, networkPart)
			if len(network) == 0 || !bytes.Equal(modelPart(larger, lettersPart), modelPart(installed, lettersPart)) ||
				!bytes.Equal(modelPart(larger, codesPart), modelPart(installed, codesPart)) {
				continue
			}
			networks = append(networks, C.struct_larger_network{language: C.CString(l),
				data: (*C.char)(unsafe.Pointer(unsafe.SliceData(network))), size: C.size_t(len(network))})
		}
	}
	return networks, func() {
		for _, n := range networks {
			C.free(unsafe.Pointer(n.language))
		}
		for _, m := range mapped {
			if m != nil {
				_ = syscall.Munmap(m) // of what Mmap returned: it cannot fail
			}
		}
	}
}

// mapModel maps the file of a model; nil where that cannot be.
func mapModel(datapath, name string) []byte {
	f, err := os.Open(filepath.Join(datapath, name+modelExt))
	if err != nil {
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return nil
	}
	all, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return all
}

// modelPart returns a part of a model; nothing where it has none.
func modelPart(model []byte, part int) []byte {
	begin, end, ok := findModelPart(bytes.NewReader(model), part)
	if !ok || end > int64(len(model)) {
		return nil
	}
	return model[begin:end]
}

// largerReadings returns how many lines, or parts of lines, larger networks have read. It is for tests.
func largerReadings() int { return int(C.larger_readings()) }
