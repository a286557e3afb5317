"""The length of each function of C, C++ and CUDA, from the first line of its declaration to the line of its last brace; blank lines
and comments count. Looked at are functions of namespaces and classes, and lambdas that initialise a variable there; lambdas, and
members of classes, inside of functions count as lines of these.

  functions.py ROOT [LINES]     prints each function past its limit, or past LINES, exceptions too
"""
import os
import re
import sys

from state import EQUALS, TYPE, code_of, end_of, plain

LONGEST = 60  # lines of a function
# Tests may be longer: most are a story of steps, which is read from top to bottom.
LONGEST_BELOW = {"tests/": 80}
# Functions that are longer for now, as (file, function). One that has become short is a fault, too.
LONGER = set()
BRACKETED = re.compile(r"\([^(){}]*\)|\{[^(){}]*\}")
NAMESPACE = re.compile(r"\bnamespace\b[\w:\s]*$|\bextern\s*\"\"\s*$")
CLASS_HEAD = re.compile(TYPE.pattern + r"\s*(?:[\w:]+\s*)?(?:\bfinal\s*)?(?::(?!:)[^{()]*)?$")
LAMBDA = re.compile(r"(?<!\w)\[[^\[\]]*\]\s*(?:\(\)\s*)?(?:(?:mutable|constexpr|noexcept)\s*)*(?:->[^=;]*)?$")
CATCH = re.compile(r"\s*catch\b[^{]*")
LABEL = re.compile(r"\s*(?:public|private|protected)\s*:(?!:)")
NAME = re.compile(r"(operator\s*(?:\(\)|[^\s(]+)|[\w:~]+)\s*\(\)")


def folded(head):
    """`head` without what its parentheses and braces hold, which may be default arguments."""
    head, before = plain(head), None
    while before != head:
        before, head = head, BRACKETED.sub(lambda found: "\1" if found[0][0] == "(" else "\2", head)
    return head.replace("\1", "()").replace("\2", "{}")


def opens(head):
    """What a brace behind `head` opens: a scope, a function, a lambda, or an initialiser."""
    head = folded(head)
    if LAMBDA.search(head):
        return "lambda"
    if re.search(r"\((?!\))", head):  # the brace is inside of parentheses
        return "initialiser"
    if NAMESPACE.search(head) or (CLASS_HEAD.search(head) and not re.search(r"\benum\b", head)):
        return "scope"
    if "(" not in head or (not re.search(r"\boperator\b", head) and EQUALS.search(head)):
        return "initialiser"
    of_member = re.search(r"\)[\w\s]*:(?!:)", head) and re.search(r"\w\s*$", head)  # `X() : member_{`
    return "initialiser" if of_member else "function"


def name_of(head):
    """The function's name; of a macro such as TEST all that it is given, too."""
    found = NAME.search(folded(head))
    if found is None:
        return " ".join(head.split())
    if not re.fullmatch("[A-Z_]{2,}", found[1]):
        return found[1]
    return " ".join(head[head.index(found[1]):].split())


def end_of_function(code, brace):
    """Where its last brace is; behind the first there may be handlers."""
    end = end_of(code, brace)
    while found := CATCH.match(code, end + 1):
        end = end_of(code, found.end())
    return end


def of_code(code, line=1):
    """(name, first line, lines) of each function; the name is None where braces do not match."""
    def line_at(at):
        return line + code.count("\n", 0, at)

    at = begin = 0  # `begin` is that of the statement
    while found := re.compile(r"[;{}]").search(code, at):
        at = found.end()
        if found[0] == "{":
            head = code[begin:found.start()]
            kind = opens(head)
            end = end_of_function(code, found.start()) if kind == "function" else end_of(code, found.start())
            if end == len(code):
                yield None, line_at(found.start()), 0
                return
            if kind == "scope":
                yield from of_code(code[at:end], line_at(at))
            elif kind in ("function", "lambda"):
                label = LABEL.match(head)
                first = begin + (label.end() if label else 0)
                first += len(code[first:]) - len(code[first:].lstrip())
                yield name_of(head), line_at(first), code.count("\n", first, end) + 1
            at = end + 1
            if kind in ("initialiser", "lambda"):
                continue
        elif found[0] == "}":
            yield None, line_at(found.start()), 0
        begin = at


