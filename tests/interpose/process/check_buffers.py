"""check_buffers.py FUNCTIONS_DEF PREPROCESSED: every function of mpi.h with a choice buffer is wrapped.

PREPROCESSED is mpi/list.h after the preprocessor. A function that is passed by gets a device's memory
that the MPI library may not reach, and ends the program by a signal. A function with such a parameter that
moves no bytes there stands below, with the reason.
"""

import re
import sys

# Names as regular expressions.
NO_BUFFERS = {
    r"MPI_(Get_)?[Aa]ddress": "only the address itself is looked at",
    r"MPI_Win_detach": "only the address itself is looked at",
    r"MPI_((Comm|Session)_a|Buffer_a)ttach(_buffer)?(_c)?": "no data yet: sends with it are wrapped",
    r"MPI_(Attr|(Comm|Type|Win)_[gs]et_attr).*": "attributes are pointers of the program's",
    r"MPI_((Comm|Type|Win)_create_keyval|Keyval_create)": "state of a callback",
    r"MPI_Register_datarep(_c)?": "state of a callback",
    r"MPIX?_Grequest_.*": "state of a callback",
    r"MPI_Win_shared_query(_c)?": "returns an address",
    r"MPI_T_.*": "the tools interface has variables of the library's, in host memory",
}
# These return the address of a buffer.
RETURNS_ADDRESS = r"MPI_(Alloc_mem|Win_allocate(_shared)?(_c)?|Buffer_detach(_c)?|(Comm|Session)_detach_buffer(_c)?)"


def wrapped(functions):
    """The functions of functions.def that have a wrapper."""
    with open(functions, encoding="utf-8") as file:
        rows = re.findall(r"^STRAKE_(\w+)\(.*?(MPI_\w+)\)", file.read(), re.MULTILINE)
    return {name: row for row, name in rows if row != "CALLED"}


def main():
    rows = wrapped(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        text = file.read()
    prototypes = re.findall(r"\bint\s+(MPIX?_\w+)\s*\(([^()]*)\)", text)
    faults = []
    found = 0
    for name, parameters in prototypes:
        if not re.search(r"\bvoid\s*\*\s*\w", parameters):
            continue
        if any(re.fullmatch(known, name) for known in NO_BUFFERS):
            continue
        if re.fullmatch(RETURNS_ADDRESS, name):
            continue
        found += 1
        row = rows.get(name) or rows.get(re.sub("_c$", "", name))
        if row is None:
            faults.append(f"{name} has a buffer, and no wrapper: {' '.join(parameters.split())}")
        elif row == "PASSED" and not name.endswith("_end"):
            faults.append(f"{name} has a buffer, and is passed on whatever memory it lies in")
    if found < 100:
        faults.append(f"only {found} functions with buffers were found")
    print("\n".join(faults) if faults else f"{found} functions with buffers are wrapped")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
