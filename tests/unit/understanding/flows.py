"""Two flows such as the project ships, and a third that is in their way."""

from router.flow.model import FlowDefinition

TIME = (
    "[0-9零一二三四五六七八九十两半几个上下天日周月号年小时点到至和、,早晚午这本明后今大末礼拜星期"
    "从起开始前昨 ~的长短张份春节国庆旦端./-]"
)
KIND = (
    "(?:带薪)?(?:陪产|产检|流产|调休|补休|育儿|护理|陪护|探亲|哺乳|特休|年休|工伤|年|病|事|婚|产"
    "|丧|公|私)"
)
GOES_ON = (
    "(?:[0-9一二两三四五六七八九十半几今明后下上本从周]|这[周个两几]|去|回|陪|带|看|在|照顾|参加"
    "|办|吧|一下"
    "|啊|呀|因为|由于|搬|买|接|送|处理|修|考|结婚|体检|见|探|旅|住院|休息|养|生孩子)"
)
ANY_LEAVE = f"(?:{KIND}假|请假|休假|调休|补休|年休)"
BEGIN = (
    "(?:申请|提交|发起|启动|新建|办理?|提|走|填|开|用掉?|使用|安排|预约|需要|要|想|请求|补|报备|报"
    "|来|请)"
)

EN_ASK = (
    r"\b(?:apply|applying|application|request|requesting|submit|submitting|put(?:ting)? in|file"
    "|filing|book|booking|schedule|scheduling|take|taking|need|want|get|use|using|arrange|log"
    "|like|have|having|asking?|start|enter|open|create|make|fill (?:in|out)|register|record|grant"
    "|give me|set(?:ting)? up|plac(?:e|ing)|put)"
)
EN_WORDS = "(?: [^ ]+){0,7}?"
EN_KIND = (
    "annual|sick|personal|maternity|paternity|marriage|bereavement|compensatory|comp|unpaid|paid"
    "|parental|medical|casual|study|emergency|family|wedding|funeral|childcare|compassionate"
)
EN_AMOUNT = "half[- ]day|(?:days?|weeks?|hours?)(?: of|'s?)?|[0-9.]+ days?(?: of)?"
EN_DAY = (
    "days?|weeks?|hours?|morning|afternoon|today|tomorrow|month"
    "|(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tue|wed|thu|fri|[0-9]{1,2}(?:st|nd|rd|th)?"
)
EN_THEN_SOMETHING = (
    ",? (?:please|for|from|on|tomorrow|today|next|this|starting|request|[0-9]{1,2}|(?:jan|feb|mar"
    "|apr|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
)
EN_THEN = rf"(?:{EN_THEN_SOMETHING}.*)?[.!]?$"

