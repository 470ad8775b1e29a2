"""What training gives back, and what it shows of its behaviour."""
