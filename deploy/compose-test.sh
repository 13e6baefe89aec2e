#!/usr/bin/env bash
# compose-test.sh SCAN.pdf WORD: brings the Compose files up, one NATS server and then three, and sends a scan through each, in which a search then
# finds the word. With one server it goes down and up again between; of three, one is stopped while the job runs.
#
# It needs a Docker daemon (DOCKER_HOST) with the images of 'make images' and those of compose.yaml, Compose v2 as docker-compose (or named by
# COMPOSE), and a project name that is free (COMPOSE_PROJECT_NAME): its volumes are removed. After a failure the logs are in LOGS.
set -euo pipefail

if [ $# -ne 2 ]; then
  sed -n '2,3s/^# //p' "$0" >&2
  exit 2
fi
scan=$(realpath "$1")
word=$2
here=$(cd "$(dirname "$0")" && pwd)
logs=${LOGS:-$(mktemp -d -t inkstream-compose-XXXXXX)}
mkdir -p "$logs"
export COMPOSE_PROJECT_NAME=${COMPOSE_PROJECT_NAME:-inkstream-test} HTTP_PORT=${HTTP_PORT:-18080} GRPC_PORT=${GRPC_PORT:-19090}
server=http://127.0.0.1:$HTTP_PORT
files=(-f "$here/compose.yaml")

compose() { "${COMPOSE:-docker-compose}" "${files[@]}" "$@"; }

finish() {
  status=$?
  if [ $status -ne 0 ]; then
    compose ps -a >"$logs/ps.txt" 2>&1 || true
    compose logs --no-color >"$logs/compose.log" 2>&1 || true
    echo "compose-test: failed, logs are in $logs" >&2
  fi
  compose down --volumes --timeout 20 >/dev/null 2>&1 || true
  exit $status
}
trap finish EXIT

# up starts everything and says how long it took until all of it was healthy.
up() {
  local start=$SECONDS
  compose up --wait --wait-timeout 180 --no-build --pull never --quiet-pull 2>>"$logs/compose-up.log"
  echo "compose-test: everything is healthy after $((SECONDS - start)) s"
  key=$(compose exec -T gateway cat /data/admin.key)
}

call() { curl --fail --silent --show-error --header "Authorization: Bearer $key" "$@"; }

field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

upload() { call --form "file=@$scan" --form ocr=force "$server/v1/jobs?dedupe=false" | field id; }

# succeed JOB waits until the job has ended, and wants it to have succeeded.
succeed() {
  local state=
  for _ in $(seq 10); do
    state=$(call "$server/v1/jobs/$1?wait=30s" | field state)
    case $state in
    SUCCEEDED) break ;;
    PENDING | RUNNING) ;;
    *) break ;;
    esac
  done
  if [ "$state" != SUCCEEDED ]; then
    echo "compose-test: job $1 is $state, want SUCCEEDED" >&2
    return 1
  fi
  echo "compose-test: job $1 $state"
}

# found JOB wants the word to be found in the job's document. The index is told of it within a second or two.
found() {
  for _ in $(seq 20); do
    if call "$server/v1/search?q=$word" | grep -q "$1"; then
      echo "compose-test: '$word' is found in job $1"
      return
    fi
    sleep 1
  done
  echo "compose-test: '$word' is not found in job $1" >&2
  return 1
}

if [ "$(curl --silent --output /dev/null --write-out '%{http_code}' "$server/readyz")" != 000 ]; then
  echo "compose-test: something listens at $server already" >&2
  exit 1
fi

up
if [ "$(curl --silent --output /dev/null --write-out '%{http_code}' "$server/v1/jobs")" != 401 ]; then
  echo 'compose-test: a request without a key is not refused with 401' >&2
  exit 1
fi
first=$(upload)
succeed "$first"
found "$first"
compose down --timeout 60
up
succeed "$first"
found "$first"
second=$(upload)
succeed "$second"
compose down --volumes --timeout 20

files+=(-f "$here/compose.cluster.yaml")
up
third=$(upload)
compose stop --timeout 20 nats-2
succeed "$third"
found "$third"
compose start nats-2
compose up --wait --wait-timeout 120 --no-build --pull never
fourth=$(upload)
succeed "$fourth"
echo 'compose-test: passed'
