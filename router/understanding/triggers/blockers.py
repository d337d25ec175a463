"""What keeps a flow from starting although its words are there.

Someone who asks how leave works, what became of a claim, or wants it called off uses the same
words as someone who wants to begin. These guards hold for every flow; what is peculiar to one
flow stands in its file under `unless`. A guard may have an excuse: `能帮我请个假吗` is a
question in form only.

A flow file may switch one off by its name: `triggers: {without: [question]}`.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from router.entities.grammar import compiled
from router.flow.definition import GuardName


@dataclass(frozen=True)
class Blocker:
    """One reason not to start a flow, as expressions for what gives it.

    `name` is what flow files call it, `reason` says what the message does. `zh` is searched as
    it is, `en` between word boundaries; `excuse` finds what makes the guard not count. `before`
    gives the reason for any flow, where it ends directly before the words that were found.
    """

    name: GuardName
    reason: str
    zh: str
    en: str = ""
    excuse: str = ""
    before: str = ""

    def stops(self, text: str) -> bool:
        """True where the normalised text gives this reason, and no excuse."""
        if self._sign.search(text) is None:
            return False
        return not self.excuse or self._excuse.search(text) is None

    def stops_after(self, text: str) -> bool:
        """True where a normalised text, after which a flow's words were found, gives the reason."""
        return bool(self.before) and self._before.search(text) is not None

    @cached_property
    def _before(self) -> Any:
        return compiled(f"(?:{self.before})$")

    @cached_property
    def _sign(self) -> Any:
        return compiled(rf"{self.zh}|\b(?:{self.en})\b" if self.en else self.zh)

    @cached_property
    def _excuse(self) -> Any:
        return compiled(self.excuse)


# Asking for something politely takes the form of a question.
_POLITE = (
    "(?:能|可以|可否|能否|能不能|可不可以|方便)(?:请|麻烦)?[你您]?(?:[帮替给][我忙]?|批我)"
    "|^[你您]?好?,?(?:可以|能)?(?:帮我|麻烦|请帮)"
    "|能?让我请|[帮替给]我(?:们)?(?:请|申请|报|提|送|办|走|开|填|弄)|(?:可以|行|好|成"
    "|ok)[吗么不][?!. ]*$|(?:批准|批)(?:一下)?[吗吧]?[?]?$"
    r"|\b(?:(?:can|could|would|will) (?:you|u)|(?:can|could|may|might) i|please|pls|plz|would like"
    "|would it be (?:ok|okay|alright|fine|possible)|any chance|(?:do you|would you) mind"
    "|(?:reimburse|refund) me|(?:it|them|this|in) for me"
    r"|can we get my)\b"
)

_ASKS_HOW_OR_WHAT = Blocker(
    "how-or-what",
    "asks how or what",
    excuse=r"\bwhich i (?:bought|paid|spent)\b",
    zh="怎么|怎样|如何|咋|为什么|为啥|为何|什么|啥|哪|谁|多少|多久|多长|何时|几时|是否|有没有"
    "|是不是|会不会|要不要|需不需要|该不该"
    "|(?:提前|最多|最少|至少|最长|能|可以|有|剩|还)[^,]{0,4}几[天个次]"
    r"|(?:^|[,.?! ])(?:how|what|where|why|who|whose|which)(?:'s|'re|'d)?\b|^when\b",
    en=r"(?:know|tell me|wonder|wondering|ask|asking|understand|explain|sure|show me|learn|check"
    r"|see)(?: \S+){0,2} (?:how|what|when|where|why|who|which|if|whether|about)"
    "|when (?:is|was|will|do|does|did|can|should|are)|how (?:to|do|does|long|many|much)",
)

_ASKS = Blocker(
    "question",
    "asks a question",
    zh=r"[?]|(?:吗|么|呢|嘛|没|没有|与否)[?!.~ ]*$",
    excuse=_POLITE,
)

