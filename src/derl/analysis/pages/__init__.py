"""Pages and tables for people to read, as Markdown and in terminals."""
