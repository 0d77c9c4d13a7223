"""What the arguments of the observation tools mean: prose that several tools share."""

from typing import Annotated

Id = Annotated[float, "The number of a memory, as mem_search shows it."]
OldId = Annotated[float, "The same as observation_id."]
Title = Annotated[str, "What it is about, short and searchable: 'JWT auth middleware'."]
NewTitle = Annotated[str, "The new title."]
Content = Annotated[str, "What to remember, best as **What**, **Why**, **Where**, **Learned**."]
NewContent = Annotated[str, "The new content."]
OldContent = Annotated[str, "An older name of content."]
Type = Annotated[
    str, "decision, architecture, bugfix, pattern, config, discovery, learning, or a word of your own."
]
TypeFilter = Annotated[str, "Only this type."]
Scope = Annotated[str, "project (default), personal or global."]
ScopeFilter = Annotated[str, "Only this scope: project, personal or global."]
TopicKey = Annotated[str, "A stable name such as architecture/auth-model: the same again revises the same memory."]
SessionId = Annotated[str, "The session it belongs to. Default: the one that is under way."]
Session = Annotated[str, "The session's id."]
Project = Annotated[str, "A known project. Default: the current one."]
Expected = Annotated[str, "The project it must belong to; if it does not, nothing is changed."]
Choice = Annotated[str, "user_selected_after_ambiguous_project, where the person chose among available_projects."]
Recovery = Annotated[str, "Accepted and not needed."]
Limit = Annotated[float, "How many at most; default 10, at most 20."]
Verb = Annotated[str, "related, compatible, scoped, conflicts_with, supersedes or not_conflict."]
Confidence = Annotated[float | None, "How sure the verdict is, 0 to 1."]
Sure = Annotated[float, "How sure the verdict is, 0 to 1."]