_ASKS_YES_OR_NO = Blocker(
    "whether",
    "asks whether",
    zh="(?:能不能|可不可以|能否|可否)(?:[^帮替给麻批]|$)"
    "|(?:试用期|实习|合同工|外包|新员工|新人|兼职)[^,]{0,6}(?:能|可以|有)"
    r"|^(?:so |and |hi,? |hello,? |hey,? )?"
    r"(?:is|are|was|were|does|did|has|have|had|should|am"
    r"|do (?:i|we|you|they|people|employees|interns|managers|contractors|the|all|my|any))\b"
    r"|^(?:will|would|shall|might) i\b"
    r"|^(?:can|could|may) (?:we|he|she|they|people|employees|an|interns|one)\b",
)

_ASKS_FOR_RULES = Blocker(
    "rules",
    "asks about the rules",
    zh="制度|规定|规章|政策|标准|规则|条件|资格|要求|须知|说明|指南|手册|攻略|注意事项|上限|限额"
    "|额度"
    "|比例|期限|时限|类型|种类|区别|差别|权利|待遇|法律|劳动法|规范",
    en="polic(?:y|ies)|rules?|procedures?|guidelines?|guide|requirements?|eligib[a-z]*"
    "|entitle[a-z]*|allowed|allowance|difference|explain|information|info|faq|handbook|limits?"
    "|rates?|deadline|documentation|manual|regulations?|my rights|rights|labou?r laws?|by law"
    "|the law|(?:types?|kinds?) of",
    excuse="(?:按|根据|符合|按照)[^,]{0,6}(?:制度|规定|政策|标准|要求)"
    r"|\b(?:from|use|using|off) (?:my |the )?(?:[a-z]+ ){0,2}(?:allowance|entitlement)\b",
)

_ASKS_FOR_PROCEDURE = Blocker(
    "procedure",
    "asks about the procedure",
    zh="流程|步骤|手续|材料|入口|渠道|方式|方法|教程",
    excuse="(?:发起|启动|走|跑|开始|开个?|提交?|办理?|来|新建|创建)[^,]{0,8}(?:流程|手续)"
    "(?:[^怎如是有]|$)",
)

_ASKS_HOW_IT_STANDS = Blocker(
    "status",
    "asks how it stands",
    zh="批了|批没|批下|没批|被批|批准了|通过了|审批|审核|进度|进展|状态|状况|情况|结果|到哪一?步"
    "|到账"
    "|打款|还没(?:到|批|通过|收到|下来|给)|剩余|剩下?|余额|余下|还有(?:几|多少)|记录|历史|明细|查询"
    "|查(?:一下|下|看|查|我)|看看|看一下|看下|统计|汇总|催|驳回|拒绝|退回|待我?[审批]|[要需]我?审",
    en="status|progress|approv[a-z]+|reject[a-z]*|declin[a-z]+|denied|pending|balance|remaining"
    "|history|records? of|(?:my|the|leave|vacation|claims?) records?|so far|processed"
    "|(?:been|was|is|be) paid|get paid(?: for)?|paid (?:out|yet)"
    "|updates? (?:about|on|for)|track|check(?:ing)? (?:on|if|whether|my|the|status|it|that)"
    "|(?:gone|went|go|come|came) through|how many|left"
    "|accrued?|summary|overview|list (?:of|all|my|the)|show (?:me|my|all|the)|view|see my|look up"
    "|outstanding|submitted",
    excuse="[用休请][掉完]?剩下?的|\\bapproved by\\b|\\bfor (?:your |my |his |her |the "
    "|manager'?s? )?approval\\b"
    r"|\b(?:like|want|wanna|need|can i|could i)(?: to)? (?:be|get) paid back\b",
)

