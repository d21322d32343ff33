"""The one place that holds the version; both distributions read it from here."""

__version__ = "0.1.0"