LEAVE_PATTERNS = (
    f"请(?:{TIME}{{1,24}}{KIND}?|{KIND})休?假",
    f"请假(?:$|[ ,.!:;~()]|{GOES_ON})",
    f"(?:{BEGIN}|帮我|给我|替我|得|能|可以)(?:个|一下|下)?请假",
    f"请{TIME}{{0,16}}(?:半|[0-9.一二两三四五六七八九十半]{{1,3}}个?)(?:天|周|小时)(?:$|[ ,.!])",
    f"^(?:请假|休假|{KIND}假)申请(?:$|[ ,:.])",
    f"批准?(?:一下|下)?我{TIME}{{0,24}}{ANY_LEAVE}",
    f"休{TIME}{{0,24}}{KIND}?假",
    f"{BEGIN}(?:一下|下|掉)?(?:我的?|剩下?的)?{TIME}{{0,24}}{ANY_LEAVE}",
    f"^(?:我|我们)?(?:{TIME}{{0,24}})(?:要|想)?(?:请假|休假|调休|补休)(?:$|[ ,.!:;~()]|{GOES_ON})",
    f"^(?:我|我们)?{TIME}{{1,24}}(?:要|想|用)?{KIND}假{TIME}{{0,24}}[!.]?$",
    f"^(?:我|我们)?{KIND}假[ ,:]?{TIME}{{1,24}}[!.]?$",
    f"(?:想|要|需要|得)在?{TIME}{{0,16}}(?:休息|歇){TIME}{{0,3}}(?:天|半天|周|上午|下午)",
    rf"{EN_ASK}{EN_WORDS} (?:{EN_KIND}|{EN_AMOUNT}|some|my)[ -]leave\b",
    (
        r"\b(?:apply|applying|application|asking?|put(?:ting)? in)(?: for)? (?:an? |my |some "
        r"|the )?leave\b"
    ),
    (
        rf"{EN_ASK}(?: an?| my| some| the| new| for)* leave"
        "(?: request| application| form|[.!,]|$| (?:for|from|on|next|this|tomorrow|today|starting"
        "|until|to|between|please|because|due))"
    ),
    (
        rf"{EN_ASK}{EN_WORDS} (?:pto|vacation|time off|days? off|sick days?|personal days?"
        r"|holidays?|comp time)\b"
    ),
    rf"{EN_ASK}{EN_WORDS} (?:{EN_DAY}) off\b",
    rf"^(?:an? )?(?:{EN_AMOUNT} )?(?:of )?(?:{EN_KIND}) leave(?: request| application)?{EN_THEN}",
    rf"^(?:half[- ]day|[0-9.]+ days?) (?:of )?leave{EN_THEN}",
    (
        r"^(?:new )?leave (?:request|application)\b|^(?:pto|vacation|day off|time off"
        f"|sick day)(?: request)?{EN_THEN_SOMETHING}"
    ),
    rf"{EN_ASK}{EN_WORDS} half[- ]days? (?:on|off|tomorrow|next|this|today)\b",
    r"\b(?:call|calling) in sick\b|\b(?:be|am|i'm) taking (?:a |the )?(?:sick|personal) day\b",
    r"\bput me (?:down|in) for (?:vacation|pto|(?:[a-z]+ )?leave|a day off)\b|\bbook me off\b",
    (
        rf"\b(?:want|need|like|going|plan(?:ning)?) to (?:go|be) (?:on (?:(?:{EN_KIND}) )?leave"
        r"|off (?:on|from|next|this|tomorrow|today))\b"
    ),
    r"\bhelp(?: me)? with (?:an?|my|this) (?:leave|vacation|time off) (?:request|application)\b",
)
LEAVE_UNLESS = (
    "请假(?:设|如|装|定|想|冒|条)",
    (
        "假(?:期)?(?:还|有|是|能休|可以|一共|总共|到底|最多)*(?:几|多少)天|(?:能|可以|最多)(?:请"
        "|休)(?:几|多少)天"
    ),
    (
        "假(?:的)?(?:天数|余额|工资|申请表|系统|人数|名单|日历|排班|安排表|规划|理由怎|期间|日期间"
        "|回来|结束|之后|后|中)"
    ),
    (
        r"\b(?:vacation|holiday) (?:rentals?|packages?|homes?|photos?|spots?|ideas?|destinations?"
        r"|trip|party|calendar|pay|home|weather|resort|plans?)\b"
    ),
    (
        r"\bleave (?:it|me|us|him|her|them|that|a|an|the|early|now|home|work|town|at|alone|behind"
        r"|out|with|you|my|your|feedback|no)\b"
    ),
    (
        r"\bbook(?:ing)? (?:me )?(?:an? |the |my )?(?:[a-z]+ )?(?:hotel|flight|room|ticket|table"
        r"|meeting|tour|trip|car|restaurant|train)s?\b"
    ),
    "(?:法定|节|公共|国庆|春节|寒|暑|元旦|中秋|清明|五一|端午|放)假",
    (
        r"% off|off (?:the|of) |\b(?:turn|switch|log|sign|drop|kick|cut|show|pay|lift|well|better"
        r"|best) (?:it |them |this |that )?off\b"
    ),
)

SPENT = (
    "(?:打车|打的|出租车|网约车|滴滴|地铁|公交|高铁|火车|机票|车票|船票|飞机|差旅|出差|交通"
    "|住宿|酒店|旅馆|宾馆|餐|饭|午饭|晚饭|早饭|午餐|晚餐|聚餐|请客|招待|客户"
    "|办公|文具|打印|快递|邮费|话费|电话|流量|油|停车|过路|高速|采购|设备|电脑|键盘|鼠标|书"
    "|培训|会议|团建|礼品|医药|体检|维修|物料|耗材|软件|云服务|发票|票据|小票|收据|单据|费用"
    "|费|票|钱|账|花销|开销|支出|垫付|垫了)"
)