_CHANGES = Blocker(
    "change",
    "takes it back or changes it",
    zh="取消|撤销|撤回|撤掉|(?:帮我|给我|申请|单子?|假)撤了|作废|收回|销假|续假|算了|放弃|修改"
    "|更改|变更|更正|更新|编辑|调整"
    "|改一下|改下|改到|改成|改期|延长|推迟|删除|删掉|删了|终止|停止|补充",
    en="cancel[a-z]*|withdraw[a-z]*|revok[a-z]*|delet[a-z]*|undo|retract[a-z]*|take back"
    "|(?:chang(?:e|es|ed|ing)|mov(?:e|ing)) (?:my|the|it|that|this|start|end|from|leave|a|dates?)"
    "|modif[a-z]+|edit[a-z]*|amend[a-z]*|updat[a-z]+|extend[a-z]*|reschedul[a-z]*"
    "|postpon[a-z]*|resubmit[a-z]*|never ?mind|forg[eo]t[a-z]*|remove|shorten|call off|scrap"
    "|correct",
)

_WANTED = (
    "(?:apply|applying|take|taking|request|requesting|book|booking|submit|submitting|file|filing"
    "|claim|claiming|reimburse|reimbursed|expense|expenses|leave|vacation|pto|time off|days? off"
    "|start)"
)

_SAYS_NO = Blocker(
    "negation",
    "says no to it",
    zh="(?:不|别|没|没有|无需|无须|不必|甭|莫|勿|未|从不|从没|从来不)"
    "(?:想|要|打算|准备|需要|能|用|必|再|会|该|应该|敢|愿意?|给我|帮我){0,3}"
    "(?:请|休|报|申请|提交|发起|办理)",
    en="(?:don'?t|do not|didn'?t|did not|won'?t|will not|wouldn'?t|not|never|no longer|no need to"
    "|needn'?t|without|can'?t|cannot|haven'?t|isn'?t|shouldn'?t|stop)"
    "(?: (?:really|actually|currently|going|want|wanting|need|needing|plan|planning|intend|have"
    f"|be|been|to|even|yet|any|a|an|my|the|for)){{0,5}} {_WANTED}"
    "|no (?:leave|vacation|pto|time off|expenses?|reimbursements?|claims?)",
    excuse="不得不|要不|好不好|能不能|可不可以",
    before="(?:^|[^能可会要好得用])(?:不|别|没|甭|莫|勿|无需|无须|不必|从不)(?:想|要|打算|准备"
    "|需要|用|必|再"
    "|会|该|应该|愿意?|说|让|给我|帮我|去|着急|急着){0,3}"
    r"|\b(?:don'?t|do not|didn'?t|did not|won'?t|will not|wouldn'?t|not|never|no longer|no need"
    r"|needn'?t|without|can'?t|cannot|haven'?t|shouldn'?t)(?: (?:really"
    "|actually|currently|want|need|like|think|going|plan|have|be|been|get|book|take|request|to|an?"
    r"|the|any|some|my|for|that|another)){0,6} |\bno ",
)

_HAS_HAPPENED = Blocker(
    "past",
    "tells what has happened",
    zh="已经?(?:请|休|报|提交|申请|交(?:[^接]|$)|批)|(?:请|休|报|报销|提交|申请|填|交)过"
    "|(?:请|休|报销|提交|申请|填)了(?:[^一]|$)|请完|(?:已经?|刚|都)休完|休完了|报完"
    "|(?:昨天|前天|上个?(?:周|月|礼拜|星期).?|去年|那天)我?[请休].?假(?:去|在|陪|回|看|了|被)"
    "|^我?(?:昨天|前天|上周.?|刚才?|刚刚)[^,.]{1,10}了[!.~]*$"
    "|提交?(?:了)?[一两三四五六七八九十几\\d]+天了"
    "|(?:刚才?|之前|上次|以前|曾经?|去年)[^,]{0,4}(?:请|休|报|提交|申请)",
    en="already|(?:i|we)(?:'ve| have) (?:just |been |recently )*(?:taken|submitted|applied"
    "|requested|booked|filed|claimed|used|sent|put)|i (?:was|did|took|applied|submitted|filed"
    "|requested|claimed)"
    f"|i (?:used|got|had) (?:[a-z]+ ){{0,3}}{_WANTED}|last time|previously|(?:back"
    "|returned) from (?:my |a |the )?(?:[a-z]+ )?(?:leave|vacation|holiday|pto)"
    "|(?:after|during) my (?:leave|vacation|holiday)|on (?:my )?(?:leave|vacation|pto|holiday"
    "|sick leave)",
    excuse="to (?:go|be) on |把[^,]{0,20}报销了|请了吧|垫付?了|付了|花了"
    "|(?:想|要|打算|准备|[帮替给]我|麻烦|把)[^,.]{0,14}[请休报]了",
    before="(?:已经|上次)(?:我|我们)?|\\balready(?: [a-z]+ed)? ",
)

