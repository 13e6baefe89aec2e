#!/usr/bin/env bash
# Checks the types of the web pages, and that the libraries in vendor are those of npm. The argument is the tsc binary.
set -euo pipefail

tsc=$1
modules=$(dirname "$(dirname "$tsc")")
vendor=services/gateway/ui/vendor
"$tsc" -p services/gateway/ui/tsconfig.json
cmp "$modules/preact/dist/preact.mjs" $vendor/preact.mjs
cmp "$modules/preact/hooks/dist/hooks.mjs" $vendor/hooks.mjs
cmp "$modules/preact/jsx-runtime/dist/jsxRuntime.mjs" $vendor/jsxRuntime.mjs
cmp "$modules/@preact/signals/dist/signals.mjs" $vendor/signals.mjs
cmp "$modules/@preact/signals-core/dist/signals-core.mjs" $vendor/signals-core.mjs
echo 'the types are right, and the libraries are those of npm'
