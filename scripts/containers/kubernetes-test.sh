#!/usr/bin/env bash
# `npm test -- kubernetes`: builds the tools (scripts/containers/kubernetes-tools.sh; a quarter of an hour the first time), then tests
# the chart and the manifests with them. The last line is `N passed, N failed`. Arguments go to vitest.
set -uo pipefail
cd "$(dirname "$0")/../.."

if ! scripts/containers/kubernetes-tools.sh; then
  echo '0 passed, 1 failed'
  exit 1
fi
node scripts/tests/vitest-report.ts kubernetes "$@"
