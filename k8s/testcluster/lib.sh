# What the steps of run.sh share. The caller has set here, root and dir.
# shellcheck shell=bash disable=SC2154

logs=$dir/logs
export DOCKER_HOST=unix://$dir/docker.sock PATH=$dir/bin:$PATH KUBECONFIG=$dir/state/admin.kubeconfig
corpus=$root/pkg/pdftest/testdata/corpus
started=$SECONDS

# find_docker takes Debian's client where there are several: it builds with BuildKit without a plugin. It is looked for after the packages are installed.
find_docker() {
  docker=$(command -v /usr/bin/docker || command -v docker || true)
  export DOCKER=$docker
}

say() { printf 'k8s-test: %4d s: %s\n' $((SECONDS - started)) "$*"; }

fail() {
  echo "k8s-test: FAILED: $*" >&2
  exit 1
}

# require_machine ends the test with a plain sentence on a machine that cannot run it.
require_machine() {
  local reason=
  if [ "$(uname -s)" != Linux ] || ! command -v apt-get >/dev/null; then
    reason='a Debian is needed'
  elif [ "$EUID" -ne 0 ]; then
    reason='root is needed, for namespaces, containers and a network of its own'
  elif [ ! -d /sys/fs/cgroup/memory ]; then
    reason='cgroup v1 controllers are needed in /sys/fs/cgroup'
  elif ! unshare --mount --pid --fork --cgroup --ipc --uts --net true 2>/dev/null; then
    reason='new namespaces are refused here'
  fi
  if [ -n "$reason" ]; then
    echo "k8s-test: this machine cannot run it: $reason" >&2
    exit 3
  fi
}

# wait_for SECONDS WHAT COMMAND... waits until the command succeeds, or fails the test saying what did not come.
wait_for() {
  local end=$((SECONDS + $1)) what=$2 seconds=$1
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS >= end)); then
      fail "$what: not within $seconds s"
    fi
    sleep .5
  done
}

# isolate NAME HOST|OWN COMMAND... starts a command in namespaces of its own, in the background; HOST or OWN is its network.
isolate() {
  local name=$1 network=$2
  shift 2
  NETWORK=$network setsid "$here/isolate.sh" "$name" "$@" >"$logs/$name.log" 2>&1 &
  wait_for 20 "the namespaces of $name" test -s "/run/inkstream-testcluster/$name"
}

# stop NAME ends everything in the namespaces.
stop() {
  local pid
  pid=$(cat "/run/inkstream-testcluster/$1" 2>/dev/null || true)
  if [ -n "$pid" ]; then
    kill -KILL "$pid" 2>/dev/null || true
    wait_for 30 "the end of $1" test ! -e "/run/inkstream-testcluster/$1"
  fi
}

inside() { "$here/enter.sh" "$@"; }
k() { inside k8s kubectl "$@"; }

# docker_up runs the Docker daemon that images are built with. It has the machine's network, of which it changes nothing.
docker_up() {
  if [ ! -e /run/inkstream-testcluster/docker ]; then
    rm -rf "$dir/docker-run" "$dir/docker.sock" "$dir/docker.pid" # of a daemon that was cut off, whose pid may be that of another process now
    isolate docker host dockerd --data-root "$dir/docker" --exec-root "$dir/docker-run" --pidfile "$dir/docker.pid" -H "$DOCKER_HOST" \
      --storage-driver overlay2 --bridge none --iptables=false
    wait_for 60 'the Docker daemon' "$docker" info
  fi
}

docker_down() {
  local pid
  pid=$(cat /run/inkstream-testcluster/docker 2>/dev/null || true)
  if [ -n "$pid" ]; then
    kill -TERM "$(pgrep -P "$pid" dockerd)" 2>/dev/null || true
    wait_for 60 'the end of the Docker daemon' test ! -e /run/inkstream-testcluster/docker
  fi
}

# finish ends what was started, and after a failure says where the logs are.
finish() {
  local status=$?
  trap - EXIT
  set +e
  if [ -n "${building:-}" ]; then
    kill -TERM -- "-$building" 2>/dev/null
  fi
  if [ $status -ne 0 ] && [ -e /run/inkstream-testcluster/k8s ]; then
    collect_cluster_logs
  fi
  if [ -z "${TESTCLUSTER_KEEP:-}" ]; then
    for name in tilt k8s compose docker; do
      stop "$name" 2>/dev/null
    done
  fi
  if [ $status -ne 0 ]; then
    echo "k8s-test: the logs are in $logs" >&2
    tail -n 40 "$logs/last-words.txt" 2>/dev/null >&2
  fi
  exit $status
}

collect_cluster_logs() {
  cp -r "$dir/state/log" "$logs/cluster" 2>/dev/null
  {
    k get pods,jobs,scaledobjects,pvc -A -o wide
    k get events -A --sort-by=.lastTimestamp | tail -n 60
  } >"$logs/objects.txt" 2>&1
  k describe pods -n inkstream >"$logs/pods.txt" 2>&1
  {
    k get pods -n inkstream
    k get events -n inkstream --sort-by=.lastTimestamp | grep -v Normal | tail -n 15
  } >"$logs/last-words.txt" 2>&1
}

# client ARGUMENTS... is the inkstream command as a client of the cluster's gateway.
client() {
  inside k8s "$root/bin/inkstream" --server "http://$(k -n inkstream get service gateway -o jsonpath='{.spec.clusterIP}')" \
    --api-key-file "$dir/k8s/overlays/cluster/secrets/admin.key" "$@"
}

replicas() { k -n inkstream get deployment "$1" -o jsonpath='{.spec.replicas}'; }
has_replicas() { [ "$(replicas "$1")" -eq "$2" ]; }
