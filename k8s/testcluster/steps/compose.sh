# Both Compose files, in a Docker daemon with a network of its own.
# shellcheck shell=bash disable=SC2154

step_compose() {
  local host=unix://$dir/compose.sock
  stop compose # that a step which failed has left
  rm -rf "$dir/compose-data" "$dir/compose-run" "$dir/compose.sock" "$dir/compose.pid"
  isolate compose own dockerd --data-root "$dir/compose-data" --exec-root "$dir/compose-run" --pidfile "$dir/compose.pid" -H "$host" \
    --storage-driver overlay2 --bip 172.30.0.1/24
  wait_for 60 'the Docker daemon of Compose' inside compose "$docker" -H "$host" info
  for archive in stores inkstream; do
    inside compose "$docker" -H "$host" load --quiet --input "$dir/images/$archive.tar" >/dev/null
  done
  say 'images are loaded'
  DOCKER_HOST=$host COMPOSE=$dir/bin/docker-compose LOGS=$logs/compose inside compose "$root/deploy/compose-test.sh" \
    "$corpus/ocr/tess/tess-phototest.pdf" lazy
  stop compose
  rm -rf "$dir/compose-data"
}
