"""Files that can be imported, each read into the same items."""
