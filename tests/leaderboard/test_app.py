"""The pages in a real browser, on the sample: every view, its address, and what a reader does there."""

from __future__ import annotations

import ast
import html
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gradio")
pytest.importorskip("playwright")

import httpx
import polars as pl
from playwright.sync_api import expect

from kcbench.leaderboard.filters import Filters
from kcbench.leaderboard.store import Store
from tests.leaderboard.serving import Watched, browsing, needs_browser, serving

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), needs_browser]

VIEWS = {
    "/": "Which kernels hold?",
    "/gap": "The rigor gap",
    "/gates": "What breaks",
    "/submissions": "Submissions",
    "/tasks": "Tasks",
    "/compare": "Compare",
    "/speed": "Speed, of those that hold",
    "/submit": "Submit results",
    "/about": "About",
}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(cache=tmp_path_factory.mktemp("cache")) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with browsing() as running:
        yield running


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The same sample, asked directly."""
    return Store.open(None, tmp_path_factory.mktemp("store"))


@pytest.fixture
def window(browser: Any, url: str) -> Iterator[Watched]:
    opened = Watched(browser, url)
    yield opened
    opened.close()


def refused(store: Store) -> dict[str, Any]:
    """A submission of the sample that PRC-02 refuses."""
    return store.submissions(Filters(), gate="PRC-02", outcome="refused").rows.to_dicts()[0]


def test_every_view_is_reached_and_says_what_it_means(window: Watched) -> None:
    window.go("/")
    page = window.page
    for path, title in VIEWS.items():
        if path != "/":
            window.shown(page.locator(f'nav[aria-label="Views"] a[href^="{path}"]').last.click)
        assert page.url == window.url + path
        assert page.locator("h1").inner_text() == title
        assert page.title() == f"{title} · kcbench leaderboard"
        assert page.locator('nav[aria-label="Views"] [aria-current="page"]').get_attribute("href") == path
        assert len(page.locator(".meaning").inner_text()) > 40
        fresh = page.locator(".fresh").inner_text()
        assert "newest run 2026-" in fresh and "looked at " in fresh
    page.go_back()
    expect(page.locator("h1")).to_have_text("Submit results")


def test_addresses_hold_filters_order_and_columns(window: Watched, store: Store) -> None:
    page = window.page
    window.go("/")
    best = store.board(Filters())["author"].to_list()
    assert window.rows() == best
    page.locator("#f-levels > summary").click()
    window.shown(page.locator('#f-levels input[value="1"]').check)
    assert page.url == f"{window.url}/?levels=1"
    assert page.locator("#f-levels > summary").inner_text() == "Level: 1"
    assert page.locator("#f-levels").get_attribute("open") is not None  # More can be chosen without opening it again.
    of_level = store.board(Filters(levels=("1",)))
    assert page.locator(".tile >> nth=0").inner_text().split("\n")[1] == str(store.gap(Filters(levels=("1",))).gap.table.total)
    page.keyboard.press("Escape")

    window.shown(page.locator("#sort-kernels").click)
    assert page.locator("th[aria-sort]").inner_text() == "Kernels"
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "descending"
    assert window.rows() == of_level.sort("kernels", descending=True)["author"].to_list()
    window.shown(page.locator("#sort-kernels").click)
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"

    page.locator("#columns-menu > summary").click()
    window.shown(page.locator("#col-tiers").check)
    address = page.url
    assert "Sandbox" in page.locator("thead").inner_text()

    window.go(address.removeprefix(window.url))  # The same from the address alone.
    assert page.locator("th[aria-sort]").get_attribute("aria-sort") == "ascending"
    assert "Sandbox" in page.locator("thead").inner_text()
    assert page.locator('#f-levels input[value="1"]').is_checked()
    window.shown(page.locator('nav[aria-label="Views"] a', has_text="Rigor gap").click)
    assert page.url == f"{window.url}/gap?levels=1"  # Other views keep the filters.

    window.shown(lambda: page.locator("#f-search").fill("softmax"))
    assert page.url == f"{window.url}/gap?search=softmax&levels=1"
    window.shown(lambda: page.locator("#f-search").fill("no kernel has this name"))
    assert page.locator(".none h2").inner_text() == "Nothing matches these filters"
    window.shown(page.locator("#f-clear").click)
    assert page.url == f"{window.url}/gap"
    page.go_back()
    expect(page.locator("#f-search")).to_have_value("no kernel has this name")


def test_the_gap_with_and_without_a_gate(window: Watched, store: Store) -> None:
    window.go("/gap")
    whole = store.gap(Filters()).gap.rate
    assert f"{whole.k} of {whole.n}" in window.page.locator(".lead").inner_text()
    window.shown(window.page.locator('a[aria-label="Set CMP-03 aside"]').click)
    assert window.page.url == f"{window.url}/gap?without=CMP-03"
    less = store.gap(Filters(without=("CMP-03",))).gap.rate
    assert less.k < whole.k
    assert f"{less.k} of {less.n}" in window.page.locator(".lead").inner_text()
    for name in ("table-kernelbench-v0", "gates", "codes"):  # Pictures have a text alternative.
        assert window.page.locator(f"#{name}-desc").text_content()


def test_from_a_gate_to_the_script_that_shows_a_refusal(browser: Any, url: str, store: Store) -> None:
    window = Watched(browser, url, permissions=["clipboard-read", "clipboard-write"], accept_downloads=True)
    page = window.page
    window.go("/gates")
    cell = page.locator('a[aria-label^="PRC-02 refuses"] >> nth=0')
    expected = int(re.match(r"PRC-02 refuses (\d+)", cell.get_attribute("aria-label")).group(1))  # type: ignore[union-attr]
    window.shown(cell.click)
    assert page.locator("h1").inner_text() == "Submissions that PRC-02 refuses"
    assert len(window.rows()) == expected
    name = window.rows()[0]
    window.shown(page.locator("main tbody th a >> nth=0").click)
    # What was shown may have been this page again, with the newest results.
    expect(page.locator("h1")).to_have_text(name)
    detail = store.submission(refused(store)["run"], name)
    assert detail is not None
    assert detail.scripts

    finding = page.locator("article.finding", has_text="PRC-02.accumulator")
    assert "sums" in finding.inner_text().lower() or "accumul" in finding.inner_text().lower()
    finding.locator("details > summary").click()
    script = finding.locator("pre").inner_text()
    assert {"torch"} <= {item.names[0].name for item in ast.parse(script).body if isinstance(item, ast.Import)}
    assert "import kcbench" not in script
    finding.get_by_text("Copy script").click()
    expect(finding.locator("button", has_text="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()").strip() == detail.scripts["PRC-02.accumulator"].strip()
    with page.expect_download() as started:
        finding.get_by_text("Download").click()
    assert Path(started.value.path()).read_text() == detail.scripts["PRC-02.accumulator"]
    assert started.value.suggested_filename.endswith("PRC-02.accumulator.py")
    assert f"kcbench repro RUN {name} PRC-02.accumulator" in finding.inner_text()
    assert page.locator("#source-text").inner_text().strip() == detail.source.strip()
    assert page.locator("#source-text .k").count() > 3  # Keywords are marked.

    window.shown(page.locator("#what-title a").click)
    assert page.url == f"{url}/task?authors={detail.author}&id={detail.task.replace('/', '%2F')}"
    text = page.locator("main").inner_text()
    assert "Formula" in text and "What a kernel owes" in text and "Who passes" in text and "float64 reference" in text
    window.close()


def test_downloads_are_the_board(window: Watched, store: Store) -> None:
    window.go("/?levels=1")
    board = store.board(Filters(levels=("1",)))
    with window.page.expect_download() as started:
        window.page.get_by_role("link", name="Parquet").click()
    assert pl.read_parquet(started.value.path()).equals(board)
    with window.page.expect_download() as started:
        window.page.get_by_role("link", name="CSV").click()
    csv = pl.read_csv(io.BytesIO(Path(started.value.path()).read_bytes()))
    assert csv["author"].to_list() == board["author"].to_list()
    assert csv["clean"].to_list() == board["clean"].to_list()


def test_two_authors_are_compared(window: Watched, store: Store) -> None:
    first, second = store.choices().authors[:2]
    window.go("/compare")
    window.shown(lambda: window.page.locator("#a-authors").select_option(first))
    window.shown(lambda: window.page.locator("#b-authors").select_option(second))
    assert window.page.url == f"{window.url}/compare?a.authors={first}&b.authors={second}"
    heads = window.page.locator("main table >> nth=0").locator("thead th").all_inner_texts()
    assert heads == ["Figure", first, second]
    found = store.compare(Filters(authors=(first,)), Filters(authors=(second,)))
    cells = window.page.locator("main table >> nth=0").locator("tbody tr >> nth=0").locator("td").all_inner_texts()
    assert cells == [str(found.first.kernels), str(found.second.kernels)]


def test_with_the_keyboard_alone(window: Watched) -> None:
    page = window.page
    window.go("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the figures"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "view"

    page.locator("#f-search").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.parentElement.id") == "f-levels"
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"  # One sees where one is.
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    window.shown(lambda: page.keyboard.press("Space"))
    assert page.url.endswith("/?levels=1")
    assert page.evaluate("document.activeElement.id") == "f-levels-1"
    page.keyboard.press("Escape")
    assert page.locator("#f-levels").get_attribute("open") is None
    assert page.evaluate("document.activeElement.parentElement.id") == "f-levels"
    assert "author" in page.locator("#said").text_content()  # What changed is said.

    page.locator("#sort-gap").focus()
    window.shown(lambda: page.keyboard.press("Enter"))
    assert page.evaluate("document.activeElement.id") == "sort-gap"
    page.keyboard.press("Tab")
    page.locator("main tbody th a >> nth=0").focus()
    window.shown(lambda: page.keyboard.press("Enter"))
    assert page.locator("h1").inner_text() == "Submissions"
    assert page.evaluate("document.activeElement.id") == "view"


@pytest.mark.parametrize(("focused", "name"), [("#f-levels > summary", "f-levels"), ("#f-search", "f-search")])
def test_new_results_leave_the_focus_where_it_is(window: Watched, focused: str, name: str) -> None:
    window.go("/")
    window.page.locator(focused).focus()
    window.shown(
        lambda: window.page.evaluate(
            "document.body.dataset.revision = 'old'; document.dispatchEvent(new Event('visibilitychange'))"
        )
    )
    here = "document.activeElement.id || document.activeElement.parentElement.id"
    assert window.page.evaluate(here) == name
    assert window.page.evaluate("document.body.dataset.revision") != "old"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_and_nothing_overflows(browser: Any, url: str, store: Store, width: int, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    window = Watched(browser, url, color_scheme=scheme)
    page = window.page
    page.set_viewport_size({"width": width, "height": 844})
    row = refused(store)
    for path in (*VIEWS, "/task?id=level1/softmax", f"/submission?run={row['run']}&id={row['submission']}", "/gap?search=zzz"):
        window.go(path)
        bad = [item for item in Axe().run(page).response["violations"] if item["impact"] in ("serious", "critical")]
        assert [(path, item["id"], item["nodes"][0]["html"][:120]) for item in bad] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == (scheme == "dark")
    window.close()


def test_the_page_needs_no_script_and_loads_nothing_from_elsewhere(browser: Any, url: str) -> None:
    window = Watched(browser, url, java_script_enabled=False)
    answer = window.go("/")
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self'" in policy and "unsafe" not in policy
    window.page.locator("#f-levels > summary").click()
    window.page.locator('#f-levels input[value="2"]').check()
    window.page.locator('#f-levels input[value="4"]').check()
    window.page.locator("#filters button[type=submit]").click()
    assert "levels=2&levels=4" in window.page.url
    assert window.page.locator("#f-levels > summary").inner_text() == "Level: 2, 4"
    window.close()


def test_what_is_not_there(window: Watched) -> None:
    for path in ("/nothing", "/submission?run=0&id=x", "/task?id=../../etc/passwd", "/board.exe", "/static/0/x"):
        answer = window.go(path)
        assert answer.status == 404
        assert "Traceback" not in window.page.content()
        assert window.page.locator("h1").inner_text().startswith(("There is no", "No such"))
    assert window.go("/?levels=%00%ff&sort=;drop&offset=-3&cols=x&legacy=no").status == 200
    window.wrong.clear()  # The browser's own lines about status 404.


def test_programs_ask_through_gradio(url: str, store: Store) -> None:
    from gradio_client import Client

    shown = re.search(r'<pre class="block" id="programs">(.*?)</pre>', httpx.get(f"{url}/about").text, re.DOTALL)
    assert shown is not None and f'Client("{url}/").predict("levels=1", api_name="/board")' in html.unescape(shown[1])
    client = Client(url, verbose=False, httpx_kwargs={"timeout": 120})
    rows = client.predict("levels=1", api_name="/board")
    assert [row["author"] for row in rows] == store.board(Filters(levels=("1",)))["author"].to_list()
    assert client.predict("", api_name="/gap")["table"]["accepted_refused"] == store.gap(Filters()).gap.table.accepted_refused
    found = client.predict("gate=PRC-02", api_name="/submissions")
    assert found["total"] == store.submissions(Filters(), gate="PRC-02").total
