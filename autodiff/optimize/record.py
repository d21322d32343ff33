"""The record of a fit: its evaluations in order, in a file that grows by each of them.

SciPy's solvers are deterministic, but their state cannot be read from outside. So a run that is
resumed begins at its start again. As long as the solver asks for what was recorded, the answers
come from the file; from there on the function is called. All steps are those of a run without
interruption, bit for bit.

The file begins with a line and a header: what the run is of. Each evaluation is one more part. A
part has its length and a checksum before it. If a process dies while it writes, the last part is
incomplete, and the next run drops it.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from autodiff.errors import ArgumentError
from autodiff.optimize.history import History
from autodiff.optimize.saved import EVERY, check_form, check_place, form_of, replacing
from autodiff.repeatable import repeatable

_FIRST_LINE = b"\x93autodiff.optimize record 1\n"
_HEAD = struct.Struct("<QI")  # length and checksum
_CLOSE = 1e-6


class _Evaluation(NamedTuple):
    """One part of the file.

    Attributes
    ----------
    of : str
        Which function was evaluated.
    seconds : float
        When, since the start of the run.
    vectors : list of ndarray
        Its arguments.
    answer : Any
        What it returned: a number, an array, or a tuple of them.
    """

    of: str
    seconds: float
    vectors: list[np.ndarray]
    answer: Any

    def packed(self) -> bytes:
        """Return it as bytes: a line of JSON with the forms of the arrays, and the arrays."""
        is_tuple = isinstance(self.answer, tuple)
        parts = self.answer if is_tuple else (self.answer,)
        arrays = [np.asarray(a, order="C") for a in (*self.vectors, *parts)]
        forms = [(a.dtype.str, a.shape) for a in arrays]
        line = json.dumps([self.of, self.seconds, len(self.vectors), is_tuple, forms])
        return b"".join([line.encode(), b"\n", *[a.data for a in arrays]])

    @classmethod
    def unpacked(cls, content: bytes) -> _Evaluation:
        """Return the evaluation of these bytes."""
        place = content.index(b"\n") + 1
        of, seconds, count, is_tuple, forms = json.loads(content[:place])
        arrays: list[Any] = []
        for kind, shape in forms:
            a = np.frombuffer(content, kind, math.prod(shape), place).reshape(shape)
            arrays.append(a.copy()[()])  # in memory of its own, as when it was computed
            place += a.nbytes
        vectors, parts = arrays[:count], arrays[count:]
        return cls(of, seconds, vectors, tuple(parts) if is_tuple else parts[0])


def _plain(answer: Any) -> Any:
    """Return an answer in the types and in the layout that it has when it is read again."""
    if isinstance(answer, tuple):
        return tuple([_plain(part) for part in answer])
    return np.asarray(answer, order="C")[()]


def _same(x: Any, y: np.ndarray) -> bool:
    return np.shape(x) == y.shape and np.asarray(x).tobytes() == y.tobytes()


class Record:
    """The evaluations of a run, in order.

    Parameters
    ----------
    path : path
        The file.
    made_by : str
        What makes it: the solver and its method.
    like : Any
        The parameters, a nest.
    resume : bool
        Whether to go on with the evaluations in the file, if it exists.
    history : History
        Its clock goes on, too.

    Raises
    ------
    ArgumentError
        If there is no place for the file, or if it is of another run.
    """

    def __init__(
        self, path: Any, made_by: str, like: Any, resume: bool, history: History
    ) -> None:  # fmt: skip
        check_place(path)
        self._path, self._made_by, self._like = Path(path).absolute(), made_by, like
        self._resume, self._history = resume, history
        self._file: Any = None
        self._next: _Evaluation | None = None
        self._count = 0
        self._scales: dict[str, list[float]] = {}
        self._synced_at = time.monotonic()

    def __enter__(self) -> Record:
        goes_on = self._resume and self._path.exists()
        with replacing(self._path) as file:
            # A copy: another process that still writes into the old file does no harm.
            if goes_on:
                self._check()
                with self._path.open("rb") as old:
                    shutil.copyfileobj(old, file)
            else:
                file.write(_FIRST_LINE)
                header = json.dumps([self._made_by, form_of(self._like).tolist()])
                self._write(file, header.encode())
        self._file = self._path.open("r+b", buffering=0)
        self._file.seek(len(_FIRST_LINE))
        self._part()
        self._next = self._evaluation()
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the file, whole."""
        self._sync()
        self._file.close()

    def _check(self) -> None:
        """Raise if the file is no record, or one of another run."""
        with self._path.open("rb") as self._file:
            is_record = self._file.readline(len(_FIRST_LINE)) == _FIRST_LINE
            header = self._part() if is_record else None
        if header is None:
            raise ArgumentError(
                f"{self._path.name} is no checkpoint of a fit, or its beginning is damaged. Delete "
                "the file, or give another name."
            )
        made_by, form = json.loads(header)
        check_form(self._path, {"form": np.array(form)}, self._like)
        if made_by != self._made_by:
            raise ArgumentError(
                f"the checkpoint {self._path.name} is of {made_by}, and this run is of "
                f"{self._made_by}: the steps of one are of no use to the other. Give the same "
                "method, delete the file, or give another name."
            )

    def kept(self, of: str, function: Callable) -> Callable:
        """Return a function whose evaluations are recorded, or answered from the record.

        Parameters
        ----------
        of : str
            Its name in the record.
        function : callable
            A function of vectors.
        """

        def answered(*vectors: Any) -> Any:
            known = self._next
            if known is None:
                with repeatable():
                    answer = _plain(function(*vectors))
                self._append(_Evaluation(of, self._history.seconds, list(vectors), answer))
                return answer
            if known.of != of or not all(map(_same, vectors, known.vectors)):
                raise self._other_run()
            after = self._evaluation()
            if of not in self._scales or after is None:
                with repeatable():
                    self._compare(known, function(*vectors))
            self._next = after
            self._history.seconds = known.seconds
            self._count += 1
            return known.answer

        return answered

    def _other_run(self) -> ArgumentError:
        return ArgumentError(
            f"the checkpoint {self._path.name} is of another run: the solver asks for another "
            f"point than the recorded evaluation {self._count + 1}. Give the same start, bounds "
            "and options as then, with the same versions of NumPy and SciPy on the same kind of "
            "processor; or delete the file, or give another name."
        )

    def _compare(self, known: _Evaluation, answer: Any) -> None:
        """Raise if the function does not return what is recorded, but for rounding."""
        old = known.answer if isinstance(known.answer, tuple) else (known.answer,)
        new = answer if isinstance(answer, tuple) else (answer,)
        scales = self._scales.setdefault(known.of, [_size(part) for part in old])
        for a, b, scale in zip(old, new, scales, strict=True):
            if np.shape(a) != np.shape(b) or not np.allclose(
                a, b, rtol=_CLOSE, atol=_CLOSE * scale, equal_nan=True
            ):
                raise ArgumentError(
                    f"the checkpoint {self._path.name} is of another function: at the recorded "
                    f"evaluation {self._count + 1} it returned {_shown(a)}, and now {_shown(b)}. "
                    "Its code or its data have changed since, or it draws random numbers. Delete "
                    "the file, or give another name."
                )

    def _append(self, evaluation: _Evaluation) -> None:
        self._write(self._file, evaluation.packed())
        self._count += 1
        if time.monotonic() - self._synced_at > EVERY:
            self._sync()

    def _write(self, file: Any, content: bytes) -> None:
        whole = memoryview(_HEAD.pack(len(content), zlib.crc32(content)) + content)
        while whole:
            whole = whole[file.write(whole) :]

    def _sync(self) -> None:
        os.fsync(self._file.fileno())
        self._synced_at = time.monotonic()

    def _evaluation(self) -> _Evaluation | None:
        """Return the next evaluation; None after the last, with what is incomplete cut off."""
        begin = self._file.tell()
        content = self._part()
        if content is not None:
            return _Evaluation.unpacked(content)
        self._file.seek(begin)
        self._file.truncate()
        return None

    def _part(self) -> bytes | None:
        """Return the next part of the file, or None if there is none, or not all of it."""
        head = self._file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return None
        length, checksum = _HEAD.unpack(head)
        left = os.fstat(self._file.fileno()).st_size - self._file.tell()
        content = self._file.read(length) if length <= left else b""
        return content if len(content) == length and zlib.crc32(content) == checksum else None


def _size(x: Any) -> float:
    """Return the largest finite number in an array."""
    sizes = np.abs(x)
    return float(np.max(sizes, where=np.isfinite(sizes), initial=0.0))


def _shown(x: Any) -> str:
    return f"{x:.9g}" if np.ndim(x) == 0 else f"an array of length {np.linalg.norm(x):.9g}"