EXPENSE_PATTERNS = (
    (
        "(?:我|我们|俺)?(?:要|想|需要|得|打算|准备|申请|提交|发起|启动|新建|办理?|走|填|开|来|请"
        "|提|帮我|给我|替我|麻烦|能|可以|开始|处理|做|弄|搞|把|有|交|上传|录入?).{0,18}报销"
    ),
    (
        "^(?:我|我们)?报销(?:一下|下|一笔|一张|几张|几笔|点|个|我的?|这|那|昨|今|前|上|本|去"
        f"|[0-9一二两三四五六七八九十¥$]|[ :,.!]|{SPENT}|申请|单|$)"
    ),
    (
        f"{SPENT}.{{0,14}}(?:报销|报一下|报下|报掉|报了(?:吧|$)|要报|想报|能报|需要报|来报|拿来报"
        "|给报|报账)"
    ),
    (
        "报(?:一下|下|个|一个|一笔|笔|点|几笔|几张|一张|张|销|账|两笔|两张|三张|三笔).{0,18}(?:费"
        "|票|钱|块|元|账|单|差旅|¥|[$]|[0-9])"
    ),
    "^(?:我)?要?报账|(?:想|要|需要|申请)报(?:一下|下|个|点)?账",
    (
        r"\b(?:submit|submitting|file|filing|create|creating|make|making|put(?:ting)? in|start"
        "|starting|new|log|logging|add|adding|enter|entering|raise|claim|claiming|process|send in"
        "|turn(?:ing)? in|lodge|open|fill (?:in|out)|need to do|do|have|got|upload|prepare|want"
        "|need|like|request|requesting|apply for|record)(?: [^ ]+){0,6}? (?:expenses?(?: claims?"
        r"| reports?| requests?)?|reimbursements?|receipts?)\b"
    ),
    (
        r"\b(?:reimburse|expense|expensing|reimbursing)(?: (?:back|for))? (?:[$¥€£0-9]"
        "|(?:me|my|this|these|the|an?|last|yesterday|today|our|some|one|two|three|four|five|for"
        r"|taxi|lunch|dinner|hotel|travel|flight|train|office|client)\b)"
    ),
    (
        r"\b(?:get|getting|be|want|like|need|request|requesting|seek"
        r"|seeking)(?: [^ ]+){0,5}? reimburse(?:d|ment)\b|\bpay me back\b|\bclaim(?:ing)? (?:it "
        r"|that |this )?back\b"
    ),
    (
        r"\bclaim(?:ing)? (?:back )?(?:[^ ]+ ){0,5}?(?:expenses?|taxi|fares?|lunch|dinner"
        "|breakfast|hotel|receipts?|travel|mileage|meals?|flights?|train|cab|uber|bills?|costs?"
        r"|tickets?|parking|dollars|yuan|rmb|fees?)\b"
    ),
    r"\b(?:want|get|need|like) my money back for\b",
    r"\bhelp(?: me)? with (?:an?|my|this) (?:expense|reimbursement)",
    (
        "^(?:(?:travel|taxi|meal|hotel|lunch|dinner|business) )?(?:expenses?"
        r"|reimbursement)(?: claim| report| request)?(?:(?: (?:for|of)\b|:).*|,? please)?[.!]?$"
    ),
)
EXPENSE_UNLESS = (
    (
        "报销(?:的)?(?:标准|制度|范围|比例|额度|上限|时限|周期|期限|政策|材料|系统|软件|单号|时间"
        "|人|员|专员|会计|科目|流程怎|率|吗)"
    ),
    (
        "(?:能|可以|可|给|让|不能|不可以)(?:不)?报销?(?:的)?(?:吗|么|吧)?[?]?$|(?:能|可以|可"
        "|算)(?:作)?报销的"
    ),
    (
        r"\bexpense (?:accounts?|categor\w+|ratio|manager|tracker|department|code|policy)\b"
        r"|\b(?:living|household|legal|personal) expenses?\b|\bat the expense\b"
    ),
    (
        r"\bcan (?:i|we) (?:be|get) reimbursed(?: for [a-z]+)?[?]?$|\bexpenses?\b.* (?:looks?"
        r"|seems?|rose|fell)\b"
    ),
    "医保|保险|社保|公积金|农合|理赔",
    (
        r"\binsurance\b|\bmedical claim\b|\bclaim (?:my |the )?(?:prize|reward|baggage|luggage"
        r"|victory|credit|that|it is)\b|\b(?:claims?|baggage) (?:that|to be)\b"
    ),
)

