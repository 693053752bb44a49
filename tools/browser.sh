#!/usr/bin/env bash
# Make sure that the browser tests find Chromium, or say loudly that they will not.
set -euo pipefail

for name in chromium chromium-browser google-chrome; do
    command -v "$name" >/dev/null && exit 0
done

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "... Installing chromium for the browser tests (about 350 MB, once)"
    export DEBIAN_FRONTEND=noninteractive
    if apt-get update -qq </dev/null && apt-get install -y -qq --no-install-recommends chromium fonts-liberation </dev/null >/dev/null; then
        echo "ok  chromium is installed"
        exit 0
    fi
fi

echo "!!  NO BROWSER: chromium is not installed and cannot be from here. Browser tests will be skipped." >&2
echo "!!  As root: apt-get install chromium" >&2
[ "${FERROAUDIT_REQUIRE_BROWSER:-0}" != 1 ]
