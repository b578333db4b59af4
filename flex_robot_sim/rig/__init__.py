"""The bench: wire, port, board, and what stands in for them where there is none."""
