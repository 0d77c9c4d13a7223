"""Which sentences of a talk are proposed: a labelled set of them, and what is never looked at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.rules.harvest import EXCERPT, LONGEST_TALK, MOST_A_TURN, holds_everywhere, says_something, statements
from engram.rules.kinds import KINDS

SAID = """
convention  | Always use pnpm in this repository.
convention  | always run the linter before you commit
convention  | Please never push to main directly!
convention  | You should always ask before you delete a file.
convention  | Never commit generated files, they make reviews unreadable.
convention  | Don't ever mock the database in integration tests.
convention  | Don't use moment, use date-fns.
convention  | Also, always name migrations after the table they change.
convention  | No, use Decimal instead of float for amounts.
convention  | Nope, run the tests with pytest instead of unittest.
convention  | Actually, put the handlers under src/routes instead of src/api.
convention  | From now on, write commit messages in the imperative.
convention  | Going forward: add a changelog line for each user-visible change.
convention  | We use Tailwind for the storefront.
convention  | We deploy on Tuesdays and Thursdays only.
convention  | We never rebase shared branches.
convention  | We always squash before merging.
decision    | We decided to keep the audit log in Postgres.
decision    | We've agreed that the public API stays on version 2.
decision    | We settled on Kafka for the event bus.
decision    | We switched from Jest to Vitest.
decision    | We're going with server-side rendering.
decision    | Decision: feature flags live in the config service.
preference  | I prefer tabs over spaces.
preference  | I really don't like comments that repeat the code.
preference  | I always use fish as my shell.
preference  | I hate abbreviations in variable names.
preference  | My editor is Helix.
preference  | My preferred language is Rust.
preference  | My package manager is uv.
identity    | My name is Alex Rivera.
identity    | My GitHub handle is arivera-dev.
identity    | I work as a data engineer.
location    | My time zone is Europe/Berlin.
location    | I live in Valencia.
people      | My manager is Kim.
health      | I'm allergic to peanuts.
fact        | Remember that the staging database is wiped every Sunday.
fact        | Keep in mind that the vendor API allows 10 requests per second.
fact        | FYI, the old billing service is read-only.
fact        | For future reference: invoices are numbered per calendar year.
fact        | Don't forget that the certificates are renewed by hand.
convention  | Verwende immer pnpm statt npm.
convention  | Committe nie direkt auf main.
convention  | Bitte immer mit uv installieren.
convention  | Nie ohne Tests mergen.
convention  | Nein, nimm Decimal statt float für Beträge.
convention  | Wir verwenden Tailwind im Shop.
convention  | Ab jetzt schreiben wir Commit-Nachrichten auf Englisch.
decision    | Wir haben uns für Kafka entschieden.
decision    | Wir haben beschlossen, die API bei Version 2 zu lassen.
preference  | Ich bevorzuge kurze Antworten.
preference  | Mein Editor ist Helix.
identity    | Ich heiße Alex.
location    | Meine Zeitzone ist Europe/Berlin.
fact        | Merk dir, dass die Testdatenbank jeden Sonntag gelöscht wird.
convention  | Usa siempre pnpm en este proyecto.
convention  | Nunca uses npm.
convention  | No, usa Decimal en vez de float para los importes.
convention  | De ahora en adelante, escribe los commits en inglés.
convention  | Usamos Tailwind en la tienda.
decision    | Hemos decidido mantener el registro en Postgres.
decision    | Acordamos usar Kafka para los eventos.
preference  | Prefiero respuestas cortas.
identity    | Me llamo Alex.
location    | Mi zona horaria es Europe/Madrid.
fact        | Recuerda que la base de pruebas se borra cada domingo.
fact        | can you remember that our QA team needs the build by Thursday noon each week
convention  | always prefix branch names with the ticket number
convention  | pls never touch the vendored folder
decision    | we agreed to drop support for Python 3.9
infra       | we're on AWS, eu-central-1
preference  | i prefer early returns to nested ifs
convention  | no, use the staging bucket instead of prod
convention  | no don't mock it, use the real database
fact        | remember: API responses are snake_case
location    | I'm based in Lisbon
identity    | my github username is arivera-dev
decision    | we've decided against GraphQL
convention  | we use conventional commits
convention  | never ever force-push to release branches
convention  | don't add comments unless I ask for them
preference  | stop adding docstrings to private functions
preference  | I want all error messages in English
convention  | From now on please answer in German
convention  | In this project we use tabs
convention  | For tests we use pytest
fact        | keep in mind the DB has a 30s statement timeout
convention  | Nutze bitte immer die Du-Form
decision    | Wir haben uns auf Postgres geeinigt
convention  | Bitte keine Emojis in Commits
fact        | Merk dir: Deployments nur dienstags
preference  | Prefiero tabs a espacios
convention  | siempre responde en español
convention  | No uses nunca var
decision    | Hemos decidido migrar a Kubernetes
preference  | Mi editor favorito es Emacs
convention  | Always write the tests before the implementation.
convention  | Please always respond in British English
convention  | never log personal data, not even in debug mode
convention  | We never store timestamps without a zone.
decision    | We decided to go with Terraform for all infrastructure.
decision    | we have agreed on trunk-based development
preference  | I prefer composition over inheritance
preference  | I don't like one-letter variable names
identity    | My name is Alex
location    | my time zone is America/New_York
preference  | my shell is zsh
fact        | Remember that production runs on ARM.
fact        | remember, that the customer ids are strings
fact        | FYI: the nightly job starts at 02:00 UTC
convention  | From now on, sign all commits.
convention  | No, use httpx instead of requests.
convention  | nope, put new migrations in db/migrations instead
convention  | Don't use any, use unknown.
convention  | We use Linear for tickets and Notion for docs.
convention  | We host everything in Frankfurt.
convention  | Antworte immer auf Deutsch
identity    | Ich heiße Alex
convention  | Wir nutzen Gitlab statt Github
decision    | Wir haben vereinbart, dass Reviews innerhalb eines Tages passieren.
fact        | Vergiss nicht, dass der Kunde nur Firefox benutzt.
convention  | Escribe siempre los comentarios en inglés
identity    | Trabajo como arquitecto de software
decision    | Decidimos usar gRPC entre servicios
fact        | recuerda que los precios van sin IVA
convention  | The team wants every endpoint to be documented.
fact        | Our staging server is called heron.
preference  | Short answers, please, in every session.
preference  | Named exports for all components — I don't like default exports.
preference  | When I work on web projects I always use bun, not npm.
convention  | Never swallow errors silently.
convention  | always squash commits when merging a PR
convention  | never add new dependencies without asking me
decision    | we've settled on Zod for validation everywhere
identity    | my email is dev@example.org
fact        | remember that the API gateway strips the Authorization header
convention  | Committe niemals Secrets
convention  | Utiliza siempre tipos explícitos
decision    | Hemos acordado no usar ORMs
"""
"""Kind and sentence, each worth a proposal. Some of them no rule finds, as for a few at the end."""

UNSAID = """
Can you always use pnpm?
Should we never push to main directly?
What if we decided to use Kafka?
Never mind, I found it.
Never seen such an error before.
Always a pleasure to work with you.
Always fails when the cache is cold.
The function always returns null.
It never finishes on my machine.
Always use this function for parsing.
Use that one instead.
Use a dict instead of a list.
No, use the other file instead.
No, that is not what I meant.
No, the second one.
No uses of the variable are left.
We use this class in three places.
We never had that problem.
We only have two days left.
We run into the same error again.
We keep getting timeouts.
We should use Kafka.
We could switch to Vitest.
We will probably decide tomorrow.
We release tomorrow.
I think we use Redis somewhere.
I prefer the second option.
I prefer that one.
I hate this bug.
I don't like it.
I don't like how it looks.
I use the debugger to find out.
My build is failing.
My question is why the test hangs.
My guess is a race condition.
My code is below.
My tests are red.
Remember when we tried Kafka?
Do you remember the name of the script?
Don't forget to run the tests.
Remember to close the file.
Note that the output is cut.
For now, always use the old endpoint.
Always use the mock server today.
Always run it twice.
Maybe we decided that already.
He said: always use tabs.
"Always use tabs" is what the linter says.
> Always use tabs.
# Always use tabs in this project
$ always use tabs
    Always use tabs for the indent.
