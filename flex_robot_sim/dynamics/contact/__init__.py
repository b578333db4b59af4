"""Contact of links with the ground, obstacles and other links."""
