"""Chat platforms: one that no longer takes the bot's token."""

from functools import partial

from tests.drills.desk import DAYS, PEOPLE, Desk, Stopwatch, drill
from tests.fakes.slack import Slack, buttons


@drill("A chat platform no longer takes the bot")
async def revoked_token(desk: Desk, watch: Stopwatch) -> None:
    """Slack's token is revoked while requests go on; bob learns of each later, once."""
    accounts = "manager: carol, accounts: {slack: UBOB}"
    desk.people.write_text(
        PEOPLE.replace(
            "name: Bob, locale: en, manager: carol", f"name: Bob, locale: en, {accounts}"
        )
    )
    async with Slack() as slack:
        desk.extra |= {
            "ROUTER_SLACK_BOT_TOKEN": slack.token,
            "ROUTER_SLACK_SIGNING_SECRET": slack.secret,
            "ROUTER_SLACK_URL": f"{slack.origin}/api",
        }
        api, _ = await desk.opened()
        alice, frank, bob = (desk.person(user) for user in ("alice", "frank", "bob"))
        before, told = await alice.balance(), await frank.hands_in()
        await slack.posted("Frank")
        watch.breaks()
        slack.token = "xoxb-of-another-installation"
        run = await alice.hands_in()

        async def is_silent() -> bool:
            return await api.metric("router_unposted_age_seconds") > 0

        async def is_logged() -> bool:
            return "set ROUTER_SLACK_BOT_TOKEN" in api.said

        await watch.noticed("log", is_logged)
        await watch.noticed("alert RouterChatSilent", is_silent)
        await watch.noticed("doctor", partial(desk.doctor, "to be posted on slack"))
        since = watch.mending()
        await api.stopped()
        desk.extra["ROUTER_SLACK_BOT_TOKEN"] = slack.token
        await desk.api()
        await desk.ready()

        async def is_posted() -> bool:
            return any("Alice" in post["text"] and buttons(post) for post in slack.posts)

        await watch.right(since, "another ROUTER_SLACK_BOT_TOKEN", is_posted)
        cards = [post for post in slack.posts if buttons(post)]
        assert len(cards) == len({told, run})
        assert (await bob.decides(run)).status_code == 200
        assert await alice.sees(run, "completed")
        assert await alice.balance() == before - DAYS
