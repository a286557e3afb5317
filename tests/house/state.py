"""Variables of src/ that live longer than a call and may change: each is a part of ProcessState (src/state/process_state.hpp), or
stands with its reason in docs/explanation/architecture.md. Looked at are variables of namespaces, `static` members of
classes, and `static` and `thread_local` variables of functions.
"""
import re

# A comment, a literal, or a line of the preprocessor. (In 5'000 the mark begins no literal.)
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/"
                   r'|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
                   r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.S | re.M)
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|\bSTRAKE_(?:API|LOCAL)\b|\b(?:alignas|__attribute__|STRAKE_\w+)\s*\((?:[^()]|\([^()]*\))*\)")
NO_VARIABLE = re.compile(r"\s*(?:using|typedef|namespace|friend|extern|static_assert|enum)\b|.*\boperator\b", re.S)
TYPE = re.compile(r"\b(?:class|struct|union)\b")
CLASS = "CLASS_BEFORE"  # in the place of the definition of a class
EQUALS = re.compile(r"(?<![=!<>])=(?!=)")
ROW = re.compile(r"^\| `([\w/]+\.[\w]+)` \| ((?:`\w+`(?:, )?)+) \| (.+) \|$", re.M)


def read_exceptions(text):
    """The rows `| file | names | reason |` of the page, as (file, name)."""
    return {(file, name) for file, names, _ in ROW.findall(text) for name in re.findall(r"\w+", names)}


def code_of(text):
    """The text as long as it was, with blanks for comments and lines of the preprocessor, and short literals."""
    def blank(found):
        kept = '""' if found[0][0] in '"R' else "0" if found[0][0] == "'" else ""
        return kept + re.sub(r"[^\n]", " ", found[0][len(kept):])
    return TOKEN.sub(blank, text)


def plain(text):
    """Without attributes and template arguments, which may hold parentheses and commas."""
    text, before = ATTRIBUTE.sub(" ", text), None
    while before != text:
        before, text = text, re.sub(r"<[^<>;{}]*>", "", text)
    return re.sub(r"\btemplate\b|\b(?:public|private|protected)\s*:(?!:)", " ", text)


def is_constant(declarator, statement):
    """Whether the variable is const, and owns nothing on the heap. (What a constant pointer leads to has an owner.)"""
    constant = re.search(r"\bconstexpr\b|\bconst\b[^*]*$|\b__constant__\b", declarator)
    return constant and not re.search(r"[={(]\s*\*?\s*new\b", statement)


def changing(declarator, statement):
    """The variable's name, if it may change."""
    found = re.search(r"[\w>&*:]\s*\b(\w+)\s*$", declarator)
    return [] if found is None or is_constant(declarator, statement) else [found[1]]


def of_statement(statement, in_class):
    """`statement` stands in a namespace or a class, with `{}` for an initialiser, and CLASS for the class that it defines."""
    statement = plain(statement)
    if NO_VARIABLE.match(statement):
        return []
    if re.match(r"\s*(?:class|struct|union)\s+[\w:]+\s*$", statement) or re.search(rf"\b{CLASS}\s*$", statement):
        return []
    declarator = re.split(r"[={[]", statement, maxsplit=1)[0]
    # A `static` member that is not inline is defined elsewhere.
    if "(" in declarator or (in_class and not (re.search(r"\bstatic\b", declarator) and re.search(r"\binline\b", declarator))):
        return []
    return changing(declarator, statement)


def of_body(body):
    """`body` is a function's, or an initialiser, which may have lambdas."""
    for statement in re.findall(r"\b(?:static|thread_local)\b[^;]*", body):
        statement = plain(statement)
        yield from changing(re.split(r"[={[(]", statement, maxsplit=1)[0], statement)


def kind_of(head):
    """What a brace opens behind `head`: a namespace, a class, a function's body, or an initialiser."""
    head = plain(head)
    if re.search(r"\bnamespace\b[\w:\s]*$|\bextern\s*\"\"\s*$", head):
        return "namespace"
    if re.search(TYPE.pattern + r"\s*(?:[\w:]+\s*)?(?:\bfinal\s*)?(?::(?!:)[^{]*)?$", head) and not re.search(r"\benum\b", head):
        return "class"
    declarator = head if re.search(r"\boperator\b", head) else EQUALS.split(head, maxsplit=1)[0]
    if "(" not in declarator:
        return "initialiser"
    of_member = re.search(r"\)[\w\s]*:(?!:)", declarator) and re.search(r"\w\s*$", declarator)  # `) : member_{`
    return "body" if declarator == head and not of_member else "initialiser"


