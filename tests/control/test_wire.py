"""Frames: whole values out of whatever pieces arrive, and a clear refusal of anything else."""

from __future__ import annotations

import random

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otpy.control.errors import WireError
from otpy.control.wire import FrameReader, decode, encode

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


def frames_of(reader: FrameReader) -> list[bytes]:
    found = []
    while (frame := reader.next_frame()) is not None:
        found.append(frame)
    return found


@settings(max_examples=30)
@given(st.lists(PLAIN, max_size=3), st.integers(1, 9))
def test_values_come_out_as_they_went_in_however_the_stream_is_cut(values: list[object], step: int) -> None:
    stream = b"".join(encode(value, max_bytes=10_000) for value in values)
    reader = FrameReader(10_000)
    found = []

    for start in range(0, len(stream), step):
        reader.feed(stream[start : start + step])
        found += [decode(frame, max_depth=20) for frame in frames_of(reader)]

    assert found == values
    assert not reader.has_bytes


def test_names_with_lone_surrogates_pass_unharmed() -> None:
    assert decode(encode("caf\udce9", max_bytes=100)[4:], max_depth=1) == "caf\udce9"


def test_a_length_over_the_limit_is_refused_before_its_bytes_arrive() -> None:
    reader = FrameReader(100)
    reader.feed(b"\xff\xff\xff\xff")

    with pytest.raises(WireError, match="4294967295 bytes is over the limit of 100"):
        reader.next_frame()


@pytest.mark.parametrize("depth", [3, 1_000, 60_000])
@pytest.mark.parametrize("opening", [b"\x91", b"\x81\xa1a"], ids=["lists", "maps"])
def test_deep_nesting_is_refused(depth: int, opening: bytes) -> None:
    with pytest.raises(WireError):
        decode(opening * depth + b"\xc0", max_depth=2)


def test_nesting_up_to_the_limit_is_fine() -> None:
    assert decode(msgpack.packb([{"a": 1}]), max_depth=2) == [{"a": 1}]


@pytest.mark.parametrize(
    "payload",
    [b"", b"\xc1", b"\x93\x01", b"\xdd\xff\xff\xff\xff", b"\xa5ab", b"\xa2\xff\xfe", b"\x01\x02", b"\x81\x01\x02"],
    ids=["nothing", "never used", "short list", "huge list", "short text", "no UTF-8", "two values", "number as key"],
)
def test_what_is_no_msgpack_of_ours_is_refused(payload: bytes) -> None:
    with pytest.raises(WireError):
        decode(payload, max_depth=4)


def test_random_bytes_give_a_value_or_a_refusal_and_nothing_else() -> None:
    chance = random.Random(7)

    for _ in range(2_000):
        try:
            decode(chance.randbytes(chance.randrange(40)), max_depth=4)
        except WireError:
            continue


@pytest.mark.parametrize("value", [object(), {1, 2}, 2**70, [[object()]]])
def test_what_is_not_plain_cannot_be_sent(value: object) -> None:
    with pytest.raises(WireError, match="not plain data"):
        encode(value, max_bytes=1_000)


def test_a_ring_cannot_be_sent() -> None:
    ring: list[object] = []
    ring.append(ring)

    with pytest.raises(WireError):
        encode(ring, max_bytes=1_000)


def test_a_frame_that_is_too_long_is_not_sent() -> None:
    with pytest.raises(WireError, match="103 bytes is over the limit of 50"):
        encode("x" * 101, max_bytes=50)