Please fix the failing test in the parser.
Run the tests and tell me what fails.
Add a health check to the api.
Explain how the cache is invalidated.
Kannst du immer pnpm verwenden?
Immer noch derselbe Fehler.
Nie gesehen, so etwas.
Nimm das andere statt der Liste.
Wir nutzen diese Klasse an drei Stellen.
Mein Test ist rot.
Meine Frage ist, warum er hängt.
Ich glaube, wir verwenden Redis.
Ich mag das.
Siempre falla cuando la caché está fría.
Nunca he visto ese error.
¿Usamos Redis en la tienda?
Mi pregunta es por qué falla.
Por ahora usa siempre el servidor viejo.
Creo que usamos Redis.
Prefiero esa opción.
always returns 500 after the last deploy, can you look?
it always works locally
I never understood this part of the code
we decided nothing yet
we use the same hook twice, is that a bug
please always wait until I confirm before the next step here
remember the bug from yesterday? it's back
actually, forget it
no, I meant the other endpoint
no, put it back
I prefer not to answer
we deploy in ten minutes
my team is waiting for this
my manager is asking for an ETA
my terminal is frozen
my editor is crashing when I open the file
my database is empty
I work for an hour and then stop
we switched to the other branch
we chose the first option above
never gonna happen
always the same problem
from now on it fails every time
in future versions they removed the flag
I hate JavaScript sometimes lol
I don't want you to do anything yet
use yarn instead
fyi I pushed a fix
remember that test we wrote?
don't forget that it's Friday lol
wir verwenden gerade die falsche Version
Mein Rechner ist langsam
Meine Sprache ist vielleicht unklar
wir nutzen es noch nicht
siempre pasa lo mismo
mi equipo es lento
usamos la misma función dos veces aquí
nunca funciona
prefiero no hacerlo
Add a retry with exponential backoff to the client.
Why does the login page always redirect twice?
The cache never gets invalidated after an update.
I always get a timeout when I run the e2e suite
I never said that
We never see the error in staging
we always end up with a merge conflict
We only need the first column.
We use it in the header component
We decided to wait.
I prefer if you show me the diff first
I prefer this over what we had
I don't like the colour
I want every button blue on the settings page
my shell is giving me an error
My name is undefined in the output, why
my stack is overflowing
My role is to review this PR
Remember that function I mentioned
Remember that we talked about it
Keep in mind this is a draft
FYI build 4312 failed
From now on we only have the staging key, so rerun it
No, the tests should pass instead of being skipped
No, run it in the other terminal instead
use a set instead of a list for the lookup
Don't use the cache, use the database for this query
never run
Stop asking me for permission, just do it
stop using the old token, here's the new one
Let's use Kafka
We deploy the fix now
We release as soon as CI is green
In this function we use a global
for the demo we use fake data
Immer wenn ich speichere, bricht die Verbindung ab und wir verlieren Daten
Wir nutzen die Funktion zweimal
Ich nutze immer noch Version 2
nie wieder Javascript schreiben müssen
Siempre escribe mal el archivo
Usamos la variable equivocada
Prefiero que lo hagas tú
mi terminal es X y no responde
Implement pagination for the orders endpoint and add tests.
The build always breaks on CI but never locally.
why do we never close the connection
can we use Redis here
I always forget the flag for this
We use an array but it should be a set
I think I prefer the old layout
I'd prefer a shorter summary
We decided yesterday, see the ticket
we agreed on nothing
my os is updating
my language server is crashing
my browser is Chrome and it shows a blank page
remember what I told you about the parser
FYI the tests are still failing
from now on I'll handle the frontend
no, show me the diff instead
no, revert the change and try the first approach instead
never commit that file again
always check the logs when it crashes, did you?
don't use the old API, use the new one
I hate when the linter does that
Stop using mocks in this test
we host the meeting at 3pm
Die Tests laufen immer rot
Wir verwenden dafür einen Hack
Ich bevorzuge Variante B
nie den Fehler reproduzieren können
siempre sale el mismo error
Usamos esto en tres sitios
prefiero la segunda
Here is the plan: always use pnpm
Review this PR: we decided to remove the cache
I only want a quick answer
We only use it once
Write a README that says we use pnpm
Update the docs: "We deploy on Fridays"
Explain why we never retry
Never give up.
We used websites that helped us find a place.
We chose badly
We use tabs?
Can we agree that we use tabs
should be: never push directly
the docs say "always use https"
I'm based in reality, not hope
always start the server first, then run the script
"""

LEARNED = "Done.\n\n## Key learnings\n- The cache must be warm before the first request\n"


def labelled() -> list[tuple[str, str]]:
    rows = [line.split("|", 1) for line in SAID.strip().splitlines()]
    wanted = [(kind.strip(), said.strip()) for kind, said in rows]
    return wanted + [("", line) for line in UNSAID.strip("\n").splitlines()]


def test_what_is_proposed_is_meant_and_little_of_what_is_meant_is_missed(capsys: pytest.CaptureFixture[str]):
    rows = labelled()
    found = [(kind, said, statements("user", said)) for kind, said in rows]
    right = sum(1 for kind, _, made in found if kind and made)
    wrong = [said for kind, said, made in found if made and not kind]
    missed = [said for kind, said, made in found if kind and not made]
    precision, recall = right / (right + len(wrong)), right / (right + len(missed))
    with capsys.disabled():
        print(f"\nharvest by rules: {len(rows)} lines, precision {precision:.3f}, recall {recall:.3f}")

    assert len(rows) >= 60
    assert precision >= 0.98, wrong
    assert recall >= 0.9, missed


def test_each_statement_gets_the_kind_it_is_of():
    kinds = {said: kind for kind, said in labelled() if kind}
    other = {
        said: made[0].kind for said in kinds if (made := statements("user", said)) and made[0].kind != kinds[said]
    }

    assert other == {}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("please remember that the cache is cold at start.", "The cache is cold at start"),
        ("No. Use pnpm instead of npm.", "Use pnpm instead of npm"),
        ("- **Always** use `pnpm` for installs", "Always use pnpm for installs"),
        ("Ok, from now on, write tests first", "Write tests first"),
        ("We don\u2019t mind. Don\u2019t ever mock the clock.", "Don't ever mock the clock"),
        ("Fix the parser, e.g. the loop. Always sort imports by module.", "Always sort imports by module"),
    ],
)
def test_the_text_is_the_statement_without_what_leads_to_it(said: str, text: str):
    assert [one.text for one in statements("user", said)] == [text]


def test_the_excerpt_is_the_sentence_as_it_was_said():
    assert statements("user", "Ok! FYI, the old billing service is read-only.")[0].excerpt == (
        "FYI, the old billing service is read-only."
    )


def test_code_and_quotes_are_not_read():
    said = "Look:\n```md\nAlways use npm for installs.\n```\n> Always use yarn for installs.\n"

    assert statements("user", said) == []
    assert statements("user", "```\nAlways use npm for installs.") == []


def test_what_engram_put_there_is_not_read():
    assert statements("user", "<engram-memory>\nAlways use npm for installs.\n</engram-memory>\nThanks.") == []
    assert statements("user", "<engram-memory>\nAlways use npm for installs.") == []


def test_an_agent_is_believed_its_decisions_and_its_list_of_learnings_only():
    assert statements("assistant", "Always use pnpm for installs. My name is Claude.") == []
    assert [one.kind for one in statements("assistant", "We decided to use Kafka.")] == ["decision"]
    made = statements("assistant", LEARNED)
    assert [(one.text, one.kind) for one in made] == [
        ("The cache must be warm before the first request", "learning")
    ]


def test_what_a_person_pasted_is_not_taken_for_what_they_said():
    pasted = "Always use pnpm for installs.\n" + "x " * LONGEST_TALK

    assert statements("user", pasted) == []
    assert [one.text for one in statements("user", f"{LEARNED}\n\n## Log\n{pasted}")] == [
        "The cache must be warm before the first request"
    ]


def test_what_is_as_long_as_talk_may_be_is_talk_and_an_agent_may_say_more():
    said = "Always use pnpm for installs.\n"
    assert len(statements("user", said + "x" * (LONGEST_TALK - len(said)))) == 1
    assert statements("user", said + "x" * (LONGEST_TALK + 1 - len(said))) == []
    assert len(statements("assistant", "We decided to use Kafka.\n" + "x " * LONGEST_TALK)) == 1


def test_learnings_come_first_and_statements_in_the_order_in_which_they_were_said():
    said = f"Always use pnpm for installs. Never push to main on a Friday.\n{LEARNED}"

    assert [one.text for one in statements("user", said)] == [
        "The cache must be warm before the first request",
        "Always use pnpm for installs",
        "Never push to main on a Friday",
    ]


def test_how_sure_a_statement_is_depends_on_who_says_it_and_how():
    assert statements("user", "We decided to use Kafka.")[0].confidence == 0.8
    assert statements("assistant", "We decided to use Kafka.")[0].confidence == 0.6
    assert statements("user", "No. Use pnpm instead of npm.")[0].confidence == 0.7
    assert statements("user", "Use pnpm instead of npm.") == []


@pytest.mark.parametrize(
    "said",
    [
        "We decided to wait.",
        "We use it.",
        "Always use pnpm for this",
        "Always use pnpm for installs:",
        "Always use " + "very " * 80 + "long words",
        "Maybe we decided to use Kafka and Redis.",
    ],
)
def test_what_is_short_or_long_or_points_at_something_or_goes_on_is_not_proposed(said: str):
    assert statements("user", said) == []


def test_a_statement_of_just_enough_words_is_proposed():
    assert [one.text for one in statements("user", "Always use it. Always use uv!")] == ["Always use uv"]
    assert [one.text for one in statements("user", "We decided to use Kafka")] == ["We decided to use Kafka"]
    assert (len(statements("user", "Never use vi")), statements("user", "Never use x")) == (1, [])
    longest = "Always use " + "very " * 77 + "long"
    assert (len(longest), len(statements("user", longest)), statements("user", f"{longest}s")) == (400, 1, [])


def test_a_taste_is_a_taste_whatever_it_is_for():
    assert statements("user", "I prefer vegan restaurants for lunch.")[0].kind == "preference"
    assert statements("user", "I'm vegan and always hungry.")[0].kind == "health"


def test_a_quote_or_a_denial_does_not_end_the_reading():
    said = "> quoted\nNo. Use pnpm instead of npm. Always sort imports by module.\n# Heading\nNever mock the clock."

    assert [one.text for one in statements("user", said)] == [
        "Use pnpm instead of npm",
        "Always sort imports by module",
        "Never mock the clock",
    ]


def test_the_same_sentence_is_proposed_once_and_a_message_makes_only_so_many():
    assert len(statements("user", "Always use pnpm for installs. Always use pnpm for installs!")) == 1
    many = "\n".join(f"Always use tool number {count} for installs." for count in range(50))
    assert len(statements("user", many)) == MOST_A_TURN


def test_a_sentence_from_which_a_secret_was_taken_is_not_proposed():
    assert statements("user", "My email is [redacted:email] at work.") == []


@pytest.mark.parametrize(
    "text",
    [
        "short",
        "one two three"[:11],
        "/home/dev/code/acme-api",
        "~/code/größe/der/dinge",
        "Is it so or not?",
        "Is it so or not? ",
        "two longwords",
        "x" * 2000,
        "word " * 80 + "x",
        "The api key is [redacted:credential]",
    ],
)
def test_what_a_model_finds_must_be_a_sentence(text: str):
    assert not says_something(text)


def test_a_sentence_that_a_model_found_is_one():
    assert says_something("The api listens on port 8080.")
    assert says_something("Lint by ruff")
    assert says_something("word " * 79 + "words")
    assert says_something("データベースは毎週日曜日に消去されます")


BEGINNINGS = (
    "",
    "Always use ",
    "We decided to go with ",
    "My name is ",
    "Remember that it is ",
    "No, use ",
    "## Learnings\n- ",
)


@given(
    st.lists(st.tuples(st.sampled_from(BEGINNINGS), st.text(max_size=120))), st.sampled_from(["user", "assistant"])
)
def test_any_text_at_all_can_be_looked_at(said: list[tuple[str, str]], role: str):
    for one in statements(role, "\n".join(begins + goes_on for begins, goes_on in said)):
        assert one.text.strip()
        assert one.kind in KINDS
        assert 0 < len(one.excerpt) <= EXCERPT
        assert role == "user" or one.kind in ("decision", "learning")


@pytest.mark.parametrize(
    ("text", "kind", "everywhere"),
    [
        ("I prefer tabs over spaces", "preference", True),
        ("My name is Alex Rivera", "identity", True),
        ("I live in Lisbon", "location", True),
        ("I'm allergic to nuts", "health", True),
        ("Ich bevorzuge kurze Antworten", "preference", True),
        ("I prefer tabs in this repo", "preference", False),
        ("I prefer pytest for the backend", "preference", False),
        ("Ich bevorzuge Tabs im Projekt", "preference", False),
        ("Prefiero tabuladores en este proyecto", "preference", False),
        ("We deploy on Fridays", "convention", False),
        ("We decided to use uv", "decision", False),
    ],
)
def test_what_is_about_a_person_holds_everywhere_unless_it_names_a_place(text, kind, everywhere):
    assert holds_everywhere(text, kind) is everywhere
