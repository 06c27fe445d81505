# shellcheck shell=bash
# Installs missing packages.

# install installs packages with the system's package manager, in one call.
install() { # DEBIAN-NAME:HOMEBREW-NAME...
  local debian=("${@%%:*}") homebrew=("${@##*:}")
  if command -v apt-get >/dev/null; then
    install_debian "${debian[@]}"
  elif command -v brew >/dev/null; then
    watched "installing ${homebrew[*]}" brew install "${homebrew[@]}" || fail "Homebrew could not install ${homebrew[*]}"
  else
    fail "please install ${homebrew[*]}; on Debian, Ubuntu and macOS this script does it"
  fi
}

# POLICY tells packages whether to start their services. OUR_POLICY is the text that we write: a
# killed call leaves the file behind, and the next call removes it.
POLICY=${HERALD_POLICY:-/usr/sbin/policy-rc.d}
OUR_POLICY=$'#!/bin/sh\n# of Herald\'s tools/stack: no service is started while a package is installed\nexit 101'

# our_policy reports whether the policy file is ours.
our_policy() { [[ -e $POLICY && $(cat "$POLICY") == "$OUR_POLICY" ]]; }

# install_debian installs packages without starting their services. It does not change a policy
# file of somebody else.
install_debian() { # NAME...
  local as_root=()
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || fail "please install as root: apt-get install $*"
    as_root=(sudo)
  fi
  if [[ ! -e $POLICY ]] || our_policy; then
    # shellcheck disable=SC2064
    trap "${as_root[*]} rm -f $POLICY" EXIT
    echo "$OUR_POLICY" | "${as_root[@]}" tee "$POLICY" >/dev/null
    "${as_root[@]}" chmod +x "$POLICY"
  fi
  local get=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  watched "updating the list of packages" "${get[@]}" update || say "apt-get update failed; continuing with the lists there are"
  watched "installing $*" "${get[@]}" install -y --no-install-recommends "$@" || fail "apt-get could not install $*"
  if [[ -n $(trap -p EXIT) ]]; then
    "${as_root[@]}" rm -f "$POLICY"
    trap - EXIT
  fi
}
