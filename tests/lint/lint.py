# Part of the dtcc project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rules of the house that a program can check. CONTRIBUTING.md gives their reasons.

    lint.py RULE [--root DIR] [--clang-format PROGRAM]

Prints one line a finding, "file:line: what to do", and fails if there is one.
"""
import argparse
import glob
import importlib.util
import os
import re
import subprocess
import sys

# The files at the root of the repository, besides those whose names begin with a dot.
ROOT_FILES = {"CMakeLists.txt", "CMakePresets.json", "CONTRIBUTING.md", "Containerfile", "LICENSE", "README.md"}
CODE = (".cpp", ".h", ".cu", ".td", ".def", ".py", ".cmake", ".inc")
MOST_LINES = 600
MOST_FILES = 30
# Ops that isa, cast, dyn_cast and getDefiningOp name in passes/spmd, each counted once in a call.
MOST_CASTS = 37
# The parts of a pass description, and the sentences that end an op description (docs/style.md).
PASS_PARTS = ("Input:", "Output:", "Guarantees", "Example")
OP_PARTS = ("Made by", "Consumed by", "None is left after")

# The floor of a file -> the floors whose files it may include. Tests see everything.
FLOORS = {
    "runtime/abi": {"runtime/abi"},
    "runtime": {"runtime", "runtime/abi"},
    "dialects": {"dialects", "runtime/abi"},
    "planner": {"planner", "passes", "dialects", "runtime/abi"},
    "passes": {"passes", "planner", "dialects", "runtime/abi"},
    "frontends": {"frontends", "dialects"},
    "compiler": {"compiler", "passes", "planner", "dialects", "runtime/abi"},
    "tools": {"tools", "compiler", "passes", "planner", "frontends", "dialects", "runtime/abi"},
}
# The folders of these floors, from the lowest: a file includes its own folder or those before it. What a plan says and
# costs stands below the passes that carry it out; what searches for plans asks those passes, and stands above them.
ROOMS = [
    "planner/parallelism", "planner/cost", "planner/cluster", "planner/problem", "planner/schedule", "planner/schedule/generators", "planner/plan", "planner/search",
    "planner/transformer", "planner/validation",
    "passes/graph", "passes/graph/losses", "passes/graph/recover",
    "passes/spmd", "passes/spmd/reshard", "passes/spmd/layout", "passes/spmd/partition", "passes/spmd/program",
    "passes/spmd/evaluate",
    "passes/exec", "passes/exec/codegen", "passes/exec/local", "passes/exec/commands", "passes/exec/bufferize",
    "planner/step", "planner/placement", "planner/model",
]
ORDERED = ("planner", "passes")
# Others' headers that are named in quotes, as LLVM does.
FOREIGN = ("mlir/", "llvm/", "llvm-c/", "lld/", "onnx/", "gtest/", "gmock/")
# Folders that must build without these headers.
WITHOUT = {"runtime/": ("mlir/", "llvm/"), "planner/parallelism/": ("mlir/", "llvm/"),
           "planner/cost/": ("mlir/", "llvm/"), "planner/problem/": ("mlir/", "llvm/"),
           "planner/search/": ("mlir/", "llvm/"), "planner/validation/": ("mlir/", "llvm/"),
           "planner/cluster/": ("mlir/",), "planner/schedule/": ("mlir/",), "planner/plan/": ("mlir/",),
           "planner/transformer/": ("mlir/",)}

# Names of headers that are precompiled (DTCC_STANDARD_HEADERS of tools/cmake/AddDTCC.cmake, dialects/Precompiled.h) or that
# these bring along, so that no build of ours misses them. Left out are names that come with nearly every header, as those of
# <utility> and of llvm/ADT/DenseMap.h.
HEADERS = {
    "<algorithm>": r"std::(all_of|any_of|clamp|copy_n|count_if|equal|fill_n|find|find_if|for_each|is_sorted|lower_bound|max_element|"
                   r"min_element|minmax_element|none_of|nth_element|remove_if|replace|reverse|rotate|sort|stable_sort|transform|unique|"
                   r"upper_bound)\(",
    "<array>": r"std::array\b",
    "<atomic>": r"std::atomic\b",
    "<charconv>": r"std::(from|to)_chars\(",
    "<chrono>": r"std::chrono::",
    "<cmath>": r"std::(ceil|exp|fabs|floor|fma|hypot|isfinite|isinf|isnan|ldexp|llround|log|log2|lround|nearbyint|pow|round|sqrt|tanh)\(",
    "<condition_variable>": r"std::condition_variable\b",
    "<cstdio>": r"std::(fclose|fflush|fopen|fprintf|fputs|fread|fwrite|printf|remove|rename|snprintf)\(",
    "<cstdlib>": r"std::(_Exit|abort|exit|getenv|strtod|strtof|strtol|strtoll|strtoull|system)\(",
    "<cstring>": r"std::(memcmp|memcpy|memmove|memset|strcmp|strerror|strlen)\(",
    "<deque>": r"std::deque\b",
    "<filesystem>": r"std::filesystem::",
    "<fstream>": r"std::[io]?fstream\b",
    "<functional>": r"std::(function|greater|hash|less|multiplies|plus)\b",
    "<iostream>": r"std::(cerr|cin|cout)\b",
    "<limits>": r"std::numeric_limits\b",
    "<map>": r"std::(multi)?map\b",
    "<memory>": r"std::(make_shared|make_unique|shared_ptr|unique_ptr|weak_ptr)\b",
    "<mutex>": r"std::(call_once|lock_guard|mutex|scoped_lock|unique_lock)\b",
    "<numeric>": r"std::(accumulate|gcd|inner_product|iota|lcm|partial_sum)\(",
    "<optional>": r"std::(nullopt|optional)\b",
    "<set>": r"std::(multi)?set\b",
    "<span>": r"std::span\b",
    "<sstream>": r"std::[io]?stringstream\b",
    "<string>": r"std::(string|to_string)\b",
    "<string_view>": r"std::string_view\b",
    "<thread>": r"std::(this_thread|thread)\b",
    "<tuple>": r"std::(make_tuple|tie|tuple)\b",
    "<vector>": r"std::vector\b",
    '"llvm/ADT/MapVector.h"': r"\b(Small)?MapVector\b",
    '"llvm/ADT/SetVector.h"': r"\b(Small)?SetVector\b",
    '"llvm/ADT/SmallString.h"': r"\bSmallString\b",
    '"llvm/ADT/StringExtras.h"': r"\bllvm::(isAlnum|isAlpha|isDigit|isHexDigit|isLower|isPrint|isSpace|isUpper|join|split|toHex|utohexstr)\(|"
                                r"\bListSeparator\b",
    '"llvm/ADT/StringMap.h"': r"\bStringMap\b",
    '"llvm/ADT/StringSet.h"': r"\bStringSet\b",
    '"llvm/ADT/TypeSwitch.h"': r"\bTypeSwitch\b",
    '"llvm/Support/FileSystem.h"': r"\bsys::fs::",
    '"llvm/Support/FormatVariadic.h"': r"\bllvm::formatv\(",
    '"llvm/Support/JSON.h"': r"\bllvm::json::",
    '"llvm/Support/MemoryBuffer.h"': r"\bMemoryBuffer\b",
    '"llvm/Support/Path.h"': r"\bsys::path::",
}


def files(root):
    """All files of the project: those of git, tracked or new but not ignored, else what lies there."""
    git = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, text=True)
    top = subprocess.run(["git", "-C", root, "rev-parse", "--show-toplevel"], capture_output=True, text=True)
    if git.returncode == 0 and os.path.realpath(top.stdout.strip()) == os.path.realpath(root):
        found = [f for f in git.stdout.split("\0") if f]
    else:
        found = []
        for folder, folders, names in os.walk(root):
            folders[:] = [f for f in folders if not f.startswith((".git", "build"))]
            found += [os.path.relpath(os.path.join(folder, n), root) for n in names]
    return sorted(f for f in set(found) if os.path.isfile(os.path.join(root, f)))


def text(root, file):
    with open(os.path.join(root, file), encoding="utf-8", errors="replace") as stream:
        return stream.read()


def floor_of(path):
    if path.startswith("runtime/abi/"):
        return "runtime/abi"
    return path.split("/", 1)[0]


def includes(root):
    """A file includes its own floor or lower ones, by paths from the repository's root."""
    for file in files(root):
        floor = floor_of(file)
        if not file.endswith((".cpp", ".h", ".td", ".def", ".inc")) or floor not in FLOORS:
            continue
        for number, line in enumerate(text(root, file).splitlines(), 1):
            match = re.match(r'\s*#?\s*include\s+(["<])([^">]+)[">]', line)
            if not match:
                continue
            quote, path = match.groups()
            for folder, heads in WITHOUT.items():
                if file.startswith(folder) and path.startswith(heads):
                    yield file, number, f"{folder} must not include \"{path}\""
            if quote == "<" or path.startswith(FOREIGN):
                continue
            target = floor_of(path)
            if target not in FLOORS:
                yield file, number, f"include \"{path}\" by its path from the repository's root"
            elif target not in FLOORS[floor]:
                yield file, number, f"{floor} must not include {target} (\"{path}\")"
            elif floor in ORDERED and target in ORDERED:
                own, other = os.path.dirname(file), os.path.dirname(path)
                for folder in (own, other):
                    if folder not in ROOMS:
                        yield file, number, f"{folder} has no place in the order of folders (ROOMS in tests/lint/lint.py)"
                if own in ROOMS and other in ROOMS and ROOMS.index(other) > ROOMS.index(own):
                    yield file, number, f"{own} must not include {other}, which stands above it (\"{path}\")"


