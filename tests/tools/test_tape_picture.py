"""The drawing of a tape that the documentation shows is what `explain` draws now."""

from tools.tape_picture import PICTURE, drawing


def test_the_picture_is_up_to_date():
    assert PICTURE.read_text("utf-8") == drawing(), "run python -m tools.tape_picture"
