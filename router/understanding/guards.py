"""What keeps a flow from starting although its words are there.

Someone who asks how leave works, what became of a claim, or wants it called off uses the same
words as someone who wants to begin. These guards hold for every flow; what is peculiar to one
flow stands in its file under `unless`.

A guard may have an excuse: `能帮我请个假吗` is a question in form only.
"""

from dataclasses import dataclass, field
from typing import Any

from router.understanding.grammar import compiled

_ZH_PEOPLE = (
    "他们?|她们?|谁|有人|别人|大家|人家|同事们?|老板|领导|经理|主管|总监|上司|老师|员工|新人|下属|组员|组长"
    "|小[王李张刘陈杨赵黄周吴明红]|老[王李张刘陈杨赵黄周吴]|[王李张刘陈杨赵黄周吴](?:总|经理|工|姐|哥|某|三|四|五)"
)
_ZH_ADVERBS = "(?:也|又|都|还|刚才?|已经?|要|想|正在|经常|总是?|常常?|老|说|可以|能|会|是|在|为什么|今天|明天|昨天|后天|前天|[上下这本]周.?|的)"
_EN_PEOPLE = (
    "he|she|they|someone|somebody|anyone|anybody|everyone|everybody|people|employees?"
    "|(?:my|our|the|a) (?:colleagues?|co-?workers?|boss|manager|team ?mates?|team|friends?|employees?|reports?|staff|intern|assistant)"
)
_EN_REQUESTED = (
    "(?:apply|applying|take|taking|request|requesting|book|booking|submit|submitting|file|filing"
    "|claim|claiming|reimburse|reimbursed|expense|leave|vacation|pto|time off|days? off|expenses|start)"
)


@dataclass(frozen=True)
class Guard:
    """One reason not to start a flow. `excuse` finds what makes the guard not count."""

    name: str
    source: str
    excuse: str = ""
    _pattern: Any = field(init=False, repr=False)
    _excuse: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_pattern", compiled(self.source))
        object.__setattr__(self, "_excuse", compiled(self.excuse) if self.excuse else None)

    def stops(self, text: str) -> bool:
        """True where the normalised text gives this reason, and no excuse."""
        if self._pattern.search(text) is None:
            return False
        return self._excuse is None or self._excuse.search(text) is None


# Asking for it politely takes the form of a question, in both languages.
_POLITE = (
    "(?:能|可以|可否|能否|能不能|可不可以|可不可|方便)(?:请|麻烦)?(?:你|您)?(?:帮|替|给)(?:我|忙)"
    "|^(?:你|您)?好?,?(?:可以|能)?(?:帮我|麻烦|请帮)"
    r"|\b(?:can|could|would|will) you\b|\b(?:can|could|may|might) i\b|\bplease\b|\bwould like\b"
    "|(?:可以|行|好|成|ok)(?:吗|么|不)[?!. ]*$|(?:批准|批)(?:一下)?(?:吗|吧)?[?]?$"
)

