"""Code whose source is not to be had."""