LEAVE = FlowDefinition.model_validate(
    {
        "flow": "leave_request",
        "title": {"zh": "请假申请", "en": "Leave request"},
        "description": {"zh": "请各种假", "en": "Take time off"},
        "triggers": {"patterns": LEAVE_PATTERNS, "unless": LEAVE_UNLESS, "roles": ["employee"]},
        "slots": {
            "leave_type": {
                "type": "choice",
                "label": {"zh": "请假类型", "en": "kind of leave"},
                "ask": {"zh": "请什么假？", "en": "What kind of leave?"},
                "choices": {
                    "annual": {
                        "label": {"zh": "年假", "en": "annual leave"},
                        "synonyms": ["年休假", "年休", "annual", "vacation", "pto"],
                    },
                    "sick": {
                        "label": {"zh": "病假", "en": "sick leave"},
                        "synonyms": ["sick", "sick day", "看病", "生病", "medical leave"],
                    },
                    "personal": {
                        "label": {"zh": "事假", "en": "personal leave"},
                        "synonyms": ["personal", "personal day", "私事"],
                    },
                    "maternity": {"label": {"zh": "产假", "en": "maternity leave"}},
                    "paternity": {"label": {"zh": "陪产假", "en": "paternity leave"}},
                    "marriage": {"label": {"zh": "婚假", "en": "marriage leave"}},
                    "bereavement": {"label": {"zh": "丧假", "en": "bereavement leave"}},
                    "compensatory": {
                        "label": {"zh": "调休", "en": "compensatory leave"},
                        "synonyms": ["补休", "comp time", "调休假"],
                    },
                },
            },
            "start": {
                "type": "date",
                "range": "start",
                "label": {"zh": "开始日期", "en": "start date"},
                "ask": {"zh": "从哪天开始？", "en": "From which day?"},
            },
            "end": {
                "type": "date",
                "range": "end",
                "label": {"zh": "结束日期", "en": "end date"},
                "ask": {"zh": "到哪天为止（含）？", "en": "Until which day (inclusive)?"},
                "lookup": "last_workday(slots.start, slots.duration)",
            },
            "start_half": {
                "type": "choice",
                "range": "start_half",
                "required": False,
                "choices": {
                    "am": {"label": {"zh": "上午", "en": "morning"}},
                    "pm": {"label": {"zh": "下午", "en": "afternoon"}},
                },
            },
            "end_half": {
                "type": "choice",
                "range": "end_half",
                "required": False,
                "choices": {
                    "am": {"label": {"zh": "上午", "en": "morning"}},
                    "pm": {"label": {"zh": "下午", "en": "afternoon"}},
                },
            },
            "duration": {"type": "duration", "required": False},
            "reason": {
                "type": "text",
                "label": {"zh": "事由", "en": "reason"},
                "ask": {"zh": "什么事？", "en": "What for?"},
            },
        },
        "start": "details",
        "states": {
            "details": {"collect": ["leave_type", "start", "end", "reason"], "next": "done"},
            "done": {"end": "completed"},
        },
    }
)

EXPENSE = FlowDefinition.model_validate(
    {
        "flow": "reimbursement",
        "title": {"zh": "费用报销", "en": "Expense claim"},
        "description": {"zh": "报销费用", "en": "Claim expenses"},
        "triggers": {"patterns": EXPENSE_PATTERNS, "unless": EXPENSE_UNLESS, "roles": ["employee"]},
        "slots": {
            "items": {
                "type": "list",
                "label": {"zh": "明细", "en": "items"},
                "more": {"zh": "还有别的吗？", "en": "Anything else?"},
                "of": {
                    "type": "object",
                    "fields": {
                        "category": {
                            "type": "choice",
                            "label": {"zh": "类别", "en": "category"},
                            "choices": {
                                "transport": {
                                    "label": {"zh": "交通", "en": "transport"},
                                    "synonyms": ["打车", "地铁", "出租车", "taxi", "cab", "uber"],
                                },
                                "meals": {
                                    "label": {"zh": "餐饮", "en": "meals"},
                                    "synonyms": ["午饭", "午餐", "晚餐", "吃饭", "lunch", "dinner"],
                                },
                                "lodging": {
                                    "label": {"zh": "住宿", "en": "lodging"},
                                    "synonyms": ["酒店", "hotel"],
                                },
                                "travel": {
                                    "label": {"zh": "差旅", "en": "travel"},
                                    "synonyms": ["机票", "火车票", "flight", "train"],
                                },
                                "office": {
                                    "label": {"zh": "办公用品", "en": "office supplies"},
                                    "synonyms": ["文具", "键盘"],
                                },
                                "other": {"label": {"zh": "其他", "en": "other"}},
                            },
                        },
                        "amount": {"type": "money", "label": {"zh": "金额", "en": "amount"}},
                        "date": {"type": "date", "label": {"zh": "日期", "en": "date"}},
                        "invoice": {
                            "type": "text",
                            "label": {"zh": "发票号", "en": "invoice number"},
                        },
                    },
                },
            },
            "reason": {"type": "text", "label": {"zh": "事由", "en": "reason"}},
        },
        "start": "details",
        "states": {
            "details": {"collect": ["items", "reason"], "next": "done"},
            "done": {"end": "completed"},
        },
    }
)

OVERTIME = FlowDefinition.model_validate(
    {
        "flow": "overtime",
        "title": {"zh": "加班申请", "en": "Overtime"},
        "description": {"zh": "申请加班", "en": "Ask for overtime"},
        "triggers": {"patterns": ["加班", "overtime"], "roles": ["manager"]},
        "start": "done",
        "states": {"done": {"end": "completed"}},
    }
)

FLOWS = (LEAVE, EXPENSE, OVERTIME)
EMPLOYEE = frozenset({"employee"})
