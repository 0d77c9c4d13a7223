"""The files page: which files memories rest on, and how fresh that is."""

from starlette.responses import Response

from engram.surfaces.web.frame import Asked, Page, Tab

TABS = (Tab("files", "/files", "Files", "f"),)


def show(asked: Asked) -> Response:
    """A page of files, those first that need a look."""
    scope = asked.said("scope").strip()
    found = asked.engram.files(scope=scope, everywhere=not scope, after=asked.said("after") or None)
    template = "files_rows.html" if asked.part else "files.html"
    return asked.show(template, at=found.at, title="Files", here="files", found=found, scope=scope)


PAGES = (Page("GET", "/files", show),)