GUARDS = (
    Guard(
        "asks how or what",
        "怎么|怎样|如何|咋|为什么|为啥|为何|什么|啥|哪|谁|多少|多久|多长|何时|几时|是否|有没有|是不是|会不会|要不要|需不需要|该不该"
        "|(?:^|[,.?! ])(?:how|what|where|why|who|whose|which)(?:'s|'re|'d)?\\b"
        r"|\b(?:know|tell me|wonder|wondering|ask|asking|understand|explain|sure|show me|learn|check|see)(?: \S+){0,2} (?:how|what|when|where|why|who|which|if|whether|about)\b"
        r"|^when\b|\bwhen (?:is|was|will|do|does|did|can|should|are)\b|\bhow (?:to|do|does|long|many|much)\b",
    ),
    Guard(
        "asks a question",
        r"[?]|(?:吗|么|呢|嘛|没|没有|与否)[?!.~ ]*$",
        excuse=_POLITE,
    ),
    Guard(
        "asks a yes-or-no question",
        r"^(?:so |and |hi,? |hello,? |hey,? )?(?:is|are|was|were|do|does|did|has|have|had|should|am)\b"
        r"|(?:能不能|可不可以|能否|可否)(?:[^帮替给麻]|$)|^(?:can|could|may) (?:we|he|she|they|people|employees|an|interns|one)\b"
        "|(?:试用期|实习|合同工|外包|新员工|新人|兼职)[^,]{0,6}(?:能|可以|有)",
    ),
    Guard(
        "asks about the rules",
        "制度|规定|规章|政策|标准|规则|条件|资格|要求|须知|说明|指南|手册|攻略|注意事项|上限|限额|额度|比例|期限|时限|类型|种类|区别|差别|权利|待遇|法律|劳动法|规范"
        r"|\b(?:polic(?:y|ies)|rules?|procedures?|guidelines?|guide|requirements?|eligib\w*|entitle\w*|allowed|allowance|difference|explain|information|info|faq|handbook|limits?|rates?|deadline|documentation|manual|regulations?|rights?|laws?|types? of|kinds? of)\b",
        excuse="(?:按|根据|符合|按照)[^,]{0,6}(?:制度|规定|政策|标准|要求)",
    ),
    Guard(
        "asks about the procedure",
        "流程|步骤|手续|材料|入口|渠道|方式|方法|教程",
        excuse="(?:发起|启动|走|开始|开个?|提交?|办理?|来|新建|创建)[^,]{0,8}(?:流程|手续)(?:[^怎如是有]|$)",
    ),
    Guard(
        "asks how it stands",
        "批了|批没|批下|没批|被批|批准了|通过了|审批|审核|进度|进展|状态|状况|情况|结果|到哪[一]?步|到账|打款|剩余|剩下?|余额|余下|还有(?:几|多少)|记录|历史|明细|查询|查(?:一下|下|看|查|我)|(?:看看|看一下|看下)|统计|汇总|催|驳回|拒绝|退回"
        r"|\b(?:status|progress|approv\w+|reject\w*|declin\w+|denied|pending|balance|remaining|history|records?|so far|processed|paid|update on|updates? (?:about|on|for)|track|check|gone through|went through|go through|come through|how many|left|accrued?|summary|overview|list|show|view|see my|look up|outstanding|submitted)\b",
    ),
    Guard(
        "takes it back or changes it",
        "取消|撤销|撤回|撤掉|撤了|作废|收回|销假|(?:修改|更改|变更|更正|更新|编辑|调整|改一下|改下|改到|改成|改期|延长|推迟|删除|删掉|删了|终止|停止|补充)|续假|算了|放弃"
        r"|\b(?:cancel\w*|withdraw\w*|revok\w*|delet\w*|undo|retract\w*|take back|chang\w+|modif\w+|edit\w*|amend\w*|updat\w+|extend\w*|reschedul\w*|postpon\w*|resubmit\w*|never ?mind|forget|remove|shorten|move my|call off|correct)\b",
    ),
    Guard(
        "says no to it",
        "(?:不|别|没|没有|无需|无须|不必|甭|莫|勿|未|从不|从没|从来不)(?:想|要|打算|准备|需要|能|用|必|再|会|该|应该|敢|愿意?|给我|帮我){0,3}(?:请|休|报|申请|提交|发起|办理)"
        r"|\b(?:don'?t|do not|didn'?t|did not|won'?t|will not|wouldn'?t|not|never|no longer|no need to|needn'?t|without|can'?t|cannot|haven'?t|isn'?t|shouldn'?t|stop)(?: (?:really|actually|currently|going|want|wanting|need|needing|plan|planning|intend|have|be|been|to|even|yet|any|a|an|my|the|for)){0,5} "
        + _EN_REQUESTED
        + r"\b|\bno (?:leave|vacation|pto|time off|expenses?|reimbursements?|claims?)\b",
        excuse="不得不|要不|好不好",
    ),
    Guard(
        "tells what has happened",
        "已经?(?:请|休|报|提交|申请|交|批)|(?:请|休|报|报销|提交|申请|填|交)过|(?:请|休|报销|提交|申请|填)了(?:[^一]|$)|(?:刚才?|之前|上次|以前|曾经?|去年)(?:[^,]{0,4})(?:请|休|报|提交|申请)|请完|休完|报完"
        r"|\b(?:already|i(?:'ve| have)|we(?:'ve| have)|i was|i did|i had|i took|i applied|i submitted|i filed|i requested|i booked|i claimed|i used|i got|last time|previously|came back from|back from|returned from|after my|during my|on (?:my )?(?:leave|vacation|pto|holiday|sick leave)|was on|is on|am on)\b",
        excuse="把[^,]{0,20}报销了|请了吧|垫(?:付)?了|付了|花了",
    ),
    Guard(
        "asks for a translation or a meaning",
        "翻译|译成|译为|英文|英语|日语|法语|德语|拼音|意思|定义|含义|造句|同义词|反义词|近义词|读音|发音"
        r"|\b(?:translat\w+|in (?:english|chinese|french|german|japanese|spanish)|mean(?:s|ing)?|defin(?:e|ition)\w*|spell\w*|pronounc\w*|synonyms?|the word|the phrase|the term|stands? for|abbreviation)\b",
    ),
    Guard(
        "asks for a text",
        "模板|模版|范文|范本|范例|样本|样例|样板|例文|例子|示例|格式|邮件|email|e-mail|短信|文案|文章|作文|海报|公告|通知|新闻|报道|小说|诗|笑话|故事|代码|程序|开发|设计|链接|网址|下载|打印|导出|写(?:一|个|封|份|篇|张|段|好)|(?:想|编|找)(?:一)?个[^,]{0,4}(?:理由|借口)|假条"
        r"|\b(?:templates?|samples?|examples?|draft|write|writing|wrote|letters?|e-?mails?|wording|essays?|stor(?:y|ies)|poems?|jokes?|articles?|announcements?|downloads?|print|links?|url|screenshots?|scripts?|code|songs?|movies?|books? about|presentations?|slides?|excuse)\b",
    ),
    Guard(
        "speaks of someone else",
        f"(?:{_ZH_PEOPLE}){_ZH_ADVERBS}{{0,4}}(?:请|休|报|申请|提交)|(?:帮|替|给|为|代)(?:{_ZH_PEOPLE}|我(?:老婆|老公|妈|爸|朋友|同事|领导|老板|下属|儿子|女儿))|(?:{_ZH_PEOPLE})的(?:请假|报销|休假|年假|病假|假|申请)"
        rf"|\b(?:{_EN_PEOPLE})(?:'s|'re|'d|'ll)?(?: (?:is|are|was|were|has|have|had|will|wants?|wanted|needs?|needed|would|can|could|just|also|already|to|be|been|on|like|for|going|asked|an?|all|who|that)){{0,5}} (?:{_EN_REQUESTED[3:-1]}|applied|applies|took|takes|requested|booked|submitted|filed|claimed)"
        rf"|\bfor (?:him|them|someone|somebody|my (?:colleague|co-?worker|boss|manager|team|friend|wife|husband|assistant|intern)s?|the team)\b(?: *$|[.!?,]| (?:to|from|on|next|this|tomorrow|today))"
        r"|\b(?:his|their|her|\w+'s) (?:leave|vacation|pto|expenses?|claims?|reimbursements?|time off|annual leave|sick leave|days? off|expense (?:report|claim))\b"
        r"|^[a-z]+ (?:wants|needs|asked|plans|has|is going|would like) to (?:apply|take|request|submit|book|claim|file)\b",
        excuse=f"(?:跟|向|和|找|同|请)(?:{_ZH_PEOPLE})(?:说|申请|请|报备|批)|^(?:i|we) ",
    ),
    Guard(
        "refers to a request that is there",
        "我的(?:请假|休假|报销|病假|年假|事假|申请|假条|单子|报销单)(?:单|申请)?(?:[^,。!. 一二三0-9]|$)|那(?:个|张|份|笔)(?:请假|报销|申请)|(?:这|那)(?:次|回)(?:请假|报销)的",
        excuse="(?:提交|发起|办理|申请|处理|走|填|用|休|请|用掉|报销?)(?:一?下)?(?:掉)?我的",
    ),
    Guard(
        "talks about it",
        r"知道|了解|关于|聊聊|聊一聊|介绍|解释|告诉我|讲讲|讲解|讨论|咨询|请问|想问|问一下|问下|建议|觉得|认为|听说|据说|假设|如果|要是|万一|假如|讨厌|喜欢|羡慕|系统|软件|\bapp\b|页面|按钮|功能|网站|报错|bug|坏了|打不开|登录"
        r"|\b(?:about|discuss|regarding|thoughts?|opinion|advice|recommend|suggest\w*|think|believe|hear[d]?|supposed|hypothetical\w*|suppose|what if|if|imagine|software|system|app|page|button|feature|website|error|bug|broken|apps?|tool|dashboard|login|meeting|training|course|data|report on|statistics|chart)\b",
        excuse=r"(?:for|from) (?:the |a |my )?(?:\S+ ){0,3}(?:meeting|training|course|software|app)|(?:会议|培训|软件|系统|课程)费|if (?:possible|that'?s (?:ok|okay|fine|alright))",
    ),
)

_QUOTED = compiled('[“"「『《][^”"」』》]{0,60}[”"」』》]')

QUOTATION = "quotes the words"
"""What blocks a pattern that stands within quotation marks."""


def guard_against(text: str) -> str | None:
    """The name of the first guard that keeps flows from starting; None where none does."""
    return next((guard.name for guard in GUARDS if guard.stops(text)), None)


def quotations(text: str) -> list[tuple[int, int]]:
    """Where the normalised text stands in quotation marks, half-open."""
    return [match.span() for match in _QUOTED.finditer(text)]
