#!/usr/bin/env python3
"""The language of comments and docs pages, as far as a test can read it; and a proof that each rule can fail."""

import pathlib
import re
import subprocess
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMENTED = (".cc", ".h", ".sql", ".py", ".ts", ".txt")
DOCS_LINE_MAX = 140
SENTENCE_WORDS_MAX = 30
PARAGRAPH_WORDS_MAX = 80

# A comment that begins so has no subject: a reader must guess it.
NO_SUBJECT = re.compile(r"^\s*(//|#|--) (Of|What|Whoever|Those|Who|Which|Nobody|Nothing)\b")
# "type name;  // of a step" leaves out a noun in the same way. A string may have "#" after one blank.
TRAILING_OF = re.compile(r"\s*\S.*(\s//|  #|\s--) [Oo]f ")
IS_COMMENT = re.compile(r"^\s*(//|#|--)(?! name: )")  # "-- name: x" in SQL begins a statement
BORDER = re.compile(r"(?<!\\)\|")
UNDER_HEADER = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")  # |---|---|


def tracked(*folders):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split() if (ROOT / name).exists()]


def comment_problems(text):
    """Numbers of lines with which a comment without a subject begins."""
    lines = ["", *text.splitlines()]

    def is_problem(before, line):
        if IS_COMMENT.match(line):
            return NO_SUBJECT.match(line) and not IS_COMMENT.match(before)
        return TRAILING_OF.match(line)
    return [number for number in range(1, len(lines)) if is_problem(lines[number - 1], lines[number])]


def prose(text):
    """Paragraphs and list items of a page, without tables, code and headings."""
    fenced = False
    paragraph = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("```"):
            fenced = not fenced
        is_text = not fenced and line.strip() and not line.startswith(("|", "    ", "#", "```"))
        if paragraph and (not is_text or re.match(r"\s*([-*]|\d+[.]) ", line)):
            yield " ".join(paragraph)
            paragraph = []
        if is_text:
            paragraph.append(line.strip())


def long_sentences(text, words_max=SENTENCE_WORDS_MAX):
    for paragraph in prose(text):
        for sentence in re.split(r"(?<=[.?!])\s+", paragraph):
            if len(sentence.split()) > words_max:
                yield sentence


def long_paragraphs(text):
    return [paragraph for paragraph in prose(text) if len(paragraph.split()) > PARAGRAPH_WORDS_MAX]


def descriptions(document):
    """Every description and summary of an OpenAPI document or a JSON schema that was read."""
    for key, value in document.items() if isinstance(document, dict) else enumerate(document):
        if key in ("description", "summary") and isinstance(value, str):
            yield value
        elif isinstance(value, (dict, list)):
            yield from descriptions(value)


def table_problems(text):
    """Numbers of lines of tables that are not whole rows, or continue the row above in an empty first cell."""
    found = []
    fenced, cells, rows = False, 0, 0
    lines = [*text.splitlines(), ""]
    for number, (line, below) in enumerate(zip(lines, lines[1:]), 1):
        if line.startswith("```"):
            fenced = not fenced
        if fenced or not line.strip() or line.startswith("    "):
            cells = 0
            continue
        borders = len(BORDER.findall(line))
        if not cells and "|" in below and UNDER_HEADER.match(below):
            cells, rows = borders, 0
        is_row = line.startswith("|") and BORDER.match(line[-1]) and not line.endswith("\\|")
        if (cells or line.startswith("|")) and not (is_row and borders == cells and (rows == 0 or line[1:].split("|")[0].strip())):
            found.append(number)
        rows += 1
    return found


