"""The near end of the wire: port, session, clock, commands, and the link that holds them."""
