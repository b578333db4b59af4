"""From logs of an arm to the numbers of its model, and how far they may be off."""
