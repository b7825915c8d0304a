"""Child specs: defaults, options, and what bad input gets, before anything starts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.spec import ChildSpec, Options
from otpy.core.spec_check import check_spec, check_specs
from otpy.errors import SpecError, UnknownOptionError

if TYPE_CHECKING:
    from collections.abc import Callable


class Cache(otpy.GenServer):
    def init(self, size: int = 1) -> None:
        self.size = size


class Other(otpy.GenServer): ...


def poll(url: str) -> None: ...


def refusal(spec: object, **options: Any) -> str:
    with pytest.raises(SpecError) as caught:
        check_spec("shop", spec, **options)
    return str(caught.value)


@pytest.mark.otp_case(85)
def test_defaults_are_otps() -> None:
    spec = otpy.child(Cache, 3)
    assert spec == ChildSpec("Cache", Cache, (3,), {}, None, Options())
    assert spec.options.restart == "permanent"
    assert spec.options.significant is False
    assert spec.options.start_timeout is None


@pytest.mark.otp_case(224)
def test_id_is_the_name_of_the_class_or_function() -> None:
    assert (otpy.child(Cache).id, otpy.child(poll, "x").id) == ("Cache", "poll")


@pytest.mark.otp_case(224)
def test_options_of_several_calls_add_up_and_leave_the_first_spec_as_it_was() -> None:
    first = otpy.child(Cache).opts(restart="transient")
    second = first.opts(id="cache", shutdown=2.0)
    assert (second.id, second.options.restart, second.options.shutdown) == ("cache", "transient", 2.0)
    assert (first.id, first.options.shutdown) == ("Cache", None)


def test_specs_without_options_share_one_object() -> None:
    assert otpy.child(Cache).options is otpy.child(poll, "x").options


def test_name_is_taken_from_a_typed_name_or_a_text() -> None:
    typed = otpy.name(Cache, "cache")
    assert otpy.child(Cache).opts(name=typed).name == "cache"
    assert otpy.child(Cache).opts(name="cache").name == "cache"


def test_unknown_option_is_reported_with_the_id_given_beside_it() -> None:
    with pytest.raises(UnknownOptionError, match=r"^front: no option 'restrat'"):
        otpy.child(Cache).opts(id="front", restrat="permanent")  # type: ignore[call-arg]


def test_typed_name_of_another_class_is_refused() -> None:
    with pytest.raises(SpecError, match=r"Other: name 'cache' is for Cache, not for Other"):
        otpy.child(Other).opts(name=otpy.name(Cache, "cache"))


@pytest.mark.otp_case(84)
@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("restrat", "did you mean 'restart'?"),
        ("shut_down", "did you mean 'shutdown'?"),
        ("max_restarts", "did you mean"),
        (
            "zzz",
            "known are backoff, id, limit, loop, max_cpu, max_memory_bytes, max_queue, name, nice, on_stuck, ",
        ),
    ],
)
def test_unknown_option_is_refused_with_a_guess(option: str, hint: str) -> None:
    with pytest.raises(UnknownOptionError) as caught:
        otpy.child(Cache).opts(**{option: 1})
    assert str(caught.value).startswith(f"Cache: no option '{option}': ")
    assert hint in str(caught.value)


BAD = [
    (otpy.child(Cache).opts(restart="transiemt"), "restart='transiemt': did you mean 'transient'?"),  # type: ignore[arg-type]
    (otpy.child(Cache).opts(restart=None), "restart=None: known are permanent, temporary, transient"),  # type: ignore[arg-type]
    (otpy.child(Cache).opts(place="poool"), "place='poool': did you mean 'pool'?"),  # type: ignore[arg-type]
    (otpy.child(Cache).opts(shutdown=-10), "shutdown=-10: seconds >= 0, otpy.INFINITY or otpy.BRUTAL_KILL"),
    (otpy.child(Cache).opts(shutdown=math.nan), "shutdown=nan: seconds >= 0"),
    (otpy.child(Cache).opts(shutdown=True), "shutdown=True: seconds >= 0"),
    (otpy.child(Cache).opts(shutdown="5"), "shutdown='5': seconds >= 0"),  # type: ignore[arg-type]
    (otpy.child(Cache).opts(start_timeout=0), "start_timeout=0: seconds > 0, or None to wait for ever"),
    (otpy.child(Cache).opts(start_timeout=-1.0), "start_timeout=-1.0: seconds > 0"),
    (otpy.child(Cache).opts(start_timeout=math.inf), "start_timeout=inf: seconds > 0, or None to wait for ever"),
    (otpy.child(Cache).opts(max_queue=0), "max_queue=0: a whole number > 0, or None for no limit"),
    (otpy.child(Cache).opts(max_queue=1.5), "max_queue=1.5: a whole number > 0"),  # type: ignore[arg-type]
    (otpy.child(Cache).opts(max_queue=9, overflow="drop"), "overflow='drop': did you mean 'drop_old'?"),  # type: ignore[arg-type]
    (otpy.child(Cache).opts(overflow="raise"), "overflow='raise' without max_queue: without limit it never overflows"),
    (otpy.child(Cache).opts(significant="maybe"), "significant='maybe': True or False"),  # type: ignore[arg-type]
    (otpy.child(Cache).opts(significant=True), "significant=True with restart='permanent'"),
    (otpy.child(Cache).opts(name=""), "name='': a text, or what otpy.name(Class, text) returns"),
    (otpy.child(Cache).opts(name=7), "name=7: a text"),  # type: ignore[arg-type]
    (otpy.child(Cache).opts(id="a/b"), "an id is a text without '/'"),
    (otpy.child(Cache).opts(id=""), "an id is a text without '/'"),
    (otpy.child(Cache).opts(id=3), "an id is a text without '/'"),  # type: ignore[arg-type]
    (ChildSpec("x", Cache.init), None),
    (ChildSpec("x", 3), "start must be an actor class or a function, got an int; give the class itself"),  # type: ignore[arg-type]
    (otpy.child(Cache()), "start must be an actor class or a function, got a Cache; give the class itself"),  # type: ignore[call-overload]
]


@pytest.mark.otp_case(84)
@pytest.mark.parametrize(("spec", "problem"), BAD, ids=[str(problem) for _, problem in BAD])
def test_bad_spec_is_refused_with_its_path_and_the_mend(spec: ChildSpec, problem: str | None) -> None:
    if problem is None:
        assert check_spec("shop", spec) is spec
    else:
        assert refusal(spec).startswith(f"shop/{spec.id}: ")
        assert problem in refusal(spec)


@pytest.mark.otp_case(84, 224)
@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (Cache, "shop: expected a child spec, got the class Cache; write otpy.child(…)"),
        ((Cache, 1), "shop: expected a child spec, got a tuple; write otpy.child(…)"),
        ({}, "shop: expected a child spec, got a dict; write otpy.child(…)"),
        (None, "shop: expected a child spec, got a NoneType; write otpy.child(…)"),
    ],
    ids=str,
)
def test_what_is_no_spec_is_refused(spec: object, problem: str) -> None:
    assert refusal(spec) == problem


@pytest.mark.otp_case(146)
@pytest.mark.parametrize(
    ("restart", "auto_shutdown", "works"),
    [
        ("transient", "any_significant", True),
        ("temporary", "all_significant", True),
        ("transient", "never", False),
        ("permanent", "any_significant", False),
    ],
)
def test_significant_needs_a_child_that_may_end_and_a_supervisor_that_cares(
    restart: Any, auto_shutdown: Any, *, works: bool
) -> None:
    spec = otpy.child(Cache).opts(restart=restart, significant=True)
    if works:
        assert check_spec("shop", spec, auto_shutdown=auto_shutdown) is spec
    else:
        assert "a significant child is transient or temporary" in refusal(spec, auto_shutdown=auto_shutdown)


@pytest.mark.otp_case(82)
def test_two_children_with_one_id_are_refused() -> None:
    with pytest.raises(SpecError, match=r"shop/Cache: two children have this id; give one of them .opts\(id=…\)"):
        check_specs("shop", [otpy.child(Cache), otpy.child(Cache)])


@pytest.mark.otp_case(81)
@pytest.mark.parametrize("found", [None, otpy.child(Cache), "ab", {}], ids=str)
def test_children_must_return_a_list(found: object) -> None:
    with pytest.raises(SpecError, match=r"shop: children\(\) must return a list of child specs"):
        check_specs("shop", found)


def test_tuple_of_specs_is_as_good_as_a_list() -> None:
    assert check_specs("shop", (otpy.child(Cache),)) == [otpy.child(Cache)]


@pytest.mark.parametrize("text", ["", 3, None, b"cache", Cache])
def test_a_typed_name_is_a_text(text: Any) -> None:
    with pytest.raises(SpecError, match=r"name: expected a text after the class, got .+; write otpy\.name\("):
        otpy.name(Cache, text)


def feed(url: str, *, max_restart: int = 1) -> None: ...


def feed_with(**options: object) -> None: ...


CHILDREN_OPTION = "did you mean 'max_children'?"
IN_OPTS = "it takes no argument 'restart'; options go into .opts(restart=…)"


@pytest.mark.parametrize(
    ("declare", "text"),
    [
        (lambda: otpy.dynamic(Cache, max_childs=1), f"Cache-supervisor: no option 'max_childs': {CHILDREN_OPTION}"),
        (lambda: otpy.dynamic(max_childs=1), f"dynamic: no option 'max_childs': {CHILDREN_OPTION}"),
        (lambda: otpy.dynamic(x=1), "dynamic: no option 'x': known are max_children, max_restarts, max_seconds"),
        (
            lambda: otpy.dynamic(otpy.child(feed), max_childs=1),
            f"feed-supervisor: no option 'max_childs': {CHILDREN_OPTION}",
        ),
        (lambda: otpy.dynamic(Cache, restart="x"), f"Cache-supervisor: {IN_OPTS}"),
        (lambda: otpy.child(Cache, 1, restart="temporary"), f"Cache: {IN_OPTS}"),
        (lambda: otpy.child(feed, "u", restart=3.0), f"feed: {IN_OPTS}"),
    ],
)
def test_an_option_among_the_arguments_is_refused(declare: Callable[[], object], text: str) -> None:
    """It went to the `init` of what is started, where nobody looked for it before the first start."""
    with pytest.raises(SpecError) as caught:
        declare()
    assert str(caught.value) == text


@pytest.mark.parametrize(
    "declare",
    [
        lambda: otpy.child(feed, "u", max_restart=2),
        lambda: otpy.dynamic(feed, max_restart=2),
        lambda: otpy.dynamic(feed_with, max_childs=2),
        lambda: otpy.dynamic(Cache, sise=2),
    ],
)
def test_an_argument_of_its_own_may_be_called_nearly_as_an_option(declare: Callable[[], otpy.ChildSpec]) -> None:
    spec = declare()
    template = spec.args[0] if spec.start is otpy.DynamicSupervisor else spec
    assert isinstance(template, otpy.ChildSpec)
    assert len(template.kwargs) == 1