def included(root, everything):
    """By file of the floors, the files of the repository that it includes."""
    known = set(everything)
    for file in everything:
        if file.endswith((".cpp", ".h", ".td", ".def", ".cu")) and floor_of(file) in FLOORS:
            named = re.findall(r'^\s*#?\s*include\s+"([^"]+)"', text(root, file), re.M)
            yield file, [path for path in named if path in known]


def headers(root):
    """A file includes the header of a name that it uses, by itself or through headers of the project."""
    sources = {f: text(root, f) for f in files(root) if f.endswith((".cpp", ".h", ".cu", ".def"))}
    named = {f: re.findall(r'^\s*#\s*include\s+(<[^>]+>|"[^"]+")', code, re.M) for f, code in sources.items()}
    for file, code in sources.items():
        reached, left = set(), list(named[file])
        while left:
            path = left.pop()
            if path not in reached:
                reached.add(path)
                left += named.get(path.strip('"'), ())
        # Comments and strings become as long as they were, so that lines keep their numbers.
        code = re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda found: " " * len(found.group(0)), code)
        for header, name in HEADERS.items():
            found = None if header in reached or f'"{file}"' == header else re.search(name, code)
            if found:
                yield file, code.count("\n", 0, found.start()) + 1, f"include {header}, which has {found.group(0).rstrip('(')}"


