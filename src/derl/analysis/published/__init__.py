"""The paper's published numbers beside ours: verdicts, and reasons for differences."""
