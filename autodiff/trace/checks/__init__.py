"""What is refused or warned of so that no derivative is lost: classes, conversions, comparisons."""
