"""Print the oldest versions that pyproject.toml allows, as requirements: ``numpy==2.4.* ...``.

Of each the last bug fixes: SciPy 1.15.0 corrupts memory in rank filters of lines.
"""

import tomllib
from pathlib import Path


def main() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    print(*[requirement.replace(">=", "==") + ".*" for requirement in project["dependencies"]])


if __name__ == "__main__":
    main()
