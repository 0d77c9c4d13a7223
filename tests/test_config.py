"""Settings: environment over the project's file over a person's own over defaults, each with its origin."""

from pathlib import Path

import pytest

from engram.config import SETTINGS, Settings, data_folder, mistaken, read, user_file
from engram.errors import Invalid
from engram.model.grants import Grants
from engram.rules.kinds import extended
from engram.wiring import open as open_memory


class Home:
    """A home with a project in it, where files can be put."""

    def __init__(self, root: Path) -> None:
        self.path = root / "home"
        self.project = self.path / "code" / "api"
        (self.project / "src").mkdir(parents=True)
        self.variables = {"HOME": str(self.path)}

    @property
    def own(self) -> Path:
        return Path(user_file(self.variables))

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, folder: Path | None = None, **variables: str) -> Settings:
        return read({**self.variables, **variables}, folder or self.project)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_without_files_everything_is_default(home: Home):
    settings = home.read()

    assert {name: value.origin for name, value in settings.values.items()} == {
        setting.name: "default" for setting in SETTINGS
    }
    assert settings.get("autopromote") is True
    assert settings.get("budget") == 1500
    assert settings.get("store") == ""


def test_a_persons_own_file_goes_before_defaults(home: Home):
    path = home.write(home.own, 'budget = 900\nagent = "bot"\nstore = "/mem/x.db"\n')
    settings = home.read()

    assert (settings.get("budget"), settings.origin("budget")) == (900, str(path))
    assert settings.get("agent") == "bot"
    assert settings.get("store") == "/mem/x.db"
    assert settings.origin("autopromote") == "default"


def test_a_projects_file_goes_before_a_persons_own(home: Home):
    home.write(home.own, "budget = 900\nreview_all = true\n")
    path = home.write(home.project / "engram.toml", "budget = 700\n")
    settings = home.read()

    assert (settings.get("budget"), settings.origin("budget")) == (700, str(path))
    assert settings.get("review_all") is True


def test_the_environment_goes_before_every_file(home: Home):
    home.write(home.own, "budget = 900\n")
    home.write(home.project / "engram.toml", "budget = 700\n")
    settings = home.read(ENGRAM_BUDGET="500")

    assert (settings.get("budget"), settings.origin("budget")) == (500, "ENGRAM_BUDGET")


def test_an_empty_variable_says_nothing(home: Home):
    home.write(home.own, "budget = 900\n")

    assert home.read(ENGRAM_BUDGET="").get("budget") == 900


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_has_a_variable_a_sentence_and_a_value(setting):
    assert setting.variable == f"ENGRAM_{setting.name.upper()}"
    assert setting.about.endswith(".")


def test_a_projects_file_is_found_from_below(home: Home):
    home.write(home.project / "engram.toml", "budget = 700\n")

    assert home.read(home.project / "src").get("budget") == 700


def test_the_nearest_projects_file_counts(home: Home):
    home.write(home.project / "engram.toml", "budget = 700\n")
    home.write(home.project / "src" / "engram.toml", "budget = 600\n")

    assert home.read(home.project / "src").get("budget") == 600


def test_a_file_above_the_repository_is_not_the_projects(home: Home):
    (home.project / ".git").mkdir()
    home.write(home.project.parent / "engram.toml", "budget = 700\n")

    assert home.read().get("budget") == 1500


def test_a_file_in_the_home_folder_is_no_projects_file(home: Home):
    home.write(home.path / "engram.toml", "budget = 700\n")

    assert home.read().get("budget") == 1500
    assert home.read(home.path).get("budget") == 1500


@pytest.mark.parametrize(
    "line",
    [
        *('store = "/evil.db"', 'store_dir = "/evil"', 'agent = "x"', "network_store = true"),
        *('embedder = "endpoint"', 'embedder_url = "https://evil.example/v1"', 'embedder_model = "m"'),
        *("embedder_dim = 4", 'embedder_query = "q: "', 'embedder_document = "d: "'),
    ],
)
def test_a_projects_file_may_not_set_what_is_a_persons_own(home: Home, line: str):
    path = home.write(home.project / "engram.toml", f"{line}\n")

    with pytest.raises(Invalid) as refused:
        home.read()
    assert str(path) in refused.value.message
    assert line.partition(" ")[0] in refused.value.message
    assert "your own engram.toml" in refused.value.hint


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("colour", "See `engram config`."),
        ("autopromot", "Did you mean autopromote? See `engram config`."),
        ("oidc-issuer", "Did you mean oidc_issuer? See `engram config`."),
    ],
)
def test_an_unknown_setting_is_named_beside_the_one_that_was_probably_meant(home: Home, said: str, hint: str):
    path = home.write(home.own, f'{said} = "red"\n')

    with pytest.raises(Invalid, match=f"unknown setting '{said}'") as refused:
        home.read()
    assert str(path) in refused.value.message
    assert refused.value.hint == hint


