#!/usr/bin/env bash
# images.sh: builds the images of the services and of inkstream, as inkstream/NAME:TAG, and prints their sizes. The environment may say VERSION, TAG,
# LANGUAGES and BASE; DOCKER names the client, and DOCKER_BUILD_FLAGS more flags for it.
set -euo pipefail
cd "$(dirname "$0")/.."
export DOCKER_BUILDKIT=1
docker=${DOCKER:-docker}
tag=${TAG:-dev}
args=(--build-arg "REVISION=$(git rev-parse HEAD 2>/dev/null || echo unknown)")
for name in VERSION LANGUAGES BASE; do
  if [ -n "${!name:-}" ]; then
    args+=(--build-arg "$name=${!name}")
  fi
done
read -ra flags <<<"${DOCKER_BUILD_FLAGS:-}"
base=$($docker image inspect --format '{{.Size}}' "${BASE:-debian:bookworm-slim}" 2>/dev/null || echo 0)
for target in gateway ingest scan render ocr index inkstream; do
  "$docker" build --quiet "${flags[@]}" "${args[@]}" --file deploy/Dockerfile --target "$target" --tag "inkstream/$target:$tag" . >/dev/null
  size=$("$docker" image inspect --format '{{.Size}}' "inkstream/$target:$tag")
  printf '%-30s %4d MB, %3d MB of them beyond the base\n' "inkstream/$target:$tag" $((size / 1000000)) $(((size - base) / 1000000))
done
