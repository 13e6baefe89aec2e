#!/usr/bin/env bash
# build.sh DIR [cluster] [compose] [tilt]: builds into DIR/bin the programs that the test needs: Kubernetes in one program with CoreDNS, KEDA and
# netpol (cluster), Compose v2 (compose), and Tilt (tilt). All come from the module proxy, in the versions below and in the go.mod files here.
# What is there already is not built again. Cold, with two free cores: cluster 8 minutes, tilt 3, compose 2.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=$1
shift
kubernetes=1.35.4
keda=2.20.2
tilt=0.33.0
compose=2.40.3
mkdir -p "$dir/bin"
export GOWORK=off GOFLAGS=-buildvcs=false

# module PATH@VERSION prints the folder of a module in the module cache.
module() { (cd / && GOFLAGS=-mod=mod go mod download -json "$1") | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'; }

# changed STAMP FILE... tells whether the files differ from those that the stamp was made of.
changed() {
  local stamp=$dir/$1
  shift
  [ "$(cat "$stamp" 2>/dev/null)" != "$(cat "$@" | sha256sum)" ]
}
stamp() {
  local stamp=$dir/$1
  shift
  cat "$@" | sha256sum >"$stamp"
}

build_cluster() {
  local inputs=("$here"/build.sh "$here"/trim-keda.sh "$here"/programs/go.* "$here"/programs/*/*.go)
  if ! changed cluster.stamp "${inputs[@]}"; then
    return
  fi
  rm -rf "$dir/programs"
  cp -r "$here/programs" "$dir/programs"
  "$here/trim-keda.sh" "$(module github.com/kedacore/keda/v2@v$keda)" "$dir/programs/keda"
  cd "$dir/programs"
  local version=k8s.io/component-base/version client=k8s.io/client-go/pkg/version
  CGO_ENABLED=0 go build -trimpath -o "$dir/bin/" \
    -ldflags "-s -w -X $version.gitVersion=v$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=35 -X $client.gitVersion=v$kubernetes -X $client.gitMajor=1 -X $client.gitMinor=35" \
    ./kube ./coredns ./netpol ./pause github.com/kedacore/keda/v2/cmd/operator github.com/kedacore/keda/v2/cmd/adapter
  for p in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl etcd; do
    ln -sf kube "$dir/bin/$p"
  done
  "$dir/bin/kubectl" kustomize keda/config/testcluster >"$dir/keda.yaml"
  stamp cluster.stamp "${inputs[@]}"
}

build_compose() {
  if ! changed compose.stamp "$here"/build.sh "$here"/compose/go.*; then
    return
  fi
  go -C "$here/compose" build -trimpath -ldflags "-s -w -X github.com/docker/compose/v2/internal.Version=v$compose" \
    -o "$dir/bin/docker-compose" github.com/docker/compose/v2/cmd
  stamp compose.stamp "$here"/build.sh "$here"/compose/go.*
}

build_tilt() {
  if ! changed tilt.stamp "$here"/build.sh "$here"/tilt/go.mod; then
    return
  fi
  rm -rf "$dir/tilt"
  mkdir -p "$dir/tilt"
  cp "$here/tilt/go.mod" "$dir/tilt/"
  # The checksum database does not know three of Tilt's forks: its own list of checksums does.
  cp "$(module github.com/tilt-dev/tilt@v$tilt)/go.sum" "$dir/tilt/"
  chmod u+w "$dir/tilt/go.sum"
  (cd "$dir/tilt" && CGO_ENABLED=1 GOFLAGS=-mod=mod go build -trimpath -ldflags '-s -w' -o "$dir/bin/tilt" github.com/tilt-dev/tilt/cmd/tilt)
  stamp tilt.stamp "$here"/build.sh "$here"/tilt/go.mod
}

for part in "${@:-cluster}"; do
  "build_$part"
done