def functions(text):
    return list(of_code(code_of(text)))


def limit_of(file):
    return next((limit for folder, limit in LONGEST_BELOW.items() if file.startswith(folder)), LONGEST)


def check_functions(files, longer=LONGER):
    """Faults of (name, text) of C, C++ and CUDA files."""
    faults, found = [], set()
    for file, text in files:
        for name, line, lines in functions(text):
            if name is None:
                faults.append(f"{file}:{line}: this brace has no match in the branches of #if, read together")
            elif lines > limit_of(file):
                found.add((file, name))
                if (file, name) not in longer:
                    faults.append(f"{file}:{line}: {name} has {lines} lines, {limit_of(file)} at most")
    return faults + [f"{file}: {name} is short by now: take it from LONGER of tests/house/functions.py"
                     for file, name in sorted(longer - found)]


def self_test():
    body = "{\n" + "  g();\n" * (LONGEST - 2) + "}\n"  # of a function whose head is one line: the most that is allowed
    more = body.replace("}", "\n}")

    def faults(text, file="src/a.cpp", longer=frozenset()):
        return check_functions([(file, text)], set(longer))

    for head in ("void f() ", "int X::f(int a = 3, B b = {}) const noexcept ", "X::X(int a) : b_{a}, c_(a) ", "auto f() -> X<1, 2> ",
                 "template <class T> T f() ", "bool operator==(X a, X b) ", "TEST(F, f) ", "const X a = [] ", "X a = [&](int b) -> C ",
                 "__global__ void __launch_bounds__(4) f() ", "X::X() : b_{1} ", "STRAKE_LOCAL void f() ", "~X() ",
                 "X::X(int a) : b_(c, {1}), d_{a, {2}}, e_({3}) ", "explicit X(F f = [](int) { return 1; }) ", "int f() try ",
                 "INSTANTIATE(A, B, [](const auto& one) "):
        assert not faults(head + body), head
        assert len(faults(head + more)) == 1, head
        assert len(faults("namespace a { namespace {\nstruct S {\n private:\n  " + head + more + "}; } }")) == 1, head
        assert len(faults("// {\n#define A {\nint b[] = {\n1};\n" + head.replace(" ", "\n", 1) + body)) == 1, head
    for head in ("int a[] = ", "const X a", "enum class A ", "namespace a "):
        assert not faults(head + more.replace("g();", "b, ") + ";"), head
    assert functions("void f() try {\n} catch (const A&) {\n} catch (...) {\n}\nint g() { return 0; }") == [("f", 1, 4), ("g", 5, 1)]
    assert functions("int a;\n\nvoid f(int b,\n       int c) {\n}\n") == [("f", 3, 3)]
    assert [name for name, _, _ in functions("bool operator<(X a) {} X::~X() {} TEST(A, b) {} STRAKE_API Y Z::g(int) {}")] == [
        "operator<", "X::~X", "TEST(A, b)", "Z::g"]
    assert faults("void f() {\n#if A\n  if (b) {\n#else\n  {\n#endif\n  }\n}\n") and faults("}") and not faults("void f() { { } }")
    assert not faults("void f() " + more, "tests/a.cpp") and faults("void f() " + more, longer={("src/a.cpp", "g")})
    assert not faults("void f() " + more, longer={("src/a.cpp", "f")})
    assert len(faults("void f() " + body, longer={("src/a.cpp", "f")})) == 1


def main(root, least=None):
    from house_test import code_below
    for file, text in code_below(root):
        for name, line, lines in functions(text):
            if name is None or lines > int(least or limit_of(file)):
                print(f"{lines:5} {file}:{line}: {name}")


if __name__ == "__main__":
    self_test()
    main(*sys.argv[1:])
