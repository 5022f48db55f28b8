#!/usr/bin/env bash
# `npm test -- kubernetes`: builds the tools (scripts/containers/kubernetes-tools.sh; a quarter of an hour the first time), then tests
# the chart and the manifests with them. The last line is `N passed, N failed`. Arguments go to vitest.
set -uo pipefail
cd "$(dirname "$0")/../.."

if ! scripts/containers/kubernetes-tools.sh; then
  echo '0 passed, 1 failed'
  exit 1
fi
report=.cache/kubernetes/report.json
rm -f "$report"
node_modules/.bin/vitest run --project=kubernetes --reporter=default --reporter=json --outputFile.json="$report" "$@"
status=$?
node -e '
  const { readFileSync } = require("node:fs");
  let passed = 0, failed = 1;
  try {
    const report = JSON.parse(readFileSync(process.argv[1], "utf8"));
    passed = report.numPassedTests;
    failed = report.numTotalTests - passed;
    if (process.argv[2] !== "0") failed = Math.max(failed, report.numFailedTestSuites, 1);
  } catch (error) {
    console.error(`vitest left no report: ${error.message}`);
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
' "$report" "$status"