def anchors(text):
    """What links to the headings of a page end with after the "#"."""
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    found = []
    for heading in re.findall(r"^#+ (.*)$", plain, re.M):
        found.append(re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-"))
    return {word if word not in found[:at] else f"{word}-{found[:at].count(word)}" for at, word in enumerate(found)}


def dead_links(path, text):
    """Links of the page at `path` to headings that are not there."""
    return [f"{page}#{anchor}" for page, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", text)
            if anchor not in anchors((path.parent / page).read_text() if page else text)]


def long_lines(text):
    """Numbers of lines that are too long: prose, rows of tables, code."""
    return [number for number, line in enumerate(text.splitlines(), 1) if len(line) > DOCS_LINE_MAX]


class Language(unittest.TestCase):
    def test_a_comment_begins_with_its_subject(self):
        found = [f"{path}:{number}" for path in tracked("src", "tests", "bench", "sdk", "cmake", "CMakeLists.txt")
                 if path.suffix in COMMENTED for number in comment_problems(path.read_text())]
        self.assertEqual(found, [])

    def test_pages_have_short_lines_sentences_and_paragraphs(self):
        pages = [path for path in tracked() if path.suffix == ".md"]
        self.assertGreater(len(pages), 30)
        self.assertEqual([f"{path}:{number}" for path in pages for number in long_lines(path.read_text())], [])
        self.assertEqual([f"{path}:{number}" for path in pages for number in table_problems(path.read_text())], [])
        self.assertEqual([f"{path}: {link}" for path in pages for link in dead_links(path, path.read_text())], [])
        self.assertEqual([f"{path}: {sentence}" for path in pages
                          for sentence in long_sentences(path.read_text(), SENTENCE_WORDS_MAX)], [])
        self.assertEqual([f"{path}: {paragraph}" for path in pages for paragraph in long_paragraphs(path.read_text())], [])

    def test_schemas_have_short_lines_sentences_and_paragraphs(self):
        for path in tracked("docs/*.yaml", "docs/*.schema.json"):
            page = path.read_text()
            texts = list(descriptions(yaml.safe_load(page)))  # JSON is YAML
            self.assertGreater(len(texts), 10, path)
            lines = page.splitlines()
            self.assertEqual([number for number in long_lines(page) if '"pattern": ' not in lines[number - 1]], [], path)
            self.assertEqual([problem for text in texts for problem in [*long_sentences(text), *long_paragraphs(text)]], [], path)

    def test_the_rules_can_fail(self):
        of_schema = {"a": [{"description": "One."}], "properties": {"description": {"type": "x", "description": "Two."}}, "summary": "Three."}
        self.assertEqual(list(descriptions(of_schema)), ["One.", "Two.", "Three."])
        self.assertEqual(comment_problems("int a;  //" " Of 203.\nint b;  // Often.\n"), [1])
        self.assertEqual(comment_problems("// Of a phase.\nint a;\n  # What it is\n// A phase\n// Of a run\n"), [1, 3])
        self.assertEqual(comment_problems("int a;  //" " of a phase\nint b;  // a phase's\nC = 1  #" " of a run\nx = '# of a run'\n"), [1, 3])
        self.assertEqual(comment_problems("-- name: some\n-- What it is\nSELECT 1;\n"), [2])
        words = " word" * (SENTENCE_WORDS_MAX + 1)
        self.assertEqual(len(list(long_sentences(f"A page.\n\n- {words.strip()}.\n\n| {words} |\n\n    {words}\n\n```\n{words}\n```\n"))), 1)
        half = "Some words. " * (PARAGRAPH_WORDS_MAX // 4)
        self.assertEqual(len(long_paragraphs(f"- {half}\n  {half}more.\n\n{half}\n\n{half}\n- {half}\n")), 1)
        table = "| a | b |\n|---|---|\n| `c \\| d` | |\n"
        self.assertEqual(table_problems(f"Text | text.\n\n{table}\nText.\n\n| | b |\n|---|---|\n| c | d |\n```\n| e |\n```\n\n    | f |\n"), [])
        for line in ("| e |", "| e | f | g |", "| e \\| f |", "| e | f", "e | f |", "| e | f \\|", "Text.", "| | f |"):
            self.assertEqual(table_problems(f"{table}{line}\n"), [4], line)
            self.assertEqual(table_problems(f"{table}{line}\n| e | f |\n"), [4], line)
        page = "# How? `a b`\n## A\n## A\n```\n# c\n```\n[x](#how-a-b) [x](#a) [x](#a-1) [x](#a-2) [x](#c)\n"
        page += "[x](https://x.org/#y) [x](testing.md#tests) [x](testing.md#z)\n"
        self.assertEqual(dead_links(ROOT / "docs/page.md", page), ["#a-2", "#c", "testing.md#z"])
        self.assertEqual(table_problems("| a | b |\n|---|\n| c | d |\n"), [2])
        self.assertEqual(table_problems("| a | b |\n| c | d |\n"), [1, 2], "no header")
        self.assertEqual(long_lines("a" * 141 + "\n|" + "a" * 141 + "\n```\n" + "a" * 141 + "\n```\n"), [1, 2, 4])


if __name__ == "__main__":
    unittest.main(verbosity=1)
