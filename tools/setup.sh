#!/usr/bin/env bash
# Make the virtual environment `.venv` from requirements.lock; done already, this takes no time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=.venv
stamp=$venv/.made-from

fail() {
    printf '!!  %s\n' "$@" >&2
    exit 1
}

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' </dev/null 2>/dev/null
}

can_make_venvs() {
    "$1" -c 'import ensurepip, venv' </dev/null 2>/dev/null
}

# Debian's build asks for it in a way of its own, which leaves the flag empty.
is_optimised() {
    "$1" - 2>/dev/null <<'END'
import sys
from sysconfig import get_config_var
sys.exit("--enable-optimizations" not in (get_config_var("CONFIG_ARGS") or "") and bool(get_config_var("PGO_PROF_USE_FLAG")))
END
}

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' </dev/null 2>/dev/null
}

# A name on the search path is no promise: version managers put names there that do not run. They also compile
# without profile-guided optimisation unless told to, and a scan then takes a sixth longer: where the search path
# has the same version with it, that one is taken.
find_python() {
    local name place first
    for name in python3.13 python3.12 python3.11 python3 python; do
        first=
        while IFS= read -r place; do
            is_new_enough "$place" || continue
            first=${first:-$place}
            if [ "$(version_of "$place")" = "$(version_of "$first")" ] && is_optimised "$place" && can_make_venvs "$place"; then
                first=$place
                break
            fi
        done < <(type -aP "$name")
        if [ -n "$first" ]; then
            printf '%s' "$first"
            return
        fi
    done
    return 1
}

# Whoever names one wants that one, or a word why not.
named_python() {
    if ! command -v "$PYTHON" >/dev/null || ! is_new_enough "$PYTHON"; then
        fail "PYTHON=$PYTHON is no Python 3.11 or later that runs."
    fi
    printf '%s' "$PYTHON"
}

may_use_apt() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null
}

ensure_venv_module() {
    can_make_venvs "$1" && return
    local version package
    version=$(version_of "$1")
    package="python$version-venv"
    may_use_apt || fail "$1 cannot make virtual environments." "Install its missing part: apt-get install $package"
    echo "... Installing $package, which $1 lacks"
    DEBIAN_FRONTEND=noninteractive sh -c "apt-get update -qq && apt-get install -y -qq $package" </dev/null >/dev/null ||
        fail "apt-get could not install $package: see its message above."
}

# pip says "Collecting" or "Using cached" once a package: enough to show that something moves.
show_progress() {
    local total=$1 count=0 line
    while IFS= read -r line; do
        case $line in
            Collecting*)
                count=$((count + 1))
                if [ -t 1 ]; then printf '\r    %d of %d packages' "$count" "$total"; fi
                ;;
            ERROR* | WARNING*) printf '%s\n' "$line" ;;
        esac
    done
    if [ -t 1 ]; then printf '\r    installing %d packages    \n' "$count"; fi
}

main() {
    local python wanted total
    if [ -x $venv/bin/python ] && $venv/bin/python -c '' 2>/dev/null; then
        wanted=$(cksum <requirements.lock)
        [ "$(cat $stamp 2>/dev/null)" != "$wanted" ] || return 0
    else
        if [ -n "${PYTHON:-}" ]; then
            python=$(named_python) || exit 1
        else
            python=$(find_python) || fail "No Python 3.11 or later was found (tried python3.13, 3.12, 3.11, python3)." \
                "Install one (apt-get install python3 python3-venv), or name it: make run PYTHON=/path/to/python3"
        fi
        ensure_venv_module "$python"
        echo "... Making $venv with $python ($("$python" -c 'import platform; print(platform.python_version())'))"
        rm -rf $venv
        "$python" -m venv $venv </dev/null || fail "The virtual environment could not be made: see the message above."
        wanted=$(cksum <requirements.lock)
    fi
    total=$(awk '/^[a-z]/ { count++ } END { print count + 0 }' requirements.lock)
    echo "... Installing what requirements.lock names (about 400 MB are fetched once; a minute or two)"
    $venv/bin/python -m pip install --disable-pip-version-check --no-input --require-hashes --no-deps \
        --only-binary :all: --progress-bar off -r requirements.lock </dev/null 2>&1 | show_progress "$total" ||
        fail "pip could not install everything: its message is above." \
            "Behind a proxy or a mirror, set PIP_INDEX_URL or HTTPS_PROXY and run this again."
    printf '%s\n' "$wanted" >$stamp
    echo "ok  Packages are in $venv"
}

mkdir -p var
# Two at once would install into each other's half-made environment.
if command -v flock >/dev/null; then
    exec 9>var/setup.lock
    flock 9
fi
main
