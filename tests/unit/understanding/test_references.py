"""Whether a message is about what was said before it."""

from router.entities.normalisation import normalise
from router.understanding.dialogue_acts import refers
from tests.table import each_row

REFERRING = """
再短一点
短一些
更正式一点
加一个总结
加上一段结尾
第一个链接是什么
第二个呢
用英文写一遍
把最后一段删掉
改成口语化的
换一种说法
继续
接着写
总结一下
它在哪里
这个怎么办理
那第三条讲的什么
哪个最便宜
刚才那份再发一次
翻译成英文
重写
那如果是三天呢
上面说的对吗
make it shorter
shorter please
in English
the second one
add a summary
go on
what about the last one?
rewrite it
more formal
which one is cheapest
and the first?
translate that
what does it say
remove the last paragraph
how about Tuesday
simpler
多写一点
再来一个
分成三段
字数控制在两百以内
给个更好的标题
把结尾改一下
不要用感叹号
能不能更幽默
翻成英文
英文版
another version
change the title
a better title please
as bullet points
expand point two
no exclamation marks
less salesy please
""".strip().splitlines()
BY_ITSELF = """
我要请年假，下周一到周三
报销昨天打车的58块
我的年假还剩几天
上海明天天气怎么样
你好
谢谢
出差住酒店一晚最多能报多少
吉娜在哪个部门
写一篇关于秋天的博客
算一下 36.5 加 58
早上好呀
I want to apply for annual leave
how many sick days do I have
who is Gina's manager
write a blog post about autumn
good morning
thanks a lot
hotel limit in Shanghai
""".strip().splitlines()


@each_row("text", REFERRING)
def test_what_refers_to_something_is_known_by_its_words(text: str) -> None:
    assert refers(normalise(text).text)


@each_row("text", BY_ITSELF)
def test_what_says_by_itself_what_it_is_about_refers_to_nothing(text: str) -> None:
    assert not refers(normalise(text).text)


def test_a_long_message_speaks_for_itself() -> None:
    assert not refers(normalise("再短一点" + "，还有很多别的要说" * 20).text)