_TRANSLATES = Blocker(
    "translation",
    "asks for a translation or a meaning",
    zh="翻译(?:[^服费]|$)|润色|校对|改写|译成|译为|英文|英语|日语|法语|德语|拼音|意思|定义|含义"
    "|造句|[同反近]义词"
    "|读音|发音",
    en="translate|proofread|rephrase|translat[a-z]+ (?:of|for|into|to|this|the)|in (?:english"
    "|chinese|french|german"
    "|japanese|spanish)|mean(?:s|ing)?"
    "|defin(?:e|ition)[a-z]*|spell[a-z]*|pronounc[a-z]*|synonyms?|the (?:word|phrase|term)"
    "|stands? for|abbreviation",
)

_WANTS_A_TEXT = Blocker(
    "text",
    "asks for a text",
    zh="模板|模版|范文|范本|范例|样本|样例|样板|例文|例子|示例|格式|邮件|短信|文案|文章|作文|海报"
    "|公告"
    "|通知|新闻|报道|小说|诗|笑话|故事|代码|程序|开发|设计|链接|网址|下载"
    "|打印(?:[^费纸机墨耗店 \\d]|$)|导出|假条"
    "|写[一个封份篇张段好]|[想编找]一?个[^,]{0,4}(?:理由|借口)",
    en="templates?|samples? (?:of|for|letter|form|request|text|[a-z]+ (?:letter|form|request))"
    "|(?:a|some) samples?|examples?|draft|write|writing|wrote|letters?|e-?mails?|wording"
    "|essays?|stor(?:y|ies)|poems?|jokes?|articles?|announcements?|downloads?|print|links?|url"
    "|charts?|screenshots?|scripts?|code|songs?|movies?|books? about|presentations?"
    "|slides?|excuse",
)