def unit_of(file):
    """A header and its source are one."""
    stem, ending = os.path.splitext(file)
    return stem if ending in (".h", ".cpp") else file


def circles(root):
    """No folder includes another that leads back to it, and no file another, a header and its source taken as one."""
    everything = list(included(root, files(root)))
    for part in (os.path.dirname, unit_of):
        edges, example = {}, {}
        for file, paths in everything:
            for path in paths:
                own, other = part(file), part(path)
                if own != other:
                    edges.setdefault(own, set()).add(other)
                    example.setdefault((own, other), (file, path))
        reached = {}
        for start in edges:
            seen, left = set(), list(edges[start])
            while left:
                at = left.pop()
                if at not in seen:
                    seen.add(at)
                    left += edges.get(at, ())
            reached[start] = seen
        for (own, other), (file, path) in sorted(example.items()):
            if own in reached.get(other, ()):
                yield file, 1, f"{own} includes {other} (\"{path}\"), which leads back to it"


def rooms(root):
    """A folder of sources says in its README what it holds, and is no crowd."""
    held = {}
    for file in files(root):
        if floor_of(file) in FLOORS:
            held.setdefault(os.path.dirname(file), []).append(os.path.basename(file))
    for folder, names in sorted(held.items()):
        sources = [n for n in names if n.endswith((".cpp", ".h", ".td", ".def", ".cu", ".py"))]
        if len(sources) > MOST_FILES:
            yield folder, 1, f"{len(sources)} files, at most {MOST_FILES}: split it by what they hold"
        if len(sources) > 4 and "README.md" not in names:
            yield folder, 1, "a README.md is missing: what enters, what leaves, in which order to read"


def passes(root):
    """Every pass says what it does, and a test runs it; none names its constructor."""
    everything = files(root)
    tests = "\n".join(text(root, f) for f in everything if f.startswith("tests/") and f.endswith((".mlir", ".test")))
    for file in everything:
        if not os.path.basename(file).endswith("Passes.td"):
            continue
        source = text(root, file)
        starts = list(re.finditer(r'^def\s+(\w+)\s*:\s*(?:Pass|InterfacePass)<"([^"]+)"', source, re.M))
        ends = [m.start() for m in starts[1:]] + [len(source)]
        for match, end in zip(starts, ends):
            number, body = source.count("\n", 0, match.start()) + 1, source[match.start():end]
            name, argument = match.groups()
            described = re.search(r"let\s+description\s*=\s*\[\{(.*?)\}\]", body, re.S)
            if not described or any(part not in described.group(1) for part in PASS_PARTS):
                yield file, number, f"pass {name} needs a description with the parts {', '.join(PASS_PARTS)}"
            if re.search(r"let\s+constructor", body):
                yield file, number, f"pass {name} must not name a constructor: TableGen makes it"
            if not re.search(rf"{re.escape(argument)}(?![\w-])", tests):
                yield file, number, f"no lit test runs --{argument}"
            for named in re.findall(r"tests/[\w./*-]*\w", described.group(1) if described else ""):
                if not glob.glob(os.path.join(root, named)):
                    yield file, number, f"pass {name} names a test that is not there: {named}"


