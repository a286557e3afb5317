#!/bin/sh
# has_gpu.sh: exit code 0, where this machine has an NVIDIA GPU, natively or under WSL.
ls /dev/nvidia[0-9]* >/dev/null 2>&1 || [ -e /dev/dxg ]