_SURNAME = "王李张刘陈杨赵黄周吴"
_SOMEONE = (
    "(?:他们?|她们?|谁|有人|别人|大家|人家|同事们?|老板|领导|经理|主管|总监|上司|老师|员工|新人"
    "|下属"
    f"|组员|组长|小[{_SURNAME}明红]|老[{_SURNAME}]|[{_SURNAME}](?:总|经理|工|姐|哥|某)"
    "|[王李张刘陈杨赵黄吴][三四五])"
)
_DOES = (
    "(?:也|又|都|还|天天|每天|老是|动不动|刚才?|已经?|要|想|正在|经常|总是?|常常?|老|说|可以|能|会"
    "|是|在|的"
    "|[今明昨后前]天|[上下这本]周.?)"
)
_COLLEAGUE = (
    "(?:colleague|co-?worker|boss|manager|team ?mate|team|friend|employee|report|staff|intern"
    "|assistant)s?"
)
_SPEAKS_OF_OTHERS = Blocker(
    "others",
    "speaks of someone else",
    zh=f"{_SOMEONE}{_DOES}{{0,4}}(?:请|休|报|申请|提交)"
    f"|[帮替给为代](?:{_SOMEONE}[^,.]{{0,6}}[请休报申提办走]|我(?:老婆|老公|妈|爸|朋友|同事|领导"
    "|老板|下属|儿子|女儿))"
    f"|{_SOMEONE}[^,]{{0,4}}没来|[两三几]个?人请假|我(?:爸|妈|老婆|老公|媳妇|女朋友|男朋友|儿子"
    f"|女儿|室友)[^,.]{{0,6}}[请休]"
    f".?假|[^我这那次天周月日号后前年半时长的]的(?:请假|休假|调休|年假|病假|事假|报销)申请"
    f"|{_SOMEONE}的(?:请假|报销|休假|年假|病假|假|申请)",
    en="(?:he|she|they|someone|somebody|anyone|anybody|everyone|everybody|people|employees?"
    f"|(?:my|our|the|a) {_COLLEAGUE})(?:'s|'re|'d|'ll)?"
    "(?: (?:is|are|was|were|has|have|had|will|wants?|wanted|needs?|needed|would|can|could|just"
    "|also|already|to|be|been|on|like|for|going|asked|an?|all|who|that)){0,5} "
    f"(?:{_WANTED}|applied|applies|took|takes|requested|booked|submitted|filed|claimed)"
    f"|for (?:him|them|someone|somebody|(?:my|the) (?:{_COLLEAGUE}|wife|husband))"
    "(?: *$|[.!?,]| (?:to|from|on|next|this|tomorrow|today))"
    "|(?:his|their|her|[a-z]+'s) (?:(?:annual|sick) )?(?:leave|vacation|pto|expenses?|claims?"
    "|reimbursements?|time off|days? off|expense (?:report|claim))",
    excuse=r"\b(?:day|week|hour|month|year|today|tomorrow|friday|monday|tuesday|wednesday"
    "|thursday)'s"
    f"|[跟向和找同请]{_SOMEONE}(?:说|申请|请|报备|批)|^(?:i|we) ",
    before=f"(?:^|[^跟向和找同请]){_SOMEONE}{_DOES}{{0,4}}"
    rf"|\b(?:he|she|they|someone|somebody|everyone|everybody|(?:my|our|the) {_COLLEAGUE})"
    "(?: (?:also|just|really|still|already|would|will|is|are|has|wants?|wanted|needs?|needed"
    "|asked|likes?|like|going|to|for|an?|the|some|have|get|book|take)){1,6} ",
)

_NAMES_SOMEONE = Blocker(
    "named-person",
    "names someone else",
    zh="^[a-z]+ (?:wants|needs|asked|plans|has|is going|would like) to "
    r"(?:apply|take|request|submit|book|claim|file)\b"
    r"|^(?:please )?(?:ask|tell|let|have|help) [a-z]+ to\b"
    r"|^[a-z]+ (?:is|was) (?:taking|having|requesting|applying|booking|claiming|submitting)\b",
    excuse="^i |help me to",
    before="^[a-hj-z][a-z]* (?:wants|needs|asked|plans|would like)(?: (?:to|for|an?|the|some|have"
    "|get|book|take))* |^(?:please )?(?:tell|ask|remind) [a-z]+ (?:that )?(?:i"
    "|we)(?: [a-z]+){1,3} ",
)

_REFERS = Blocker(
    "reference",
    "refers to a request that is there",
    zh="我的(?:请假|休假|报销|病假|年假|事假|申请|假条|单子|报销单)(?:单|申请)?"
    "(?:[^,。!. 一二三0-9]|$)"
    "|那[个张份笔](?:请假|报销|申请)|[这那][次回](?:请假|报销)的",
    excuse="(?:提交|发起|办理|申请|处理|走|填|用|休|请|报销?)(?:一?下)?掉?我的",
)

