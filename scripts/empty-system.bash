# Sourced by scripts that try Strake in an empty system, a release of Debian or Ubuntu as it is after its installation,
# which lies in the folder $root. They need root and apt.
: "${root:?}"

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get > /dev/null; then
  echo "an empty system takes root and apt"
  exit 77
fi

# make_root SUITE   what is essential of it (bookworm, noble), and apt. Ubuntu's takes Ubuntu's keyring on this machine.
make_root() {
  [ ! -f "$root/made" ] || return 0
  local components=main
  case $1 in bookworm | trixie | forky | sid) ;; *) components+=,universe ;; esac
  command -v mmdebstrap > /dev/null ||
    DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends mmdebstrap || return
  rm -rf "${root:?}"
  mkdir -p "$(dirname "$root")"
  mmdebstrap --variant=apt --components=$components "$1" "$root" && inside apt-get -q update && touch "$root/made"
}

# inside COMMAND…   runs it there, with mounts that end with it.
inside() {
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  # shellcheck disable=SC2016 # expanded inside
  unshare --mount bash -c 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount --bind /sys "$1/sys" &&
    exec chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
      DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "${@:2}"' bash "$root" "$@"
}
