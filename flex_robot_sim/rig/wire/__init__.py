"""What board and host agree on: vocabulary, layouts, protocol, frames; enough to write a board."""
