"""What the terminal itself says, in both languages."""

from router.domain.texts import Localised

WELCOME = Localised(
    zh="直接说要办的事；/help 列出命令，Ctrl-C 停止当前回合，Ctrl-D 离开。",
    en="Say what you want done; /help lists the commands, Ctrl-C stops a turn, Ctrl-D leaves.",
)
HELP = Localised(
    zh="""\
/new            开始新对话
/list           列出我的对话
/open N         打开第 N 个对话
/file 路径      交上所要的文件
/why            说明上一条消息为什么这样处理
/approvals      列出等我审批的事项
/approve N [意见]、/reject N [意见]、/return N [意见]   审批第 N 项
/requests       列出我的申请
/quit           离开
选项可以回复编号，确认可以回复 y 或 n；表单可以一句话说全，也可以按回车逐项填写。""",
    en="""\
/new            begin a new conversation
/list           list my conversations
/open N         open the Nth of them
/file PATH      hand in the file that is asked for
/why            explain why the last message went where it did
/approvals      list what waits for my decision
/approve N [comment], /reject N [comment], /return N [comment]   decide the Nth of them
/requests       list what I have asked for
/quit           leave
Choices take their number, confirmations y or n; a form takes one sentence, or Enter to fill in \
field by field.""",
)
LEAVE_HINT = Localised(zh="再按一次 Ctrl-C 离开。", en="Ctrl-C once more leaves.")
STOPPING = Localised(zh="正在停止…", en="Stopping…")
ANEW = Localised(zh="（重新作答）", en="(once more)")
ELSEWHERE = Localised(zh="另一窗口", en="elsewhere")
FORM_HINT = Localised(
    zh="一句话说全，或按回车逐项填写。", en="Say it in a sentence, or press Enter to fill it in."
)
FORM_DROPPED = Localised(zh="表单没有提交。", en="The form wasn't sent.")
REQUIRED = Localised(zh="必填", en="required")
NO_SUCH_OPTION = Localised(zh="没有这个编号。", en="There is no such number.")
UNKNOWN_COMMAND = Localised(
    zh="没有命令 {name}；/help 列出命令。", en="There is no command {name}; /help lists them."
)
LIST_FIRST = Localised(
    zh="没有第 {number} 项；先用 {command} 列出来。",
    en="There is no {number}; list with {command}.",
)
NOTHING = Localised(zh="没有。", en="None.")
NO_FILE_ASKED = Localised(
    zh="现在没有要求文件；要的时候再用 /file 交上。",
    en="No file is asked for right now; hand it in with /file once it is.",
)
UNREADABLE = Localised(zh="{path} 读不了（{why}）。", en="{path} can't be read ({why}).")
NO_ROUTE = Localised(zh="还没有消息可以说明。", en="There is no message yet to explain.")
DECIDED = Localised(zh="已记录：{decision}，现在 {status}。", en="Noted: {decision}; now {status}.")
OPENED = Localised(zh="对话 {id}", en="Conversation {id}")
REQUESTER = Localised(zh="申请人", en="requested by")
CANDIDATES = Localised(zh="候选", en="candidates")
LOST = Localised(
    zh="连接断了；这一回合在服务器上继续，回来后会看到结果。",
    en="The connection is lost; the turn goes on there, and its answer comes once it is back.",
)
