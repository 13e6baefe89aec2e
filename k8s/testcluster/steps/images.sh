# The programs, and every image. Images are built while the programs are.
# shellcheck shell=bash disable=SC2154

step_images() {
  setsid nice "$here/build.sh" "$dir" cluster compose tilt >"$logs/build.log" 2>&1 &
  building=$!
  docker_up
  "$here/images.sh" "$dir" base
  say 'base images are there'
  (cd "$root" && DOCKER_BUILD_FLAGS='--network host' deploy/images.sh)
  say 'images are built'
  check_images
  if ! wait "$building"; then
    tail -n 20 "$logs/build.log" >&2
    fail 'the programs could not be built'
  fi
  building=
  say 'programs are built'
  "$here/images.sh" "$dir" rest
  local ours=()
  for name in gateway ingest scan render ocr index inkstream; do
    ours+=("inkstream/$name:dev")
  done
  "$docker" save --output "$dir/images/inkstream.tar" "${ours[@]}"
  docker_down
}

# check_images holds the images to what deploy/README.md says of them: their user, their health check, their bills of materials, their size, and that they
# start with a read-only root and without capabilities.
check_images() {
  local name beyond base sizes=
  base=$("$docker" image inspect --format '{{.Size}}' debian:bookworm-slim)
  for name in gateway ingest scan render ocr index; do
    local image=inkstream/$name:dev
    [ "$("$docker" image inspect --format '{{.Config.User}} {{len .Config.Healthcheck.Test}}' "$image")" = '65532:65532 3' ] ||
      fail "$image: not the user 65532, or no health check"
    beyond=$((($("$docker" image inspect --format '{{.Size}}' "$image") - base) / 1000000))
    ((beyond <= 150)) || fail "$image: $beyond MB beyond its base"
    sizes+=" $name $beyond"
    "$docker" run --rm --read-only --cap-drop ALL --security-opt no-new-privileges --network none --entrypoint sh "$image" -c \
      "set -e; $name --help >/dev/null 2>&1 || test \$? -eq 2; ls /usr/share/sbom/*.cdx.json >/dev/null; ! ldd /usr/local/bin/$name | grep 'not found'" ||
      fail "$image: does not start, has no bill of materials, or wants a library that is not there"
  done
  say "images, MB beyond a base of $((base / 1000000)):$sizes"
}
