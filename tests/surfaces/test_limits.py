"""How much one caller may ask for."""

from engram.surfaces.server.limits import Limits


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_empties_and_fills_again():
    clock = Clock()
    limits = Limits(60, clock=clock)

    assert [limits.take("a") for _ in range(17)] == [0] * 15 + [1, 1]
    clock.now = 1.0
    assert [limits.take("a"), limits.take("a")] == [0, 1]
    clock.now = 1000.0
    assert [limits.take("a") for _ in range(16)] == [0] * 15 + [1]


def test_everyone_has_a_bucket_of_their_own_and_0_is_no_limit():
    limits = Limits(4, clock=Clock())

    assert [limits.take(name) for name in ("a", "a", "b", "b")] == [0, 15, 0, 15]
    assert {Limits(0).take("a") for _ in range(1000)} == {0}