def end_of(code, brace):
    """Where the brace at `brace` is closed."""
    depth = 0
    for found in re.compile(r"[{}]").finditer(code, brace):
        depth += 1 if found[0] == "{" else -1
        if depth == 0:
            return found.start()
    return len(code)


def of_code(code, in_class=False):
    """Those in a namespace or a class."""
    at, statement = 0, ""
    while found := re.compile(r"[;{]").search(code, at):
        statement += code[at:found.start()]
        at = found.end()
        if found[0] == ";":
            yield from of_statement(statement, in_class)
            statement = ""
            continue
        end, kind = end_of(code, found.start()), kind_of(statement)
        inside = code[at:end]
        at = end + 1
        yield from of_code(inside, kind == "class") if kind in ("namespace", "class") else of_body(inside)
        if kind == "class":  # `union Type {} name;` defines a variable, too
            statement = TYPE.split(plain(statement), maxsplit=1)[0] + CLASS
        else:
            statement = statement + "{}" if kind == "initialiser" else ""


def check_state(files, exceptions):
    found = {(name, variable) for name, text in files for variable in of_code(code_of(text))}
    page = "docs/explanation/architecture.md"
    return ([f"src/{name}: {variable} is no part of ProcessState, and no exception of {page}"
             for name, variable in sorted(found - exceptions)] +
            [f"{page}: src/{name} has no {variable} outside of ProcessState" for name, variable in sorted(exceptions - found)])


def self_test():
    def names(text):
        return sorted(of_code(code_of(text)))

    for text in ("int g_a = 5'000;", "std::mutex g_a;", "constinit std::atomic<int> g_a{0};", "const char* g_a = \"\";",
                 "namespace x { namespace { inline thread_local X* g_a = nullptr; } }", "std::function<void(int)> g_a;",
                 "inline constinit union U { int b; ~U() {} } g_a;", "static int g_a[4];", "alignas(64) Table X::g_a;",
                 "std::map<int, int> g_a; struct B { int c; };", "struct S { static inline std::atomic<X*> g_a{nullptr}; int b; };",
                 "template <class T> struct S { inline static constinit T* g_a = nullptr; };", "struct B g_a;", "struct B g_a{1};",
                 "const auto g_a = new X;", "auto g_a = [] { return 1; }();", "[[gnu::used]] int g_a;", "extern \"C\" { int g_a; }",
                 "int f() { static int g_a; }", "X& f() { static auto& g_a = *new X; return g_a; }",
                 "const X& f() { static const X& g_a = *new X; return g_a; }", "int f() noexcept { if (b) { static X g_a(3); } }",
                 "X::X(int b) : b_{b}, c_(b) { static std::vector<int> g_a{1}; }", "X* f() { static auto* const g_a = new X; }",
                 "const int b = [] { static int g_a = 0; return ++g_a; }();", "bool operator==(X a, X b) { static int g_a = 0; }",
                 "void f() { static thread_local bool g_a = false; }", "void f() { thread_local Owner g_a; }"):
        assert [name.lstrip("X:") for name in names(text)] == ["g_a"], (text, names(text))
    for text in ("constexpr int kA = 1;", "const int a = f();", "inline const Ptr kNone;", "const X* const a = b;", "int f(int a);",
                 "std::map<int, int> f(int a = 3);", "using X = int;", "struct A { int b = 0; static C d(); static E f; };",
                 "enum class A : int { B, C };", "enum A { B };", "struct A;", "template <typename T> struct A { T b{}; };",
                 "extern int g_a;", "typedef int A;", "class STRAKE_LOCAL A::B final : C { int d; static int e(); };", "void f() { static const X a = b(); static constexpr int c = 1; int d; }",
                 "void f() { static const X& a = b(); static X* const c = d; }", "// int g_a;\n#define A int g_a;\n",
                 "X& f() { X& part = ProcessState::part<X>(); return part; }", "template <> int f<3>() { return 0; }",
                 "struct A { A() : b_{1} {} int b_; };", "namespace a = b::c;", "A& operator=(const A& a) { return *this; }"):
        assert not names(text), (text, names(text))
    exceptions = read_exceptions("| file | name | reason |\n|:--|:--|:--|\n| `a/b.hpp` | `g_c`, `g_d` | read in each call |\n")
    assert exceptions == {("a/b.hpp", "g_c"), ("a/b.hpp", "g_d")} and not read_exceptions("| `a/b.hpp` | `g_c` |  |")
    assert not check_state([("a/b.hpp", "int g_c; int g_d;")], exceptions)
    assert len(check_state([("a/b.hpp", "int g_c;"), ("a/c.hpp", "int g_d;")], exceptions)) == 2

