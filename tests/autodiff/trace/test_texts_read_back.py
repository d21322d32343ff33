"""Numbers that are read from the text of a traced value, after it went through something else."""

import base64
import binascii
import codecs
import configparser
import datetime
import html
import io
import plistlib
import re
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path
from typing import Any

import pytest

from autodiff import LostValueError, gradient

NUMBER = r"v=(?P<n>[\d.]+)"


def found(x: Any) -> Any:
    return re.match(NUMBER, f"v={x}")


def with_config(x: Any, fill: Any) -> float:
    config = configparser.ConfigParser()
    fill(config, x)
    return config.getfloat("a", "b")


def substituted(x: Any, read: Any) -> float:
    numbers: list = []
    re.sub(r"[\d.]+", lambda m: numbers.append(float(read(m))) or "", f"{x}")
    return numbers[0]


def through_wrapper(x: Any, below: Any) -> float:
    file = io.TextIOWrapper(below)
    file.write(str(x))
    file.flush()
    below.seek(0)
    return float(below.read())


def wrapped_later(x: Any) -> float:
    below = io.BytesIO()
    below.write(str(x).encode())
    below.seek(0)
    return float(io.TextIOWrapper(below).read())


def by_path(x: Any, path: Path) -> float:
    path.write_text(str(x))
    return float(path.read_text())


def by_path_in_bytes(x: Any, path: Path) -> float:
    path.write_bytes(str(x).encode())
    with open(path) as file:
        return float(file.read())


WAYS = {
    "item of a match": lambda x, _: float(found(x)[1]),
    "named item of a match": lambda x, _: float(found(x)["n"]),
    "group": lambda x, _: float(found(x).group(1)),
    "groups": lambda x, _: float(found(x).groups()[0]),
    "groupdict": lambda x, _: float(found(x).groupdict()["n"]),
    "finditer": lambda x, _: float(next(re.finditer(r"[\d.]+", f"{x}"))[0]),
    "match of bytes": lambda x, _: float(re.match(rb"v=([\d.]+)", f"v={x}".encode())[1]),
    "function of re.sub": lambda x, _: substituted(x, lambda m: m[0]),
    "function of re.sub, group": lambda x, _: substituted(x, lambda m: m.group()),
    "base64": lambda x, _: float(base64.b64decode(base64.b64encode(str(x).encode())).decode()),
    "zlib": lambda x, _: float(zlib.decompress(zlib.compress(str(x).encode()))),
    "codecs": lambda x, _: float(codecs.decode(codecs.encode(str(x), "utf-8"), "utf-8")),
    "hexlify": lambda x, _: float(binascii.unhexlify(binascii.hexlify(str(x).encode()))),
    "html": lambda x, _: float(html.unescape(html.escape(str(x)))),
    "memoryview": lambda x, _: float(bytes(memoryview(str(x).encode())).decode()),
    "int.from_bytes": lambda x, _: int.from_bytes(str(x).encode(), "big") * 1.0,
    "read_string": lambda x, _: with_config(x, lambda c, x: c.read_string(f"[a]\nb={x}\n")),
    "section": lambda x, _: with_config(x, lambda c, x: c.__setitem__("a", {"b": str(x)})),
    "xml": lambda x, _: float(ElementTree.fromstring(f"<a>{x}</a>").text),
    "plist": lambda x, _: float(plistlib.loads(plistlib.dumps({"a": str(x)}))["a"]),
    "strptime": lambda x, _: float(datetime.datetime.strptime(f"{x}", "%S.%f").second),
    "wrapper of a file": lambda x, _: through_wrapper(x, io.BytesIO()),
    "wrapper made later": lambda x, _: wrapped_later(x),
    "path": by_path,
    "path, bytes": by_path_in_bytes,
}


@pytest.mark.parametrize("way", WAYS)
def test_no_number_is_read_back(way: str, tmp_path: Path) -> None:
    read, path = WAYS[way], tmp_path / "number"
    assert read(2.5, path) > 0.0  # works without a derivative

    with pytest.raises(LostValueError, match="from the text of a traced value"):
        gradient(lambda x: x * read(x, path), 2.5)
    assert gradient(lambda x: x * read(2.5, path), 2.5) == read(2.5, path)  # a constant
