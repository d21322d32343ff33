"""Print the oldest versions that pyproject.toml allows, as requirements: ``numpy==2.4.0 ...``."""

import tomllib
from pathlib import Path


def lower_bound(requirement: str) -> str:
    """``numpy==2.4.0`` for ``numpy>=2.4``."""
    name, bound = requirement.split(">=")
    parts = bound.split(".")
    return f"{name}=={'.'.join(parts + ['0'] * (3 - len(parts)))}"


def main() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    print(*map(lower_bound, project["dependencies"]))


if __name__ == "__main__":
    main()
