#!/usr/bin/env bash
# Prints the address of the Debian mirror this machine's apt uses.
set -euo pipefail
apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -E '/debian/?$' | sort -u | sed -n '1s:/*$::p'
