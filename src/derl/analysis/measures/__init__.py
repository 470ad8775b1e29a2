"""What results say in numbers: scores, intervals, curves, frames of many runs."""
