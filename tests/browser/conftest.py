"""A browser without a window, and pages opened in it; skipped where there is none."""

import shutil
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """The browser of the system, with a profile of its own."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no browser is installed; install Debian's chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"),
            executable_path=program,
            args=FLAGS,
            headless=True,
        )
        yield context
        context.close()


class Opened:
    """A page in the browser, with everything that it said and asked for."""

    def __init__(self, browser, path):
        self.messages, self.requests = [], []
        self.page = browser.new_page()
        self.page.on("console", lambda message: self.messages.append(message.text))
        self.page.on("pageerror", lambda error: self.messages.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.add_init_script(
            "window.violations = [];"
            "addEventListener('securitypolicyviolation',"
            "(event) => violations.push(event.violatedDirective));"
        )
        self.address = Path(path).as_uri()
        self.page.goto(self.address)

    def check(self):
        """Nothing was said, nothing was asked for, and the policy was kept."""
        assert self.messages == []
        assert [url for url in self.requests if not url.startswith("data:image/png")] == [
            self.address
        ]
        assert self.page.evaluate("violations") == []


@pytest.fixture
def opened(browser):
    """Function that opens a file; what it says is checked at the end."""
    pages = []

    def open_page(path):
        pages.append(Opened(browser, path))
        return pages[-1]

    yield open_page
    for each in pages:
        each.check()
        each.page.close()
