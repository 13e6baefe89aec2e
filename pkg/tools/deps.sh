#!/usr/bin/env bash
# Installs the system packages that a build needs ("deps.sh build"), also those that the tests need ("deps.sh test"), also those that quality is
# measured with ("deps.sh quality") or speed ("deps.sh bench"), or those of the build and of the test cluster ("deps.sh cluster") or of the drill
# of alerts ("deps.sh alerts").
# It asks for nothing, not even root, if none is missing. For Debian 12 and what descends from it. Then it has pdfium.sh make what PDFium is linked
# from, and models.sh fetch larger models of Tesseract, if they are missing; "deps.sh cluster" does not.
set -euo pipefail

packages=(
  # Tesseract and its image library, for cgo, with the models that are always wanted.
  gcc g++ pkg-config libtesseract-dev libleptonica-dev tesseract-ocr-eng tesseract-ocr-osd
  # What fetches larger models where npm is not there.
  ca-certificates curl
  # The translator of PDFium's WebAssembly module to C.
  wabt
  # Fonts for PDFs that name one of the base fonts without bringing it.
  fonts-dejavu-core fonts-liberation
)
# What results are compared with, files are made with, the models of text in columns, the virus scanner, an index database, and a browser.
tests=(chromium tesseract-ocr tesseract-ocr-jpn tesseract-ocr-jpn-vert poppler-utils poppler-data qpdf mupdf-tools clamav-daemon clickhouse-server clickhouse-common)
# Another peer, the fonts and two more typesetters of generated pages, and the models of the languages that the corpus is in.
quality=(ocrmypdf default-jre-headless fonts-noto-core fonts-noto-cjk fonts-texgyre fonts-lato fonts-ebgaramond fonts-linuxlibertine lmodern
  texlive-latex-base texlive-luatex libreoffice-writer-nogui hyphen-en-us hyphen-de hyphen-fr)
# What the peer of the benchmarks is made of.
bench=(redis-server python3-celery python3-fastapi python3-uvicorn python3-redis python3-pdfminer python3-tesserocr python3-pil)
for language in ara chi-sim deu ell fra heb hin ita kor pol rus spa tha ukr vie; do
  quality+=("tesseract-ocr-$language")
done
# Containers, their network, images without a registry, and what the test cluster's scripts call.
cluster=(docker.io containerd runc containernetworking-plugins iptables nftables conntrack ipset ethtool socat docker-registry mmdebstrap tini
  openssl jq curl git procps iproute2)
case "${1-}" in
build) ;;
cluster) packages+=("${cluster[@]}") ;;
test) packages+=("${tests[@]}") ;;
quality) packages+=("${tests[@]}" "${quality[@]}") ;;
bench) packages+=("${tests[@]}" "${bench[@]}") ;;
alerts) packages+=(prometheus) ;;
*)
  echo "usage: $0 build|test|quality|bench|cluster|alerts" >&2
  exit 2
  ;;
esac

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
make_rest() {
  [[ $1 == cluster ]] && return
  "$(dirname "$0")/models.sh" "${TESSDATA_PREFIX:-/usr/share/tesseract-ocr/5/tessdata}"
  "$(dirname "$0")/pdfium.sh"
}
if ! ((${#missing[@]})); then
  make_rest "$1"
  exit
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "neither root nor sudo: please have these packages installed: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
if ! command -v apt-get >/dev/null; then
  echo "no apt-get here: please install what Debian calls ${missing[*]}" >&2
  exit 1
fi
echo "installing ${missing[*]}"
# Tests start servers of their own; that the packages' would run as well helps nobody. Debian asks this file, where there is one.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
fi
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
make_rest "$1"
