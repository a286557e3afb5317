#!/usr/bin/env python3
"""Runs a job, and meanwhile tries as the user nobody to get at it.

  other_user.py DOORS -- COMMAND…    DOORS: what must be found, of sockets and reports; a comma between two

The job must end as if nobody had tried, and leave nothing behind. 77: this process can't become another user.
"""
import array
import encodings.idna  # noqa: F401: nobody may not read Python's own files later
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

NOBODY = 65534
BASE = "/dev/shm"


def children_of(process):
    """A process and all that it has started."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                parents.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
        except OSError:
            pass
    found = [process]
    for one in found:
        found += parents.get(one, [])
    return found


def doors_of(processes):
    """What a job's processes have that others might reach: private directories, files in them, descriptors, names of sockets."""
    inodes, descriptors = set(), []
    for process in processes:
        try:
            for name in os.listdir(f"/proc/{process}/fd"):
                path = f"/proc/{process}/fd/{name}"
                target = os.readlink(path)
                if "strake" in target:
                    descriptors.append(path)
                if match := re.fullmatch(r"socket:\[(\d+)\]", target):
                    inodes.add(match[1])
        except OSError:
            pass
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as file:
        lines = [line.split() for line in file]
    abstract = [line[7] for line in lines if len(line) > 7 and line[6] in inodes and line[7].startswith("@")]
    directories = {os.readlink(path) for path in descriptors if os.readlink(path).startswith(BASE)}
    directories = {path for path in directories if os.path.isdir(path)}
    files = [os.path.join(path, name) for path in directories for name in os.listdir(path)]
    return directories, files, descriptors, [name for name in abstract if "strake" in name]


def become_nobody():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def refused(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        return True
    return False


def read_some(path):
    """Those of a process that has ended can be opened, and are empty."""
    with open(path, "rb") as file:
        if not file.read(1):
            raise OSError("empty")


def attack(directories, files, descriptors, processes, seconds):
    """As another user: what opened, in words."""
    opened = []
    endless = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    for path in directories:
        for name, action in (("list", os.listdir), ("remove", os.rmdir), ("open", lambda p: os.open(p, os.O_RDONLY))):
            if not refused(action, path):
                opened.append(f"{name} {path}")
        for name in ("s", "free"):
            if not refused(lambda p: os.open(p, os.O_CREAT | os.O_WRONLY, 0o666), f"{path}/{name}"):
                opened.append(f"create {path}/{name}")
        if not refused(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind, f"{path}/free"):
            opened.append(f"bind {path}/free")
    for path in files:
        for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            if not refused(socket.socket(socket.AF_UNIX, kind).connect, path):
                opened.append(f"connect to {path}")
        for name, action in (("remove", os.unlink), ("look at", os.stat), ("open", lambda p: os.open(p, os.O_RDWR))):
            if not refused(action, path):
                opened.append(f"{name} {path}")
    for path in descriptors:
        if not refused(os.open, path, os.O_RDWR) or not refused(os.readlink, path):
            opened.append(f"open {path}")
    for process in processes:
        for name in ("maps", "environ"):
            if not refused(read_some, f"/proc/{process}/{name}"):
                opened.append(f"read /proc/{process}/{name}")
    # A flood at every door, with descriptors that take long to close.
    listener = socket.create_server(("127.0.0.1", 0))
    slow = socket.create_connection(listener.getsockname())
    slow.setblocking(False)
    while not refused(slow.send, b"x" * 65536):
        pass
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 30))
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [slow.fileno()]))]
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for path in files:
            if not refused(endless.sendmsg, [b"x"], rights, 0, path):
                opened.append(f"send to {path}")
    return opened


def in_child(action):
    """What `action` returns, called as nobody in a process of its own."""
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            become_nobody()
            said = repr(action())
        except Exception:
            said = traceback.format_exc()
        os.write(write, said.encode()[:60000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        said = file.read()
    os.wait()
    return said


def main():
    wanted, command = sys.argv[1].split(","), sys.argv[3:]
    if os.geteuid() != 0:
        print("skipped: only root can become another user")
        return 77
    faults, seen = [], set()
    with tempfile.TemporaryFile("w+") as output:
        job = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        directories = set()
        while job.poll() is None:
            processes = children_of(job.pid)
            found, files, descriptors, abstract = doors_of(processes)
            directories |= found
            seen |= {"sockets" if "-" in os.path.basename(path) else "reports" for path in files}
            faults += [f"a name that every user can see: {name}" for name in abstract]
            if set(wanted) <= seen:
                said = in_child(lambda: attack(found, files, descriptors, processes, 0.3))
                if said != "[]":
                    faults.append(f"another user may: {said}")
            time.sleep(0.02)
        output.seek(0)
        said = output.read()
    if job.returncode != 0 or " 0 wrong bytes" not in said:
        faults.append(f"the job ended with {job.returncode}: {said[-2000:]}")
    faults += [f"{door} were never seen" for door in wanted if door not in seen]
    faults += [f"left behind: {path}" for path in directories if os.path.exists(path)]
    print("\n".join(dict.fromkeys(faults)) or f"ok: {said.splitlines()[0]}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
