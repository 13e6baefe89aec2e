#!/usr/bin/env bash
# images.sh DIR base|rest: makes the images that the project's own are built from, or all others that the tests need, with the Docker daemon at
# DOCKER_HOST. An image that is there is kept, one that a registry gives within a minute is pulled, and without a registry a stand-in of the same
# name is made: of Debian's packages, this machine's Go toolchain, and programs from the module proxy. Stand-ins are said to be such.
#
# rest needs DIR/bin of build.sh, and leaves the archives stores.tar (NATS, S3, ClickHouse) and cluster.tar in DIR/images.
set -euo pipefail
dir=$1
docker=${DOCKER:-docker}
export DOCKER_BUILDKIT=1
root=$(cd "$(dirname "$0")/../.." && pwd)

# there IMAGE tells whether the image is here, or can be had from a registry.
there() { "$docker" image inspect "$1" >/dev/null 2>&1 || timeout 60 "$docker" pull --quiet "$1" >/dev/null 2>&1; }

# static NAME ENTRYPOINT FILE...: an image of static programs alone.
static() {
  local name=$1 entrypoint=$2 context
  shift 2
  context=$(mktemp -d)
  cp "$@" "$context/"
  printf 'FROM scratch\nCOPY . /\nUSER 65532:65532\nENTRYPOINT ["%s"]\n' "$entrypoint" >"$context/Dockerfile"
  echo Dockerfile >"$context/.dockerignore"
  "$docker" build --quiet --tag "$name" "$context" >/dev/null
  rm -r "$context"
}

# stand_in NAME ENTRYPOINT PACKAGES FILE...: a Debian with the packages, busybox's wget, and programs; the entrypoint is the command's begin.
stand_in() {
  local name=$1 entrypoint=$2 packages=$3 context
  shift 3
  context=$(mktemp -d)
  mkdir "$context/bin"
  if [ $# -gt 0 ]; then
    cp "$@" "$context/bin/"
  fi
  cat >"$context/Dockerfile" <<-D
	FROM debian:bookworm-slim
	RUN apt-get update && apt-get install -y --no-install-recommends busybox $packages && rm -rf /var/lib/apt/lists/* \\
	    && ln -s /bin/busybox /usr/local/bin/wget
	COPY bin /usr/local/bin
	ENTRYPOINT ["$entrypoint"]
	D
  "$docker" build --quiet --network host --tag "$name" "$context" >/dev/null
  rm -r "$context"
  echo "images.sh: $name is a stand-in: no registry"
}

base() {
  if ! there debian:bookworm-slim; then
    mkdir -p "$dir/base"
    if [ ! -e "$dir/base/bookworm-slim.tar" ]; then
      mmdebstrap --quiet --mode=root --variant=minbase --include=ca-certificates --dpkgopt='path-exclude=/usr/share/man/*' \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' --dpkgopt='path-exclude=/usr/share/locale/*' \
        bookworm "$dir/base/new.tar"
      mv "$dir/base/new.tar" "$dir/base/bookworm-slim.tar"
    fi
    "$docker" import --change 'CMD ["bash"]' "$dir/base/bookworm-slim.tar" debian:bookworm-slim >/dev/null
    echo 'images.sh: debian:bookworm-slim is a stand-in: no registry'
  fi
  if ! there golang:1.26-bookworm; then
    # As in the official image: the toolchain in /usr/local/go, a C compiler, git. The authorities are this machine's, for its module proxy.
    local context=$dir/base/golang
    rm -rf "$context"
    mkdir -p "$context"
    cp -a "$(cd "$root" && go env GOROOT)" "$context/go"
    cp /etc/ssl/certs/ca-certificates.crt "$context/"
    cat >"$context/Dockerfile" <<-'D'
		FROM debian:bookworm-slim
		RUN apt-get update && apt-get install -y --no-install-recommends g++ gcc libc6-dev make pkg-config git ca-certificates && rm -rf /var/lib/apt/lists/*
		ENV PATH=/go/bin:/usr/local/go/bin:$PATH GOPATH=/go GOTOOLCHAIN=local
		COPY go /usr/local/go
		COPY ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
		WORKDIR /go
	D
    printf 'ENV GOPROXY=%s GOSUMDB=%s\n' "$(go env GOPROXY)" "$(go env GOSUMDB)" >>"$context/Dockerfile"
    "$docker" build --quiet --network host --tag golang:1.26-bookworm "$context" >/dev/null
    rm -r "$context"
    echo 'images.sh: golang:1.26-bookworm is a stand-in: no registry'
  fi
}

rest() {
  local nats=nats:2.15.2-alpine s3=versity/versitygw:v1.8.0 clickhouse=clickhouse/clickhouse-server:25.8 programs
  programs=$(mktemp -d)
  if ! there $nats; then
    CGO_ENABLED=0 GOWORK=off go build -C "$root/pkg" -trimpath -o "$programs/" github.com/nats-io/nats-server/v2
    stand_in $nats nats-server '' "$programs/nats-server"
  fi
  if ! there $s3; then
    CGO_ENABLED=0 GOWORK=off go build -C "$root/pkg/tools" -trimpath -o "$programs/" github.com/versity/versitygw/cmd/versitygw
    stand_in $s3 versitygw '' "$programs/versitygw"
  fi
  if ! there $clickhouse; then
    stand_in $clickhouse clickhouse-server 'clickhouse-server clickhouse-common'
  fi
  rm -r "$programs"
  static testcluster.local/pause:1 /pause "$dir/bin/pause"
  static testcluster.local/coredns:1 /coredns "$dir/bin/coredns"
  local keda
  keda=$(mktemp -d)
  cp "$dir/bin/operator" "$keda/keda"
  cp "$dir/bin/adapter" "$keda/keda-adapter"
  static testcluster.local/keda:1 /keda "$keda"/*
  rm -r "$keda"
  mkdir -p "$dir/images"
  "$docker" save --output "$dir/images/stores.tar" $nats $s3 $clickhouse
  "$docker" save --output "$dir/images/cluster.tar" testcluster.local/pause:1 testcluster.local/coredns:1 testcluster.local/keda:1
}

"$2"
