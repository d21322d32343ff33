"""Programs that raise each error of the packages; see `tools.errors.entries`."""
