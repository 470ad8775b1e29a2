"""Folders of pages: whose they are, and which files in them are derl's."""

from analysis.made_up import frame_of, together, variants_of
from derl.analysis.measures.frames import Results
from derl.analysis.pages.beyond import beyond_page, outline
from derl.analysis.pages.figures import figures
from derl.analysis.pages.folder import is_own_name, own_files, remove_stale
from derl.analysis.pages.reproduction import write_pages
from derl.experiments.paper import cells


def test_everything_that_is_written_has_a_name_of_derls(tmp_path):
    pages = write_pages(frame_of({cell.case: [[0.5]] for cell in cells()}), tmp_path, evaluations=1)
    assert len(pages) > 25
    assert all(is_own_name(path.relative_to(tmp_path).as_posix()) for path in pages)
    pairs = [(0.0, 0.0), (1e-6, 0.1), (12.5, 1e-4)]
    results = Results(together(variants_of("Hallway-20-20", pairs=pairs), variants_of("DeepSea-10")))
    names = [name for name, _, _ in figures(results)]
    assert "kl-hallway-20-20-explorer-1e-06-exploiter-0_1" in names
    assert all(is_own_name(f"figures/{name}.{ending}") for name in names for ending in ("png", "pdf"))
    assert all(is_own_name(f"{name}.png") for section in outline() for name in section.figures)


def test_other_names_are_not_derls():
    for name in (
        "notes.md",
        "curves-all.png",
        "figures/curves-all.svg",
        "figures/curves-mine.png",
        "figures/kl-mine.png",
        "figures/mean-returns.md",
        "figures/deep/curves-all.png",
        "kl-deepsea-10.png",
        "README",
        ".png",
        "figures/.png",
    ):
        assert not is_own_name(name), name


def test_only_a_folder_of_derls_has_files_of_derls(tmp_path):
    (tmp_path / "report.html").write_text("mine")
    assert own_files(tmp_path) == own_files(tmp_path / "nowhere") == set()
    (tmp_path / "README.md").write_text("# Mine\n")
    assert own_files(tmp_path) == set()
    (tmp_path / "README.md").write_text(beyond_page({}))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "curves-all.png").write_text("mine")
    (tmp_path / "figures").symlink_to(tmp_path / "elsewhere")
    before = own_files(tmp_path)
    assert {path.name for path in before} == {"README.md", "report.html"}
    assert remove_stale(before, [tmp_path / "README.md"]) == [tmp_path / "report.html"]
    assert {path.name for path in tmp_path.iterdir()} == {"README.md", "elsewhere", "figures"}