def ops(root):
    """Every op says which pass makes it, which consumes it, and when none is left."""
    for file in files(root):
        if not (file.startswith("dialects/") and file.endswith(".td")):
            continue
        source = text(root, file)
        starts = list(re.finditer(r'^(def|class)\s+(\w+)\b.*?:\s*(\w+)<(?:\w+, )?("\w+"|mnemonic)', source, re.M | re.S))
        ends = [m.start() for m in starts[1:]] + [len(source)]
        described = {}
        for match, end in zip(starts, ends):
            kind, name, base, _ = match.groups()
            body = source[match.start():end]
            own = re.search(r"let\s+description\s*=\s*\[\{(.*?)\}\]", body, re.S)
            described[name] = " ".join(own.group(1).split()) if own else described.get(base, "")
            if kind == "def" and name.endswith("Op") and any(part not in described[name] for part in OP_PARTS):
                yield file, source.count("\n", 0, match.start()) + 1, f"op {name} needs the sentences {', '.join(OP_PARTS)} .."


def casts(root):
    """The sharding passes ask interfaces, and name an op only where it is their subject."""
    asked = re.compile(r"\b(?:isa|cast|dyn_cast)(?:_and_nonnull|_and_present|_if_present|_or_null)?<([^()]*?)>\(|"
                       r"\bgetDefiningOp<(\w+(?:::\w+)*)>")
    count = 0
    for file in files(root):
        if file.startswith("passes/spmd/"):
            for types in asked.findall(text(root, file)):
                count += len(re.findall(r"\w+Op\b", "".join(types)))
    if count > MOST_CASTS:
        yield "passes/spmd", 1, f"{count} casts to named ops, at most {MOST_CASTS}: ask an interface"


def sizes(root):
    """No file is too long to be read at once."""
    for file in files(root):
        if file.endswith(CODE):
            lines = text(root, file).count("\n")
            if lines > MOST_LINES:
                yield file, lines, f"{lines} lines, at most {MOST_LINES}: split it by family"


def names(root):
    """A file is named after what it holds, and none is left at the root of the repository by accident."""
    for file in files(root):
        if "/" not in file and not file.startswith(".") and file not in ROOT_FILES:
            yield file, 1, "the root of the repository holds no such file (ROOT_FILES in tests/lint/lint.py)"
        stem = os.path.basename(file).split(".")[0]
        if re.search(r"(utils?|common|misc|helpers?|uncategorized)$", stem, re.I):
            yield file, 1, "name the file after what it holds"


def licence(root):
    """The head of every source file says under which licence it is."""
    for file in files(root):
        source = text(root, file)
        script = source.startswith("#!") and "\n" in source
        if (file.endswith((".cpp", ".h", ".cu", ".td", ".def", ".py")) or script) and not file.endswith(("lit.cfg.py",)):
            if "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception" not in "\n".join(source.splitlines()[:8]):
                yield file, 1, "the licence lines are missing from the head; take them from runtime/abi/dtcc_rt.h"


def paths(root):
    """Nothing names a place of one person's machine."""
    places = re.compile(r"(?<![\w.\-/])/(?:home|root|work)/")  # a literal would find itself
    for file in files(root):
        if file.startswith("tests/lint/"):
            continue  # its own examples of what is wrong
        if file.endswith(CODE + (".md", ".txt", ".json", ".mlir", ".test")) or "." not in os.path.basename(file):
            for number, line in enumerate(text(root, file).splitlines(), 1):
                if places.search(line):
                    yield file, number, "a path of one machine"


