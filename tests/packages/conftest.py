"""Says at the end which versions of the packages were tested."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the packages with their versions, and how many calls of each passed."""
    counts: dict[str, list[int]] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, value in getattr(report, "user_properties", ()):
                if name == "version" and report.when == "call":
                    found = counts.setdefault(value, [0, 0])
                    found[0] += outcome == "passed"
                    found[1] += 1
    if counts:
        terminalreporter.section("packages")
    for package, (passed, called) in sorted(counts.items()):
        terminalreporter.line(f"{package}: {passed} of {called}")
