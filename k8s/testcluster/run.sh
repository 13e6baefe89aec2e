#!/usr/bin/env bash
# run.sh [STEP...]: the test of what is deployed with, for real: images, Compose, a one-node Kubernetes with three NATS servers, S3 and ClickHouse, KEDA,
# NetworkPolicies, and Tilt. Without arguments all steps are run, in this order:
#
#     images      make images, and the images of everything else
#     compose     both Compose files, a scan through each
#     cluster     Kubernetes started, every manifest accepted by its API server, the cluster's overlay deployed
#     documents   the small corpus through it, while pods of every service are killed and replaced and a NATS server is lost
#     network     connections that the NetworkPolicies allow, and those that they forbid
#     scaling     ocr from no pod to several and back to none
#     tilt        tilt ci, and a live update
#
# It needs root on a Debian 12 (it installs what is missing) with cgroup v1 controllers, and builds Kubernetes and Tilt from source once. Everything it
# makes lies in TESTCLUSTER_DIR (by default inkstream-testcluster in the user's cache; about 20 GB) and runs in namespaces of its own. After a failure
# the logs are in TESTCLUSTER_DIR/logs. TESTCLUSTER_KEEP=1 leaves the cluster running. A machine that cannot run it is told so, with the exit code 3;
# 'run.sh --can-run' asks for that alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
dir=${TESTCLUSTER_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/inkstream-testcluster}
steps=("$@")
if [ $# -eq 0 ]; then
  steps=(images compose cluster documents network scaling tilt)
fi
. "$here/lib.sh"

require_machine
if [ "${1:-}" = --can-run ]; then
  exit 0
fi
"$root/pkg/tools/deps.sh" cluster
find_docker
mkdir -p "$dir"
rm -rf "$logs"
mkdir -p "$logs"
trap finish EXIT
for step in "${steps[@]}"; do
  . "$here/steps/$step.sh"
  say "step $step"
  "step_$step"
done
say "passed: ${steps[*]}"