def references(root):
    """A path that a page or a comment names is in the repository."""
    tops = sorted(set(FLOORS) - {"runtime/abi"}) + ["docs", "tests", "examples"]
    named = re.compile(rf"(?<![\w./*%$}}-])(?:{'|'.join(tops)})/[\w./*-]*[\w*]")
    for file in files(root):
        if file.startswith("tests/lint/"):
            continue  # its own examples of what is wrong
        page = file.endswith(".md")
        if not page and not file.endswith(CODE + (".txt",)):
            continue
        folder = os.path.dirname(os.path.join(root, file))
        for number, line in enumerate(text(root, file).splitlines(), 1):
            said = line if page else "".join(re.findall(r"(?://|#(?!\s*include)).*", line))
            for path in named.findall(said):
                if not glob.glob(os.path.join(root, path) + "*"):
                    yield file, number, f"{path} is not in the repository"
            if re.search(r"(?<![\w/])reference/\w+\.md", said):
                yield file, number, "the folder reference is not in the repository: cite the paper or say the fact"
            for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", line) if page else []:
                if not os.path.exists(os.path.join(folder, link)):
                    yield file, number, f"the link {link} leads nowhere"


def index(root):
    """The index of the documentation lists every page, the READMEs of folders included."""
    home = "docs/README.md"
    listed = {os.path.normpath(os.path.join("docs", link)) for link in re.findall(r"\]\(([^)#\s]+)", text(root, home))}
    for file in files(root):
        if file.endswith(".md") and "/Inputs/" not in file and file not in listed | {home, "README.md"}:
            yield file, 1, f"list the page in {home}"
    if f"({home})" not in text(root, "README.md"):
        yield "README.md", 1, f"link {home}"


def skips(root):
    """A test that may be skipped is named in docs/coverage.md with the reason."""
    section = re.search(r"^## Tests that skip.*?(?=^## |\Z)", text(root, "docs/coverage.md"), re.M | re.S)
    rows = section.group(0) if section else ""
    named, folders = set(re.findall(r"[\w-]+", rows)), set(re.findall(r"^\| `lit-(\w+)` \|", rows, re.M))
    for file in files(root):
        if not file.startswith("tests/") or file.startswith("tests/lint/") or not file.endswith((".test", ".mlir")):
            continue
        match = re.search(r"^(?:#|//) (?:REQUIRES|UNSUPPORTED|XFAIL):", text(root, file), re.M)
        folder, stem = file.split("/")[1], os.path.basename(file).split(".")[0]
        if match and stem not in named and folder not in folders:
            number = text(root, file).count("\n", 0, match.start()) + 1
            yield file, number, f"say in docs/coverage.md, under the tests that skip, where {stem} does"


def mutations(root):
    """A mutation changes one place of its file, which is as it says: see tests/mutation/run.py."""
    place = "tests/mutation/run.py"
    spec = importlib.util.spec_from_file_location("mutation", os.path.join(root, place))
    sys.modules["mutation"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for mutation in module.MUTATIONS:
        count = text(root, mutation.file).count(mutation.old)
        if count != 1:
            number = text(root, place).split(repr(mutation.name)[1:-1])[0].count("\n") + 1
            yield place, number, f"'{mutation.name}' must fit one place of {mutation.file}, got: {count}"


def formatting(root, clang_format):
    """C++ is formatted by .clang-format."""
    sources = [f for f in files(root) if f.endswith((".cpp", ".h", ".cu"))]
    for start in range(0, len(sources), 50):
        batch = sources[start:start + 50]
        done = subprocess.run([clang_format, "--dry-run", "--style=file", *batch], cwd=root, capture_output=True, text=True)
        seen = set()
        for match in re.finditer(r"^(.+?):(\d+):\d+: (?:warning|error): (.*)", done.stderr, re.M):
            if match.group(1) not in seen:
                seen.add(match.group(1))
                yield match.group(1), int(match.group(2)), f"not formatted; run {os.path.basename(clang_format)} -i on it"
        if done.returncode and not seen:
            yield batch[0], 1, f"{clang_format} failed: {done.stderr.strip()}"


RULES = {"includes": includes, "headers": headers, "circles": circles, "rooms": rooms, "passes": passes, "ops": ops, "casts": casts, "sizes": sizes, "names": names, "licence": licence,
         "paths": paths, "references": references, "index": index, "skips": skips, "mutations": mutations, "formatting": formatting}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rule", choices=RULES)
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    parser.add_argument("--clang-format", default="clang-format-22")
    arguments = parser.parse_args()
    rule = RULES[arguments.rule]
    extra = [arguments.clang_format] if rule is formatting else []
    found = list(rule(arguments.root, *extra))
    for file, line, message in found:
        print(f"{file}:{line}: {message}")
    print(f"{arguments.rule}: {rule.__doc__.splitlines()[0]} {len(found)} findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
