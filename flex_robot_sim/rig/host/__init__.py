"""Host side of the protocol: port, session, clock, commands, and the link that combines them."""