_SOFTWARE = "(?:系统|软件|页面|按钮|功能|网站|模块|小程序)"
_EN_SOFTWARE = (
    "(?:software|system|apps?|page|button|feature|website|tool|dashboard|portal|data|chart"
    "|training|course|meeting)"
)
_TALKS_ABOUT = Blocker(
    "topic",
    "talks about it",
    zh="知道|了解|关于|聊聊|聊一聊|介绍|解释|告诉我|讲讲|讲解|讨论|咨询|请问|想问|问一下|问下|来问"
    "|打听|问问"
    "|建议|觉得|认为|听说|据说|假装|提醒|假设|如果|要是|万一|假如|讨厌|喜欢|羡慕"
    f"|(?:请假|休假|假期|报销|考勤)(?:的|单)?{_SOFTWARE}|{_SOFTWARE}[^,.]{{0,8}}(?:不|没|登|崩|卡"
    "|显示)"
    "|每次[^,.]{0,4}(?:请假|报销)|(?:请假|报销)(?:真|特|太|好|很|都)(?:麻烦|难|慢|烦|得)"
    "|打不开|登不上|进不去|转圈|报错|登录",
    en="(?:like|want|need|love) to (?:know|learn|see|find out|understand)|tell me|number of"
    "|about (?:the|my|our|your|a|an|it|that|this|how|what|when|where|why|who|which|if|taking"
    "|claiming"
    "|[a-z]* ?(?:leave|vacation|pto|time off|expenses?|reimbursements?|claims?))|discuss|regarding"
    "|thoughts?|opinion|advice|recommend|suggest[a-z]*|think|believe"
    "|hear[d]?|remind[a-z]*|pretend[a-z]*|supposed|hypothetical[a-z]*|suppose|what if|if|imagine"
    f"|(?:leave|vacation|pto|time off|expenses?|claims?|reimbursements?) {_EN_SOFTWARE}"
    f"|{_EN_SOFTWARE} (?:is|isn'?t|does|doesn'?t|won'?t|has|keeps?|says?|throws?|shows?"
    "|crash[a-z]*)"
    "|(?:can'?t|cannot|unable to) (?:open|find|see|access|log)|(?:does|do) not (?:load|open|work)"
    "|doesn'?t (?:load|open|work)|not working|error|bug|broken|login|statistics|report on"
    "|existing|attachments? to|hate|annoying|tired of",
    excuse="请问(?:可以|能|可否|能否|能不能)[帮替给]|if i (?:was|were|took|take|could)\\b"
    "|if (?:possible|that'?s (?:ok|okay|fine|alright))",
)

GUARDS = (
    _ASKS_HOW_OR_WHAT,
    _ASKS,
    _ASKS_YES_OR_NO,
    _ASKS_FOR_RULES,
    _ASKS_FOR_PROCEDURE,
    _ASKS_HOW_IT_STANDS,
    _CHANGES,
    _SAYS_NO,
    _HAS_HAPPENED,
    _TRANSLATES,
    _WANTS_A_TEXT,
    _SPEAKS_OF_OTHERS,
    _NAMES_SOMEONE,
    _REFERS,
    _TALKS_ABOUT,
)

_QUOTED = compiled('[“"「『《][^”"」』》]{0,60}[”"」』》]')

QUOTATION = Blocker("quotation", "quotes the words", zh="")
"""What blocks a pattern that stands within quotation marks; nothing to search a message for."""


def blockers_against(text: str) -> list[Blocker]:
    """Every guard that a normalised text runs into, the first to be told first."""
    return [guard for guard in GUARDS if guard.stops(text)]


def blockers_before(text: str) -> list[Blocker]:
    """Every guard that a normalised text runs into where a flow's words were found after it."""
    return [guard for guard in GUARDS if guard.stops_after(text)]


def holding(guards: Collection[Blocker], without: Collection[GuardName]) -> str | None:
    """The reason of the first guard that holds for a flow `without` some; None where none does."""
    return next((guard.reason for guard in guards if guard.name not in without), None)


def quotations(text: str) -> list[tuple[int, int]]:
    """Where the normalised text stands in quotation marks, half-open."""
    return [match.span() for match in _QUOTED.finditer(text)]