@pytest.mark.parametrize(
    "line",
    ['budget = "many"', "budget = 1.5", "budget = true", "autopromote = 1", 'autopromote = "off"', "store = 3"],
)
def test_a_setting_of_the_wrong_type_is_refused(home: Home, line: str):
    home.write(home.own, f"{line}\n")

    with pytest.raises(Invalid, match=line.partition(" ")[0]) as refused:
        home.read()
    wanted = "Give true or false." if line.startswith("autopromote") else "Give something like"
    assert wanted in refused.value.hint


@pytest.mark.parametrize("text", ["budget = ", "= 3", "[kinds", "budget = 1\nbudget = 2"])
def test_broken_toml_names_the_file(home: Home, text: str):
    path = home.write(home.own, text)

    with pytest.raises(Invalid) as refused:
        home.read()
    assert refused.value.message.startswith(f"{path} cannot be read")
    assert refused.value.hint


def test_a_file_that_is_not_utf_8_names_the_file(home: Home):
    home.write(home.own, "")
    home.own.write_bytes(b'agent = "caf\xe9"\n')

    with pytest.raises(Invalid, match="cannot be read"):
        home.read()


@pytest.mark.parametrize(
    ("word", "meaning"), [("off", False), ("0", False), ("No", False), ("ON", True), ("1", True)]
)
def test_autopromote_is_switched_by_the_environment(home: Home, word: str, meaning: bool):
    settings = home.read(ENGRAM_AUTOPROMOTE=word)

    assert settings.values["autopromote"] == (meaning, "ENGRAM_AUTOPROMOTE")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("AUTOPROMOTE", "perhaps"),
        ("BUDGET", "-1"),
        ("BUDGET", "x"),
        ("BUDGET", "٣"),
        ("KINDS", "[]"),
        ("GRANTS", "project:api"),
    ],
)
def test_a_variable_that_makes_no_sense_is_named(home: Home, name: str, text: str):
    with pytest.raises(Invalid, match=f"ENGRAM_{name}"):
        home.read(**{f"ENGRAM_{name}": text})


@pytest.mark.parametrize(("name", "part"), [("GRANTS", '"writer": ["ada@example.org"]'), ("KINDS", '"tier": 1')])
def test_a_table_that_makes_no_sense_is_answered_with_a_whole_one_that_does(home: Home, name: str, part: str):
    with pytest.raises(Invalid) as refused:
        home.read(**{f"ENGRAM_{name}": "{nothing"})
    example = refused.value.hint.partition("Give a table in JSON: ")[2]
    assert part in example
    read = home.read(**{f"ENGRAM_{name}": example}).get(name.lower())
    assert Grants.read(read).places if name == "GRANTS" else extended(read)["runbook"]


def test_without_autopromote_what_would_go_live_waits(home: Home):
    with open_memory(
        "ram:", environment={**home.variables, "ENGRAM_AUTOPROMOTE": "off"}, folder=home.path
    ) as memory:
        assert memory.remember("We deploy on Fridays", kind="convention").outcome == "held"


def test_with_review_all_everything_waits_and_says_why(home: Home):
    with open_memory("ram:", environment={**home.variables, "ENGRAM_REVIEW_ALL": "on"}, folder=home.path) as memory:
        assert memory.remember("We deploy on Fridays").memory.held_for == "review_all"


@pytest.mark.parametrize("name", ["mem", "mem.d"])
def test_a_new_store_folder_becomes_plain_files(home: Home, name: str):
    home.write(home.own, f'store_dir = "{home.path}/{name}"\n')

    with open_memory(environment=home.variables, folder=home.path) as memory:
        memory.remember("We deploy on Fridays")
        assert memory.store == f"files:{home.path}/{name}"
    assert "We deploy on Fridays" in (home.path / name / "memory.md").read_text()


def test_a_store_folder_with_our_database_in_it_stands_for_that(home: Home):
    open_memory(f"{home.path}/mem/engram.db", environment=home.variables, folder=home.path).close()
    home.write(home.own, f'store_dir = "{home.path}/mem"\n')

    with open_memory(environment=home.variables, folder=home.path) as memory:
        assert memory.store == f"{home.path}/mem/engram.db"


def test_an_empty_store_folder_is_none_and_not_the_folder_one_stands_in(home: Home):
    home.write(home.own, 'store_dir = ""\n')

    assert home.read().get("store") == ""


def test_a_store_folder_of_plain_files_is_opened_as_one(home: Home):
    open_memory(f"files:{home.path}/mem", environment=home.variables, folder=home.path).close()
    home.write(home.own, f'store_dir = "{home.path}/mem"\n')

    with open_memory(environment=home.variables, folder=home.path) as memory:
        assert memory.store == f"files:{home.path}/mem"


