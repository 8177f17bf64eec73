#!/usr/bin/env python3
"""Each file of src/ includes the headers that its build precompiles, itself or by a header of this tree.

A compiler does not notice a missing one: a build has them from the precompiled header, and so has scripts/tidy.
"""

import pathlib
import re
import tempfile
import unittest

import house_test

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALGORITHMS = """adjacent_find all_of any_of binary_search clamp copy copy_backward copy_if copy_n count count_if equal equal_range fill
    fill_n find find_end find_first_of find_if find_if_not for_each generate includes inplace_merge is_permutation is_sorted
    lexicographical_compare lower_bound make_heap max max_element merge min min_element minmax mismatch move_backward none_of
    nth_element partial_sort partition pop_heap push_heap remove remove_if replace replace_if reverse rotate sample search
    set_difference set_intersection set_union shuffle sort stable_partition stable_sort transform unique upper_bound"""
# The names of namespace std that a header gives, or a pattern.
NAMES = {
    "array": "array to_array",
    "charconv": "from_chars to_chars",
    "functional": "equal_to function greater hash identity less not_fn plus reference_wrapper",
    "map": "map multimap",
    "memory": "addressof default_delete enable_shared_from_this make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag recursive_mutex scoped_lock unique_lock",
    "optional": "make_optional nullopt nullopt_t optional",
    "set": "multiset set",
    "span": "as_bytes as_writable_bytes span",
    "string": "getline stod stoi stol stoul stoull string to_string",
    "string_view": "string_view",
    "vector": "vector",
}
PATTERNS = {header: rf"\bstd::({'|'.join(names.split())})\b" for header, names in NAMES.items()} | {
    "algorithm": rf"\bstd::(ranges::)?({'|'.join(ALGORITHMS.split())})\s*[(<]",
    "fmt/format.h": r"\bfmt::",
    "nlohmann/json.hpp": r"\bnlohmann::",
}
# Headers that give the same, or the part of it that a header of this tree needs.
INSTEAD = {"string_view": {"string"}, "fmt/format.h": {"fmt/chrono.h", "fmt/ranges.h"}, "nlohmann/json.hpp": {"nlohmann/json_fwd.hpp"}}
USING = re.compile(r"^using (?:\w+::)+(\w+);", re.M)
INCLUDE = re.compile(r'^#include\s+["<]([^">]+)[">]', re.M)


def precompiled(root):
    listed = re.search(r"set\(PAWL_PRECOMPILED ([^)]*)\)", (root / "CMakeLists.txt").read_text())
    return {header.strip("<>") for header in listed[1].split()}


class Tree:
    def __init__(self, root):
        self.source = root / "src"
        self.includes = {}

    def includes_of(self, path):
        if path not in self.includes:
            self.includes[path] = INCLUDE.findall(path.read_text())
        return self.includes[path]

    def outside(self, path):
        """The headers of other trees that `path` includes, itself or by headers of this tree."""
        seen, pending, found = set(), [path], set()
        while pending:
            path = pending.pop()
            if path in seen:
                continue
            seen.add(path)
            for name in self.includes_of(path):
                inside = self.source / name
                pending.append(inside) if inside.exists() else found.add(name)
        return found

    def problems(self):
        for path in sorted([*self.source.rglob("*.cc"), *self.source.rglob("*.h")]):
            # A name in a string needs no header.
            code = re.sub(house_test.STRING, '""', house_test.code_of(path.read_text()))
            included = self.outside(path)
            for header, pattern in PATTERNS.items():
                found = re.search(pattern, code)
                if found and not included & {header, *INSTEAD.get(header, ())}:
                    yield f"{path.relative_to(self.source)} uses {found[0]} and does not include <{header}>"


def unused(text):
    """The names that using declarations bring and no code of the file uses. clang-tidy looks at main files
    only, and scripts/tidy checks many sources as one."""
    code = house_test.code_of(text)
    return [name for name in USING.findall(code) if len(re.findall(rf"\b{name}\b", code)) < 2]


class Includes(unittest.TestCase):
    def test_what_a_using_declaration_brings_is_used(self):
        sources = sorted((ROOT / "src").rglob("*.cc"))
        self.assertGreater(len(sources), 300)
        self.assertEqual([(str(path), unused(path.read_text())) for path in sources if unused(path.read_text())], [])
        self.assertEqual(unused("using a::b;\nusing c::d::e;  // b\ne f;"), ["b"])

    def test_what_is_precompiled_is_included(self):
        self.assertEqual(set(PATTERNS), precompiled(ROOT), "the headers that are precompiled, and those that this test knows")
        self.assertEqual(list(Tree(ROOT).problems()), [])

    def test_the_rule_can_fail(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "src").mkdir()
            (root / "src/a.h").write_text("#include <vector>\n")
            for text, count in (("std::vector<int> a;", 1), ('#include "a.h"\nstd::vector<int> a;', 0), ("f(std::ranges::find(a, 1));", 1),
                                ("// std::vector<int>", 0), ('f("std::vector<int>");', 0), ("#include <string>\nstd::string_view a;", 0),
                                ("std::min_max(a); std::string::npos; fmt::format(a);", 2)):
                (root / "src/a.cc").write_text(text + "\n")
                self.assertEqual(len(list(Tree(root).problems())), count, text)


if __name__ == "__main__":
    unittest.main(verbosity=1)
