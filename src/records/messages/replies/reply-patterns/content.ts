/** Replies about the message itself: size, form, dangerous parts. */
import type { ReplyPattern } from './pattern.js'

export const patternsOfContent: readonly ReplyPattern[] = [
  {
    reason: 'smtputf8-unsupported',
    texts: [/smtputf8|(non-?ascii|internationali[sz]ed|utf-?8) (address|mailbox|local|recipient|e-?mail)/i],
  },
  {
    reason: 'content',
    texts: [
      /\bheaders?\b.{0,40}(too (large|long|many)|missing|invalid|error|malformed|duplicate|syntax|illegal|improper)/i,
      /(missing|invalid|malformed|duplicated?|multiple|illegal|improper) .{0,40}\b(headers?|mime|message-id)\b/i,
      /rfc ?-?(2822|5322|2045|2047)\b|\b8-?bit data|bare (lf|cr|newline|line ?feed|carriage)|\bline (is )?too long/i,
      /\b(virus|malware|trojan|infected|worm|clamav)\b|potential\w{0,20} (security|harmful|dangerous)/i,
      /\b(content|attachment|file type|media|executable|macro)s?\b.{0,40}(reject|denied|block|prohibit|forbid|error)/i,
      /\b(content|attachment|file type|executable|macro)s?\b.{0,40}not (allowed|accept|permitted)/i,
      /(illegal|prohibited|banned|forbidden|dangerous|unsafe|blocked|disallowed) (attachment|content|file)|malformed (message|mail)/i,
    ],
  },
  {
    reason: 'too-large',
    texts: [
      /\b(message|mail|size|attachment|e-?mail|body|data)\b.{0,30} too (large|big)\b/i,
      /(too (large|big)|oversized?) (message|mail|e-?mail|body|attach)|databytes|larger than (\w{1,20} ){0,3}(max|allow|limit|size)/i,
      /\b(message|mail|e-?mail|size|body|attachment)\b.{0,40}exceed.{0,40}(size|limit|maximum|allowed)/i,
      /exceed.{0,40}(message|mail) size|(message|mail) (size|length) (limit|exceed)|\b(size|line) limit exceed|maximum (message |mail |e-?mail )?size exceed/i,
      /taille .{0,30}(maxim|limit|dépass)|nachricht .{0,20}zu (groß|gross)/i,
    ],
  },
]
