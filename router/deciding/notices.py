"""What people are told where no model is asked any more."""

from router.domain.budgets import Scope
from router.domain.texts import Localised

BUDGET_SPENT: dict[Scope, Localised] = {
    "turn": Localised(
        zh="这句话能用的模型额度用完了，下面按规则处理。",
        en="This message has used up what one may spend on the model; rules go on from here.",
    ),
    "user": Localised(
        zh="你今天的模型额度用完了，明天恢复；请假、报销等流程照常能办。",
        en="Your model budget for today is spent and is back tomorrow; leave, claims and all other "
        "flows work as usual.",
    ),
    "tenant": Localised(
        zh="贵公司今天的模型额度用完了，明天恢复；请假、报销等流程照常能办。",
        en="Your company's model budget for today is spent and is back tomorrow; leave, claims and "
        "all other flows work as usual.",
    ),
    "day": Localised(
        zh="今天大家的模型额度用完了，明天恢复；请假、报销等流程照常能办。",
        en="Everybody's model budget for today is spent and is back tomorrow; leave, claims and "
        "all other flows work as usual.",
    ),
}
ADDRESSED = Localised(zh="消息指名给这个技能", en="the message is addressed to this skill")
