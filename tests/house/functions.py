"""Finds the functions of a C++ source: their names, lines and parameters, by its braces.

The reader knows no types. It takes for a function what stands outside of other functions and has a list of
parameters before its braces; a lambda belongs to the function around it."""

import re

# A raw string, a string or a character of C++. A separator of digits (1'000) begins no character.
STRING = r"""R"([^(\s]*)\((?:.|\n)*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<!\w)'(?:[^'\\\n]|\\[^\n])[^'\n]{0,8}'"""

# Words before parentheses that are not a function's name.
NO_NAME = {"if", "for", "while", "switch", "catch", "return", "alignas", "decltype", "noexcept", "requires", "sizeof", "static_assert", "defined",
           "alignof", "explicit", "__attribute__"}


def blanked(text):
    """The text with each comment, string and directive as spaces: positions and lines stay."""
    def spaces(found):
        kept = found[0][0] + found[0][-1] if found[0][0] in "\"'R" else ""
        middle = re.sub(r"[^\n]", " ", found[0][1:-1] if kept else found[0])
        return '"' + middle + '"' if kept else middle
    return re.sub(STRING + r"|//[^\n]*|/\*(?:.|\n)*?\*/|^[ \t]*#(?:[^\n\\]|\\(?:.|\n))*", spaces, text, flags=re.M)


def closing(code, opening):
    """The position of what closes the bracket at `opening`; the end of the code if nothing does."""
    depth = 0
    for found in re.compile(r"[(){}\[\]]").finditer(code, opening):
        depth += 1 if found[0] in "({[" else -1
        if depth == 0:
            return found.start()
    return len(code)


def parameters(text):
    """How many parameters of a list have a name: those without are a library's, which calls the function.
    Commas in brackets of any kind separate none."""
    depth, each = 0, [""]
    for at, sign in enumerate(text):
        if sign in "([{<":
            depth += 1
        elif sign in ")]}" or (sign == ">" and text[at - 1] != "-"):
            depth -= 1
        if sign == "," and depth == 0:
            each.append("")
        else:
            each[-1] += sign
    return sum(bool(re.search(r"[\s&*>]\w+\s*(\[\w*\]\s*)?(=|$)", one.strip())) for one in each)


def list_of(code, start, end):
    """The name and the list of parameters between `start` and a brace at `end`; None if there is no list."""
    at = start
    while True:
        found = re.compile(r"(operator\s*(?:\(\)|[^\s\w(]+|[\w:]+)|~?\w+)\s*\(").search(code, at, end)
        if not found:
            return None
        opening = found.end() - 1
        close = closing(code, opening)
        if close >= end:
            return None
        if found[1] not in NO_NAME:
            return found[1], code[opening + 1:close], close
        at = close + 1


def functions(text):
    """Yields (name, line, lines, parameters) for each function with a body."""
    code = blanked(text)
    start, at = 0, 0
    sign = re.compile(r"[;{}(]")
    while found := sign.search(code, at):
        at = found.end()
        if found[0] == "(":
            at = closing(code, found.start()) + 1
        elif found[0] in ";}":
            start = at
        else:
            before = code[start:found.start()]
            named = None if re.match(r"\s*(?:(?:template\s*<.*>\s*)?(?:struct|class|union|enum)\b(?!.*\)\s*(?:const|noexcept|->|$))|"
                                     r"(?:inline\s+)?namespace\b|extern\s*\")", before, re.S) else list_of(code, start, found.start())
            is_value = re.search(r"=\s*$|(?<![=!<>])=(?!=)[^()]*$", before)
            if named and not is_value:
                end = body_end(code, named[2], found.start())
                first = start + len(before) - len(before.lstrip())
                yield named[0], code.count("\n", 0, first) + 1, code.count("\n", first, end) + 1, parameters(named[1])
                start = at = end + 1
            elif is_value or "=" in before:
                at = closing(code, found.start()) + 1
            else:
                start = at


def body_end(code, close, brace):
    """Where the body ends. A constructor's members may be initialised in braces before it."""
    end = closing(code, brace)
    while re.match(r"[^;{}]*:(?!:)", code[close + 1:brace]) and (more := re.match(r"\s*(?:,[^;{}]*)?\{", code[end + 1:])):
        end = closing(code, end + more.end())
    while more := re.match(r"\s*catch\s*\(", code[end + 1:]):  # the body is a try block
        end = closing(code, code.index("{", closing(code, end + more.end())))
    return end
