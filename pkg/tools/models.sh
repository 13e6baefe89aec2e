#!/usr/bin/env bash
# models.sh FOLDER [LANGUAGE...|all]: puts Tesseract's larger models of the languages, by default of those that are installed in the folder, into
# FOLDER/best, where the recogniser looks for them (services/ocr/internal/tesseract/larger_models.go). npm is the registry that carries them: each
# package has one language, and is fetched by npm where that is, by curl elsewhere. What cannot be had is left out: pages are then read as the
# installed models alone read them, so that this warns, and never fails.
set -euo pipefail

folder=${1:?usage: models.sh FOLDER [LANGUAGE...|all]}
shift
release=1.0.0
# The languages that were measured, with the SHA-256 of the model. The models are Tesseract's own, of its release 4.0.0.
declare -A digests=(
  [deu]=a1b72cc25753eac167edfef5af4448a8dc34973503a2265c34c84520f896eb03
  [eng]=5dc5d8d640a212c9d6184921ba103b186f50e0fed9ee716c53e6b312b400d747
  [fra]=bf83833fa957ff0076f6aa93f69e3bdf7b014dea829ea0c0d6be6b48a3ceef6d
  [ita]=36ec897f5f1f489b257801881286167a79b99a16040c6fbc7e3e30f03821b10b
  [pol]=02b89cad819f1374631b4a3c92bdac79c214150f97a3686df78de6c8c30782db
  [spa]=0062377729b81cc268b1822f09eb1c08c09f3f7f1c6b422540b51555a7eeea70
)

wanted=()
case ${1-} in
"") languages=() && for l in "${!digests[@]}"; do [[ ! -e $folder/$l.traineddata ]] || languages+=("$l"); done ;;
all) languages=("${!digests[@]}") ;;
*) languages=("$@") ;;
esac
for language in ${languages[@]+"${languages[@]}"}; do
  [[ -z ${digests[$language]-} || -e $folder/best/$language.traineddata ]] || wanted+=("$language")
done
((${#wanted[@]})) || exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fetch_package fetches the package of a language, as the file package.tgz.
fetch_package() {
  if command -v npm >/dev/null; then
    (cd "$work" && npm pack --loglevel=error --fetch-retries=0 --fetch-timeout=60000 "@tesseract.js-data/$1@$release") &&
      mv "$work/tesseract.js-data-$1-$release.tgz" "$work/package.tgz"
  else
    curl -fsSL --connect-timeout 10 --max-time 300 -o "$work/package.tgz" "https://registry.npmjs.org/@tesseract.js-data/$1/-/$1-$release.tgz"
  fi
}

mkdir "$work/best"
for language in "${wanted[@]}"; do
  model=$work/best/$language.traineddata
  if ! fetch_package "$language" >"$work/log" 2>&1; then
    echo "warning: larger models for recognition cannot be fetched, so that bad scans are read less well until make can: $(head -n 1 "$work/log")" >&2
    break # nor can the others
  fi
  tar -xzOf "$work/package.tgz" "package/4.0.0_best_int/$language.traineddata.gz" | gunzip >"$model" || true # the digest tells
  if ! echo "${digests[$language]}  $model" | sha256sum --check --status; then
    rm -f "$model"
    echo "warning: the larger model of $language that was fetched is another than the pinned one, and is not used" >&2
  fi
done
compgen -G "$work/best/*" >/dev/null || exit 0
echo "Tesseract's models of release 4.0.0, \"best\" in whole numbers (github.com/tesseract-ocr/tessdata_best, Apache-2.0), as the npm packages \
@tesseract.js-data/LANGUAGE $release carry them." >"$work/best/README"

as_root=()
if ! [[ -w $folder ]]; then
  command -v sudo >/dev/null || {
    echo "warning: the larger models for recognition are not installed: $folder is not writable" >&2
    exit 0
  }
  as_root=(sudo)
fi
"${as_root[@]}" install -d "$folder/best"
"${as_root[@]}" install -m 0644 "$work"/best/* "$folder/best/"
echo "installed the larger models of ${wanted[*]} in $folder/best"
