# shellcheck shell=bash
# Installs missing packages.

# install installs a package with the system's package manager.
install() { # DEBIAN-NAME HOMEBREW-NAME
  if command -v apt-get >/dev/null; then
    install_debian "$1"
  elif command -v brew >/dev/null; then
    say "installing $2"
    brew install "$2" >&2
  else
    fail "please install $2; on Debian, Ubuntu and macOS this script does it"
  fi
}

# POLICY tells packages whether to start their services. OUR_POLICY is the text that we write: a
# killed call leaves the file behind, and the next call removes it.
POLICY=${HERALD_POLICY:-/usr/sbin/policy-rc.d}
OUR_POLICY=$'#!/bin/sh\n# of Herald\'s tools/stack: no service is started while a package is installed\nexit 101'

# our_policy reports whether the policy file is ours.
our_policy() { [[ -e $POLICY && $(cat "$POLICY") == "$OUR_POLICY" ]]; }

# install_debian installs a package without starting its service. It does not change a policy
# file of somebody else.
install_debian() {
  local as_root=()
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || fail "please install the package $1 as root"
    as_root=(sudo)
  fi
  say "installing $1"
  if [[ ! -e $POLICY ]] || our_policy; then
    # shellcheck disable=SC2064
    trap "${as_root[*]} rm -f $POLICY" EXIT
    echo "$OUR_POLICY" | "${as_root[@]}" tee "$POLICY" >/dev/null
    "${as_root[@]}" chmod +x "$POLICY"
  fi
  local get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  "${get[@]}" update >&2 || say "apt-get update failed; continuing with the lists there are"
  "${get[@]}" install -y --no-install-recommends "$1" </dev/null >&2 9>&- || fail "apt-get could not install $1"
  if [[ -n $(trap -p EXIT) ]]; then
    "${as_root[@]}" rm -f "$POLICY"
    trap - EXIT
  fi
}