def test_a_table_in_a_variable_is_json():
    told = read({"ENGRAM_GRANTS": '{"project:api": {"writer": ["ada"]}}', "ENGRAM_KINDS": ""}, "/")
    assert told.get("grants") == {"project:api": {"writer": ["ada"]}}
    assert told.get("kinds") == {}


def test_rows_of_kinds_extend_the_table(home: Home):
    rows = '[kinds.recipe]\ntier = 3\ndecay = "2y"\nabout = "How we cook."\n\n[kinds.decision]\ndecay = "1y"\n'
    home.write(home.own, rows)
    with open_memory("ram:", environment=home.variables, folder=home.path) as memory:
        table = {row.name: row for row in memory.kinds().kinds}

        assert tuple(table["recipe"]) == ("recipe", 3, "2y", "always", "How we cook.")
        assert table["decision"].decay == "1y"
        assert table["decision"].tier == 1
        assert memory.remember("Soup needs salt", kind="recipe").outcome == "held"


@pytest.mark.parametrize(
    "row",
    [
        "[kinds.recipe]\ntier = 4",
        '[kinds.recipe]\ndecay = "5q"',
        '[kinds.recipe]\nrecall = "never"',
        "[kinds.recipe]\ncolour = 1",
        '[kinds."Two Words"]\ntier = 1',
    ],
)
def test_a_row_of_kinds_that_makes_no_sense_is_refused(home: Home, row: str):
    home.write(home.own, f"{row}\n")

    with pytest.raises(Invalid):
        open_memory("ram:", environment=home.variables, folder=home.path)


@pytest.mark.parametrize("row", ["kinds = {recipe = 1}", '[kinds.recipe]\ntier = "3"'])
def test_a_row_of_kinds_of_the_wrong_type_is_refused(home: Home, row: str):
    home.write(home.own, f"{row}\n")

    with pytest.raises(Invalid):
        open_memory("ram:", environment=home.variables, folder=home.path)


def test_folders_follow_the_desktop_convention():
    assert Path(user_file({"HOME": "/h", "XDG_CONFIG_HOME": "/c"})) == Path("/c/engram/engram.toml")
    assert Path(data_folder({"HOME": "/h", "XDG_DATA_HOME": "/d"})) == Path("/d/engram")
    assert Path(user_file({"HOME": "/h"})) == Path("/h/.config/engram/engram.toml")
    assert Path(data_folder({"HOME": "/h"})) == Path("/h/.local/share/engram")


def test_a_relative_folder_is_no_folder_of_that_convention():
    assert Path(data_folder({"HOME": "/h", "XDG_DATA_HOME": "data"})) == Path("/h/.local/share/engram")


@pytest.mark.parametrize("row", ["review_all = false", "autopromote = true", 'project = "github.com/acme/secret"'])
def test_a_project_may_ask_for_more_review_but_not_for_less(home: Home, row: str):
    folder = home.path / "project"
    folder.mkdir()
    home.write(folder / "engram.toml", f"{row}\n")
    with pytest.raises(Invalid, match="only"):
        open_memory("ram:", environment=home.variables, folder=folder)


def test_a_persons_own_file_chooses_the_embedder_and_the_environment_overrules_it(home: Home):
    home.write(home.own, 'embedder = "endpoint"\nembedder_url = "https://host/v1"\nembedder_dim = 768\n')
    settings = home.read(ENGRAM_EMBEDDER="none", ENGRAM_EMBEDDER_DIM="256")

    assert settings.values["embedder"] == ("none", "ENGRAM_EMBEDDER")
    assert settings.get("embedder_url") == "https://host/v1"
    assert settings.get("embedder_dim") == 256


def test_the_endpoints_key_is_no_setting_so_that_no_file_and_no_answer_holds_it(home: Home):
    assert "embedder_key" not in {setting.name for setting in SETTINGS}
    home.write(home.own, 'embedder_key = "secret"\n')
    with pytest.raises(Invalid, match="unknown setting 'embedder_key'"):
        home.read()


def test_a_switch_that_is_none_is_told_its_two_words(tmp_path):
    with pytest.raises(Invalid, match="ENGRAM_AUTOPROMOTE cannot be 'maybe'") as refused:
        read({"ENGRAM_AUTOPROMOTE": "maybe"}, str(tmp_path))
    assert refused.value.hint == "Give on or off."


def test_a_variable_that_is_nearly_a_setting_is_asked_about_and_a_key_is_none():
    given = {"ENGRAM_STROE": "x", "ENGRAM_STORE": "y", "ENGRAM_EMBEDDER_KEY": "z", "ENGRAM_HOME_BREW": "w"}

    assert mistaken(given) == {"ENGRAM_STROE": "ENGRAM_STORE"}
