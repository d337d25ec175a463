"""What a flow can do: its writes, who approves them, and who may start it, for whoever reviews it.

These are the first lines of a review. A flow with one more state that pays is otherwise easy to
take for a flow with one more state.
"""

from collections.abc import Collection, Iterator

from router.domain.locale import Locale, Localised
from router.domain.principals import EVERYONE
from router.domain.visible_text import inline, quoted
from router.extensions.authoring.difference import NO_NAMES, TitlesByName
from router.flow.definition import Approve, FlowDefinition, State
from router.flow.validation.approvals import Ways


def _words(zh: str, en: str) -> Localised:
    return Localised(zh=zh, en=en)


_CALLS = _words("{0}：调用会改动数据的工具 {1}{2}。", "{0} calls {1}, which writes{2}.")
_UNDOES = _words("{0}：撤回时调用 {1}。", "{0} calls {1} when it is taken back.")
_STARTS = _words("{0}：发起流程 {1}{2}。", "{0} starts the flow {1}{2}.")
_WITH = _words("，参数 {}", ", with {}")
_APPROVED_BY = _words("此前的审批人：{}。", "Approved before it by: {}.")
_NOBODY = _words("没有人", "nobody")
_SOMETIMES = _words("{}；有的路上没有人审批", "{}; on some ways by nobody")
_OTHERWISE = _words("{0}（找不到时：{1}）", "{0} (if there is none: {1})")
_STARTERS = _words("可以发起的人：{}。", "It may be started by: {}.")
_ALL = _words("所有人", "everyone")
_ROLES = _words("角色 {} 的人", "whoever holds the role {}")
_NO_WRITES = _words("它不调用会改动数据的工具。", "It calls no tool that writes.")
_NEW = _words("新增：{}", "New: {}")
_GONE = _words("不再：{}", "No longer: {}")


def describe_effects(
    before: FlowDefinition | None,
    after: FlowDefinition,
    reads: Collection[str],
    locale: Locale,
    names: TitlesByName = NO_NAMES,
) -> list[str]:
    """Return a sentence for each write, with its approvers, and one for who may start the flow.

    Args:
        before: The version that is in use; None if there is none. Sentences that aren't true of it
            are marked as new, and those that were true of it alone are listed as gone.
        after: The version under review.
        reads: The tools that are known to change nothing. All others count as writing.
        locale: The reader's language.
        names: What the expressions for approvers are called.
    """
    now = _Effects(after, reads, locale, names).sentences()
    if before is None:
        return now
    then = _Effects(before, reads, locale, names).sentences()
    shown = [each if each in then else _NEW.within(locale).format(each) for each in now]
    return shown + [_GONE.within(locale).format(each) for each in then if each not in now]


class _Effects:
    """The sentences about one version."""

    def __init__(
        self, flow: FlowDefinition, reads: Collection[str], locale: Locale, names: TitlesByName
    ) -> None:
        self._flow = flow
        self._reads = reads
        self._locale = locale
        self._names = names
        self._ways = Ways.through(flow)

    def sentences(self) -> list[str]:
        each = self._flow.states.items()
        writes = [said for name, state in each for said in self._of_state(name, state)]
        return [*(writes or [_NO_WRITES.within(self._locale)]), self._starters()]

    def _of_state(self, name: str, state: State) -> Iterator[str]:
        called = quoted(state.name.within(self._locale) if state.name else name)
        tool, undo = state.tools.get("call"), state.tools.get("undo")
        if tool is not None and tool not in self._reads:
            yield self._with_approvers(_CALLS, name, state, called, tool)
        if undo is not None and undo not in self._reads:
            yield _UNDOES.within(self._locale).format(called, undo)
        if state.starts is not None:
            yield self._with_approvers(_STARTS, name, state, called, state.starts)

    def _with_approvers(
        self, words: Localised, name: str, state: State, called: str, target: str
    ) -> str:
        given = "; ".join(f"{key} = {inline(source)}" for key, source in state.gives.items())
        arguments = _WITH.within(self._locale).format(given) if given else ""
        said = words.within(self._locale).format(called, target, arguments)
        approvers = _APPROVED_BY.within(self._locale).format(self._approvers(name))
        return f"{said} {approvers}" if self._locale == "en" else f"{said}{approvers}"

    def _approvers(self, name: str) -> str:
        states = self._flow.states
        asks = [states[each].asks for each in self._ways.approvals_before(name)]
        people = dict.fromkeys(self._people(ask) for ask in asks if ask is not None)
        if not people:
            return _NOBODY.within(self._locale)
        listed = self._comma.join(people)
        standing = self._ways.standings.get(name)
        if standing is not None and standing.approved:
            return listed
        return _SOMETIMES.within(self._locale).format(listed)

    def _people(self, ask: Approve) -> str:
        people = self._comma.join(map(self._called, ask.by))
        if ask.otherwise is None:
            return people
        return _OTHERWISE.within(self._locale).format(people, self._called(ask.otherwise))

    def _called(self, source: str) -> str:
        named = self._names.get(source)
        return named.within(self._locale) if named else quoted(source)

    def _starters(self) -> str:
        roles = self._flow.triggers.roles
        if not roles or EVERYONE in roles:
            who = _ALL.within(self._locale)
        else:
            who = _ROLES.within(self._locale).format(self._comma.join(sorted(roles)))
        return _STARTERS.within(self._locale).format(who)

    @property
    def _comma(self) -> str:
        return "、" if self._locale == "zh" else ", "
