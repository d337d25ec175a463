// What the API says in single words, as people say it, in both languages.

import { STATUSES } from "./statuses.js"; // router/flow/view.py, as the API serves it
import { t, within } from "./texts.js";

const TOOL_STATUSES = {
  running: { zh: "进行中", en: "at work" },
  done: { zh: "完成", en: "done" },
  failed: { zh: "没有成功", en: "failed" },
  skipped: { zh: "没有做", en: "not done" },
  unknown: { zh: "不知道成没成", en: "outcome unknown" },
};

const KINDS = {
  flow: { zh: "办理流程", en: "a flow" },
  skill: { zh: "交给专项助手", en: "a skill" },
  tool: { zh: "用工具查", en: "a tool" },
  reply: { zh: "直接回答", en: "a reply" },
  clarify: { zh: "先问清楚", en: "a question back" },
  confirm: { zh: "先请你确认", en: "a confirmation" },
  cancel: { zh: "取消", en: "a cancellation" },
  handoff: { zh: "转给人工", en: "a hand-over to a person" },
};

const BY = {
  pattern: { zh: "句式", en: "a pattern" },
  slot: { zh: "回答了提问", en: "the answer to a question" },
  action: { zh: "按钮或表单", en: "a button or form" },
  llm: { zh: "模型", en: "a model" },
  retrieval: { zh: "相近的例句", en: "similar examples" },
  fallback: { zh: "没有更合适的", en: "nothing better" },
};

// What happens to a request. `null`: it went on by itself, which is nobody's news.
const EVENTS = {
  began: { zh: "开始填写", en: "Begun" },
  changed: { zh: "改了内容", en: "Changed" },
  confirmed: { zh: "确认提交", en: "Confirmed and sent" },
  declined: { zh: "没有确认，继续修改", en: "Not confirmed" },
  approve: { zh: "同意", en: "Approved" },
  reject: { zh: "拒绝", en: "Rejected" },
  return: { zh: "退回修改", en: "Sent back for changes" },
  "walked anew": { zh: "按新内容重走", en: "Walked anew" },
  delegate: { zh: "转交他人", en: "Delegated" },
  add: { zh: "加签", en: "Added an approver" },
  "add before": { zh: "先加签", en: "Added an approver before" },
  "add after": { zh: "同意，后加签", en: "Agreed, and added an approver after" },
  expired: { zh: "过期", en: "Expired" },
  late: { zh: "逾期", en: "Late" },
  reminded: { zh: "提醒审批人", en: "Approvers reminded" },
  nudged: { zh: "催办", en: "Reminded by the requester" },
  escalated: { zh: "升级给上级", en: "Escalated" },
  "approver left": { zh: "审批人已离开", en: "Approver left" },
  "looked again": { zh: "重新查找审批人", en: "Looked for approvers again" },
  "stands in": { zh: "代为审批", en: "Stands in" },
  "agreement carried over": { zh: "已同意过同样内容", en: "Agreed to the same before" },
  arrived: { zh: "收到通知", en: "Heard from outside" },
  "data failed": { zh: "按现有的数据走不下去", en: "The values at hand don't work" },
  "left out": { zh: "中间的记录略去", en: "Lines left out" },
  "over limit": { zh: "超过了上限", en: "Over a limit" },
  "call failed": { zh: "有一步没有办成", en: "One step didn't work" },
  "check failed": { zh: "有一项检查没有通过", en: "A check didn't pass" },
  "flow failed": { zh: "接着要办的没有办成", en: "What was to follow failed" },
  lapse: { zh: "没有回音，收起来了", en: "Put away for want of a word" },
  "put away": { zh: "对话里放不下，收起来了", en: "Put away for want of room" },
  "lookup failed": { zh: "有一项没有查到", en: "Something couldn't be looked up" },
  "completed there": { zh: "其中一项办好了", en: "One part is done" },
  "rejected there": { zh: "其中一项没有获批", en: "One part was rejected" },
  "cancelled there": { zh: "其中一项取消了", en: "One part was cancelled" },
  "expired there": { zh: "其中一项过期了", en: "One part expired" },
  "failed there": { zh: "其中一项没有办成", en: "One part failed" },
  started: { zh: "开始办理", en: "Started" },
  held: { zh: "暂停，等人处理", en: "Held for an operator" },
  lost: { zh: "中断，等管理员处理", en: "Cut off; an operator sees to it" },
  retried: { zh: "重试", en: "Tried again by an operator" },
  "tried again": { zh: "再试一次", en: "Tried again" },
  reassigned: { zh: "改派审批人", en: "Reassigned" },
  withdrawn: { zh: "撤回", en: "Withdrawn" },
  "withdrawal asked": { zh: "申请撤回", en: "Asked to take it back" },
  "withdrawal rejected": { zh: "撤回没有获批", en: "Taking it back was rejected" },
  "withdrawal cancelled": { zh: "撤回申请已取消", en: "No longer to be taken back" },
  "withdrawal expired": { zh: "撤回申请过期", en: "Taking it back expired" },
  "withdrawal failed": { zh: "撤回没有办成", en: "Taking it back failed" },
  cancelled: { zh: "取消", en: "Cancelled" },
  failed: { zh: "没有办成", en: "Failed" },
  unknown: { zh: "结果不明", en: "Outcome unknown" },
  handed_off: { zh: "转给人工", en: "Handed to a person" },
  undone: { zh: "撤回了一步", en: "One step undone" },
  "undo failed": { zh: "有一步没能撤回", en: "One step couldn't be undone" },
  "left undone": { zh: "没能撤回的一步保持原样", en: "One step left as it is" },
  idle: { zh: "久未填写", en: "Left alone for long" },
  "done before it was cancelled": { zh: "取消前已经办了", en: "Done before it was cancelled" },
  completed: null,
  next: null,
  join: null,
  otherwise: null,
  on_error: null,
  approved: null,
  rejected: null,
  returned: null,
  asked_back: null,
};

export const statusName = (status) => within(STATUSES, status);
export const toolStatus = (status) => within(TOOL_STATUSES, status);
export const kindName = (kind) => within(KINDS, kind);
export const byName = (by) => within(BY, by);

// Where what is noted beside an event is somebody's own words; else it is for those who run the house.
const SAID = new Set(["approve", "reject", "return", "returned", "rejected", "delegate", "add", "add before", "add after", "withdrawn", "withdrawal asked"]);
export const saidWith = ({ event, comment }) => (SAID.has(event) && comment) || null;

// What happened, in words; null where it isn't worth a line.
export const eventName = (event) => (EVENTS[event] === null ? null : within(EVENTS, event));

// What a person is shown to have said: a pressed button is kept as a mere mark.
export const saidText = (text) => (text === "✓" ? t("saidYes") : text === "✗" ? t("saidNo") : text);
