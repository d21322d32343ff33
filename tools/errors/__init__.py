"""The catalogue of errors: what raises each of them, what it says, and what to do.

python -m tools.errors            write docs/errors.md
python -m tools.errors --missing  list the statements that no entry reaches

sites.py       every statement of the packages that raises
entries.py     programs that raise, and programs that apply the way out
programs/      these, a module for each area
page.py        the page
"""
