"""`intent-router worker` that puts a conversation away after seconds, and not after a day.

News come days later to conversations that were put away long before: so they do here.
"""

from datetime import timedelta

from router.cli import main
from workflows import conversation

IDLE = timedelta(seconds=6)

if __name__ == "__main__":
    conversation.IDLE = IDLE
    main()
