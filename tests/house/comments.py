"""How comments read (GLOSSARY: a comment is a sentence about the thing beside it): its subject is named, and one thing has one
word, the field's."""

import pathlib
import re
import sys

# A literal or a comment. (In 5'000 the mark begins no literal.)
TOKEN = re.compile(r'R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
# What a line of a comment begins with: marks, and commands of Doxygen that say what the line is about.
MARK = re.compile(r"^\s*(?:///?<?|/\*+|\*(?!/))?\s*(?:\\[{}]|\\brief|\\file|\\return)?\s*")
# A comment that begins so does not name its subject.
OPENING = re.compile(
    r"^(?:Of|What|The same|That|Those|These|Who|Whose|It|Its|They|Their|Them|Such|Whether (?:it|they|that)|"
    r"If it|Until it|Once it|Where it|Here it|As (?:it|that))\b"
)


def comments(text):
    """The comments of C++ code as (line, text); lines of // below one another are one."""
    found, last = [], None
    for token in TOKEN.finditer(text):
        said = token.group()
        if not said.startswith(("//", "/*")):
            continue
        line = text.count("\n", 0, token.start()) + 1
        column = token.start() - text.rfind("\n", 0, token.start())
        words = " ".join(MARK.sub("", part).rstrip() for part in said.removesuffix("*/").split("\n")).strip()
        if last == (line - 1, column) and said.startswith("//") and not re.match(r"///?<?\s*\\", said):
            found[-1][1] += " " + words
        else:
            found.append([line, words])
        last = (line, column) if said.startswith("//") else None
    return [(line, words) for line, words in found]


# Words of the house's own for what the field has a word for.
WORDS = {
    "post office": "endpoint",
    "outbox": "send segment",
    "inbox": "peer segments",
    "introduction": "connection",
    "dealings": "schedule",
    "mailbox": "staging buffer",
    "partner": "peer",
    "twin": "peer",
    "quantity": "field",
}
PLURALS = {"quantity": "quantities", "mailbox": "mailboxes"}
OWN_WORD = re.compile(
    r"\b(" + "|".join(f"{word}s?|{PLURALS[word]}" if word in PLURALS else f"{word}s?" for word in WORDS) + r")\b", re.I)


def check_comments(files):
    """Faults of (name, text) of C++ files."""
    faults = []
    for name, text in files:
        for line, said in comments(text):
            if opening := OPENING.match(said):
                faults.append(f"{name}:{line}: a comment begins with {opening[0]!r}: name its subject")
            for word in OWN_WORD.findall(said):
                one = next(known for known in WORDS if word.lower() in (known, known + "s", PLURALS.get(known)))
                faults.append(f"{name}:{line}: {word!r} in a comment: write {WORDS[one]!r}")
    return faults


def self_test():
    def faults(text):
        return [fault.split(": ", 1)[1] for fault in check_comments([("a.cpp", text)])]

    assert faults("/// The sender's bytes. Of a send: none.\nint a;  // no word of it\n") == []
    assert faults("/// Of a send.\n") == ["a comment begins with 'Of': name its subject"]
    assert faults("  int a;  ///< What is sent.\n") == ["a comment begins with 'What': name its subject"]
    assert faults("/// \\file  The same as above.\n") == ["a comment begins with 'The same': name its subject"]
    # A comment of several lines has one opening; a literal is none.
    assert faults("/// The bytes\n/// of all. What is\n/// Of interest\n") == []
    assert faults("int a;  ///< The bytes\n        ///< of all. What is\n        ///< Of interest\n") == []
    assert faults("int a;  // one\n// Of two\n") == ["a comment begins with 'Of': name its subject"]
    assert faults("/// One.\n\n/// It is two.\n") == ["a comment begins with 'It': name its subject"]
    assert faults("/* Those of\n * all */\n") == ["a comment begins with 'Those': name its subject"]
    assert faults('f("// Of a string", \'"\');  // a quote\n') == []
    assert faults("// Each partner's quantities\n") == ["'partner' in a comment: write 'peer'", "'quantities' in a comment: write 'field'"]
    assert faults("/// A quantity.\nint quantity;\n") == ["'quantity' in a comment: write 'field'"]


if __name__ == "__main__":  # comments.py FOLDER…: the faults there
    code = [path for folder in sys.argv[1:] for path in sorted(pathlib.Path(folder).rglob("*"))]
    code = [path for path in code if path.suffix in (".cpp", ".hpp", ".h", ".c", ".cu", ".cuh")]
    print("\n".join(check_comments((str(path), path.read_text(encoding="utf-8")) for path in code)))
