"""One elastic link: from its cross-section to shapes and integrals."""
