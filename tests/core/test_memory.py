"""How much memory there is, as the system says."""

from derl.core.memory import memory_bytes


def test_the_limit_of_a_container_counts(tmp_path):
    """Both versions of control groups, limits of the groups round one's own included."""
    (tmp_path / "proc/self").mkdir(parents=True)
    whole = memory_bytes(tmp_path)
    assert whole is not None
    for lines, file in (("0::/a/b", "a/memory.max"), ("7:cpu,memory:/a\n0::/", "memory/a/memory.limit_in_bytes")):
        (tmp_path / "proc/self/cgroup").write_text(lines)
        limit = tmp_path / "sys/fs/cgroup" / file
        limit.parent.mkdir(parents=True)
        limit.write_text("123456\n")
        assert memory_bytes(tmp_path) == 123456
        limit.write_text("max\n")
        assert memory_bytes(tmp_path) == whole
