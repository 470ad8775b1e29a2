"""The paper's claims as tests, and the measurements behind them."""
