"""A made-up report and a browser, for all tests that need them."""

import pytest

from analysis.chromium import Browser
from analysis.report.reading import CASES, CLAIMS, EVALUATIONS
from analysis.synthetic import made_up
from derl.analysis.report import Facts, write_report


@pytest.fixture(scope="package")
def frame():
    return made_up(CASES, seeds=3, evaluations=EVALUATIONS)


@pytest.fixture(scope="package")
def page(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    facts = Facts(version="1.2.3", finished="1 May", seconds=10, machine="two cores")
    return write_report(frame, path, facts=facts, claims=CLAIMS, evaluations=EVALUATIONS)


@pytest.fixture(scope="package")
def started(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def browser(started, page):
    started.open(page)
    yield started
    assert started.problems() == []
    assert started.requests() == [page.resolve().as_uri()]
