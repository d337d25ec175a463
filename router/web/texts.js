// Everything the page says itself, in both languages. What the router says comes translated.

const TEXTS = {
  skip: { zh: "跳到内容", en: "Skip to content" },
  sections: { zh: "栏目", en: "Sections" },
  chat: { zh: "对话", en: "Chat" },
  approvals: { zh: "待我审批", en: "Approvals" },
  requests: { zh: "我的申请", en: "My requests" },
  leave: { zh: "退出", en: "Sign out" },
  otherLanguage: { zh: "English", en: "中文" },
  signIn: { zh: "登录", en: "Sign in" },
  signInAs: { zh: "以谁的身份登录？", en: "Who are you?" },
  token: { zh: "访问令牌", en: "Access token" },
  conversations: { zh: "对话列表", en: "Conversations" },
  newConversation: { zh: "新对话", en: "New conversation" },
  noConversation: { zh: "说点什么就开始一个对话，例如“我要请假”。", en: "Say something to begin, such as “I need to take leave”." },
  more: { zh: "更多", en: "More" },
  transcript: { zh: "对话内容", en: "Transcript" },
  message: { zh: "消息", en: "Message" },
  placeholder: { zh: "想办什么？回车发送，Shift+回车换行", en: "What can I do for you? Enter sends, Shift+Enter breaks the line" },
  send: { zh: "发送", en: "Send" },
  stop: { zh: "停下", en: "Stop" },
  thinking: { zh: "正在处理…", en: "Working…" },
  thinks: { zh: "正在想…", en: "Thinking…" },
  step: { zh: "第 {} 步", en: "step {}" },
  used: { zh: "用了 {} 个工具", en: "Tools used: {}" },
  you: { zh: "我", en: "You" },
  yes: { zh: "确认", en: "Yes" },
  no: { zh: "不对", en: "No" },
  choose: { zh: "请选择", en: "Please choose" },
  submit: { zh: "提交", en: "Submit" },
  download: { zh: "下载", en: "Download" },
  tooLarge: { zh: "文件太大：最多 10 MB。", en: "The file is too large: 10 MB at most." },
  days: { zh: "天", en: "days" },
  nothingWaits: { zh: "没有等你审批的事。", en: "Nothing waits for your decision." },
  nothingAsked: { zh: "你还没有提交过申请。", en: "You have no requests yet." },
  requester: { zh: "申请人", en: "Requested by" },
  since: { zh: "提交于", en: "Since" },
  due: { zh: "截止", en: "Due" },
  comment: { zh: "意见（可不填）", en: "Comment (optional)" },
  approve: { zh: "同意", en: "Approve" },
  reject: { zh: "拒绝", en: "Reject" },
  return: { zh: "退回修改", en: "Return for changes" },
  decided: { zh: "已处理", en: "Decided" },
  details: { zh: "内容", en: "Details" },
  history: { zh: "经过", en: "History" },
  withdraw: { zh: "撤回", en: "Withdraw" },
  reallyWithdraw: { zh: "确定撤回？", en: "Really withdraw?" },
  nudge: { zh: "催一下", en: "Remind" },
  done: { zh: "好了", en: "Done" },
  inTemporal: { zh: "在 Temporal 中查看", en: "Open in Temporal" },
  offline: { zh: "连不上服务器，正在重试…", en: "The server can't be reached; trying again…" },
  signedOut: { zh: "登录已失效，请重新登录。", en: "You are no longer signed in." },
  failed: { zh: "没有成功", en: "That didn't work" },
};

const STATUSES = {
  collecting: { zh: "填写中", en: "in progress" },
  confirming: { zh: "待确认", en: "to be confirmed" },
  running: { zh: "处理中", en: "being processed" },
  waiting_approval: { zh: "审批中", en: "waiting for approval" },
  waiting: { zh: "等待中", en: "waiting" },
  completed: { zh: "已完成", en: "completed" },
  rejected: { zh: "被拒绝", en: "rejected" },
  cancelled: { zh: "已取消", en: "cancelled" },
  failed: { zh: "失败", en: "failed" },
  expired: { zh: "已过期", en: "expired" },
};

const TOOL_STATUSES = {
  running: { zh: "进行中", en: "at work" },
  done: { zh: "完成", en: "done" },
  failed: { zh: "没有成功", en: "failed" },
  skipped: { zh: "没有做", en: "not done" },
  unknown: { zh: "不知道成没成", en: "outcome unknown" },
};

let locale = "zh";

export function speak(language) {
  locale = language === "en" ? "en" : "zh";
  document.documentElement.lang = locale;
}

export const language = () => locale;
export const t = (key) => TEXTS[key][locale];
export const statusName = (status) => STATUSES[status]?.[locale] ?? status;

export const toolStatus = (status) => TOOL_STATUSES[status]?.[locale] ?? status;

export function seconds(milliseconds) {
  const format = { style: "unit", unit: "second", unitDisplay: "narrow", maximumFractionDigits: 1 };
  return new Intl.NumberFormat(locale, format).format(milliseconds / 1000);
}

export function moment(iso) {
  const format = { dateStyle: "medium", timeStyle: "short" };
  return new Intl.DateTimeFormat(locale, format).format(new Date(iso));
}
