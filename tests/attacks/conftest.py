"""What the attacks share with the tests of the surfaces: the command in a folder of its own."""

from surfaces.conftest import engram

__all__ = ["engram"]
