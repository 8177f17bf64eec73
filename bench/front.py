"""What a person sees of scripts/bench: arguments, the list, each figure as it comes, times, Ctrl-C. It knows nothing of Pawl."""

import argparse
import contextlib
import difflib
import json
import time

import figure
import noise

NEAR_MAX = 5
INTERRUPTED = 130  # the exit code that shells report for SIGINT

EXAMPLES = """examples:
  scripts/bench                          all of it
  scripts/bench sandbox workspace        two groups
  scripts/bench engine_by_bare_commits   one figure
  scripts/bench --json cli > now.json    for programs: {name: {value, unit, goal, ok}}

The figures go to stdout, each as it comes; with --json one object at the end. Progress, the time by group and the
noise of the machine go to stderr. Only what the named figures need is built and run.

exit codes: 0 all was measured (a figure that is MISSED is no failure); 1 something could not be measured;
2 an unknown name or option; 130 ended by Ctrl-C (what was measured stays printed)"""


def parser():
    out = argparse.ArgumentParser(prog="scripts/bench", description="Measures the figures that the project promises.", epilog=EXAMPLES,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    out.add_argument("names", nargs="*", metavar="NAME", help="a group or a figure (--list has them); without one, all")
    out.add_argument("--list", action="store_true", help="list groups and figures with their goals, and measure nothing")
    out.add_argument("--json", action="store_true", help="print one JSON object at the end, and nothing else on stdout")
    return out


def near(groups, name):
    """Groups and figures that were perhaps meant, the nearest first."""
    known = [group.name for group in groups] + [each.name for group in groups for each in group.figures()]
    parts = [part for part in name.replace(".", "_").split("_") if len(part) > 2]
    having = sorted((each for each in known if any(part in each for part in parts)), key=lambda each: -sum(part in each for part in parts))
    return list(dict.fromkeys(difflib.get_close_matches(name, known, NEAR_MAX) + having))[:NEAR_MAX]


def listed(chosen):
    seen, out = None, []
    for group, part, wanted in chosen:
        if group is not seen:
            out.append(f"{group.name}: {group.says}")
            seen = group
        out += [f"  {each.name:36} {each.unit:6} {each.goal}".rstrip() for each in part.figures if each.name in wanted]
    return "\n".join(out)


def line_of(each, value):
    return f"{each.name:36} {value:10.2f} {each.unit:6} {each.goal:8} {'' if not each.goal else 'ok' if each.ok(value) else 'MISSED'}".rstrip()


def reason_of(error):
    """One line for a person; of a program that failed, the last one that it said."""
    said = getattr(error, "stderr", None) or ""
    said = (said.decode(errors="replace") if isinstance(said, bytes) else said).strip()
    return " ".join(filter(None, [f"{type(error).__name__}: {error}", said.rpartition("\n")[2]]))


class Show:
    """Where everything goes: with --json the figures are progress too."""

    def __init__(self, as_json, out, err):
        self.as_json, self.out, self.err = as_json, out, err
        self.values, self.missing, self.seconds = {}, [], {}

    def progress(self, text):
        print(text, file=self.err, flush=True)

    def figure(self, each, value):
        self.values[each.name] = {"value": round(value, 3), "unit": each.unit, "goal": each.goal, "ok": each.ok(value)}
        print(line_of(each, value), file=self.err if self.as_json else self.out, flush=True)

    def end(self):
        if self.as_json:
            print(json.dumps(self.values), file=self.out, flush=True)
        if self.seconds:
            self.progress("time: " + ", ".join(f"{name} {took:.0f} s" for name, took in self.seconds.items()) +
                          f"; in all {sum(self.seconds.values()):.0f} s")
        missed = [name for name, found in self.values.items() if not found["ok"]]
        self.progress(f"{len(self.values)} figures, {len(missed)} missed" + (f": {', '.join(missed)}" if missed else ""))
        for text in self.missing:
            self.progress(f"not measured: {text}")


def measure_part(show, place, part, wanted):
    by_name, left = {each.name: each for each in part.figures}, set(wanted)
    try:
        # Closed at once on Ctrl-C: the part ends the processes that it has started.
        with contextlib.closing(part.measure(place)) as found:
            for name, value in found:
                if name in wanted:
                    show.figure(by_name[name], value)
                    left.discard(name)
        if left:
            raise LookupError("the part ended without them")
    except Exception as error:  # a failure of one part does not prevent the others
        show.missing.append(f"{', '.join(sorted(left))}: {reason_of(error)}")
        show.progress(f"  failed: {reason_of(error)}")


def measure_all(show, place, chosen):
    for number, (group, part, wanted) in enumerate(chosen, 1):
        show.progress(f"[{number}/{len(chosen)}] {group.name}: {part.says}")
        started = time.monotonic()
        try:
            measure_part(show, place, part, wanted)
        finally:
            show.seconds[group.name] = show.seconds.get(group.name, 0) + time.monotonic() - started


def main(argv, groups, prepare, out, err, noise_now=noise.measure):
    """`prepare(needs, say)` is a context: it builds what is needed, gives the place where parts work, and clears up."""
    arguments = parser().parse_args(argv)
    try:
        chosen = figure.chosen(groups, arguments.names)
    except figure.UnknownName as unknown:
        found = near(groups, str(unknown))
        print(f"scripts/bench: no group or figure is called '{unknown}'. " +
              (f"Near: {', '.join(found)}" if found else "scripts/bench --list has them all"), file=err)
        return 2
    if arguments.list:
        print(listed(chosen), file=out)
        return 0
    show, before = Show(arguments.json, out, err), None
    try:
        with prepare(frozenset().union(*(part.needs for _, part, _ in chosen)), show.progress) as place:
            before = noise_now(place.folder)
            measure_all(show, place, chosen)
            after = noise_now(place.folder)
    except KeyboardInterrupt:
        show.progress("interrupted; what was measured so far stands")
        after = None
    show.end()
    for line in noise.lines(before, after):
        show.progress(line)
    return INTERRUPTED if after is None else 1 if show.missing else 0
