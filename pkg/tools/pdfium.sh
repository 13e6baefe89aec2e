#!/usr/bin/env bash
# Makes the library that pkg/pdf/internal/pdfium is linked with, below .bin: the WebAssembly module of go-pdfium, translated to C by wasm2c and
# compiled, with the runtime in module/. It takes some minutes of a processor, once: the library's name, which stands in engine.go, has the hash of
# all that it is made of. "pdfium.sh name" prints the name that it should have.
set -euo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.."

package=pkg/pdf/internal/pdfium
wasm=$(cd pkg && go mod download github.com/klippa-app/go-pdfium && go list -m -f '{{.Dir}}' github.com/klippa-app/go-pdfium)/webassembly/pdfium.wasm
sources=("$package"/module/*.[ch] pkg/tools/pdfium.awk pkg/tools/pdfium.sh)
name=libpdfium-$(cat "$wasm" "${sources[@]}" | sha256sum | head -c 12).a
if [[ ${1-} == name ]]; then
  echo "$name"
  exit
fi
if ! grep -q "/$name\$" "$package/engine.go"; then
  echo "$package/engine.go links another library than $name: please write that name there" >&2
  exit 1
fi
library=$PWD/.bin/$name
[[ ! -e $library ]] || exit 0

mkdir -p .bin
exec 9>.bin/pdfium.lock
flock 9
[[ ! -e $library ]] || exit 0 # another process has made it
echo "compiling PDFium, once: this takes two or three minutes"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$package"/module/*.[ch] "$work"
cd "$work"
wasm2c -n pdfium "$wasm" -o pdfium.c
awk -f "$OLDPWD/pkg/tools/pdfium.awk" pdfium.c pdfium.h
rm pdfium.c
# Floats are computed as WebAssembly has them: nothing is contracted, and what may be NaN is not assumed away.
flags=(-std=gnu2x -O2 -fPIE -fvisibility=hidden -ffp-contract=off -fno-math-errno -fomit-frame-pointer
  -fno-stack-protector -fno-stack-clash-protection -fcf-protection=none)
# The code of wasm2c has unused variables and labels by the thousands; what is written by hand has no warnings.
export FLAGS="${flags[*]} -w"
for c in runtime wasi chars; do gcc "${flags[@]}" -Wall -Wextra -Wno-unused-function -c $c.c; done
# The largest first, so that no processor waits for the last one.
find . -name 'part*.c' -o -name rest.c -o -name stubs.c | xargs ls -S | xargs -P "$(nproc)" -I{} sh -c 'gcc $FLAGS -c {}'
ar rcsD made.a ./*.o
mv made.a "$library.tmp"
mv "$library.tmp" "$library"
