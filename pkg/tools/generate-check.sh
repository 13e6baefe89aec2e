#!/usr/bin/env bash
# Proves that proto/gen is what the .proto files generate, that they keep the rules of buf.yaml, and that they break no client of the
# version before: of the last commit if they were changed since, else of the one before it. The argument is the buf binary.
set -euo pipefail

buf=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$buf" lint
"$buf" generate --path proto/inkstream --output "$work"
if ! diff -r "$work/proto/gen" proto/gen; then
  echo 'proto/gen is not what the .proto files generate: run make generate' >&2
  exit 1
fi

before=HEAD
if git diff --quiet HEAD -- proto buf.yaml 2>/dev/null; then
  before=HEAD~1
fi
if ! git rev-parse --verify --quiet "$before^{commit}" >/dev/null || ! git cat-file -e "$before:buf.yaml" 2>/dev/null; then
  echo "no earlier version at $before: compatibility is not checked"
  exit 0
fi
mkdir "$work/before"
git archive "$before" buf.yaml proto | tar -x -C "$work/before"
"$buf" breaking --against "$work/before"
