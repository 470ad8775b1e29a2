"""The lowest room: data types, networks, running statistics and errors that every other room shares."""
