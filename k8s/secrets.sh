#!/usr/bin/env bash
# secrets.sh single|cluster: makes the Secrets of an overlay, in the folder secrets beside its kustomization.yaml, which kustomize reads and git ignores.
# What is there already is kept; the configuration of NATS is written anew around its keys, so run it again at each update.
# It needs openssl and the command inkstream of the release: on the path, or named by INKSTREAM.
set -euo pipefail

overlay=${1:-}
case $overlay in
single | cluster) ;;
*)
  echo "usage: ${0##*/} single|cluster" >&2
  exit 2
  ;;
esac
inkstream=${INKSTREAM:-inkstream}
dir=$(cd "$(dirname "$0")" && pwd)/overlays/$overlay/secrets
umask 077
mkdir -p "$dir"

# make FILE TEXT writes a file that is not there yet.
make() {
  if [ ! -e "$dir/$1" ]; then
    printf '%s\n' "$2" >"$dir/$1"
  fi
}

nats=(nats-config --out "$dir/nats" --listen 0.0.0.0:4222 --monitor 0.0.0.0:8222 --store-dir /data)
if [ "$overlay" = cluster ]; then
  nats+=(--cluster nats-0.nats-peers,nats-1.nats-peers,nats-2.nats-peers)
fi
if [ -e "$dir/nats" ]; then
  nats+=(--keep-keys)
fi
"$inkstream" "${nats[@]}" >/dev/null

make seal.key "$(openssl rand -base64 32)"
make admin.key "ink_$(openssl rand -hex 8)_$(openssl rand -hex 16)"
if [ "$overlay" = cluster ]; then
  make s3.env "AWS_ACCESS_KEY_ID=inkstream
AWS_SECRET_ACCESS_KEY=$(openssl rand -hex 16)"
  make clickhouse.env "CLICKHOUSE_PASSWORD=$(openssl rand -hex 16)"
  password=$(sed -n 's/^CLICKHOUSE_PASSWORD=//p' "$dir/clickhouse.env")
  make index.env "INDEX=clickhouse://inkstream:$password@clickhouse:9000/inkstream"
else
  make index.env "INDEX=sqlite:///data/index/index.db"
fi
echo "The Secrets are in $dir. Keep a copy where it is safe: without seal.key documents' passwords are lost, and admin.key is the first API key."
