#!/bin/sh
# Runs the built service (`npm run build`) in the foreground on 127.0.0.1:$EXTPROC_PORT, as production does: defaults
# throughout, one log line per exchange included. Only the admin port is the system's choice, so that runs do not collide.
# NODE_ARGS (`--cpu-prof …`), WORKERS and every other variable of the service pass through.
set -eu
cd "$(dirname "$0")/.."
export NODE_ENV=production MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072
export LISTEN="127.0.0.1:${EXTPROC_PORT:?}" ADMIN_LISTEN="${ADMIN_LISTEN:-127.0.0.1:0}"
# shellcheck disable=SC2086 # several arguments in one variable
exec node_modules/.bin/node --single-threaded-gc --max-semi-space-size=16 --initial-heap-size=96 ${NODE_ARGS:-} dist/main.js
