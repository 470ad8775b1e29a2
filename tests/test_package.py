"""What is installed is all there is: nothing of the package may look like something to be left out."""

from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "derl"


def left_out(path: Path, patterns: list[str]) -> bool:
    """Whether a pattern of .gitignore, which hatchling obeys as well, names a file or one of its folders."""
    parts = path.relative_to(ROOT).parts
    return any(fnmatchcase(part, pattern.rstrip("/")) for part in parts for pattern in patterns)


def test_no_module_is_left_out_of_a_wheel():
    lines = (ROOT / ".gitignore").read_text().split()
    anywhere = [line for line in lines if not line.startswith("/")]
    modules = [path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts]
    assert len(modules) > 100
    assert [path for path in modules if left_out(path, anywhere)] == []
    assert left_out(PACKAGE / "analysis" / "runs" / "result.py", ["runs/"])


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []
