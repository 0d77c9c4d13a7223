"""One JSON request to a model's endpoint."""

import json

from engram.transport import LARGEST, NOTHING, Answer, Web


class Post(Web):
    """An address to which JSON is sent."""

    def send(self, asked: object, within: float | None = None) -> Answer:
        """Send a value and wait for what comes back, no longer than the timeout; a failure is an answer too."""
        return self.ask("POST", body=json.dumps(asked).encode(), within=within)


__all__ = ["LARGEST", "NOTHING", "Answer", "Post"]
