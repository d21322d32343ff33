"""Programs made simpler and shorter."""
