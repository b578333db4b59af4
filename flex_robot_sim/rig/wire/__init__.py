"""Protocol shared by board and host: vocabulary, layouts, frames; all that firmware needs."""
