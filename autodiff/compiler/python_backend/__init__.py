"""The backend that generates Python source."""
