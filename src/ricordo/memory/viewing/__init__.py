"""Views outside the ledger: kept equal to it, checked against it, built anew beside it."""
