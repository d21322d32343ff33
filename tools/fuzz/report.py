"""Count outcomes, tell failures of one cause from others, and print what was found."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from tools.fuzz.judge import KINDS, NAMED, Outcome

LONGEST = 100


def cause(outcome: Outcome) -> str:
    """Return what failures of one cause have in common, as far as can be told."""
    lines = outcome.detail.splitlines() or [""]
    text = lines[0]
    if outcome.kind == "wrong":
        text = " ".join(w for w in text.split() if not re.search(r"\d", w))
    elif outcome.kind == "crash" and len(lines) > 1:
        text += "  @ " + lines[-1].rpartition("/")[2].partition(": ")[0]
    text = re.sub(r"\(/[^)]*\)", "(…)", text)
    return re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?(e-?\d+)?", "N", text))


class Report:
    """What a run has found."""

    def __init__(self) -> None:
        self.programs = 0
        self.counts: Counter[tuple[str, str]] = Counter()
        self.causes: dict[str, Counter[str]] = defaultdict(Counter)
        self.failures: list[tuple[str, Outcome, str]] = []  # name, outcome, source

    def add(self, name: str, source: str, outcomes: list[Outcome]) -> None:
        """Count the outcomes of a program."""
        self.programs += 1
        for outcome in outcomes:
            self.counts[outcome.mode, outcome.kind] += 1
            if outcome.kind != "right" or outcome.detail:
                self.causes[outcome.kind][cause(outcome)] += 1
            if outcome.failed:
                self.failures.append((name, outcome, source))

    def merge(self, other: Report) -> None:
        """Add what another process has found."""
        self.programs += other.programs
        self.counts.update(other.counts)
        for kind, counter in other.causes.items():
            self.causes[kind].update(counter)
        self.failures += other.failures

    def examples(self, most: int) -> list[tuple[str, Outcome, str]]:
        """Return the failures to be shown: of each cause first one, then a second one, …"""
        by_cause: dict[tuple, list] = defaultdict(list)
        for failure in sorted(self.failures, key=lambda f: f[0]):
            by_cause[failure[1].kind, failure[1].mode, cause(failure[1])].append(failure)
        order = sorted(
            by_cause.values(), key=lambda found: (found[0][1].kind != "wrong", -len(found))
        )
        depth = max(map(len, order), default=0)
        return [found[i] for i in range(depth) for found in order if i < len(found)][:most]

    def table(self) -> str:
        """Return the counts, and the clean errors by their message."""
        lines = [f"{self.programs} programs", ""]
        lines.append("".join([f"{'':10}", *[f"{kind:>11}" for kind in KINDS]]))
        for mode in (*NAMED, "plain"):
            row = [self.counts[mode, kind] for kind in KINDS]
            if any(row):
                lines.append(f"{mode:10}" + "".join(f"{n:11}" for n in row))
        judged = sum(n for (_, kind), n in self.counts.items() if kind != "discarded")
        rounded = sum(self.causes["right"].values())
        lines += ["", f"values whose last bits differ from the plain ones: {rounded}"]
        for kind in ("error", "crash", "wrong"):
            found = self.causes[kind]
            total = sum(found.values())
            lines += ["", f"{NAMES[kind]}: {total} of {judged} ({total / max(judged, 1):.2%})"]
            for text, n in found.most_common(25):
                lines.append(f"  {n:6}  {text if len(text) <= LONGEST else text[:LONGEST] + ' …'}")
        return "\n".join(lines)


NAMES = {"error": "clean errors", "crash": "crashes", "wrong": "wrong"}
